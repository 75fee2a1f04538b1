// Decodes the events of ConverseStream into chunks:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html. Blocks of text and reasoning
// have no start event, and the usage comes after the stop. Unknown events, blocks and deltas are ignored.
import type { ChatAnswer, ChatChunk } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { answerToolOf } from "../claude/json-output.ts";
import { GrowingTurn } from "../content-blocks/carried-turn.ts";
import { GrownText } from "../content-blocks/grown-text.ts";
import {
  answerOf,
  type OpenCall,
  refuseInputOfNoCall,
  requireFewCitations,
  requireKeepable,
  TurnChunks,
} from "../content-blocks/turn-chunks.ts";
import type { DecodeContext } from "../interface/encoded-request.ts";
import { chunkOf, NO_CHUNKS, type StreamDecoder } from "../interface/stream-decoder.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";
import { parseEventObject } from "../answers/sent-json.ts";
import { classifyError } from "./errors.ts";
import { besideAnswer, finishOf, isCutOff, usageOf } from "./outcome.ts";
import { hiddenDetail, reasoningDetail } from "./reasoning.ts";
import {
  annotationsOf,
  carriedTurn,
  citedText,
  endBlock,
  growBlock,
  isOfService,
  pieceOf,
  withPiece,
} from "./turn-content.ts";

const MAX_OPEN_CALLS = 1024;

export function openStream(context: DecodeContext): StreamDecoder {
  return new ConverseStream(answerToolOf(context.memo), context.model);
}

/** Decodes a whole answer with these blocks. */
export function decodeWhole(blocks: readonly JsonObject[], answer: JsonObject, context: DecodeContext): ChatAnswer {
  return answerOf(new ConverseStream(answerToolOf(context.memo), context.model).whole(blocks, answer));
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
  #citedCharacters = 0;
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

  whole(blocks: readonly JsonObject[], answer: JsonObject): readonly ChatChunk[] {
    const { stopReason } = answer;
    const content = blocks.flatMap((block, index) => {
      this.#turn.begin(index, block, 0);
      return [...this.#chunks.releaseCall(), ...this.#wholeBlock(index, block), ...this.#endBlock(index)];
    });
    const answered = this.#chunks.releaseAnswer();
    const end = this.#finish(typeof stopReason === "string" ? stopReason : null, {});
    return [...content, ...answered, ...end, ...this.#onMetadata(answer)];
  }

  /** Blocks are unions: each is read by one member, even if others are present. */
  #wholeBlock(index: number, block: JsonObject): readonly ChatChunk[] {
    const { text, reasoningContent, toolUse, citationsContent } = block;
    if (typeof text === "string") return this.#chunks.text(text);
    if (isObject(reasoningContent)) {
      const { reasoningText, redactedContent = "" } = reasoningContent;
      const thought = isObject(reasoningText) ? this.#addReasoning(reasoningText) : NO_CHUNKS;
      return [...this.#addReasoning({ redactedContent }), ...thought];
    }
    if (isObject(toolUse)) return isOfService(toolUse) ? NO_CHUNKS : this.#openCall(index, toolUse);
    if (!isObject(citationsContent)) return NO_CHUNKS;
    this.#citations = [...objectsIn(citationsContent["citations"])];
    return this.#chunks.text(citedText(citationsContent));
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

  #openCall(index: Json | undefined, { toolUseId, name, input: given }: JsonObject): readonly ChatChunk[] {
    if (this.#openCalls.size >= MAX_OPEN_CALLS)
      throw new MalformedAnswer(`The provider's stream holds more than ${MAX_OPEN_CALLS} calls at once.`);
    const input = isObject(given) ? given : {};
    if (name === this.#answerTool) {
      this.#openCalls.set(index, this.#chunks.beginAnswerCall(input));
      return NO_CHUNKS;
    }
    const { call, chunks } = this.#chunks.beginCall({ id: textOrEmpty(toolUseId), name: textOrEmpty(name) }, input);
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
    if (isObject(reasoningContent)) {
      const chunks = this.#addReasoning(reasoningContent);
      requireKeepable(this.#reasoning.text.length + this.#reasoning.signature.length, "reasoning");
      return chunks;
    }
    if (isObject(citation)) requireFewCitations(this.#citations.push(citation), (this.#citedCharacters += size));
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
    return this.#chunks.reasoning(piece);
  }

  #onBlockStop({ contentBlockIndex: index }: JsonObject): readonly ChatChunk[] {
    this.#turn.end(index, endBlock);
    return this.#endBlock(index);
  }

  #endBlock(index: Json | undefined): readonly ChatChunk[] {
    const call = this.#openCalls.get(index);
    this.#openCalls.delete(index);
    if (call !== undefined) this.#chunks.endCall(call);
    return [...this.#citationChunks(), ...this.#reasoningChunks()];
  }

  #citationChunks(): readonly ChatChunk[] {
    const { textLength } = this.#chunks;
    const annotations = annotationsOf(this.#citations, this.#citedFrom, textLength);
    this.#citations = [];
    this.#citedCharacters = 0;
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
    return typeof stopReason === "string" ? this.#finish(stopReason, besideAnswer(event)) : this.#chunks.releaseCall();
  }

  #finish(stopReason: string | null, more: Partial<ChatChunk>): readonly ChatChunk[] {
    return this.#chunks.finish({
      isCutOff: isCutOff(stopReason),
      carried: carriedTurn(this.#turn.blocks, this.#answerTool),
      choice: finishOf(stopReason, this.#chunks.hasCalls),
      more,
    });
  }

  #onMetadata(event: JsonObject): readonly ChatChunk[] {
    const { usage } = event;
    return [{ choices: [], ...(isObject(usage) && { usage: usageOf(usage) }), ...besideAnswer(event) }];
  }
}
