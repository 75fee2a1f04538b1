// Decodes non-streaming and streamed answers of the chat API: https://docs.ollama.com/api/chat,
// https://docs.ollama.com/api/streaming. Each line of a stream has the form of a complete answer, with a piece of the
// message in it. The line with `done` set to true is the last.
import { isCount, mainTokenCount, usageOfText } from "../../core/record/token-count.ts";
import type { AnswerMessage, ChatAnswer, ChatChunk, FinishReason, ToolCall, Usage } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import type { DecodeContext } from "../interface/encoded-request.ts";
import { NO_CHUNKS, type StreamDecoder } from "../interface/stream-decoder.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";
import { classifyError } from "./errors.ts";
import { parseEventObject, parseSentObject } from "../answers/sent-json.ts";
import { emptyParts, turnMessage } from "../answers/turn-message.ts";

export function decodeResponse(body: string, _context: DecodeContext, value?: JsonObject): ChatAnswer {
  const answer = readLine(body, value ?? parseSentObject(body, "answer"));
  const { message } = answer;
  if (!isObject(message)) throw new MalformedAnswer("The provider's answer has no message.");
  const created = createdOf(answer);
  const logprobs = logprobsOf(answer);
  return {
    ...(created !== null && { created }),
    ...modelOf(answer),
    choices: [{ index: 0, message: messageOf(message), ...finishOf(answer), ...(logprobs !== null && { logprobs }) }],
    usage: usageOf(answer),
    ...timesOf(answer),
  };
}

export function openStream(): StreamDecoder {
  return new LineStream();
}

class LineStream implements StreamDecoder {
  private begun = false;
  private calls = 0;
  private finished = false;
  readonly passes = true;
  readonly padding = "created_at";

  pieceIn(line: Json): Json | undefined {
    const message = isObject(line) ? line["message"] : undefined;
    if (!isObject(message)) return undefined;
    return message["content"] === "" ? message["thinking"] : message["content"];
  }

  growth(): () => void {
    return () => {};
  }

  push(event: SseEvent): readonly ChatChunk[] {
    const line = readLine(event.data, parseEventObject(event));
    if (this.finished) return NO_CHUNKS;
    const { message } = line;
    const logprobs = logprobsOf(line);
    const choice = {
      index: 0,
      delta: isObject(message) ? this.delta(message) : {},
      ...(logprobs !== null && { logprobs }),
    };
    if (line["done"] === true) return [this.last(line, choice)];
    if (this.begun) return [{ choices: [choice] }];
    this.begun = true;
    const created = createdOf(line);
    return [{ ...(created !== null && { created }), ...modelOf(line), choices: [choice] }];
  }

  private delta({ content, thinking, tool_calls: given }: JsonObject): JsonObject {
    // Each tool call is complete within one line, and the server's own indexes are not needed.
    const calls = objectsIn(given).map((call) => ({ index: this.calls++, ...toolCallOf(call) }));
    return {
      ...(typeof content === "string" && content !== "" && { content }),
      ...(typeof thinking === "string" && thinking !== "" && { reasoning_content: thinking }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  }

  private last(line: JsonObject, choice: ChatChunk["choices"][number]): ChatChunk {
    this.finished = true;
    const usage = usageOf(line);
    return { choices: [{ ...choice, ...finishOf(line) }], ...(usage !== null && { usage }), ...timesOf(line) };
  }

  end(): readonly ChatChunk[] {
    return NO_CHUNKS;
  }
}

function readLine(text: string, value: JsonObject): JsonObject {
  if ((value["error"] ?? null) !== null) throw new StreamError(classifyError({ status: 200, body: text }));
  return value;
}

function messageOf({ content, thinking, tool_calls: given }: JsonObject): AnswerMessage {
  const calls = objectsIn(given).map(toolCallOf);
  return turnMessage({ ...emptyParts(), text: textOrEmpty(content), reasoning: textOrEmpty(thinking), calls });
}

/** Older servers send no id. The gateway replaces an empty id by one of its own. */
function toolCallOf({ id, function: called }: JsonObject): ToolCall {
  const { name, arguments: args } = isObject(called) ? called : {};
  const text = typeof args === "string" && args !== "" ? args : JSON.stringify(isObject(args) ? args : {});
  return {
    id: textOrEmpty(id),
    type: "function",
    function: { name: textOrEmpty(name), arguments: text },
  };
}

/**
 * The server sends `stop` for tool calls too. An old server sends no reason, and `load` and `unload` end an answer
 * without text.
 */
function finishOf({ done_reason: reason }: JsonObject): {
  readonly finish_reason: FinishReason;
  readonly native_finish_reason?: string;
} {
  const native = typeof reason === "string" && reason !== "" ? { native_finish_reason: reason } : {};
  return { finish_reason: reason === "length" ? "length" : "stop", ...native };
}

function modelOf({ model }: JsonObject): { readonly model?: string } {
  return typeof model === "string" ? { model } : {};
}

/**
 * The count of the prompt includes what was read from the cache: https://github.com/ollama/ollama/blob/main/api/types.go.
 * Older servers send none for a prompt that was completely cached.
 */
export function usageOf({
  prompt_eval_count: read,
  prompt_eval_cached_count: cached,
  eval_count: written,
}: JsonObject): Usage | null {
  if (typeof read !== "number" && typeof written !== "number") return null;
  return {
    ...usageOfText(mainTokenCount(read ?? 0), mainTokenCount(written ?? 0)),
    ...(isCount(cached) && { prompt_tokens_details: { cached_tokens: cached } }),
  };
}

const TIMES = ["total_duration", "load_duration", "prompt_eval_duration", "eval_duration"] as const;

/** Durations in nanoseconds, under the server's own names. */
function timesOf(answer: JsonObject): JsonObject {
  return Object.fromEntries(TIMES.flatMap((name) => (answer[name] === undefined ? [] : [[name, answer[name]]])));
}

function createdOf({ created_at: time }: JsonObject): number | null {
  const created = typeof time === "string" ? Math.floor(Date.parse(time) / 1000) : NaN;
  return Number.isSafeInteger(created) && created > 0 ? created : null;
}

/** The entries are in OpenAI's form. The writer of the client's answer fills in missing members. */
function logprobsOf({ logprobs }: JsonObject): JsonObject | null {
  return Array.isArray(logprobs) && logprobs.length > 0
    ? { content: logprobs as readonly Json[], refusal: null }
    : null;
}
