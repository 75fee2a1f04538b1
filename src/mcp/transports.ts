// The ways to a tool server: Streamable HTTP, Server-Sent Events of older servers, and a program's input and output. Each is the official client's own
// transport, over a fetch of ours, or with a bound on what is read.
import type { Transport } from "@modelcontextprotocol/client";
import type { Clock } from "../core/clock.ts";
import { Cancellation } from "../core/cancellation.ts";
import type { ToolServer, ToolTransport } from "../core/tool.ts";
import { checkAddress } from "../wire/address-guard.ts";
import type { UpstreamClient } from "../wire/upstream.ts";
import { boundedFetch, type BoundedFetch } from "./bounded-fetch.ts";
import { STREAM_ENDED } from "./faults.ts";
import type { OauthTokens } from "./oauth-tokens.ts";

export type TransportKind = "streamable_http" | "sse" | "stdio";

export interface TransportWorld {
  readonly clock: Pick<Clock, "monotonic">;
  readonly upstream: UpstreamClient;
  readonly tokens: OauthTokens;
  allowPrivateAddresses(): boolean;
  /** A line that a program wrote to its error output. */
  onWords(line: string): void;
}

export interface OpenedTransport {
  readonly transport: Transport;
  /** What ended it, where that is known better than the client knows it. */
  fault(): unknown;
  blame(fault: unknown): void;
  /** Tells the server, where it has a session, and ends the connection or the program. Never throws. */
  end(): Promise<void>;
}

type HttpTransport = Extract<ToolTransport, { readonly url: string }>;
type ProgramTransport = Extract<ToolTransport, { readonly kind: "stdio" }>;

const CONNECT_TIMEOUT_MS = 10_000;
const STREAM_SILENCE_MS = 15 * 60_000;
/** Of a list of tools, and of whatever else is no result of a tool. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const FAREWELL_MS = 2000;
const MAX_WORDS_LINE = 500;

export async function openTransport(kind: TransportKind, server: ToolServer, world: TransportWorld, timeoutMs: number): Promise<OpenedTransport> {
  const { transport } = server;
  if (transport.kind === "stdio") return await openProgram(transport, server, world);
  return await openHttp(kind, transport, server, world, timeoutMs);
}

async function openHttp(kind: TransportKind, to: HttpTransport, server: ToolServer, world: TransportWorld, timeoutMs: number): Promise<OpenedTransport> {
  const { SSEClientTransport, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const pinned = pinnedBy(to.guarded, world);
  const fetch: BoundedFetch = boundedFetch({
    upstream: world.upstream,
    headers: to.headers,
    pinned,
    bounds: { connectTimeoutMs: CONNECT_TIMEOUT_MS, answerTimeoutMs: Math.max(timeoutMs, server.timeoutMs), streamSilenceMs: STREAM_SILENCE_MS, maxCallBytes: server.maxResultBytes, maxMessageBytes: Math.max(MAX_MESSAGE_BYTES, server.maxResultBytes) },
  });
  let fault: unknown;
  const blame = (thrown: unknown): void => {
    fault ??= thrown;
  };
  const tokens = to.oauth === null ? null : world.tokens.of(to.oauth, pinned);
  const authProvider = tokens === null ? undefined : { token: () => tokens.take(new Cancellation()), onUnauthorized: () => Promise.resolve(tokens.refused()) };
  const options = { fetch, redirectPolicy: "follow" as const, ...(authProvider !== undefined && { authProvider }) };
  const url = new URL(to.url);
  if (kind === "sse") {
    const transport = new SSEClientTransport(url, options);
    return { transport, fault: () => fault, blame, end: () => transport.close().catch(() => undefined) };
  }
  const transport = new StreamableHTTPClientTransport(url, options);
  tellEnds(transport);
  const end = async (): Promise<void> => {
    await Promise.race([transport.terminateSession().catch(() => undefined), Bun.sleep(FAREWELL_MS)]);
    await transport.close().catch(() => undefined);
  };
  return { transport, fault: () => fault, blame, end };
}

/** One look-up for each origin: what was checked is what is called, for as long as the connection lives. */
function pinnedBy(guarded: boolean, world: TransportWorld): (url: string) => Promise<string | undefined> {
  if (!guarded) return () => Promise.resolve(undefined);
  const known = new Map<string, Promise<string>>();
  return (url) => {
    const { origin } = new URL(url);
    const found = known.get(origin) ?? checkAddress(url, { allowPrivate: world.allowPrivateAddresses(), param: "url" }).then(({ pinnedAddress }) => pinnedAddress);
    known.set(origin, found);
    return found;
  };
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
}

/** The client waits for an answer until its time is up when the stream that should bring it ends without. It is told so at once. */
function tellEnds(transport: Transport): void {
  const open = new Set<unknown>();
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const { id, method } = message as Message;
    if (id === undefined || method === undefined) return send(message, options);
    open.add(id);
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      if (open.delete(id)) transport.onmessage?.({ jsonrpc: "2.0", id: id as string | number, error: { code: STREAM_ENDED, message: "the stream ended without an answer" } });
    };
    return send(message, { ...options, onRequestStreamEnd }).catch((thrown: unknown) => {
      open.delete(id);
      throw thrown;
    });
  };
  let listener: Transport["onmessage"];
  Object.defineProperty(transport, "onmessage", {
    get: () => listener,
    set: (wanted: Transport["onmessage"]) => {
      listener =
        wanted &&
        ((message, extra) => {
          if (!("method" in message) && "id" in message) open.delete(message.id);
          wanted(message, extra);
        });
    },
  });
}

async function openProgram(to: ProgramTransport, server: ToolServer, world: TransportWorld): Promise<OpenedTransport> {
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const transport = new StdioClientTransport({
    command: to.command,
    args: [...to.args],
    env: { ...to.environment },
    stderr: "pipe",
    maxBufferSize: Math.max(MAX_MESSAGE_BYTES, server.maxResultBytes) + 64 * 1024,
    ...(to.folder !== null && { cwd: to.folder }),
  });
  let fault: unknown;
  const blame = (thrown: unknown): void => {
    fault ??= thrown;
  };
  tellWords(transport.stderr as NodeJS.ReadableStream | null, world);
  return { transport, fault: () => fault, blame, end: () => transport.close().catch(() => undefined) };
}

/** Read to its end, or the program would stand still with a full pipe. */
function tellWords(stream: NodeJS.ReadableStream | null, world: TransportWorld): void {
  let begun = "";
  stream?.on("data", (bytes: Buffer) => {
    const lines = (begun + bytes.toString("utf8")).split("\n");
    begun = lines.pop()!.slice(0, MAX_WORDS_LINE);
    for (const line of lines) if (line.trim() !== "") world.onWords(line.slice(0, MAX_WORDS_LINE));
  });
}
