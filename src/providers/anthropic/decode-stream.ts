// Decodes the events of a streamed answer into chunks: https://platform.claude.com/docs/en/build-with-claude/streaming.
// Blocks come one after another, each with a start, deltas and a stop; then message_delta gives the stop reason.
// Unknown events, blocks and deltas are ignored, as the vendor asks.
import type { ChatAnswer, ChatChunk } from "../../core/chat.ts";
import { isObject, isSet, type Json, type JsonObject, listIn, objectsIn, textOrEmpty } from "../../core/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { answerToolOf } from "../claude/json-output.ts";
import { redactedDetail, thinkingDetail } from "../conversation/signed-thinking.ts";
import { GrowingTurn } from "../content-blocks/carried-turn.ts";
import { GrownText } from "../content-blocks/grown-text.ts";
import {
  answerOf,
  type OpenCall,
  refuseInputOfNoCall,
  requireFewCitations,
  requireFewPlaces,
  requireKeepable,
  TurnChunks,
} from "../content-blocks/turn-chunks.ts";
import type { DecodeContext } from "../interface/encoded-request.ts";
import { chunkOf, NO_CHUNKS, type StreamDecoder } from "../interface/stream-decoder.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";
import { parseEventObject, requireNoChunk } from "../answers/sent-json.ts";
import { isCount, tokenCount } from "../../core/record/token-count.ts";
import { classifyError } from "./errors.ts";
import { finishOf, isCutOff, refusalOf, serviceTierOf, stopSequenceOf, usageOf } from "./outcome.ts";
import { annotationsOf, carriedTurn, endBlock, growBlock, pieceOf, withPiece } from "./turn-content.ts";

interface TextBlock {
  readonly kind: "text";
  readonly start: number;
  readonly citations: Json[];
  /** Of the citations that came in pieces. */
  citedCharacters: number;
}
interface ThinkingBlock {
  readonly kind: "thinking";
  text: string;
  signature: string;
}
interface CallBlock {
  readonly kind: "call";
  readonly call: OpenCall;
}
/** The block that is in progress. Tools that run at the vendor have input in blocks of kinds of their own. */
type Block = TextBlock | ThinkingBlock | CallBlock | { readonly kind: "other" | "none" };

const OTHER: Block = { kind: "other" };
const NONE: Block = { kind: "none" };

/** The blocks that pieces belong to. */
const KINDS: Readonly<Record<string, "text" | "thinking" | "call">> = {
  text_delta: "text",
  citations_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "thinking",
  input_json_delta: "call",
};

export function openStream(context: DecodeContext): StreamDecoder {
  return new MessageStream(answerToolOf(context.memo));
}

/** Decodes the content of a whole answer, whose blocks are those of a stream that begins with all of them. */
export function decodeWhole(answer: JsonObject, context: DecodeContext): ChatAnswer {
  return answerOf(new MessageStream(answerToolOf(context.memo)).whole(answer));
}

class MessageStream implements StreamDecoder {
  readonly #answerTool: string | null;
  readonly #chunks = new TurnChunks();
  /** For what chat completions cannot express. Its blocks are numbered in their order. */
  readonly #turn = new GrowingTurn();
  #block: Block = NONE;
  /** The event before, where a block began with it. */
  #begunWith: string | null = null;
  /** The number that the provider gives to the block, and those of blocks that had not ended when the next one began. */
  #number: Json | undefined;
  readonly #unended = new Set<Json | undefined>();
  #blockIndex = -1;
  /** The last one. */
  #delta: JsonObject = {};
  readonly #grown = new GrownText((piece) => this.#grow(withPiece(this.#delta, piece), piece.length));
  #usage: JsonObject = {};
  #countsAnswer = false;
  #stopReason: string | null = null;
  #stopSequence: ReturnType<typeof stopSequenceOf> = {};
  #container: Json | undefined;
  #searches = 0;
  readonly passes = true;
  isTerminated = false;

  constructor(answerTool: string | null) {
    this.#answerTool = answerTool;
  }

  push(sent: SseEvent): readonly ChatChunk[] {
    const { event: name, data } = sent;
    if (name === "error") throw new StreamError(classifyError({ status: 200, body: data }));
    this.#grown.flush();
    const event = readEvent(sent);
    // the beginning of a block that comes twice would begin a second one
    const isRepeated = data === this.#begunWith;
    this.#begunWith = event?.["type"] === "content_block_start" ? data : null;
    if (event === null || isRepeated) return NO_CHUNKS;
    switch (event["type"]) {
      case "content_block_delta":
        return isObject(event["delta"]) ? this.#onDelta(event["delta"], event["index"], data.length) : NO_CHUNKS;
      case "content_block_start":
        return isObject(event["content_block"])
          ? this.#onBlockStart(event["content_block"], event["index"], data.length)
          : NO_CHUNKS;
      case "content_block_stop":
        return this.#endOpenBlock();
      case "message_start":
        return isObject(event["message"])
          ? this.#onMessageStart(withAnswerCount(event["message"]), (block) => JSON.stringify(block).length)
          : NO_CHUNKS;
      case "message_delta":
        return [...this.#endOpenBlock(), ...this.#onMessageDelta(event)];
      case "message_stop":
        this.isTerminated = true;
        return [
          ...this.#endOpenBlock(),
          ...(this.#stopReason === null ? this.#chunks.releaseCall() : this.#finish(this.#stopReason, {})),
        ];
      default:
        if (event["type"] === "error" || (event["error"] ?? null) !== null)
          throw new StreamError(classifyError({ status: 200, body: data }));
        requireNoChunk(event);
        return NO_CHUNKS;
    }
  }

  pieceIn(event: Json): Json | undefined {
    return isObject(event) && isObject(event["delta"]) ? pieceOf(event["delta"]) : undefined;
  }

  toolUses(): Readonly<Record<string, number>> {
    return this.#searches === 0 ? {} : { web_search: this.#searches };
  }

  /** The output tokens in message_start do not count, because the answer has not begun there. */
  countsAnswer(): boolean {
    return this.#countsAnswer;
  }

  whole(answer: JsonObject): readonly ChatChunk[] {
    const begun = this.#onMessageStart(answer, () => 0);
    this.#stopSequence = stopSequenceOf(answer["stop_sequence"]);
    const answered = this.#chunks.releaseAnswer();
    return [...begun, ...answered, ...refusalIn(answer["stop_details"]), ...this.#finish(this.#stopReason, {})];
  }

  growth(): (piece: string) => void {
    return this.#grown.push;
  }

  end(): readonly ChatChunk[] {
    return NO_CHUNKS;
  }

  /** `sizeOf` returns the number of characters that are kept of a block. */
  #onMessageStart(message: JsonObject, sizeOf: (block: JsonObject) => number): readonly ChatChunk[] {
    const { id, model, content, stop_reason: reason } = message;
    if (isObject(message["usage"])) this.#usage = message["usage"];
    if (typeof reason === "string") this.#stopReason = reason;
    this.#container = message["container"];
    const first: ChatChunk = {
      ...(typeof id === "string" && { id }),
      ...(typeof model === "string" && { model }),
      choices: [{ index: 0, delta: { role: "assistant" } }],
      ...(isObject(message["usage"]) && { usage: usageOf(this.#usage), ...serviceTierOf(this.#usage) }),
    };
    // A turn that is continued after code ran at the vendor begins with blocks that are already complete.
    const blocks = objectsIn(content).flatMap((block) => [
      ...this.#onBlockStart(block, undefined, sizeOf(block)),
      ...this.#endOpenBlock(),
    ]);
    // their searches were billed with the answer in which they ran
    this.#searches = 0;
    return [first, ...blocks];
  }

  /** `size` is the number of characters that are kept of it. */
  #onBlockStart(start: JsonObject, number: Json | undefined, size: number): readonly ChatChunk[] {
    requireFewPlaces(this.#blockIndex + 2);
    const before = this.#number;
    if (this.#block !== NONE && (before === undefined || typeof before === "number")) this.#unended.add(before);
    const ended = this.#endOpenBlock();
    this.#number = number;
    this.#turn.begin(++this.#blockIndex, start, size);
    return [...ended, ...this.#chunks.releaseCall(), ...this.#openBlock(start)];
  }

  #openBlock(start: JsonObject): readonly ChatChunk[] {
    switch (start["type"]) {
      case "text": {
        this.#block = {
          kind: "text",
          start: this.#chunks.textLength,
          citations: [...listIn(start["citations"])],
          citedCharacters: 0,
        };
        return this.#chunks.text(textOrEmpty(start["text"]));
      }
      case "thinking":
        this.#block = {
          kind: "thinking",
          text: textOrEmpty(start["thinking"]),
          signature: textOrEmpty(start["signature"]),
        };
        return this.#chunks.reasoning(this.#block.text);
      case "redacted_thinking":
        this.#block = OTHER;
        return this.#chunks.detail((index) => redactedDetail(textOrEmpty(start["data"]), index));
      case "tool_use":
        return this.#openCall(start);
      case "web_search_tool_result":
        // a search that failed has an error in place of the list, and is not billed
        if (Array.isArray(start["content"])) this.#searches += 1;
        this.#block = OTHER;
        return NO_CHUNKS;
      default:
        this.#block = OTHER;
        return NO_CHUNKS;
    }
  }

  #openCall(start: JsonObject): readonly ChatChunk[] {
    const input = isObject(start["input"]) ? start["input"] : {};
    if (start["name"] === this.#answerTool) {
      this.#block = { kind: "call", call: this.#chunks.beginAnswerCall(input) };
      return NO_CHUNKS;
    }
    const { call, chunks } = this.#chunks.beginCall(
      { id: textOrEmpty(start["id"]), name: textOrEmpty(start["name"]), ...sentBackOf(start) },
      input,
    );
    this.#block = { kind: "call", call };
    return chunks;
  }

  /** `length` is that of the event's data. */
  #onDelta(delta: JsonObject, number: Json | undefined, length: number): readonly ChatChunk[] {
    if (number !== this.#number && this.#unended.has(number))
      throw new MalformedAnswer("The provider's stream goes on with a block after another one has begun.");
    const begun = this.#openBlockOf(delta, number);
    this.#delta = delta;
    const chunks = this.#grow(delta, pieceOf(delta)?.length ?? length);
    return begun.length === 0 ? chunks : [...begun, ...chunks];
  }

  /** Begins the block of a piece whose provider has left the beginning out, and ends the one before it. */
  #openBlockOf(delta: JsonObject, number: Json | undefined): readonly ChatChunk[] {
    const kind = KINDS[textOrEmpty(delta["type"])];
    const { kind: open } = this.#block;
    if (kind === undefined || open === "other" || open === kind) return NO_CHUNKS;
    if (kind === "call") return refuseInputOfNoCall(textOrEmpty(delta["partial_json"]));
    const start = kind === "text" ? { type: kind, text: "" } : { type: kind, thinking: "", signature: "" };
    return [...this.#endOpenBlock(), ...this.#onBlockStart(start, number, 0)];
  }

  /** `size` is the number of characters that are kept of it. */
  #grow(delta: JsonObject, size: number): readonly ChatChunk[] {
    const block = this.#block;
    if (this.#blockIndex >= 0) this.#turn.grow(this.#blockIndex, delta, size, growBlock);
    switch (delta["type"]) {
      case "text_delta":
        return this.#chunks.text(textOrEmpty(delta["text"]));
      case "input_json_delta":
        return block.kind === "call"
          ? this.#chunks.callInput(block.call, textOrEmpty(delta["partial_json"]))
          : NO_CHUNKS;
      case "thinking_delta":
        if (block.kind !== "thinking") return NO_CHUNKS;
        requireKeepable((block.text += textOrEmpty(delta["thinking"])).length, "thinking");
        return this.#chunks.reasoning(textOrEmpty(delta["thinking"]));
      case "signature_delta":
        if (block.kind === "thinking")
          requireKeepable((block.signature += textOrEmpty(delta["signature"])).length, "thinking");
        return NO_CHUNKS;
      case "citations_delta":
        if (block.kind === "text" && delta["citation"] !== undefined)
          requireFewCitations(block.citations.push(delta["citation"]), (block.citedCharacters += size));
        return NO_CHUNKS;
      default:
        return NO_CHUNKS;
    }
  }

  /** A provider may leave the end of a block out; what follows the block ends it too. */
  #endOpenBlock(): readonly ChatChunk[] {
    if (this.#block === NONE) return NO_CHUNKS;
    this.#turn.end(this.#blockIndex, endBlock);
    const ended = this.#block;
    this.#block = NONE;
    switch (ended.kind) {
      case "thinking":
        return this.#chunks.detail((index) => thinkingDetail(ended.text, ended.signature, index));
      case "text":
        return this.#chunks.annotations(annotationsOf(ended.citations, ended.start, this.#chunks.textLength));
      case "call":
        this.#chunks.endCall(ended.call);
        return NO_CHUNKS;
      default:
        return NO_CHUNKS;
    }
  }

  #onMessageDelta(event: JsonObject): readonly ChatChunk[] {
    const delta = isObject(event["delta"]) ? event["delta"] : {};
    // Old models omit here what stood in message_start; newer ones correct it.
    if (isObject(event["usage"])) {
      this.#usage = { ...this.#usage, ...toldUsage(event["usage"]) };
      this.#countsAnswer ||= isCount(event["usage"]["output_tokens"]);
    }
    if (typeof delta["stop_reason"] === "string") this.#stopReason = delta["stop_reason"];
    this.#container = delta["container"] ?? this.#container;
    this.#stopSequence = { ...this.#stopSequence, ...stopSequenceOf(delta["stop_sequence"]) };
    const counted = isObject(event["usage"]) ? { usage: usageOf(this.#usage) } : {};
    if (this.#stopReason === null || this.#chunks.isFinished)
      return isObject(event["usage"]) ? [{ choices: [], ...counted }] : NO_CHUNKS;
    return [...refusalIn(delta["stop_details"]), ...this.#finish(this.#stopReason, counted)];
  }

  #finish(stopReason: string | null, more: Partial<ChatChunk>): readonly ChatChunk[] {
    return this.#chunks.finish({
      isCutOff: isCutOff(stopReason),
      carried: carriedTurn(this.#turn.blocks, this.#container, this.#answerTool),
      choice: { ...finishOf(stopReason, this.#chunks.hasCalls), ...this.#stopSequence },
      more,
    });
  }
}

function refusalIn(details: Json | undefined): readonly ChatChunk[] {
  const refusal = refusalOf(details);
  return refusal === null ? NO_CHUNKS : [chunkOf({ refusal })];
}

/** Some servers report no output tokens in message_start; their figures of the prompt are valid all the same. */
function withAnswerCount(message: JsonObject): JsonObject {
  const { usage } = message;
  return isObject(usage) && !isSet(usage["output_tokens"])
    ? { ...message, usage: { ...usage, output_tokens: 0 } }
    : message;
}

/** `null` when the data is not an event: some compatible servers end with OpenAI's `[DONE]`. */
function readEvent(event: SseEvent): JsonObject | null {
  return event.data === "[DONE]" ? null : parseEventObject(event);
}

/**
 * Returns what the usage of an event tells: no nulls, and nothing of the prompt where all of its figures are zero. Servers
 * such as SGLang write `input_tokens: 0` where message_start has told the prompt already; a prompt that was read from the
 * cache as a whole has that figure: https://github.com/sgl-project/sglang/pull/20830
 */
function toldUsage(usage: JsonObject): JsonObject {
  const tellsPrompt = OF_PROMPT.some((name) => tokenCount(usage[name]) > 0);
  return Object.fromEntries(
    Object.entries(usage).filter(([name, value]) => value !== null && (tellsPrompt || !OF_PROMPT.includes(name))),
  );
}
const OF_PROMPT: readonly string[] = [
  "input_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "cache_creation",
];

/**
 * What has to be sent back with the call beside its name and input: the caller of the tool, when it was not the model
 * itself but code that it runs at the vendor, and the toolset that the tool belongs to.
 */
function sentBackOf({ caller, toolset_name: toolset }: JsonObject): { readonly extra_content?: JsonObject } {
  const carried = {
    ...(isObject(caller) && caller["type"] !== "direct" && { caller }),
    ...(typeof toolset === "string" && { toolset_name: toolset }),
  };
  return Object.keys(carried).length === 0 ? {} : { extra_content: { anthropic: carried } };
}
