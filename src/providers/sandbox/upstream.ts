// The sandbox's server: an upstream client that answers in this process, in OpenAI's wire form, so that everything can be tried without key and
// network. Its faults are real ones: what a provider that stalls, cuts or lies looks like on the wire.
import type { CancelSignal } from "../../core/cancellation.ts";
import { bytesOf, utf8Of } from "../../wire/body-bytes.ts";
import {
  type UpstreamBody,
  type UpstreamCall,
  type UpstreamClient,
  UpstreamFault,
  type UpstreamRequest,
  type UpstreamResponse,
} from "../../wire/upstream.ts";
import { answerOf, promptTokens, type SandboxAnswer, type SandboxCall, type SandboxRequest } from "./answers.ts";

export const SANDBOX_SCHEME = "sandbox:";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const CREATED = 1_767_225_600;
const MAX_SLOW_MS = 600_000;
/** Events that go into one read. */
const EVENTS_PER_READ = 16;

export const sandboxUpstream: UpstreamClient = {
  async send(request: UpstreamRequest, call: UpstreamCall): Promise<UpstreamResponse> {
    const body = JSON.parse(
      request.bytes === undefined ? request.body : decoder.decode(request.bytes),
    ) as SandboxRequest;
    call.onSent?.(true);
    const fault = /^(fail|slow)-(\d{1,6})$/.exec(body.model);
    if (fault?.[1] === "fail") return failure(Number(fault[2]));
    if (fault?.[1] === "slow")
      await pause(Math.min(MAX_SLOW_MS, Number(fault[2])), call.signal, call.firstByteTimeoutMs);
    if (!isKnown(body.model))
      return json(404, {
        error: {
          message: `The sandbox has no model ${JSON.stringify(body.model)}.`,
          type: "invalid_request_error",
          param: "model",
          code: "model_not_found",
        },
      });
    if (body.model === "stall" && body.stream !== true)
      await pause(Number.POSITIVE_INFINITY, call.signal, call.firstByteTimeoutMs);
    if (body.model === "garbage")
      return body.stream === true
        ? respond(200, EVENT_STREAM, pieces(['data: {"choices": [{\n\n', "<html>not an event</html>\n\n"]), call)
        : respond(200, JSON_TYPE, pieces(["<!DOCTYPE html><title>It works</title>"]), call);
    const answer = answerOf(body);
    if (body.stream === true) return respond(200, EVENT_STREAM, streamOf(body, answer), call);
    const text = JSON.stringify(wholeOf(body, answer));
    return respond(
      200,
      JSON_TYPE,
      body.model === "cut"
        ? pieces([text.slice(0, text.length / 2), new UpstreamFault("cut", "the sandbox cut the answer")])
        : pieces([text]),
      call,
    );
  },
};

const EVENT_STREAM = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json" };

function isKnown(model: string): boolean {
  return /^(echo|assistant|tools|json|stall|cut|garbage|words-\d{1,6}|slow-\d{1,6})$/.test(model);
}

function failure(status: number): UpstreamResponse {
  const type = status === 429 ? "rate_limit_error" : status >= 500 ? "server_error" : "invalid_request_error";
  const code = status === 429 ? "rate_limit_exceeded" : status === 401 ? "invalid_api_key" : null;
  return json(
    status >= 400 && status <= 599 ? status : 500,
    { error: { message: `The sandbox was asked to fail with ${status}.`, type, param: null, code } },
    status === 429 ? { "retry-after": "1" } : {},
  );
}

/** What a stream is made of: text to send, a fault to fail with, or silence until a clock or the caller ends it. */
type Piece = string | UpstreamFault | typeof SILENCE;
const SILENCE = Symbol("silence");

function* pieces(list: readonly Piece[]): Generator<Piece> {
  yield* list;
}

function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): UpstreamResponse {
  const text = JSON.stringify(body);
  let read = false;
  return {
    status,
    header: (name) => ({ ...JSON_TYPE, ...headers } as Readonly<Record<string, string>>)[name] ?? null,
    body: {
      read: () => Promise.resolve(read ? null : ((read = true), encoder.encode(text))),
      bytes: () => Promise.resolve(encoder.encode(text)),
      text: () => Promise.resolve(text),
      cancel: () => {},
    },
  };
}

function respond(
  status: number,
  headers: Readonly<Record<string, string>>,
  source: Generator<Piece>,
  call: UpstreamCall,
): UpstreamResponse {
  let ended = false;
  const body: UpstreamBody = {
    async read() {
      call.signal.throwIfAborted();
      if (ended) return null;
      const next = source.next();
      if (next.done === true) return null;
      if (next.value instanceof UpstreamFault) throw next.value;
      if (next.value === SILENCE) await pause(Number.POSITIVE_INFINITY, call.signal, call.betweenBytesTimeoutMs);
      return encoder.encode(next.value as string);
    },
    bytes: (maxBytes) => bytesOf(body, maxBytes, () => body.cancel()),
    text: async (maxBytes) => utf8Of(await body.bytes(maxBytes)),
    cancel: () => {
      ended = true;
    },
  };
  return { status, header: (name) => headers[name] ?? null, body };
}

/** Waits; the caller's signal ends it at once, a clock that is shorter with a timeout. */
function pause(ms: number, signal: CancelSignal, clockMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const listener = {
      handleEvent(): void {
        clearTimeout(timer);
        const reason = signal.reason as Error;
        reject(reason);
      },
    };
    const timer = setTimeout(
      () => {
        signal.removeEventListener("abort", listener);
        if (ms <= clockMs) resolve();
        else reject(new UpstreamFault("timeout", `nothing came within ${clockMs} ms`));
      },
      Math.min(ms, clockMs),
    );
    signal.addEventListener("abort", listener);
    if (signal.aborted) listener.handleEvent();
  });
}

function wholeOf(request: SandboxRequest, answer: SandboxAnswer) {
  const message = {
    role: "assistant",
    content: answer.calls.length === 0 || answer.words.length > 0 ? answer.words.join("") : null,
    refusal: null,
    ...(answer.calls.length > 0 && {
      tool_calls: answer.calls.map(({ id, ...called }) => ({ id, type: "function", function: called })),
    }),
  };
  const choices = Array.from({ length: request.n ?? 1 }, (_, index) => ({
    index,
    message,
    logprobs: null,
    finish_reason: answer.finish,
  }));
  return {
    id: "chatcmpl-sandbox",
    object: "chat.completion",
    created: CREATED,
    model: request.model,
    choices,
    usage: usageOf(request, answer),
  };
}

function* streamOf(request: SandboxRequest, answer: SandboxAnswer): Generator<Piece> {
  const event = (choices: readonly unknown[], rest: object = {}): string =>
    `data: ${JSON.stringify({ id: "chatcmpl-sandbox", object: "chat.completion.chunk", created: CREATED, model: request.model, choices, ...rest })}\n\n`;
  const choice = (index: number, delta: object, finish: string | null = null) => ({
    index,
    delta,
    logprobs: null,
    finish_reason: finish,
  });
  const indexes = Array.from({ length: request.n ?? 1 }, (_, index) => index);
  const deltas = [...answer.words.map((content) => ({ content })), ...answer.calls.flatMap(callDeltas)];
  yield indexes.map((index) => event([choice(index, { role: "assistant", content: "" })])).join("");
  for (let at = 0; at < deltas.length; at += EVENTS_PER_READ) {
    const batch = deltas.slice(at, at + EVENTS_PER_READ);
    yield batch.map((delta) => indexes.map((index) => event([choice(index, delta)])).join("")).join("");
    if (request.model === "stall") yield SILENCE;
    if (request.model === "cut") yield new UpstreamFault("cut", "the sandbox cut the stream");
  }
  yield (
    indexes.map((index) => event([choice(index, {}, answer.finish)])).join("") +
      event([], { usage: usageOf(request, answer) }) +
      "data: [DONE]\n\n"
  );
}

function callDeltas(call: SandboxCall, index: number): readonly object[] {
  const opening = {
    tool_calls: [{ index, id: call.id, type: "function", function: { name: call.name, arguments: "" } }],
  };
  const parts = call.arguments.match(/[\s\S]{1,8}/g) ?? [];
  return [opening, ...parts.map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] }))];
}

function usageOf(request: SandboxRequest, answer: SandboxAnswer) {
  const prompt = promptTokens(request.messages);
  const completion = (answer.words.length + answer.calls.length) * (request.n ?? 1);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
