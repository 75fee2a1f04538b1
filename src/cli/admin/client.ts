// The client of the command line for the admin API and for the operations: an address, a token, requests and complete lists. Every rejected request
// becomes an Error with a message and the trace id.
import type { Environment } from "../../config/environment.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { messageOf } from "../../core/thrown.ts";
import { CLI_AGENT, VERSION } from "../../core/version.ts";
import { parseBoundedJson } from "../../wire/json/json.ts";
import { gatewayUrl } from "../gateway-url.ts";

/** Of every command that asks a gateway. */
export interface GatewayFlags {
  readonly url?: string;
  readonly token?: string;
  readonly json?: true;
}

export interface AdminRequest {
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  /** The ETag that the resource must still have. */
  readonly ifMatch?: string | null;
  /** The default is 60,000. */
  readonly timeoutMs?: number;
}

export type AdminClient = ReturnType<typeof openAdminClient>;

export class RefusedRequest extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = "RefusedRequest";
    this.status = status;
    this.code = code;
  }
}

/** For a request about something that may not be there yet. */
export function nullIfAbsent(thrown: unknown): null {
  if (thrown instanceof RefusedRequest && thrown.status === 404) return null;
  throw thrown;
}

const BASE = "/api/v1/admin";
const TIMEOUT_MS = 60_000;
const PAGE = 500;

/** Throws Error when there is no token. `base` is the path below which it asks. */
export function openAdminClient(flags: GatewayFlags, environment: Environment, base = BASE) {
  const url = gatewayUrl(flags, environment);
  const token = flags.token ?? environment.get("DRAGOMAN_TOKEN");
  if (token === undefined)
    throw new Error(
      "No access token. Set DRAGOMAN_TOKEN or --token. On the machine with the data folder, `dragoman token create --personal --role owner` creates a token of an owner.",
    );
  const unreached = (thrown: unknown): Error =>
    new Error(
      `The gateway at ${url} cannot be reached: ${messageOf(thrown)}. Set its address with --url or DRAGOMAN_URL.`,
      {
        cause: thrown,
      },
    );
  const requested = async (
    method: string,
    path: string,
    { query = {}, body, headers: further, ifMatch, timeoutMs = TIMEOUT_MS }: AdminRequest,
  ): Promise<Response> => {
    const headers = {
      authorization: `Bearer ${token}`,
      "user-agent": CLI_AGENT + VERSION,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(ifMatch != null && { "if-match": ifMatch }),
      ...further,
    };
    return await fetch(`${url}${base}${path}${queryText(query)}`, {
      method,
      headers,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  };
  /** Returns null when the response has no body. Throws RefusedRequest, and Error when the gateway cannot be reached. */
  const send = async (
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    request: AdminRequest = {},
  ): Promise<Json> => {
    let response: Response;
    let text: string;
    try {
      response = await requested(method, path, request);
      text = await response.text();
    } catch (thrown) {
      throw unreached(thrown);
    }
    const answer = parsed(text);
    if (response.ok && answer !== undefined) return answer;
    throw refusal(response.status, answer, url);
  };
  return {
    send,
    /** Reads a response that is no JSON, part by part. With a body the request is a POST. Throws like send(). */
    async read(path: string, request: AdminRequest = {}): Promise<ReadableStream<Uint8Array>> {
      const method = request.body === undefined ? "GET" : "POST";
      const response = await requested(method, path, request).catch((thrown: unknown) => {
        throw unreached(thrown);
      });
      if (response.ok && response.body !== null) return response.body;
      throw refusal(response.status, parsed(await response.text()), url);
    },
    /** Reads all pages, or as many as have `most` entries. A whole list has no pages. `onPage` gets what a page says beside them. */
    async list(
      path: string,
      query: AdminRequest["query"] = {},
      most = Number.POSITIVE_INFINITY,
      isWhole = false,
      onPage: (page: JsonObject) => void = () => {},
    ): Promise<readonly JsonObject[]> {
      const all: JsonObject[] = [];
      let cursor: string | undefined;
      do {
        const page = await send("GET", path, {
          query: isWhole ? query : { ...query, limit: String(Math.min(PAGE, most - all.length)), cursor },
        });
        if (!isObject(page) || !Array.isArray(page["data"]))
          throw new Error(`The server at ${url} did not answer with a list. Is it a Dragoman gateway?`);
        all.push(...(page["data"] as JsonObject[]));
        onPage(page);
        cursor = typeof page["next_cursor"] === "string" ? page["next_cursor"] : undefined;
      } while (cursor !== undefined && all.length < most);
      return all.slice(0, most);
    },
  };
}

function queryText(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}

/** Undefined when the text is not JSON. */
function parsed(text: string): Json | undefined {
  if (text === "") return null;
  try {
    return parseBoundedJson(text);
  } catch {
    return undefined;
  }
}

function wordOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "unknown";
}

function refusal(status: number, answer: Json | undefined, url: string): Error {
  const error = isObject(answer) && isObject(answer["error"]) ? answer["error"] : null;
  if (error === null || typeof error["message"] !== "string")
    return new Error(
      `The server at ${url} is not a Dragoman gateway (HTTP status ${status}). Set the gateway's address with --url or DRAGOMAN_URL.`,
    );
  const code = wordOf(error["code"]);
  return new RefusedRequest(
    status,
    code,
    `${error["message"]} (${status} ${code}, trace id ${wordOf((answer as JsonObject)["x_gateway_trace_id"])})`,
  );
}
