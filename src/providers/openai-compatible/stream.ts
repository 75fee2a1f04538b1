// Decodes stream events into chunks: the parsed object itself, corrected only where it differs from OpenAI's form.
// Nearly every event is one piece of text, which costs no more here than its JSON.parse. The decoder keeps hardly any
// state: the stream normalizer handles what has to hold over a whole stream.
import type { ChatChunk, ChunkChoice } from "../../core/chat.ts";
import { isObject, type Json } from "../../core/json.ts";
import { parseJson } from "../../wire/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { decoderAround, MalformedAnswer, type StreamDecoder, StreamError } from "../provider.ts";
import { hasToolCalls, type Loose, patchFinishReason, patchLogprobs, patchMessage } from "./choice.ts";
import { describeText } from "./decode.ts";
import type { ErrorClassifier } from "./errors.ts";
import type { FinishWords } from "./finish-reasons.ts";
import type { AnswerRow } from "./row.ts";
import { patchUsage } from "./usage.ts";
import { parseSentJson } from "../sent-json.ts";

const NOTHING: readonly ChatChunk[] = [];

/** `push` throws StreamError for the provider's error, and MalformedAnswer for an event that is not a JSON object. */
export function openStream(row: AnswerRow, words: FinishWords, errors: ErrorClassifier): StreamDecoder {
  const usageHolder = row.usageAt?.[0];
  const { reasoningField } = row;
  let isTerminated = false;

  function push(event: SseEvent): readonly ChatChunk[] {
    const { data } = event;
    if (data.charCodeAt(0) === BRACKET && data.trim() === "[DONE]") {
      isTerminated = true;
      return NOTHING;
    }
    const value = event.event === "error" ? parseLeniently(data) : parseEvent(data);
    if (event.event === "error") throw new StreamError(errors.classifyParsed(200, value, data));
    if (typeof value !== "object" || value === null)
      throw new MalformedAnswer("An event of the provider's stream is JSON, but not an object.");
    const chunk = value as Loose;
    return isPlainText(chunk) ? [chunk as unknown as ChatChunk] : patchChunk(chunk, data);
  }

  /** Whether the chunk is one choice with a piece of text and nothing that could need a correction. */
  function isPlainText(chunk: Loose): boolean {
    const choices = chunk["choices"] as readonly ChunkChoice[] | undefined;
    if (!Array.isArray(choices) || choices.length !== 1) return false;
    if (
      (chunk["usage"] ?? null) !== null ||
      chunk["error"] !== undefined ||
      (usageHolder !== undefined && chunk[usageHolder] !== undefined)
    )
      return false;
    const choice = choices[0] as Loose | null;
    if (
      typeof choice !== "object" ||
      choice === null ||
      (choice["finish_reason"] ?? null) !== null ||
      (choice["logprobs"] ?? null) !== null
    )
      return false;
    if (choice["text"] !== undefined || choice["usage"] !== undefined || choice["error"] !== undefined) return false;
    const delta = choice["delta"] as Loose | null | undefined;
    return (
      typeof delta === "object" &&
      delta !== null &&
      typeof delta["content"] === "string" &&
      delta["reasoning"] === undefined &&
      (delta["tool_calls"] ?? null) === null &&
      (delta["function_call"] ?? null) === null &&
      (reasoningField === undefined || delta[reasoningField] === undefined)
    );
  }

  function patchChunk(chunk: Loose, data: string): readonly ChatChunk[] {
    if (errors.saysError(chunk)) throw new StreamError(errors.classifyParsed(200, chunk, data));
    if (!isObject(chunk)) throw new MalformedAnswer("An event of the provider's stream is JSON, but not an object.");
    patchUsage(chunk, row);
    const { choices } = chunk;
    if (Array.isArray(choices)) {
      for (const choice of choices as readonly Json[]) if (isObject(choice)) patchChoice(choice, data);
    } else if (choices === null || isObject(chunk["usage"])) chunk["choices"] = [];
    else return NOTHING; // A ping, or an event that this protocol does not define.
    return [chunk as unknown as ChatChunk];
  }

  function patchChoice(choice: Loose, data: string): void {
    if (isObject(choice["error"])) throw new StreamError(errors.classifyParsed(200, { error: choice["error"] }, data));
    const failure = patchFinishReason(choice, words);
    if (failure !== null) throw new StreamError(errors.failureOf(failure));
    // A `message` beside a delta is the whole answer so far. Without a delta it comes from a server that does not
    // stream.
    if (!isObject(choice["delta"]))
      choice["delta"] = isObject(choice["message"])
        ? choice["message"]
        : typeof choice["text"] === "string"
          ? { content: choice["text"] }
          : {};
    else if (typeof choice["text"] === "string" && (choice["delta"]["content"] ?? null) === null)
      choice["delta"] = { ...choice["delta"], content: choice["text"] };
    delete choice["message"];
    delete choice["text"];
    patchMessage(choice["delta"], reasoningField);
    if ((choice["logprobs"] ?? null) !== null) patchLogprobs(choice);
  }

  const decoder: StreamDecoder = {
    push,
    end: () => NOTHING,
    get isTerminated() {
      return isTerminated;
    },
  };
  return row.unsaidFinish === true ? finishedByUsage(decoder) : decoder;
}

/**
 * Adds a finish reason to every choice that has none, once the chunk with only the usage comes. A stream that breaks
 * off earlier gets no finish reason.
 */
function finishedByUsage(decoder: StreamDecoder): StreamDecoder {
  const reasons = new Map<number, "stop" | "tool_calls" | "said">();

  function note(choice: ChunkChoice): void {
    const index = typeof choice.index === "number" ? choice.index : 0;
    const { delta, finish_reason: finish } = choice as unknown as Loose;
    const calls = isObject(delta) && hasToolCalls(delta);
    const reason = reasons.get(index);
    if (typeof finish === "string" && finish !== "") reasons.set(index, "said");
    else if (reason !== "said" && (reason === undefined || calls)) reasons.set(index, calls ? "tool_calls" : "stop");
  }

  return decoderAround(decoder, {
    end: () => decoder.end(),
    push: (event) => {
      const chunks = decoder.push(event);
      for (const { choices } of chunks) for (const choice of choices) if (isObject(choice)) note(choice);
      const last = chunks.at(-1);
      if (last === undefined || last.choices.length > 0 || !isObject((last as unknown as Loose)["usage"]))
        return chunks;
      const choices = [...reasons]
        .filter(([, reason]) => reason !== "said")
        .map(([index, reason]) => ({ index, delta: {}, finish_reason: reason }));
      reasons.clear();
      return choices.length === 0 ? chunks : [{ ...last, usage: null, choices } as unknown as ChatChunk, ...chunks];
    },
  });
}

const BRACKET = "[".charCodeAt(0);

/** Throws MalformedAnswer with a description of an event that is not JSON. */
export function parseEvent(data: string): Json {
  return parseSentJson(data, () => `An event of the provider's stream is ${describeText(data)}, not JSON.`);
}

/** An error that is not JSON is its own message. */
function parseLeniently(data: string): Json {
  try {
    return parseJson(data);
  } catch {
    return data;
  }
}
