// Decodes the events of a streamed answer into chunks: https://platform.claude.com/docs/en/build-with-claude/streaming.
// Blocks come one after another, each with a start, deltas and a stop; then message_delta gives the stop reason.
// Unknown events, blocks and deltas are ignored, as the vendor asks.
import type { ChatChunk, ChunkDelta, ReasoningDetail, ToolCallDelta } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { MalformedAnswer, StreamError, type DecodeContext, type StreamDecoder } from "../provider.ts";
import { inputOf } from "../carried-content.ts";
import { annotationsOf } from "./citations.ts";
import { callerOf } from "./decode-response.ts";
import { classifyError } from "./errors.ts";
import { readMemo } from "./memo.ts";
import { finishOf, isCutOff, refusalOf, serviceTierOf, stopSequenceOf, usageOf } from "./outcome.ts";
import { redactedDetail, thinkingDetail } from "./thinking-blocks.ts";
import { growBlock, type GrowingBlock, carriedTurn } from "./turn-content.ts";
import { parseSentObject, textOrEmpty } from "../sent-json.ts";

const NOTHING: readonly ChatChunk[] = [];

interface TextBlock {
  readonly kind: "text";
  readonly start: number;
  readonly citations: Json[];
}
interface ThinkingBlock {
  readonly kind: "thinking";
  text: string;
  signature: string;
}
interface CallBlock {
  readonly kind: "call";
  /** `null` when the input is the answer's text. */
  readonly callIndex: number | null;
  /** The input with which the block began. It is emitted at the block's end if no piece has come. */
  readonly input: JsonObject;
  hasInput: boolean;
}
/** The block that is in progress. */
type Block = TextBlock | ThinkingBlock | CallBlock | { readonly kind: "other" };

const OTHER: Block = { kind: "other" };

/**
 * Thinking and its signature are emitted once more, complete, when their block ends, and so is a turn that chat
 * completions cannot express. At most this many characters of either are kept.
 */
const MAX_KEPT = 16 * 1024 * 1024;
/** The most citations that one block may have. */
const MAX_CITATIONS = 10_000;

function requireBounded(kept: number): void {
  if (kept > MAX_KEPT)
    throw new MalformedAnswer(`The provider's stream holds a thinking block of more than ${MAX_KEPT} characters.`);
}

export function openStream(context: DecodeContext): StreamDecoder {
  return new MessageStream(readMemo(context.memo).answerTool);
}

class MessageStream implements StreamDecoder {
  private readonly answerTool: string | null;
  private block: Block = OTHER;
  private textLength = 0;
  private calls = 0;
  private details = 0;
  private usage: JsonObject = {};
  private stopReason: string | null = null;
  private finished = false;
  isTerminated = false;
  private stopSequence: ReturnType<typeof stopSequenceOf> = {};
  /** A tool call without input, held back until it is clear that it was not cut off. */
  private callWithoutInput: CallBlock | null = null;
  /**
   * The turn as the vendor writes it, for what chat completions cannot express. `null` when it is too long to be kept,
   * or when a piece of it cannot be parsed.
   */
  private turn: GrowingBlock[] | null = [];
  private kept = 0;
  private container: Json | undefined;

  constructor(answerTool: string | null) {
    this.answerTool = answerTool;
  }

  push({ event: name, data }: SseEvent): readonly ChatChunk[] {
    if (name === "error") throw new StreamError(classifyError({ status: 200, body: data }));
    const event = readEvent(data);
    if (event === null) return NOTHING;
    switch (event["type"]) {
      case "content_block_delta":
        if (!isObject(event["delta"])) return NOTHING;
        this.keepDelta(event["delta"], data.length);
        return this.onDelta(event["delta"]);
      case "content_block_start":
        return isObject(event["content_block"])
          ? [...this.emitCallWithoutInput(), ...this.onBlockStart(event["content_block"])]
          : NOTHING;
      case "content_block_stop":
        return this.onBlockStop();
      case "message_start":
        return isObject(event["message"]) ? this.onMessageStart(event["message"]) : NOTHING;
      case "message_delta":
        return this.onMessageDelta(event);
      case "message_stop":
        this.isTerminated = true;
        return this.stopReason === null ? this.emitCallWithoutInput() : this.finish({});
      default:
        if (event["type"] === "error" || (event["error"] !== undefined && event["error"] !== null))
          throw new StreamError(classifyError({ status: 200, body: data }));
        return NOTHING;
    }
  }

  private onMessageStart(message: JsonObject): readonly ChatChunk[] {
    const { id, model, content, stop_reason: reason } = message;
    if (isObject(message["usage"])) this.usage = message["usage"];
    if (typeof reason === "string") this.stopReason = reason;
    this.container = message["container"];
    const first: ChatChunk = {
      ...(typeof id === "string" && { id }),
      ...(typeof model === "string" && { model }),
      choices: [{ index: 0, delta: { role: "assistant" } }],
      ...(isObject(message["usage"]) && { usage: usageOf(this.usage), ...serviceTierOf(this.usage) }),
    };
    // A turn that is continued after code ran at the vendor begins with blocks that are already complete.
    const whole = Array.isArray(content) ? content.filter(isObject) : [];
    return [
      first,
      ...whole.flatMap((each) => [...this.emitCallWithoutInput(), ...this.onBlockStart(each), ...this.onBlockStop()]),
    ];
  }

  private onBlockStart(start: JsonObject): readonly ChatChunk[] {
    this.turn?.push({
      ...start,
      ...(Array.isArray(start["citations"]) && { citations: [...(start["citations"] as Json[])] }),
    });
    switch (start["type"]) {
      case "text":
        this.block = {
          kind: "text",
          start: this.textLength,
          citations: Array.isArray(start["citations"]) ? [...(start["citations"] as Json[])] : [],
        };
        return this.text(textOrEmpty(start["text"]));
      case "thinking":
        this.block = { kind: "thinking", text: "", signature: textOrEmpty(start["signature"]) };
        return this.thinking(this.block, textOrEmpty(start["thinking"]));
      case "redacted_thinking":
        this.block = OTHER;
        return this.detail(redactedDetail(textOrEmpty(start["data"]), this.details));
      case "tool_use": {
        const isAnswer = start["name"] === this.answerTool;
        this.block = {
          kind: "call",
          callIndex: isAnswer ? null : this.calls,
          input: isObject(start["input"]) ? start["input"] : {},
          hasInput: false,
        };
        if (isAnswer) return NOTHING;
        return [
          callChunk({
            index: this.calls++,
            id: textOrEmpty(start["id"]),
            type: "function",
            function: { name: textOrEmpty(start["name"]), arguments: "" },
            ...callerOf(start),
          }),
        ];
      }
      default:
        this.block = OTHER;
        return NOTHING;
    }
  }

  private onDelta(delta: JsonObject): readonly ChatChunk[] {
    switch (delta["type"]) {
      case "text_delta":
        return this.text(textOrEmpty(delta["text"]));
      case "input_json_delta":
        return this.block.kind === "call" ? this.input(this.block, textOrEmpty(delta["partial_json"])) : NOTHING;
      case "thinking_delta":
        return this.block.kind === "thinking" ? this.thinking(this.block, textOrEmpty(delta["thinking"])) : NOTHING;
      case "signature_delta":
        if (this.block.kind === "thinking")
          requireBounded((this.block.signature += textOrEmpty(delta["signature"])).length);
        return NOTHING;
      case "citations_delta":
        if (
          this.block.kind === "text" &&
          delta["citation"] !== undefined &&
          this.block.citations.push(delta["citation"]) > MAX_CITATIONS
        )
          throw new MalformedAnswer(
            `The provider's stream holds a text block with more than ${MAX_CITATIONS} citations.`,
          );
        return NOTHING;
      default:
        return NOTHING;
    }
  }

  /** `size` is the length of the event's data. */
  private keepDelta(delta: JsonObject, size: number): void {
    this.kept += size;
    if (this.kept > MAX_KEPT) this.turn = null;
    const block = this.turn?.at(-1);
    if (block !== undefined) growBlock(block, delta);
  }

  /** Joins the pieces of an input into one object. */
  private endKept(): void {
    const block = this.turn?.at(-1);
    const pieces = block?.["partial_json"];
    if (block === undefined || pieces === undefined) return;
    delete block["partial_json"];
    if (pieces === "") return;
    const input = typeof pieces === "string" ? inputOf(pieces) : null;
    if (input === null) this.turn = null;
    else block["input"] = input;
  }

  private onBlockStop(): readonly ChatChunk[] {
    this.endKept();
    const ended = this.block;
    this.block = OTHER;
    if (ended.kind === "thinking") return this.detail(thinkingDetail(ended.text, ended.signature, this.details));
    if (ended.kind === "text") {
      const annotations = annotationsOf(ended.citations, ended.start, this.textLength);
      return annotations.length === 0 ? NOTHING : [chunk({ annotations })];
    }
    if (ended.kind === "call" && !ended.hasInput) this.callWithoutInput = ended;
    return NOTHING;
  }

  private onMessageDelta(event: JsonObject): readonly ChatChunk[] {
    const delta = isObject(event["delta"]) ? event["delta"] : {};
    // Old models omit here what stood in message_start; newer ones correct it.
    if (isObject(event["usage"])) this.usage = { ...this.usage, ...known(event["usage"]) };
    if (typeof delta["stop_reason"] === "string") this.stopReason = delta["stop_reason"];
    this.container = delta["container"] ?? this.container;
    this.stopSequence = { ...this.stopSequence, ...stopSequenceOf(delta["stop_sequence"]) };
    const refusal = refusalOf(delta["stop_details"]);
    const counted = isObject(event["usage"]) ? { usage: usageOf(this.usage) } : {};
    if (this.stopReason === null || this.finished)
      return isObject(event["usage"]) ? [{ choices: [], ...counted }] : NOTHING;
    return [...(refusal === null ? NOTHING : [chunk({ refusal })]), ...this.finish(counted)];
  }

  /** Emits the finish chunk once, and only with a reason that the vendor gave. */
  private finish(more: Partial<ChatChunk>): readonly ChatChunk[] {
    if (this.stopReason === null || this.finished) return NOTHING;
    this.finished = true;
    const held = isCutOff(this.stopReason) ? NOTHING : this.emitCallWithoutInput();
    const packed = carriedTurn(this.turn ?? [], this.container, this.answerTool);
    return [
      ...held,
      ...(packed.extra_content === undefined ? NOTHING : [chunk(packed)]),
      {
        choices: [{ index: 0, delta: {}, ...finishOf(this.stopReason, this.calls > 0), ...this.stopSequence }],
        ...more,
      },
    ];
  }

  private text(piece: string): readonly ChatChunk[] {
    this.textLength += piece.length;
    return piece === "" ? NOTHING : [chunk({ content: piece })];
  }

  private thinking(of: ThinkingBlock, piece: string): readonly ChatChunk[] {
    of.text += piece;
    requireBounded(of.text.length);
    return piece === "" ? NOTHING : [chunk({ reasoning_content: piece })];
  }

  private input(of: CallBlock, piece: string): readonly ChatChunk[] {
    if (piece === "") return NOTHING;
    of.hasInput = true;
    return of.callIndex === null
      ? this.text(piece)
      : [callChunk({ index: of.callIndex, function: { arguments: piece } })];
  }

  private emitCallWithoutInput(): readonly ChatChunk[] {
    const held = this.callWithoutInput;
    this.callWithoutInput = null;
    return held === null ? NOTHING : this.input(held, JSON.stringify(held.input));
  }

  private detail(of: ReasoningDetail | null): readonly ChatChunk[] {
    if (of === null) return NOTHING;
    this.details += 1;
    return [chunk({ reasoning_details: [of] })];
  }

  end(): readonly ChatChunk[] {
    return NOTHING;
  }
}

function chunk(delta: ChunkDelta): ChatChunk {
  return { choices: [{ index: 0, delta }] };
}

function callChunk(call: ToolCallDelta): ChatChunk {
  return chunk({ tool_calls: [call] });
}

/** `null` when the data is not an event: some compatible servers end with OpenAI's `[DONE]`. */
function readEvent(data: string): JsonObject | null {
  return data === "[DONE]" ? null : parseSentObject(data, "event");
}

function known(usage: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
}
