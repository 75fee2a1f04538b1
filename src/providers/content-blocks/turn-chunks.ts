// Makes the chunks of a streamed turn from what its content blocks contribute, and counts what later chunks refer to:
// the position in the text, tool calls, and reasoning details.
import type { ChatAnswer, ChatChunk, ChunkChoice, ReasoningDetail, ToolCall, ToolCallDelta } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import { emptyParts, noteBlock, turnMessage } from "../answers/turn-message.ts";
import { chunkOf, NO_CHUNKS } from "../interface/stream-decoder.ts";
import { MalformedAnswer } from "../interface/upstream-failure.ts";

/**
 * Reasoning and its signature are emitted once more, complete, when their block ends, and so is a turn that chat
 * completions cannot express. At most this many characters of either are kept.
 */
export const MAX_KEPT = 16 * 1024 * 1024;

/** Throws MalformedAnswer where the items of a stream have more characters together than are kept. */
export function requireKeptItems(characters: number): void {
  if (characters > MAX_KEPT)
    throw new MalformedAnswer(`The provider's stream holds items of more than ${MAX_KEPT} characters.`);
}
/**
 * The most items and parts of items of one streamed answer: each takes memory although it may have no text. Answers of
 * several rounds of tools have thousands.
 */
const MAX_PLACES = 65_536;

/** Throws MalformedAnswer. */
export function requireFewPlaces(count: number): void {
  if (count > MAX_PLACES)
    throw new MalformedAnswer(`The provider's stream holds more than ${MAX_PLACES} items and parts of items.`);
}
/** The most citations that one block may have. */
const MAX_CITATIONS = 10_000;

/** A tool call whose block has not ended. */
export interface OpenCall {
  /** `null` when the input is the answer's text. */
  readonly index: number | null;
  /** The input with which the block began. It is emitted at the block's end if no piece has come. */
  readonly input: JsonObject;
  hasInput: boolean;
}

export interface TurnEnd {
  /** The model stopped in the middle of a block, so that a tool call with an empty input may lack it. */
  readonly isCutOff: boolean;
  /** The turn, where chat completions cannot express all of it. */
  readonly carried: { readonly extra_content?: JsonObject };
  /** The finish reason and what comes with it. */
  readonly choice: Partial<ChunkChoice>;
  /** Members beside the choices. */
  readonly more: Partial<ChatChunk>;
}

export class TurnChunks {
  #textLength = 0;
  #calls = 0;
  #details = 0;
  /** A tool call of whose input no piece came, held back until it is clear that it was not cut off. */
  #callWithoutInput: OpenCall | null = null;
  #isFinished = false;

  /** In UTF-16 units. */
  get textLength(): number {
    return this.#textLength;
  }

  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  text(piece: string): readonly ChatChunk[] {
    this.#textLength += piece.length;
    return piece === "" ? NO_CHUNKS : [chunkOf({ content: piece })];
  }

  reasoning(piece: string): readonly ChatChunk[] {
    return piece === "" ? NO_CHUNKS : [chunkOf({ reasoning_content: piece })];
  }

  /** `make` gets the index of the detail, and returns `null` when nothing has to be sent back. */
  detail(make: (index: number) => ReasoningDetail | null): readonly ChatChunk[] {
    const detail = make(this.#details);
    if (detail === null) return NO_CHUNKS;
    this.#details += 1;
    return [chunkOf({ reasoning_details: [detail] })];
  }

  annotations(annotations: readonly JsonObject[]): readonly ChatChunk[] {
    return annotations.length === 0 ? NO_CHUNKS : [chunkOf({ annotations })];
  }

  /** The call of the tool whose input is the answer's text. Nothing of it is emitted but its input. */
  beginAnswerCall(input: JsonObject): OpenCall {
    return { index: null, input, hasInput: false };
  }

  beginCall(
    { id, name, ...more }: { readonly id: string; readonly name: string } & Pick<ToolCallDelta, "extra_content">,
    input: JsonObject,
  ): { readonly call: OpenCall; readonly chunks: readonly ChatChunk[] } {
    const index = this.#calls++;
    const delta: ToolCallDelta = { index, id, type: "function", function: { name, arguments: "" }, ...more };
    return { call: { index, input, hasInput: false }, chunks: [chunkOf({ tool_calls: [delta] })] };
  }

  callInput(call: OpenCall, piece: string): readonly ChatChunk[] {
    if (piece === "") return NO_CHUNKS;
    call.hasInput = true;
    return call.index === null
      ? this.text(piece)
      : [chunkOf({ tool_calls: [{ index: call.index, function: { arguments: piece } }] })];
  }

  endCall(call: OpenCall): void {
    if (!call.hasInput) this.#callWithoutInput = call;
  }

  /** Emits the input of a call that was held back. It is called once the call is known not to have been cut off. */
  releaseCall(): readonly ChatChunk[] {
    const held = this.#callWithoutInput;
    this.#callWithoutInput = null;
    return held === null ? NO_CHUNKS : this.callInput(held, JSON.stringify(held.input));
  }

  /** Emits the input that is the text of a whole answer, also where the answer was cut off: an empty object is JSON. */
  releaseAnswer(): readonly ChatChunk[] {
    return this.#callWithoutInput?.index === null ? this.releaseCall() : NO_CHUNKS;
  }

  /** Emits the end of the turn once. */
  finish({ isCutOff, carried, choice, more }: TurnEnd): readonly ChatChunk[] {
    if (this.#isFinished) return NO_CHUNKS;
    this.#isFinished = true;
    const lacksInput = isCutOff && this.#callWithoutInput !== null && isEmpty(this.#callWithoutInput.input);
    return [
      ...(lacksInput ? NO_CHUNKS : this.releaseCall()),
      ...(carried.extra_content === undefined ? NO_CHUNKS : [chunkOf(carried)]),
      { choices: [{ index: 0, delta: {}, ...choice }], ...more },
    ];
  }
}

/** Returns the whole answer that the chunks of a turn say. */
export function answerOf(chunks: readonly ChatChunk[]): ChatAnswer {
  const parts = emptyParts();
  const beside: Partial<ChatAnswer> = { usage: null };
  const end: ChunkChoice = { index: 0, finish_reason: null };
  const more: JsonObject = {};
  for (const { choices, ...members } of chunks) {
    Object.assign(beside, members);
    for (const { delta = {}, ...choice } of choices) {
      const { role: _role, content, reasoning_content: reasoning, reasoning_details: details, ...others } = delta;
      const { annotations, tool_calls: calls, ...unjoined } = others;
      parts.text += content ?? "";
      parts.reasoning += reasoning ?? "";
      parts.details.push(...(details ?? []));
      parts.annotations.push(...((annotations ?? []) as readonly JsonObject[]));
      for (const call of calls ?? []) addCallDelta(parts.calls, call);
      noteBlock(parts);
      Object.assign(end, choice);
      Object.assign(more, unjoined);
    }
  }
  return { ...beside, choices: [{ ...end, message: { ...turnMessage(parts), ...more } }] };
}

function addCallDelta(calls: ToolCall[], { index, ...call }: ToolCallDelta): void {
  const begun = calls[index!];
  const { name, arguments: input } = begun?.function ?? { name: call.function!.name!, arguments: "" };
  calls[index!] = {
    ...(begun ?? (call as ToolCall)),
    function: { name, arguments: input + call.function!.arguments! },
  };
}

function isEmpty(input: JsonObject): boolean {
  return Object.keys(input).length === 0;
}

/** Throws MalformedAnswer. `what` names the kind of block. */
export function requireKeepable(characters: number, what: "thinking" | "reasoning"): void {
  if (characters > MAX_KEPT)
    throw new MalformedAnswer(`The provider's stream holds a ${what} block of more than ${MAX_KEPT} characters.`);
}

/** Throws MalformedAnswer for the input of a call whose beginning did not come, and so its name. */
export function refuseInputOfNoCall(piece: string): readonly ChatChunk[] {
  if (piece === "") return NO_CHUNKS;
  throw new MalformedAnswer("The provider's stream holds the input of a tool call that has not begun.");
}

/** `characters` are those of the citations together. Throws MalformedAnswer. */
export function requireFewCitations(count: number, characters: number): void {
  if (count > MAX_CITATIONS)
    throw new MalformedAnswer(`The provider's stream holds a text block with more than ${MAX_CITATIONS} citations.`);
  requireKeptItems(characters);
}
