// Decodes the events of ConverseStream into chunks:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html. Blocks of text and reasoning
// have no start event, and the usage comes after the stop. Unknown events, blocks and deltas are ignored.
import type { ChatChunk } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { answerToolOf } from "../claude/json-output.ts";
import { GrowingTurn } from "../content-blocks/carried-turn.ts";
import { GrownText } from "../content-blocks/grown-text.ts";
import {
  chunkOf,
  NO_CHUNKS,
  type OpenCall,
  refuseInputOfNoCall,
  requireFewCitations,
  requireKeepable,
  TurnChunks,
} from "../content-blocks/turn-chunks.ts";
import type { DecodeContext } from "../encoded-request.ts";
import type { StreamDecoder } from "../stream-decoder.ts";
import { MalformedAnswer, StreamError } from "../upstream-failure.ts";
import { parseEventObject, textOrEmpty } from "../answers/sent-json.ts";
import { classifyError } from "./errors.ts";
import { besideAnswer, finishOf, isCutOff, usageOf } from "./outcome.ts";
import { hiddenDetail, reasoningDetail } from "./reasoning.ts";
import { annotationsOf, carriedTurn, endBlock, growBlock, isOfService, pieceOf, withPiece } from "./turn-content.ts";

const MAX_OPEN_CALLS = 1024;

export function openStream(context: DecodeContext): StreamDecoder {
  return new ConverseStream(answerToolOf(context.memo), context.model);
}

class ConverseStream implements StreamDecoder {
  readonly #answerTool: string | null;
  readonly #model: string;
  readonly #chunks = new TurnChunks();
  /** For what chat completions cannot express, by the index of the block. */
  readonly #turn = new GrowingTurn();
  /**
   * Tool calls in progress, by the index of their block. AWS does not promise that one ends before the next begins.
   * Calls of tools that the service runs itself are not among them.
   */
  readonly #openCalls = new Map<Json | undefined, OpenCall>();
  /** The event before, where a block began with it. */
  #begunWith: string | null = null;
  /** The block of a tool that the service runs itself. */
  #ofService: Json | undefined;
  #reasoning = { text: "", signature: "" };
  #citations: Json[] = [];
  #citedFrom = 0;
  /** The last delta, and the index of its block. */
  #delta: JsonObject = {};
  #index: Json | undefined;
  readonly #grown = new GrownText((piece) => this.#grow(this.#index, withPiece(this.#delta, piece), piece.length));
  readonly passes = true;
  readonly padding = "p";
  isTerminated = false;

  constructor(answerTool: string | null, model: string) {
    this.#answerTool = answerTool;
    this.#model = model;
  }

  push(sent: SseEvent): readonly ChatChunk[] {
    const { event: name, data } = sent;
    this.#grown.flush();
    // the beginning of a block that comes twice would begin a second one
    const isRepeated = data === this.#begunWith;
    this.#begunWith = name === "contentBlockStart" ? data : null;
    if (isRepeated) return NO_CHUNKS;
    switch (name) {
      case "contentBlockDelta":
        return this.#onDelta(parseEventObject(sent), data.length);
      case "messageStart":
        return [chunkOf({ role: "assistant" })];
      case "contentBlockStart":
        return this.#onBlockStart(parseEventObject(sent), data.length);
      case "contentBlockStop":
        return this.#onBlockStop(parseEventObject(sent));
      case "messageStop":
        return this.#onMessageStop(parseEventObject(sent));
      case "metadata":
        return this.#onMetadata(parseEventObject(sent));
      default:
        if (name === "error") throw new StreamError(classifyError({ status: 200, body: data }));
        if (/exception$/i.test(name)) throw new StreamError(classifyError({ status: 200, body: data }, name));
        return NO_CHUNKS;
    }
  }

  pieceIn(event: Json): Json | undefined {
    return isObject(event) && isObject(event["delta"]) ? pieceOf(event["delta"]) : undefined;
  }

  growth(): (piece: string) => void {
    return this.#grown.push;
  }

  end(): readonly ChatChunk[] {
    return NO_CHUNKS;
  }

  /** `length` is that of the event's data. */
  #onBlockStart({ start, contentBlockIndex: index }: JsonObject, length: number): readonly ChatChunk[] {
    const released = this.#chunks.releaseCall();
    if (!isObject(start)) return released;
    this.#turn.begin(index, start, length);
    const { toolUse } = start;
    if (!isObject(toolUse)) return released;
    if (!isOfService(toolUse)) return [...released, ...this.#openCall(index, toolUse)];
    this.#ofService = index;
    return released;
  }

  #openCall(index: Json | undefined, { toolUseId, name }: JsonObject): readonly ChatChunk[] {
    if (this.#openCalls.size >= MAX_OPEN_CALLS)
      throw new MalformedAnswer(`The provider's stream holds more than ${MAX_OPEN_CALLS} calls at once.`);
    if (name === this.#answerTool) {
      this.#openCalls.set(index, this.#chunks.beginAnswerCall({}));
      return NO_CHUNKS;
    }
    const { call, chunks } = this.#chunks.beginCall({ id: textOrEmpty(toolUseId), name: textOrEmpty(name) }, {});
    this.#openCalls.set(index, call);
    return chunks;
  }

  /** `length` is that of the event's data. */
  #onDelta({ delta, contentBlockIndex: index }: JsonObject, length: number): readonly ChatChunk[] {
    if (!isObject(delta)) return NO_CHUNKS;
    this.#delta = delta;
    this.#index = index;
    return this.#grow(index, delta, pieceOf(delta)?.length ?? length);
  }

  /** `size` is the number of characters that are kept of it. */
  #grow(index: Json | undefined, delta: JsonObject, size: number): readonly ChatChunk[] {
    this.#turn.grow(index, delta, size, growBlock);
    const { text, toolUse, reasoningContent, citation } = delta;
    if (typeof text === "string") return this.#chunks.text(text);
    if (isObject(toolUse)) return this.#addInput(index, textOrEmpty(toolUse["input"]));
    if (isObject(reasoningContent)) return this.#addReasoning(reasoningContent);
    if (isObject(citation)) requireFewCitations(this.#citations.push(citation));
    return NO_CHUNKS;
  }

  #addInput(index: Json | undefined, piece: string): readonly ChatChunk[] {
    const call = this.#openCalls.get(index);
    if (call !== undefined) return this.#chunks.callInput(call, piece);
    return index === this.#ofService ? NO_CHUNKS : refuseInputOfNoCall(piece);
  }

  #addReasoning({ text, signature, redactedContent }: JsonObject): readonly ChatChunk[] {
    if (typeof redactedContent === "string" && redactedContent !== "")
      return this.#chunks.detail((index) => hiddenDetail(redactedContent, index, this.#model));
    const piece = textOrEmpty(text);
    const reasoning = this.#reasoning;
    reasoning.text += piece;
    reasoning.signature += textOrEmpty(signature);
    requireKeepable(reasoning.text.length + reasoning.signature.length, "reasoning");
    return this.#chunks.reasoning(piece);
  }

  #onBlockStop({ contentBlockIndex: index }: JsonObject): readonly ChatChunk[] {
    this.#turn.end(index, endBlock);
    const call = this.#openCalls.get(index);
    this.#openCalls.delete(index);
    if (call !== undefined) this.#chunks.endCall(call);
    return [...this.#citationChunks(), ...this.#reasoningChunks()];
  }

  #citationChunks(): readonly ChatChunk[] {
    const { textLength } = this.#chunks;
    const annotations = annotationsOf(this.#citations, this.#citedFrom, textLength);
    this.#citations = [];
    this.#citedFrom = textLength;
    return this.#chunks.annotations(annotations);
  }

  #reasoningChunks(): readonly ChatChunk[] {
    const { text, signature } = this.#reasoning;
    if (text === "" && signature === "") return NO_CHUNKS;
    this.#reasoning = { text: "", signature: "" };
    return this.#chunks.detail((index) => reasoningDetail(text, signature, index, this.#model));
  }

  /** Ends the turn only with a reason that the vendor gave. */
  #onMessageStop(event: JsonObject): readonly ChatChunk[] {
    const { stopReason } = event;
    this.isTerminated = true;
    if (typeof stopReason !== "string") return this.#chunks.releaseCall();
    return this.#chunks.finish({
      isCutOff: isCutOff(stopReason),
      carried: carriedTurn(this.#turn.blocks, this.#answerTool),
      choice: { ...finishOf(stopReason, this.#chunks.hasCalls) },
      more: besideAnswer(event),
    });
  }

  #onMetadata(event: JsonObject): readonly ChatChunk[] {
    const { usage } = event;
    return [{ choices: [], ...(isObject(usage) && { usage: usageOf(usage) }), ...besideAnswer(event) }];
  }
}
