// The sandbox's server: an upstream client that answers in this process in OpenAI's wire form, so that everything can
// be tried without a key or a network. Its faults are realistic: they look on the wire like a provider that stalls,
// breaks off or sends invalid data.
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import { pause, untilOver, withTimeout } from "../../core/concurrency/timeout.ts";
import { readBytes, decodeUtf8 } from "../../wire/body-bytes.ts";
import {
  type UpstreamBody,
  type UpstreamCall,
  type UpstreamClient,
  UpstreamFault,
  type UpstreamResponse,
} from "../../wire/upstream.ts";
import type { SandboxAnswer, SandboxCall } from "./answers.ts";
import { completionOf, piecesOf, type SandboxCompletion, wholeText } from "./completions.ts";
import { embeddingsOf, judgementOf, rankingOf, type SandboxEmbeddings } from "./embeddings.ts";
import { readingOf, type SandboxReading, type SandboxRefusal } from "./reading.ts";
import { usageOfText } from "../../core/record/token-count.ts";
import { countWords, wordsOf } from "./words.ts";

export const SANDBOX_SCHEME = "sandbox:";
/** Where the sandbox takes raw prompts. */
const COMPLETIONS = `${SANDBOX_SCHEME}//here/completions`;
const TASKS = [
  ["/embeddings", embeddingsOf],
  ["/rerank", rankingOf],
  ["/moderations", judgementOf],
] as const;

/**
 * Reads a long request in another thread, so that other calls do not wait for it. `whose` is the partition in whose
 * turn the request is read. Returns `null` for a short request, which is read here. If `body` is bytes, their buffer is
 * transferred and can no longer be used here.
 */
export type ReadElsewhere = (body: string | Uint8Array, whose: string) => Promise<SandboxReading> | null;

const encoder = new TextEncoder();
const CREATED = 1_767_225_600;
const MAX_SLOW_MS = 600_000;
/** The number of events that one read returns. */
const EVENTS_PER_READ = 16;

/** What an answer of chat completions is made from. */
type Answering = SandboxReading & { readonly answer: SandboxAnswer };

/** The answer to a request, in the form of its operation. */
interface Answer {
  readonly model: string;
  readonly isStreamed: boolean;
  readonly refusal: SandboxRefusal | null;
  readonly whole: () => object;
  readonly stream: () => Generator<Piece>;
}

export function createSandboxUpstream(readElsewhere: ReadElsewhere): UpstreamClient {
  return {
    async send(request, call) {
      call.onSent?.(true);
      const body = request.bytes ?? request.body;
      const task = TASKS.find(([path]) => request.url.endsWith(path));
      if (task !== undefined) return valued(typeof body === "string" ? body : decodeUtf8(body), task[1], call);
      if (request.url.endsWith(COMPLETIONS))
        return answered(completionAnswer(completionOf(typeof body === "string" ? body : decodeUtf8(body))), call);
      const elsewhere = readElsewhere(body, call.partition);
      const reading =
        elsewhere === null
          ? readingOf(typeof body === "string" ? body : decodeUtf8(body))
          : await withTimeout(untilOver(elsewhere, call.signal), call.firstByteTimeoutMs, () =>
              tooLate(call.firstByteTimeoutMs),
            );
      return answered(conversation(reading), call);
    },
  };
}

async function valued(
  body: string,
  answerOf: (body: string) => SandboxEmbeddings,
  call: UpstreamCall,
): Promise<UpstreamResponse> {
  const { model } = JSON.parse(body) as { readonly model: string };
  const faulty = await ofFaultyModel(model, call);
  if (faulty !== null) return faulty;
  const answer = answerOf(body);
  return answer.status === 200
    ? respond(200, JSON_TYPE, pieces([JSON.stringify(answer.body)]), call)
    : json(answer.status, answer.body);
}

/** Returns the response of a model that fails, and waits for one that is slow; `null` for all others. */
async function ofFaultyModel(model: string, call: UpstreamCall): Promise<UpstreamResponse | null> {
  const fault = /^(fail|slow)-(\d{1,6})$/.exec(model);
  if (fault?.[1] === "fail") return failure(Number(fault[2]));
  if (fault?.[1] === "slow")
    await pauseWithin(call.firstByteTimeoutMs, Math.min(MAX_SLOW_MS, Number(fault[2])), call.signal);
  return null;
}

function conversation(reading: SandboxReading): Answer {
  const { model, isStreamed, result } = reading;
  const answering = { ...reading, answer: "answer" in result ? result.answer : NO_ANSWER };
  return {
    model,
    isStreamed,
    refusal: "refusal" in result ? result.refusal : null,
    whole: () => wholeOf(answering),
    stream: () => streamOf(answering),
  };
}
const NO_ANSWER: SandboxAnswer = { text: "", calls: [], finish: "stop" };

function completionAnswer(made: SandboxCompletion): Answer {
  const { model, isStreamed, refusal } = made;
  return { model, isStreamed, refusal, whole: () => wholeCompletion(made), stream: () => completionStream(made) };
}

async function answered(answer: Answer, call: UpstreamCall): Promise<UpstreamResponse> {
  const { model, isStreamed, refusal } = answer;
  const faulty = await ofFaultyModel(model, call);
  if (faulty !== null) return faulty;
  if (refusal !== null) return refused(refusal);
  if (model === "stall" && !isStreamed)
    await pauseWithin(call.firstByteTimeoutMs, Number.POSITIVE_INFINITY, call.signal);
  if (model === "garbage")
    return isStreamed
      ? respond(200, EVENT_STREAM, pieces(['data: {"choices": [{\n\n', "<html>not an event</html>\n\n"]), call)
      : respond(200, JSON_TYPE, pieces(["<!DOCTYPE html><title>It works</title>"]), call);
  if (isStreamed) return respond(200, EVENT_STREAM, answer.stream(), call);
  const text = JSON.stringify(answer.whole());
  return respond(
    200,
    JSON_TYPE,
    model === "cut"
      ? pieces([text.slice(0, text.length / 2), new UpstreamFault("cut", "the sandbox cut the answer")])
      : pieces([text]),
    call,
  );
}

const EVENT_STREAM = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json" };

function refused({ status, ...error }: SandboxRefusal): UpstreamResponse {
  return json(status, { error });
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

/** An element of a stream: text to send, a fault to fail with, or silence until a timeout or the caller ends it. */
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
      accept: () => {},
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
      if (next.value === SILENCE) await pauseWithin(call.betweenBytesTimeoutMs, Number.POSITIVE_INFINITY, call.signal);
      return encoder.encode(next.value as string);
    },
    bytes: (maxBytes) => readBytes(body, maxBytes, () => body.cancel()),
    text: async (maxBytes) => decodeUtf8(await body.bytes(maxBytes)),
    accept: () => {},
    cancel: () => {
      ended = true;
    },
  };
  return { status, header: (name) => headers[name] ?? null, body };
}

/** Waits. The caller's signal ends the wait at once, and a shorter `clockMs` ends it with a timeout. */
async function pauseWithin(clockMs: number, ms: number, signal: CancelSignal): Promise<void> {
  await pause(Math.min(ms, clockMs), signal);
  if (ms > clockMs) throw tooLate(clockMs);
}

function tooLate(clockMs: number): UpstreamFault {
  return new UpstreamFault("timeout", `nothing came within ${clockMs} ms`);
}

function wholeOf({ model, choices: count, answer, promptTokens }: Answering) {
  const message = {
    role: "assistant",
    content: answer.calls.length === 0 || answer.text !== "" ? answer.text : null,
    refusal: null,
    ...(answer.calls.length > 0 && {
      tool_calls: answer.calls.map(({ id, ...called }) => ({ id, type: "function", function: called })),
    }),
  };
  const choices = Array.from({ length: count }, (_, index) => ({
    index,
    message,
    logprobs: null,
    finish_reason: answer.finish,
  }));
  return {
    id: "chatcmpl-sandbox",
    object: "chat.completion",
    created: CREATED,
    model,
    choices,
    usage: usageOf(answer, count, promptTokens),
  };
}

function* streamOf({ model, choices: count, answer, promptTokens }: Answering): Generator<Piece> {
  const event = (choices: readonly unknown[], rest: object = {}): string =>
    `data: ${JSON.stringify({ id: "chatcmpl-sandbox", object: "chat.completion.chunk", created: CREATED, model, choices, ...rest })}\n\n`;
  const choice = (index: number, delta: object, finish: string | null = null) => ({
    index,
    delta,
    logprobs: null,
    finish_reason: finish,
  });
  const indexes = Array.from({ length: count }, (_, index) => index);
  yield indexes.map((index) => event([choice(index, { role: "assistant", content: "" })])).join("");
  for (const batch of batchesOf(deltasOf(answer), EVENTS_PER_READ)) {
    yield batch.map((delta) => indexes.map((index) => event([choice(index, delta)])).join("")).join("");
    yield* faultAfter(model);
  }
  yield (
    indexes.map((index) => event([choice(index, {}, answer.finish)])).join("") +
      event([], { usage: usageOf(answer, count, promptTokens) }) +
      "data: [DONE]\n\n"
  );
}

/** What a model that fails does after the first part of its answer. */
function* faultAfter(model: string): Generator<Piece> {
  if (model === "stall") yield SILENCE;
  if (model === "cut") yield new UpstreamFault("cut", "the sandbox cut the stream");
}

const COMPLETION = { id: "cmpl-sandbox", object: "text_completion", created: CREATED };

function wholeCompletion({ model, choices, usage }: SandboxCompletion) {
  return {
    ...COMPLETION,
    model,
    choices: choices.map((choice, index) => ({ ...wholeText(choice), index, finish_reason: choice.finish })),
    usage,
  };
}

function* completionStream({ model, choices, usage }: SandboxCompletion): Generator<Piece> {
  const event = (list: readonly object[], rest: object = {}): string =>
    `data: ${JSON.stringify({ ...COMPLETION, model, choices: list, ...rest })}\n\n`;
  for (const [index, choice] of choices.entries())
    for (const batch of batchesOf(piecesOf(choice), EVENTS_PER_READ)) {
      yield batch.map((piece) => event([{ ...piece, index, finish_reason: null }])).join("");
      yield* faultAfter(model);
    }
  yield choices
    .map(({ finish }, index) => event([{ text: "", index, logprobs: null, finish_reason: finish }]))
    .join("");
  yield `${event([], { usage })}data: [DONE]\n\n`;
}

function* batchesOf<T>(items: Iterable<T>, size: number): Generator<readonly T[]> {
  let batch: T[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function* deltasOf({ text, calls }: SandboxAnswer): Generator<object> {
  for (const content of wordsOf(text)) yield { content };
  for (const [index, call] of calls.entries()) yield* callDeltas(call, index);
}

function* callDeltas(call: SandboxCall, index: number): Generator<object> {
  yield { tool_calls: [{ index, id: call.id, type: "function", function: { name: call.name, arguments: "" } }] };
  for (const [part] of call.arguments.matchAll(/[\s\S]{1,8}/g))
    yield { tool_calls: [{ index, function: { arguments: part } }] };
}

function usageOf({ text, calls }: SandboxAnswer, choices: number, prompt: number) {
  const completion = (countWords(text).words + calls.length) * choices;
  return usageOfText(prompt, completion);
}
