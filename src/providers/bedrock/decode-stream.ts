// Decodes the events of ConverseStream into chunks:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html. Blocks of text and reasoning
// have no start event, and the usage comes after the stop. Unknown events, blocks and deltas are ignored.
import type { ChatChunk, ChunkDelta, ReasoningDetail, ToolCallDelta } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { readMemo } from "../anthropic/memo.ts";
import { MalformedAnswer, StreamError, type DecodeContext, type StreamDecoder } from "../provider.ts";
import { inputOf } from "../carried-content.ts";
import { parseSentObject, textOrEmpty } from "../sent-json.ts";
import { annotationsOf } from "./citations.ts";
import { classifyError } from "./errors.ts";
import { besideAnswer, finishOf, isCutOff, usageOf } from "./outcome.ts";
import { hiddenDetail, reasoningDetail } from "./reasoning.ts";
import { growBlock, type GrowingBlock, isOfService, carriedTurn } from "./turn-content.ts";

const NOTHING: readonly ChatChunk[] = [];
/**
 * Reasoning and its signature are emitted once more, complete, when their block ends. At most this many characters are
 * kept.
 */
const MAX_KEPT = 16 * 1024 * 1024;
const MAX_OPEN_CALLS = 1024;
/** The most citations that one block may have. */
const MAX_CITATIONS = 10_000;

interface CallBlock {
  /**
   * `answer`: its input is the answer's text. `service`: a tool that the service runs itself, of which the caller
   * receives nothing.
   */
  readonly kind: "call" | "answer" | "service";
  readonly index: number;
  hasInput: boolean;
}

export function openStream(context: DecodeContext): StreamDecoder {
  return new ConverseStream(readMemo(context.memo).answerTool, context.model);
}

class ConverseStream implements StreamDecoder {
  private readonly answerTool: string | null;
  private readonly model: string;
  /**
   * Tool calls in progress, by the index of their block. AWS does not promise that one ends before the next begins.
   */
  private readonly open = new Map<Json | undefined, CallBlock>();
  private thought = "";
  private signature = "";
  private citations: Json[] = [];
  private citedFrom = 0;
  private textLength = 0;
  private calls = 0;
  private details = 0;
  private finished = false;
  isTerminated = false;
  /** A tool call without input, held back until it is clear that it was not cut off. */
  private callWithoutInput: CallBlock | null = null;
  /**
   * The turn as the service writes it, by the index of the block, for what chat completions cannot express. `null` when
   * it is too long to be kept, or when a piece of it cannot be parsed.
   */
  private turn: Map<Json | undefined, GrowingBlock> | null = new Map();
  private kept = 0;

  constructor(answerTool: string | null, model: string) {
    this.answerTool = answerTool;
    this.model = model;
  }

  push({ event: name, data }: SseEvent): readonly ChatChunk[] {
    switch (name) {
      case "contentBlockDelta":
        return this.onDelta(parseSentObject(data, "event"), data.length);
      case "messageStart":
        return [chunk({ role: "assistant" })];
      case "contentBlockStart":
        return this.onBlockStart(parseSentObject(data, "event"));
      case "contentBlockStop":
        return this.onBlockStop(parseSentObject(data, "event"));
      case "messageStop":
        return this.onMessageStop(parseSentObject(data, "event"));
      case "metadata":
        return this.onMetadata(parseSentObject(data, "event"));
      default:
        if (name === "error") throw new StreamError(classifyError({ status: 200, body: data }));
        if (/exception$/i.test(name)) throw new StreamError(classifyError({ status: 200, body: data }, name));
        return NOTHING;
    }
  }

  private onBlockStart({ start, contentBlockIndex: block }: JsonObject): readonly ChatChunk[] {
    const released = this.emitCallWithoutInput();
    if (isObject(start)) this.turn?.set(block, structuredClone<GrowingBlock>(start));
    const toolUse = isObject(start) ? start["toolUse"] : undefined;
    if (!isObject(toolUse)) return released;
    const kind = isOfService(toolUse) ? "service" : toolUse["name"] === this.answerTool ? "answer" : "call";
    const call: CallBlock = { kind, index: this.calls, hasInput: false };
    this.open.set(block, call);
    if (this.open.size > MAX_OPEN_CALLS)
      throw new MalformedAnswer(`The provider's stream holds more than ${MAX_OPEN_CALLS} calls at once.`);
    if (kind !== "call") return released;
    this.calls += 1;
    return [
      ...released,
      callChunk({
        index: call.index,
        id: textOrEmpty(toolUse["toolUseId"]),
        type: "function",
        function: { name: textOrEmpty(toolUse["name"]), arguments: "" },
      }),
    ];
  }

  /** `size` is the length of the event's data. */
  private keepDelta(block: Json | undefined, delta: JsonObject, size: number): void {
    this.kept += size;
    if (this.kept > MAX_KEPT) this.turn = null;
    if (this.turn === null) return;
    const known = this.turn.get(block);
    const grown = known ?? {};
    if (known === undefined) this.turn.set(block, grown);
    growBlock(grown, delta);
  }

  /** Joins the pieces of an input into one object. */
  private endKept(block: Json | undefined): void {
    const kept = this.turn?.get(block);
    const toolUse = kept?.["toolUse"];
    if (kept === undefined || !isObject(toolUse)) return;
    const pieces = toolUse["input"];
    const input = typeof pieces === "string" && pieces !== "" ? inputOf(pieces) : {};
    if (input === null) this.turn = null;
    else kept["toolUse"] = { ...toolUse, input };
  }

  private onDelta({ delta, contentBlockIndex: block }: JsonObject, size: number): readonly ChatChunk[] {
    if (!isObject(delta)) return NOTHING;
    this.keepDelta(block, delta, size);
    const { text, toolUse, reasoningContent, citation } = delta;
    if (typeof text === "string") return this.text(text);
    if (isObject(toolUse)) {
      const call = this.open.get(block);
      return call === undefined ? NOTHING : this.input(call, textOrEmpty(toolUse["input"]));
    }
    if (isObject(reasoningContent)) return this.reasoning(reasoningContent);
    if (isObject(citation) && this.citations.push(citation) > MAX_CITATIONS)
      throw new MalformedAnswer(`The provider's stream holds a text block with more than ${MAX_CITATIONS} citations.`);
    return NOTHING;
  }

  private text(piece: string): readonly ChatChunk[] {
    this.textLength += piece.length;
    return piece === "" ? NOTHING : [chunk({ content: piece })];
  }

  private input(of: CallBlock, piece: string): readonly ChatChunk[] {
    if (piece === "" || of.kind === "service") return NOTHING;
    of.hasInput = true;
    return of.kind === "answer" ? this.text(piece) : [callChunk({ index: of.index, function: { arguments: piece } })];
  }

  private reasoning({ text, signature, redactedContent }: JsonObject): readonly ChatChunk[] {
    if (typeof redactedContent === "string" && redactedContent !== "")
      return this.detail(hiddenDetail(redactedContent, this.details, this.model));
    this.signature += textOrEmpty(signature);
    const piece = textOrEmpty(text);
    this.thought += piece;
    if (this.thought.length + this.signature.length > MAX_KEPT)
      throw new MalformedAnswer(`The provider's stream holds a reasoning block of more than ${MAX_KEPT} characters.`);
    return piece === "" ? NOTHING : [chunk({ reasoning_content: piece })];
  }

  private onBlockStop({ contentBlockIndex: block }: JsonObject): readonly ChatChunk[] {
    this.endKept(block);
    const ended = this.open.get(block);
    this.open.delete(block);
    if (ended !== undefined && ended.kind !== "service" && !ended.hasInput) this.callWithoutInput = ended;
    const annotations = annotationsOf(this.citations, this.citedFrom, this.textLength);
    this.citations = [];
    this.citedFrom = this.textLength;
    const told = annotations.length === 0 ? NOTHING : [chunk({ annotations })];
    if (this.thought === "" && this.signature === "") return told;
    const detail = reasoningDetail(this.thought, this.signature, this.details, this.model);
    this.thought = "";
    this.signature = "";
    return detail === null ? told : [...told, ...this.detail(detail)];
  }

  private detail(of: ReasoningDetail): readonly ChatChunk[] {
    this.details += 1;
    return [chunk({ reasoning_details: [of] })];
  }

  private emitCallWithoutInput(): readonly ChatChunk[] {
    const held = this.callWithoutInput;
    this.callWithoutInput = null;
    return held === null ? NOTHING : this.input(held, "{}");
  }

  /** Emits the finish chunk once, and only with a reason that the vendor gave. */
  private onMessageStop(event: JsonObject): readonly ChatChunk[] {
    const { stopReason } = event;
    this.isTerminated = true;
    if (typeof stopReason !== "string") return this.emitCallWithoutInput();
    if (this.finished) return NOTHING;
    this.finished = true;
    const held = isCutOff(stopReason) ? NOTHING : this.emitCallWithoutInput();
    const packed = carriedTurn([...(this.turn?.values() ?? [])], this.answerTool);
    return [
      ...held,
      ...(packed.extra_content === undefined ? NOTHING : [chunk(packed)]),
      { choices: [{ index: 0, delta: {}, ...finishOf(stopReason, this.calls > 0) }], ...besideAnswer(event) },
    ];
  }

  private onMetadata(event: JsonObject): readonly ChatChunk[] {
    const { usage } = event;
    return [{ choices: [], ...(isObject(usage) && { usage: usageOf(usage) }), ...besideAnswer(event) }];
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
