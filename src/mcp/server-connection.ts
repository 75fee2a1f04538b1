// One connection to a tool server over the official client, which is loaded with the first connection:
// https://modelcontextprotocol.io/specification Newer servers are used according to 2026-07-28, older ones according to
// the version of their handshake. The gateway offers a server no client capabilities: requests of the server (sampling,
// elicitation, roots) are refused.
import type { Client, JsonSchemaValidator, jsonSchemaValidator } from "@modelcontextprotocol/client";
import { z } from "zod";
import type { CancelSignal } from "../core/concurrency/cancellation.ts";
import type { GatewayError } from "../core/errors.ts";
import { isObject, type JsonObject } from "../core/json.ts";
import { keyRemover } from "../core/text/quoted-key.ts";
import { withoutSecrets } from "../core/text/redaction.ts";
import type { ToolServer } from "../core/configured/tool.ts";
import type { TraceHeaders } from "../core/record/trace.ts";
import { VERSION } from "../core/version.ts";
import { faultOf, ToolFault } from "./faults.ts";
import { openMeter } from "./meter.ts";
import { type OpenedTransport, openTransport, type TransportKind, type TransportDependencies } from "./transports.ts";

export interface ConnectionDependencies extends TransportDependencies {
  /** Called when the server says that its list has changed. */
  onListChanged(): void;
  /** Called once when the connection has ended, by itself or because it was closed here. */
  onClosed(): void;
  /** Called for a fault that by itself ends no call. The message contains no secret. */
  onFault(message: string): void;
}

export interface AboutServer {
  readonly transport: TransportKind;
  readonly protocolVersion: string;
  readonly name: string | null;
  readonly version: string | null;
}

export interface Timing {
  readonly timeoutMs: number;
  readonly signal: CancelSignal;
}

export interface ToolCall {
  readonly tool: string;
  readonly args: JsonObject;
  /** The schema of the tool's arguments; `null` when it is not known. */
  readonly schema: JsonObject | null;
  /** https://modelcontextprotocol.io/seps/414-request-meta */
  readonly trace: TraceHeaders | null;
}

export type ToolConnection = ReturnType<typeof connectionOf>;

const ANYTHING = z.unknown();
/** Output schemas only describe the server's own answers, so they are not compiled. */
const NO_VALIDATION: jsonSchemaValidator = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (input) => ({ valid: true, data: input as T, errorMessage: undefined }),
};
const MAX_PROBE_MS = 10_000;
const MAX_TEXT_CHARACTERS = 1000;
/** A message of the server that the client could not use, which it quotes in its own. */
const QUOTED = /: \{.*$/s;
/** Bounds notifications, requests that the server sends, and invalid messages. */
const UNREQUESTED = { burst: 2000, perSecond: 200 };

/** Throws ToolFault. */
export async function connect(
  server: ToolServer,
  dependencies: ConnectionDependencies,
  timeoutMs: number,
): Promise<ToolConnection> {
  const { kind } = server.transport;
  if (kind !== "auto") return await connectBy(kind, server, dependencies, timeoutMs);
  try {
    return await connectBy("streamable_http", server, dependencies, timeoutMs);
  } catch (thrown) {
    if (!(thrown instanceof ToolFault) || !thrown.isUnknownTransport) throw thrown;
    // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility
    return await connectBy("sse", server, dependencies, timeoutMs).catch(() => Promise.reject(thrown));
  }
}

async function connectBy(
  kind: TransportKind,
  server: ToolServer,
  dependencies: ConnectionDependencies,
  timeoutMs: number,
): Promise<ToolConnection> {
  const sdk = await import("@modelcontextprotocol/client");
  const opened = await openTransport(kind, server, dependencies, timeoutMs);
  const client = new sdk.Client(
    { name: "dragoman", version: VERSION },
    {
      capabilities: {},
      jsonSchemaValidator: NO_VALIDATION,
      inputRequired: { autoFulfill: false },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => dependencies.onListChanged() } },
      ...(kind !== "sse" && {
        versionNegotiation: { mode: "auto" as const, probe: { timeoutMs: Math.min(timeoutMs, MAX_PROBE_MS) } },
      }),
    },
  );
  // A connection that was never established does not notify its end.
  let stands = false;
  watch(
    client,
    { ...dependencies, onClosed: () => stands && dependencies.onClosed() },
    opened,
    (thrown) => thrown instanceof sdk.SseError,
  );
  try {
    await client.connect(opened.transport, { timeout: timeoutMs });
    stands = true;
  } catch (thrown) {
    await opened.end();
    throw asToolFault(opened, thrown);
  }
  return connectionOf(client, opened, kind);
}

/** Runs before the client installs its own handlers: the client keeps existing handlers and calls them first. */
function watch(
  client: Client,
  dependencies: ConnectionDependencies,
  opened: OpenedTransport,
  isEnd: (thrown: Error) => boolean,
): void {
  let closed = false;
  const meter = openMeter(dependencies.clock, UNREQUESTED);
  const count = (): void => {
    if (!meter.passes(1)) opened.cut(new ToolFault("failed", "the server sends too much unrequested data"));
  };
  const onmessage = (message: object): void => {
    if ("method" in message) count();
    // A result that does not say what it is, is complete; the client takes that for an error of newer servers.
    if ("result" in message && isObject(message.result) && !Object.hasOwn(message.result, "resultType"))
      Object.assign(message.result, { resultType: "complete" });
  };
  const onerror = (thrown: Error): void => {
    count();
    const fault = faultOf(thrown);
    const isRefusal = fault instanceof ToolFault && fault.status !== null;
    // a late answer is quoted with the result of a tool, which is not logged
    const told = isRefusal ? thrown.message : thrown.message.replace(QUOTED, "");
    dependencies.onFault(withoutSecrets(told.slice(0, MAX_TEXT_CHARACTERS), opened.secrets()));
    // The session of an older server ends with its stream: a stream that the client opens again would have no
    // handshake.
    if (isEnd(thrown)) void client.close();
  };
  const onclose = (): void => {
    if (closed) return;
    closed = true;
    dependencies.onClosed();
  };
  Object.assign(opened.transport, { onmessage });
  Object.assign(client, { onerror, onclose });
}

/**
 * Servers quote what they were sent, so secrets are removed from messages. A server that never had a session cannot
 * have lost one.
 */
function asToolFault(opened: OpenedTransport, thrown: unknown): ToolFault | GatewayError {
  const fault = faultOf(opened.fault() ?? thrown);
  if (!(fault instanceof ToolFault)) return fault;
  const kind = fault.kind === "lost" && !opened.hasSession() ? "failed" : fault.kind;
  return new ToolFault(kind, withoutSecrets(fault.message, opened.secrets()), { status: fault.status, cause: fault });
}

/**
 * Removes the credentials with which a server was called from its answers and from what it says about itself. Answers go
 * to a model and its client, and the name of the server is shown to users who test it.
 */
function withoutKeysIn<T>(answer: T, opened: OpenedTransport): T {
  const keys = opened.keys();
  if (keys.length === 0) return answer;
  const text = JSON.stringify(answer);
  const clean = keyRemover(keys)(text);
  return clean === text ? answer : (JSON.parse(clean) as T);
}

function connectionOf(client: Client, opened: OpenedTransport, kind: TransportKind) {
  const named = client.getServerVersion();
  let inFlight = 0;
  let isAbandoned = false;
  const request = async <T>(
    { timeoutMs, signal }: Timing,
    ask: (options: { readonly timeout: number; readonly signal: AbortSignal }) => Promise<T>,
  ): Promise<T> => {
    signal.throwIfAborted();
    const abort = new AbortController();
    // The server receives this text instead of the caller's own reason.
    const cancelled = (): void => abort.abort("the call was cancelled");
    signal.addEventListener("abort", cancelled);
    inFlight += 1;
    try {
      return withoutKeysIn(await ask({ timeout: Math.max(1, timeoutMs), signal: abort.signal }), opened);
    } catch (thrown) {
      signal.throwIfAborted();
      throw asToolFault(opened, thrown);
    } finally {
      signal.removeEventListener("abort", cancelled);
      inFlight -= 1;
      if (isAbandoned && inFlight === 0) void opened.end();
    }
  };
  const about: AboutServer = {
    transport: kind,
    protocolVersion: client.getNegotiatedProtocolVersion() ?? "",
    name: named?.name ?? null,
    version: named?.version ?? null,
  };
  return {
    about: withoutKeysIn(about, opened),
    /** Returns one page as the server sent it. Throws ToolFault, or the signal's reason. */
    page: (cursor: string | undefined, timing: Timing) =>
      request(timing, (options) =>
        client.request({ method: "tools/list", params: cursor === undefined ? {} : { cursor } }, ANYTHING, options),
      ),
    /** Returns the result as the server sent it. Throws ToolFault, or the signal's reason. */
    call: ({ tool: name, args, schema, trace }: ToolCall, timing: Timing) =>
      request(timing, (options) =>
        client.callTool(
          { name, arguments: args, ...(trace !== null && { _meta: { ...trace } }) },
          { ...options, toolDefinition: { name, inputSchema: { type: "object", ...schema } } },
        ),
      ),
    /** Sends no more requests: the connection ends when its requests in flight have ended. */
    leave(): void {
      isAbandoned = true;
      if (inFlight === 0) void opened.end();
    },
    close: () => opened.end(),
  };
}
