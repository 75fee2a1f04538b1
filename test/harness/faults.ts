// Upstreams that fail by a script, within the process, in OpenAI's form. Each answer is marked with its upstream, so
// that mixed answers show; each call is kept with how it ended. They use the global timers, so that a test may simulate
// time.
import { pause } from "../../src/core/concurrency/timeout.ts";
import { readBytes, decodeUtf8 } from "../../src/wire/body-bytes.ts";
import {
  type UpstreamCall,
  type UpstreamClient,
  UpstreamFault,
  type UpstreamRequest,
  type UpstreamResponse,
} from "../../src/wire/upstream.ts";

interface Slow {
  /** Before the head, and between two words. */
  readonly delayMs?: number;
  readonly gapMs?: number;
  /** Before the head as well, as long as the test wants. */
  readonly heldUntil?: Promise<void>;
}

/** What an upstream does with one call. `words`: of a stream, how many come before it goes wrong. */
export type Fault =
  | ({ readonly kind: "ok"; readonly words?: number } & Slow)
  | ({
      readonly kind: "status";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    } & Slow)
  | ({ readonly kind: "refused" | "garbage" | "empty" } & Slow)
  /** No connection, no head, a head and nothing more. */
  | { readonly kind: "no_connection" | "stall" | "silence" }
  | ({ readonly kind: "cut" | "error_event" | "falls_silent"; readonly words: number; readonly code?: string } & Slow);

export interface Served {
  readonly target: string;
  readonly fault: Fault;
  /** `up0.1;`: what every word of its answer is. */
  readonly mark: string;
  readonly request: UpstreamRequest;
  readonly startedMs: number;
  /** Null while it is in flight. */
  ended: "read" | "failed" | "cancelled" | null;
  endedMs: number | null;
}

export interface FaultyUpstream extends UpstreamClient {
  readonly served: readonly Served[];
  /** What was called, in order. */
  targets(): readonly string[];
}

export interface FaultyOptions {
  /** By what a request is for; the last of a list goes on for ever, and who has none answers well. */
  readonly scripts: Readonly<Record<string, readonly Fault[]>>;
  /** Who a request is for; the host's first label, if left out. */
  readonly targetOf?: (request: UpstreamRequest) => string;
  readonly nowMs?: () => number;
}

export const WORDS = 3;
export const OK: Fault = { kind: "ok" };

export function status(
  code: number,
  headers: Readonly<Record<string, string>> = {},
  error: Readonly<Record<string, unknown>> = {},
): Fault {
  return {
    kind: "status",
    status: code,
    headers,
    body: JSON.stringify({
      error: { message: `Refused with ${code}.`, type: "error", param: null, code: null, ...error },
    }),
  };
}

export function faultyUpstream({
  scripts,
  targetOf = hostLabel,
  nowMs = () => performance.now(),
}: FaultyOptions): FaultyUpstream {
  const served: Served[] = [];
  return {
    served,
    targets: () => served.map(({ target }) => target),
    send(request, call) {
      const target = targetOf(request);
      const before = served.filter((one) => one.target === target).length;
      const script = scripts[target] ?? [OK];
      const one: Served = {
        target,
        fault: script[Math.min(before, script.length - 1)] ?? OK,
        mark: `${target}.${before + 1};`,
        request,
        startedMs: nowMs(),
        ended: null,
        endedMs: null,
      };
      served.push(one);
      return serve(one, call, nowMs);
    },
  };
}

const hostLabel = ({ url }: UpstreamRequest): string => new URL(url).hostname.split(".")[0]!;

async function serve(served: Served, call: UpstreamCall, nowMs: () => number): Promise<UpstreamResponse> {
  const { fault, request } = served;
  const end = (how: NonNullable<Served["ended"]>): void => {
    if (served.ended !== null) return;
    served.ended = how;
    served.endedMs = nowMs();
  };
  // the signal ends it whether or not it is being read, as at a real connection
  if (call.signal.aborted) end("cancelled");
  else call.signal.addEventListener("abort", () => end("cancelled"));
  const broken = (thrown: UpstreamFault): UpstreamFault => {
    end("failed");
    return thrown;
  };
  const timeout = (words: string): UpstreamFault => broken(new UpstreamFault("timeout", words));
  if (fault.kind === "no_connection") {
    await waited(call.connectTimeoutMs, call);
    throw timeout(`connect: the provider accepted no connection within ${call.connectTimeoutMs} ms`);
  }
  // a request to a port at which nothing listens goes nowhere
  if (fault.kind !== "refused") call.onSent?.(true);
  if (fault.kind === "stall" || ("delayMs" in fault && (fault.delayMs ?? 0) >= call.firstByteTimeoutMs)) {
    await waited(call.firstByteTimeoutMs, call);
    throw timeout(`first byte: the provider sent no response headers within ${call.firstByteTimeoutMs} ms`);
  }
  await waited("delayMs" in fault ? (fault.delayMs ?? 0) : 0, call);
  if ("heldUntil" in fault) await fault.heldUntil;
  if (fault.kind === "refused") throw broken(new UpstreamFault("connection", "connection refused"));
  const pieces = piecesOf(fault, served.mark, request.body.includes('"stream":true'));
  const silence = (): Promise<never> =>
    waited(call.betweenBytesTimeoutMs, call).then(() =>
      Promise.reject(timeout(`between bytes: the provider's answer paused for ${call.betweenBytesTimeoutMs} ms`)),
    );
  let next = 0;
  const read = async (): Promise<Uint8Array | null> => {
    if (call.signal.aborted) throw call.signal.reason;
    if (served.ended !== null) throw new UpstreamFault("cut", "read after its end");
    const piece = pieces[next++];
    if (next > 1 && "gapMs" in fault && fault.gapMs !== undefined)
      await (fault.gapMs >= call.betweenBytesTimeoutMs ? silence() : waited(fault.gapMs, call));
    if (piece === "cut") throw broken(new UpstreamFault("cut", "the connection broke off"));
    if (piece === "silence") return await silence();
    if (piece === undefined) {
      end("read");
      return null;
    }
    return new TextEncoder().encode(piece);
  };
  return {
    status: fault.kind === "status" ? fault.status : 200,
    header: (name) => (fault.kind === "status" ? fault.headers : undefined)?.[name] ?? null,
    body: {
      read,
      bytes: (maxBytes) => readBytes({ read }, maxBytes, () => {}),
      text: async (maxBytes) => decodeUtf8(await readBytes({ read }, maxBytes, () => {})),
      accept: () => {},
      cancel: () => end("cancelled"),
    },
  };
}

/** Rejects with the reason of the call's end. */
function waited(ms: number, { signal }: UpstreamCall): Promise<void> {
  return ms > 0 || signal.aborted ? pause(ms, signal) : Promise.resolve();
}

const FRAME = { id: "chatcmpl-faulty", created: 1_767_000_000, model: "m" };
const chunk = (choices: readonly object[], more: object = {}): string =>
  `data: ${JSON.stringify({ ...FRAME, object: "chat.completion.chunk", choices, ...more })}\n\n`;
const delta = (content: object, finish: string | null = null): string =>
  chunk([{ index: 0, delta: content, finish_reason: finish }]);
const usage = (words: number) => ({ usage: { prompt_tokens: 5, completion_tokens: words, total_tokens: 5 + words } });

/** Bytes, or how it goes wrong there. */
type Piece = string;

function piecesOf(fault: Fault, mark: string, stream: boolean): readonly Piece[] {
  switch (fault.kind) {
    case "status":
      return [fault.body ?? ""];
    case "garbage":
      return ["<!DOCTYPE html><title>It works</title>"];
    case "silence":
      return ["silence"];
    case "empty":
      return stream
        ? [delta({ role: "assistant", content: "" }), delta({}, "stop"), chunk([], usage(0)), "data: [DONE]\n\n"]
        : [whole("", 0)];
    case "ok": {
      const words = fault.words ?? WORDS;
      return stream
        ? [
            delta({ role: "assistant", content: "" }),
            ...said(mark, words),
            delta({}, "stop"),
            chunk([], usage(words)),
            "data: [DONE]\n\n",
          ]
        : [whole(mark.repeat(words), words)];
    }
    case "cut":
    case "falls_silent":
    case "error_event": {
      if (!stream)
        return [whole(mark.repeat(WORDS), WORDS).slice(0, -20), fault.kind === "falls_silent" ? "silence" : "cut"];
      const begun = [delta({ role: "assistant", content: "" }), ...said(mark, fault.words)];
      if (fault.kind === "error_event")
        return [
          ...begun,
          `data: ${JSON.stringify({ error: { message: "The engine stopped.", type: "server_error", code: fault.code ?? "server_error" } })}\n\n`,
        ];
      return [...begun, fault.kind === "cut" ? "cut" : "silence"];
    }
    default:
      return [];
  }
}

const said = (mark: string, words: number): readonly string[] =>
  Array.from({ length: words }, () => delta({ content: mark }));
const whole = (content: string, words: number): string =>
  JSON.stringify({
    ...FRAME,
    object: "chat.completion",
    choices: [
      { index: 0, message: { role: "assistant", content, refusal: null }, logprobs: null, finish_reason: "stop" },
    ],
    ...usage(words),
  });
