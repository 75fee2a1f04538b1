// Decodes the events of a streamed answer into chunks: https://docs.cohere.com/v2/docs/streaming. Content blocks, the
// plan, tool calls and citations come with a start, deltas and an end; then message-end gives the finish reason. Events
// that carry nothing for a client (debug, ends of blocks, unknown ones) are ignored.
import type { ChatChunk } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, textOrEmpty } from "../../core/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { chunkOf, NO_CHUNKS, type StreamDecoder } from "../interface/stream-decoder.ts";
import { StreamError, withCounted } from "../interface/upstream-failure.ts";
import { annotationsOf, citedBlock } from "./citations.ts";
import { parseEventObject } from "../answers/sent-json.ts";
import { classifyError } from "./errors.ts";
import { finishOf, logprobsOf, usageOf } from "./outcome.ts";

/** The number of content blocks whose position is kept, for citations. */
const MAX_BLOCKS = 1024;

export function openStream(): StreamDecoder {
  return new MessageStream();
}

class MessageStream implements StreamDecoder {
  private textLength = 0;
  /** Whether the last piece of content was text, and not thinking. */
  private isText = false;
  private readonly starts = new Map<number, number>();
  private call = -1;
  /** For each tool call that has started, whether its arguments have begun. */
  private readonly spoken = new Map<number, boolean>();
  private finished = false;
  readonly passes = true;

  push(sent: SseEvent): readonly ChatChunk[] {
    const { event: name, data } = sent;
    if (data === "[DONE]") return NO_CHUNKS;
    if (name === "error") throw new StreamError(classifyError({ status: 200, body: data }));
    const event = parseEventObject(sent);
    const { index } = event;
    const message = messageOf(event);
    switch (event["type"]) {
      case "content-delta":
        return isObject(message["content"]) ? this.content(message["content"], event["logprobs"]) : NO_CHUNKS;
      case "content-start":
        if (typeof index === "number" && this.starts.size < MAX_BLOCKS) this.starts.set(index, this.textLength);
        return isObject(message["content"]) ? this.content(message["content"], undefined) : NO_CHUNKS;
      case "tool-plan-delta":
        return this.plan(textOrEmpty(message["tool_plan"]));
      case "tool-call-start":
        this.call = typeof index === "number" ? index : this.call + 1;
        this.spoken.set(this.call, false);
        return this.toolCall(message["tool_calls"], true);
      case "tool-call-delta":
        // Cohere does not promise that one tool call ends before the next begins.
        if (typeof index === "number" && this.spoken.has(index)) this.call = index;
        return this.toolCall(message["tool_calls"], false);
      case "citation-start":
        return isObject(message["citations"]) ? this.citation(message["citations"]) : NO_CHUNKS;
      case "message-start":
        return [
          {
            ...(typeof event["id"] === "string" && { id: event["id"] }),
            choices: [{ index: 0, delta: { role: "assistant" } }],
          },
        ];
      case "message-end":
        return this.messageEnd(isObject(event["delta"]) ? event["delta"] : {});
      default:
        if (
          event["type"] === "error" ||
          (event["type"] === undefined && (typeof event["message"] === "string" || (event["error"] ?? null) !== null))
        )
          throw new StreamError(classifyError({ status: 200, body: data }));
        return NO_CHUNKS;
    }
  }

  pieceIn(event: Json): Json | undefined {
    const content = isObject(event) ? messageOf(event)["content"] : undefined;
    return isObject(content) ? (content["text"] ?? content["thinking"]) : undefined;
  }

  growth(): (piece: string) => void {
    return this.isText ? (piece) => void (this.textLength += piece.length) : () => {};
  }

  private content(block: JsonObject, items: Json | undefined): readonly ChatChunk[] {
    const text = textOrEmpty(block["text"]);
    const thinking = textOrEmpty(block["thinking"]);
    if (text === "" && thinking === "") return NO_CHUNKS;
    this.textLength += text.length;
    this.isText = text !== "";
    const logprobs = items === undefined ? null : logprobsOf(items);
    return [
      {
        choices: [
          {
            index: 0,
            delta: { ...(thinking !== "" && { reasoning_content: thinking }), ...(text !== "" && { content: text }) },
            ...(logprobs !== null && { logprobs }),
          },
        ],
      },
    ];
  }

  private plan(text: string): readonly ChatChunk[] {
    return text === "" ? NO_CHUNKS : [chunkOf({ reasoning_content: text })];
  }

  /**
   * For a function without parameters, the model writes `null` or nothing as arguments. The stream normalizer then
   * writes `{}`.
   */
  private toolCall(given: Json | undefined, begins: boolean): readonly ChatChunk[] {
    const call = isObject(given) ? given : {};
    const { name, arguments: piece } = isObject(call["function"]) ? call["function"] : {};
    const text = this.spoken.get(this.call) !== true && piece === "null" ? "" : textOrEmpty(piece);
    if (text === "" && !begins) return NO_CHUNKS;
    if (text !== "") this.spoken.set(this.call, true);
    const delta = begins
      ? {
          index: this.call,
          id: textOrEmpty(call["id"]),
          type: "function",
          function: { name: textOrEmpty(name), arguments: text },
        }
      : { index: this.call, function: { arguments: text } };
    return [chunkOf({ tool_calls: [delta] })];
  }

  private citation(citation: JsonObject): readonly ChatChunk[] {
    const annotations = annotationsOf(citation, this.starts.get(citedBlock(citation)) ?? 0);
    return [chunkOf({ ...(annotations.length > 0 && { annotations }), citations: [citation] })];
  }

  private messageEnd(delta: JsonObject): readonly ChatChunk[] {
    if (this.finished) return NO_CHUNKS;
    this.finished = true;
    const usage = usageOf(delta["usage"]);
    const finish = withCounted(
      () => usage,
      () => finishOf(delta["finish_reason"], delta["error"]),
    );
    return [{ choices: [{ index: 0, delta: {}, ...finish }], ...(usage !== null && { usage }) }];
  }

  end(): readonly ChatChunk[] {
    return NO_CHUNKS;
  }
}

const EMPTY: JsonObject = {};

function messageOf({ delta }: JsonObject): JsonObject {
  return isObject(delta) && isObject(delta["message"]) ? delta["message"] : EMPTY;
}
