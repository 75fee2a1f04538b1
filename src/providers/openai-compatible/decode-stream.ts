// Decodes stream events into chunks: the parsed object itself, corrected only where it differs from OpenAI's form.
// Nearly every event is one piece of text, which costs no more here than its JSON.parse. The decoder keeps hardly any
// state: the stream normalizer handles what has to hold over a whole stream.
import type { ChatChunk, FinishReason } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, isSet } from "../../core/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { readErrorJson } from "../answers/error-body.ts";
import { decoderAround, NO_CHUNKS, type StreamDecoder } from "../interface/stream-decoder.ts";
import { StreamError, withCounted } from "../interface/upstream-failure.ts";
import { parseEvent, requireSentObject } from "../answers/sent-json.ts";
import type { AnswerRow, AnswerRules } from "./answer-rules.ts";
import {
  hasToolCalls,
  type OwnObject,
  patchFinishReason,
  patchLogprobs,
  patchMessage,
  requireNoError,
} from "./choice.ts";
import { patchUsage } from "./usage.ts";

/** `push` throws StreamError for the provider's error, and MalformedAnswer for an event that is not a JSON object. */
export function openStream(rules: AnswerRules): StreamDecoder {
  const decoder = new ChunkDecoder(rules);
  return rules.row.lacksFinishReason === true ? withFinishReasons(decoder) : decoder;
}

class ChunkDecoder implements StreamDecoder {
  readonly #rules: AnswerRules;
  readonly passes = true;
  isTerminated = false;

  constructor(rules: AnswerRules) {
    this.#rules = rules;
  }

  push(sent: SseEvent): readonly ChatChunk[] {
    const { event, data } = sent;
    if (isDone(data)) {
      this.isTerminated = true;
      return NO_CHUNKS;
    }
    if (event === "error")
      throw new StreamError(this.#rules.errors.classifyParsed(200, readErrorJson(data) ?? data, data));
    const chunk = parseEvent(sent);
    return isObject(chunk) && isPlainText(chunk, this.#rules.row)
      ? [chunk as unknown as ChatChunk]
      : patchChunk(chunk, this.#rules, data);
  }

  end(): readonly ChatChunk[] {
    return NO_CHUNKS;
  }
}

const BRACKET = "[".charCodeAt(0);

/** Whether the event is OpenAI's terminator. */
function isDone(data: string): boolean {
  return data.charCodeAt(0) === BRACKET && data.trim() === "[DONE]";
}

/** Whether the chunk is one choice with a piece of text and nothing that could need a correction. */
function isPlainText(chunk: OwnObject, { usageAt, reasoningField }: AnswerRow): boolean {
  const choices = chunk["choices"] as readonly OwnObject[] | undefined;
  if (!Array.isArray(choices) || choices.length !== 1) return false;
  if (isSet(chunk["usage"]) || chunk["error"] !== undefined) return false;
  if (usageAt !== undefined && chunk[usageAt[0]] !== undefined) return false;
  const choice = choices[0] as OwnObject | null;
  return typeof choice === "object" && choice !== null && isTextChoice(choice, reasoningField);
}

function isTextChoice(choice: OwnObject, reasoningField: string | undefined): boolean {
  if (isSet(choice["finish_reason"]) || isSet(choice["logprobs"])) return false;
  if (choice["text"] !== undefined || choice["usage"] !== undefined || choice["error"] !== undefined) return false;
  const delta = choice["delta"] as OwnObject | null | undefined;
  return typeof delta === "object" && delta !== null && isTextDelta(delta, reasoningField);
}

function isTextDelta(delta: OwnObject, reasoningField: string | undefined): boolean {
  if (typeof delta["content"] !== "string" || delta["reasoning"] !== undefined) return false;
  if (isSet(delta["tool_calls"]) || isSet(delta["function_call"]) || isSet(delta["annotations"])) return false;
  return reasoningField === undefined || delta[reasoningField] === undefined;
}

/** Corrects a chunk in place. `data` is its text, for the descriptions of errors. */
function patchChunk(parsed: Json, rules: AnswerRules, data: string): readonly ChatChunk[] {
  const usage = patchUsage(parsed, rules.row);
  return withCounted(
    () => usage,
    () => decodedChunk(parsed, rules, data),
  );
}

function decodedChunk(parsed: Json, rules: AnswerRules, data: string): readonly ChatChunk[] {
  if (rules.errors.isError(parsed)) throw new StreamError(rules.errors.classifyParsed(200, parsed, data));
  const chunk: OwnObject = requireSentObject(parsed, "event");
  const { choices } = chunk;
  if (Array.isArray(choices)) {
    for (const choice of choices as readonly Json[]) if (isObject(choice)) patchChoice(choice, rules, data);
  } else if (choices === null || isObject(chunk["usage"])) chunk["choices"] = [];
  else return NO_CHUNKS; // A ping, or an event that this protocol does not define.
  return [chunk as unknown as ChatChunk];
}

function patchChoice(choice: OwnObject, rules: AnswerRules, data: string): void {
  requireNoError(choice, rules.errors, data);
  patchFinishReason(choice, rules.finishReasons);
  const delta = deltaOf(choice);
  choice["delta"] = delta;
  delete choice["message"];
  delete choice["text"];
  patchMessage(delta, rules.row.reasoningField);
  if (isSet(choice["logprobs"])) patchLogprobs(choice);
}

/**
 * A `message` beside a delta is the whole answer so far and does not count. Without a delta, `message` and `text` come
 * from servers that do not stream, and `text` also from servers whose delta has no content.
 */
function deltaOf({ delta, message, text }: JsonObject): OwnObject {
  if (isObject(delta))
    return typeof text === "string" && !isSet(delta["content"]) ? { ...delta, content: text } : delta;
  if (isObject(message)) return message;
  return typeof text === "string" ? { content: text } : {};
}

/** How a choice ends: `given` where the server itself sent a finish reason. */
type ChoiceEnd = "given" | Extract<FinishReason, "stop" | "tool_calls">;

/**
 * Adds a finish reason to every choice that has none, once the chunk with only the usage comes. A stream that breaks
 * off earlier gets no finish reason.
 */
function withFinishReasons(decoder: StreamDecoder): StreamDecoder {
  const ends = new Map<number, ChoiceEnd>();

  function push(event: SseEvent): readonly ChatChunk[] {
    const chunks = decoder.push(event);
    for (const { choices } of chunks)
      for (const choice of choices as unknown as readonly Json[]) if (isObject(choice)) noteEnd(choice, ends);
    const last = chunks.at(-1);
    if (last === undefined || !isUsageAlone(last)) return chunks;
    const choices = [...ends]
      .filter(([, end]) => end !== "given")
      .map(([index, end]) => ({ index, delta: {}, finish_reason: end }));
    ends.clear();
    return choices.length === 0 ? chunks : [{ ...last, usage: null, choices } as unknown as ChatChunk, ...chunks];
  }

  return decoderAround(decoder, { push, end: () => decoder.end() });
}

function noteEnd({ index, delta, finish_reason: reason }: JsonObject, ends: Map<number, ChoiceEnd>): void {
  const at = typeof index === "number" ? index : 0;
  if (typeof reason === "string" && reason !== "") ends.set(at, "given");
  else if (ends.get(at) === "given") return;
  else if (isObject(delta) && hasToolCalls(delta)) ends.set(at, "tool_calls");
  else if (!ends.has(at)) ends.set(at, "stop");
}

function isUsageAlone({ choices, usage }: ChatChunk): boolean {
  return choices.length === 0 && isObject(usage);
}
