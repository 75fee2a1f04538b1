// One call and its outcome, for the contract suite of upstream clients.
import { UpstreamFault } from "../../../src/wire/upstream.ts";
import type {
  UpstreamCall,
  UpstreamClient,
  UpstreamFaultKind,
  UpstreamRequest,
  UpstreamResponse,
} from "../../../src/wire/upstream.ts";
import type { RawServers } from "./raw-server.ts";

/** `ca`: certificate authorities in PEM that the client trusts in place of its own. */
export type MakeUpstreamClient = (options?: { readonly ca?: string }) => UpstreamClient;

/** What the suites of the contract work with: the client, and servers that it reaches at their `url`. */
export interface ClientAndServers extends RawServers {
  readonly client: UpstreamClient;
  /** Of requests that a proxy forwards, the client does not see whether a provider was reached. */
  readonly isProxied: boolean;
}

export const MEGABYTE = 1024 * 1024;
/** So long is waited for a connection to be closed; a busy machine takes longer than the moment that it is elsewhere. */
export const CLOSE_MS = 10_000;

export const REQUEST_BODY = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Grüße, 世界" }] });

export function send(
  client: UpstreamClient,
  url: string,
  call: Partial<UpstreamCall> = {},
  request: Partial<UpstreamRequest> = {},
): Promise<UpstreamResponse> {
  return client.send(
    {
      url,
      headers: { "content-type": "application/json", "x-api-key": "key-of-the-provider" },
      body: REQUEST_BODY,
      ...request,
    },
    {
      connectTimeoutMs: 2_000,
      firstByteTimeoutMs: 3_000,
      betweenBytesTimeoutMs: 3_000,
      signal: new AbortController().signal,
      partition: "p",
      ...call,
    },
  );
}

/** Reads an answer, and accepts it. */
export async function post(client: UpstreamClient, url: string, call: Partial<UpstreamCall> = {}): Promise<string> {
  const { body } = await send(client, url, call);
  const text = await body.text(MEGABYTE);
  body.accept();
  return text;
}

/** Reads an answer piece by piece, and accepts it. */
export async function readAll(response: UpstreamResponse): Promise<string> {
  let text = "";
  for (let bytes = await response.body.read(); bytes !== null; bytes = await response.body.read())
    text += Buffer.from(bytes).toString("utf8");
  response.body.accept();
  return text;
}

export async function faultOf(promise: Promise<unknown>): Promise<UpstreamFault> {
  const outcome = await promise.then(
    () => new Error("no fault"),
    (thrown: unknown) => thrown,
  );
  if (outcome instanceof UpstreamFault) return outcome;
  throw outcome;
}
export const faultKind = async (promise: Promise<unknown>): Promise<UpstreamFaultKind> => (await faultOf(promise)).kind;
