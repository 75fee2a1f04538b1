// The transports to a tool server: Streamable HTTP, server-sent events of older servers, and a program's input and
// output. Each is the official client's own transport, over the gateway's bounded fetch or with a bound on what is
// read.
import type { ChildProcess } from "node:child_process";
import { within } from "../core/concurrency/timeout.ts";
import type { Transport } from "@modelcontextprotocol/client";
import type { Clock } from "../core/clock.ts";
import { Cancellation } from "../core/concurrency/cancellation.ts";
import type { ToolServer, ToolTransport } from "../core/configured/tool.ts";
import { isKey } from "../core/text/quoted-key.ts";
import { secretRemover } from "../core/text/redaction.ts";
import { SECRET_SETTING } from "../core/text/secret-names.ts";
import { checkAddress } from "../wire/address-guard.ts";
import type { UpstreamClient } from "../wire/upstream.ts";
import { boundedFetch, type BoundedFetch, valueCounter } from "./bounded-fetch.ts";
import { ToolFault } from "./faults.ts";
import type { OauthTokens } from "./oauth-tokens.ts";
import { openPinnedOrigins } from "./pinned-origins.ts";
import { openRequestStreams } from "./request-streams.ts";

export type TransportKind = "streamable_http" | "sse" | "stdio";

export interface TransportDependencies {
  readonly clock: Pick<Clock, "monotonic">;
  readonly upstream: UpstreamClient;
  readonly tokens: OauthTokens;
  allowPrivateAddresses(): boolean;
  /** Called with each line that a program wrote to its error output. The line contains no secret. */
  onLine(line: string): void;
}

export type OpenedTransport = ReturnType<typeof opened>;

type HttpTransport = Extract<ToolTransport, { readonly url: string }>;
type ProgramTransport = Extract<ToolTransport, { readonly kind: "stdio" }>;

const CONNECT_TIMEOUT_MS = 10_000;
const STREAM_SILENCE_MS = 15 * 60_000;
/**
 * Bounds a list of tools, and every other message that is not the result of a tool, where `max_result_bytes` is not more.
 */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const END_SESSION_MS = 2000;
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** A stream that has ended is opened again, but not as often as its server asks for. */
const MIN_REOPEN_MS = 1000;
const MAX_REOPEN_MS = 60_000;
const MAX_LINE = 500;

export async function openTransport(
  kind: TransportKind,
  server: ToolServer,
  dependencies: TransportDependencies,
  timeoutMs: number,
): Promise<OpenedTransport> {
  const { transport } = server;
  if (transport.kind === "stdio") return await openProgram(transport, server, dependencies);
  return await openHttp(kind, transport, server, dependencies, timeoutMs);
}

async function openHttp(
  kind: TransportKind,
  to: HttpTransport,
  server: ToolServer,
  dependencies: TransportDependencies,
  timeoutMs: number,
): Promise<OpenedTransport> {
  const { SSEClientTransport, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const url = new URL(to.url);
  const check = to.guarded
    ? async (address: string, param: string): Promise<string> =>
        (await checkAddress(address, { allowPrivate: dependencies.allowPrivateAddresses(), param })).pinnedAddress
    : null;
  const fetch: BoundedFetch = boundedFetch({
    clock: dependencies.clock,
    upstream: dependencies.upstream,
    partition: `tools\n${server.key}`,
    origin: url.origin,
    headers: to.headers,
    pinned: check === null ? null : openPinnedOrigins((address) => check(address, "url")),
    bounds: {
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      answerTimeoutMs: Math.max(timeoutMs, server.timeoutMs),
      streamSilenceMs: STREAM_SILENCE_MS,
      maxCallBytes: server.maxResultBytes,
      maxMessageBytes: Math.max(MAX_MESSAGE_BYTES, server.maxResultBytes),
      maxCalls: server.maxConcurrent,
    },
  });
  const tokens =
    to.oauth === null
      ? null
      : dependencies.tokens.of(
          to.oauth,
          (address) => check?.(address, "oauth.token_url") ?? Promise.resolve(undefined),
        );
  const secrets = (): readonly NamedSecret[] => [
    ...secretsOf(to),
    ...(tokens?.given() ?? []).map((token) => ["token", token] as const),
  ];
  const authProvider =
    tokens === null
      ? undefined
      : { token: () => tokens.take(new Cancellation()), onUnauthorized: () => Promise.resolve(tokens.refused()) };
  const options = { fetch, redirectPolicy: "follow" as const, ...(authProvider !== undefined && { authProvider }) };
  if (kind === "sse") {
    const transport = new SSEClientTransport(url, options);
    return opened({ transport, hasSession: () => true, secrets, endSession: null });
  }
  const reconnectionScheduler = (reopen: () => void, wantedMs: number): (() => void) => {
    const timer = setTimeout(reopen, Math.min(Math.max(wantedMs, MIN_REOPEN_MS), MAX_REOPEN_MS));
    return () => clearTimeout(timer);
  };
  const streams = openRequestStreams(fetch);
  const transport = new StreamableHTTPClientTransport(url, { ...options, fetch: streams.fetch, reconnectionScheduler });
  streams.watch(transport);
  return opened({
    transport,
    hasSession: () => transport.sessionId !== undefined,
    secrets: () => [...secrets(), ["session", transport.sessionId ?? ""]],
    endSession: () => transport.terminateSession(),
  });
}

interface Opened {
  readonly transport: Transport;
  /** Whether the server keeps a session, which it may have lost. */
  hasSession(): boolean;
  /** The secrets that a server could reveal by quoting its requests: configured ones and the current token. */
  secrets(): readonly NamedSecret[];
  /** Ends the server's session; `null` when there is none to end. */
  readonly endSession: (() => Promise<void>) | null;
}

type NamedSecret = readonly [name: string, value: string];

/** A shorter text may stand anywhere by chance. */
const LEAST_CREDENTIAL = 8;

function opened({ endSession, ...given }: Opened) {
  let fault: unknown;
  let ending: Promise<void> | null = null;
  const close = (): Promise<void> => given.transport.close().catch(() => undefined);
  const end = async (): Promise<void> => {
    if (endSession !== null)
      await within(
        endSession().catch(() => undefined),
        END_SESSION_MS,
      );
    await close();
  };
  return {
    ...given,
    /** For errors, which are searched for parts of them too. */
    secrets: () => given.secrets().map(([, value]) => value),
    /** Those that an answer must not have: what looks like a key, or is one by its name. */
    keys: () =>
      given
        .secrets()
        .flatMap(([name, value]) =>
          isKey(value) || (value.length >= LEAST_CREDENTIAL && SECRET_SETTING.test(name)) ? [value] : [],
        ),
    /** The fault that ended the transport, when it is known more precisely than the client reports it. */
    fault: () => fault,
    /** Ends the transport at once, for this reason. */
    cut(thrown: unknown): void {
      fault ??= thrown;
      ending ??= close();
    },
    /** Ends the server's session, if there is one, and then the connection or the program. Never throws. */
    end: () => (ending ??= end()),
  };
}

/** A header is `Bearer` and a token, and a server may quote the token alone. */
function secretsOf({ url, headers, oauth }: HttpTransport): readonly NamedSecret[] {
  return [
    ...[...Object.entries(headers), ...new URL(url).searchParams].flatMap(([name, value]) =>
      [value, ...value.split(" ").slice(1)].map((text) => [name, text] as const),
    ),
    ...(oauth === null ? [] : [["client_secret", oauth.clientSecret] as const]),
  ];
}

async function openProgram(
  to: ProgramTransport,
  server: ToolServer,
  dependencies: TransportDependencies,
): Promise<OpenedTransport> {
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const transport = new StdioClientTransport({
    command: to.command,
    args: [...to.args],
    env: { ...to.environment },
    stderr: "pipe",
    maxBufferSize: Math.max(MAX_MESSAGE_BYTES, server.maxResultBytes) + 64 * 1024,
    ...(to.folder !== null && { cwd: to.folder }),
  });
  reportText(transport.stderr as NodeJS.ReadableStream | null, Object.values(to.environment), dependencies);
  const program = opened({
    transport,
    hasSession: () => false,
    secrets: () => Object.entries(to.environment),
    endSession: null,
  });
  const cut = (thrown: unknown): void => {
    // The client goes on reading what the program writes until it has ended.
    const { _process: started } = partsOf(transport);
    started?.stdout?.destroy();
    program.cut(thrown);
  };
  boundOutput(transport, cut);
  boundUnread(transport, 2 * server.maxConcurrent, () =>
    cut(new ToolFault("failed", "the program does not read what it is asked")),
  );
  return { ...program, cut };
}

/** What the client has no access to: it reads the output of a program by itself. */
const partsOf = (transport: object) =>
  transport as {
    readonly _process?: Pick<ChildProcess, "stdout">;
    readonly _readBuffer: { append(bytes: Uint8Array): void };
  };

/** Counts the values of messages before they are parsed, and stops at these as at a message that is too long. */
function boundOutput(transport: object, cut: (thrown: unknown) => void): void {
  const { _readBuffer: buffer } = partsOf(transport);
  const append = buffer.append.bind(buffer);
  const count = valueCounter("lines");
  buffer.append = (bytes) => {
    try {
      const wrong = count(bytes);
      if (wrong !== null) throw new ToolFault("failed", wrong);
      append(bytes);
    } catch (thrown) {
      cut(thrown);
      throw thrown;
    }
  };
}

/** Messages that a program does not read are held here, even after the timeout of their calls. */
function boundUnread(transport: Transport, maxMessages: number, onTooMuch: () => void): void {
  const send = transport.send.bind(transport);
  let waiting = 0;
  let bytes = 0;
  transport.send = (message, options) => {
    if (waiting > 0) bytes += JSON.stringify(message).length;
    if (waiting > maxMessages || bytes > MAX_UNREAD_BYTES) onTooMuch();
    waiting += 1;
    return send(message, options).finally(() => {
      waiting -= 1;
      if (waiting === 0) bytes = 0;
    });
  };
}

/** The stream has to be read to its end, because the program would block on a full pipe. */
function reportText(
  stream: NodeJS.ReadableStream | null,
  secrets: readonly string[],
  dependencies: TransportDependencies,
): void {
  const withoutSecrets = secretRemover(secrets);
  const tell = (line: string): void => {
    if (line.trim() !== "") dependencies.onLine(withoutSecrets(line.slice(0, MAX_LINE)));
  };
  let begun = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (text: string) => {
    const lines = (begun + text).split("\n");
    begun = lines.pop()!.slice(0, MAX_LINE);
    lines.forEach(tell);
  });
  // a program that ends in the middle of a line has said why
  stream?.on("end", () => tell(begun));
}
