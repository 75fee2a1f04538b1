// The stage of guards in the stream normalizer: takes the repaired chunks of one stream, and returns what may be sent by
// now, and the rest at the end. It needs only the guards, and so it can run in any thread.
import type { GuardFinding } from "../../guards/guarded-text.ts";
import type { ChatChunk, ChunkChoice, ChunkDelta, ToolCallDelta } from "../../core/chat.ts";
import { type Block, CHOICE_MEMBERS, DELTA_MEMBERS, TEXT_MEMBERS } from "../../core/delta-members.ts";
import { isObject, isText, type Json, type JsonObject, isSet } from "../../core/json.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import { CALL, CALLED, calledIn, pieceOf } from "../stream/tool-call-deltas.ts";
import { isVendorField } from "../answer/strict-fields.ts";
import { pieceFor, search, type Texts, workOfGuards } from "../../guards/guard-search.ts";
import { detailsOf, StreamGuard, type StreamGuardOptions, type TextPiece } from "./guard-answer.ts";
import { priorMatches, textsOf } from "./guard-texts.ts";
import { spend } from "../../guards/work-meter.ts";
import { piecesOf } from "../long-bodies/written-in-turns.ts";

interface GuardedChoice {
  readonly index: number;
  /** The number of its tool calls. */
  calls: number;
  /** The calls of tools that take any text. */
  readonly takingText: Set<number>;
  /** Citations wait for the end of the text that they are about, because masks before them move them. */
  readonly citations: Json[];
  /** How many more characters and values of citations may wait. */
  citationsLeft: number;
  /** The block that came last; `null` before the first one. */
  block: Block | null;
}

export interface GuardedChunksOptions extends StreamGuardOptions {
  /** A text ends where another one of its choice, or a call, begins: nothing of it may come behind that. */
  readonly hasBlocks?: boolean;
}

/** How many characters and values of citations may wait for the end of their text. */
const MOST_CITED = 800_000;
/** A walk over a chunk with more characters and values than this takes milliseconds, and then a turn of its own. */
const LONG_WALK = 20_000;
const STEPS_OF_LONG_WALK = 200_000;

/** All methods throw `policy_violation` where a guard blocks. */
export class GuardedChunks {
  readonly #guard: StreamGuard;
  readonly #guards: readonly GuardPolicy[];
  readonly #longest: number;
  readonly #choices = new Map<number, GuardedChoice>();
  readonly #hasBlocks: boolean;

  constructor(guards: readonly GuardPolicy[], onFinding: GuardFinding, options: GuardedChunksOptions = {}) {
    this.#guards = guards;
    this.#longest = pieceFor(workOfGuards(guards));
    this.#guard = new StreamGuard(guards, onFinding, options);
    // what only reports holds nothing back
    this.#hasBlocks = options.hasBlocks === true && this.#guard.changesTexts;
  }

  /** Whether the search of the chunk may take longer than one may go on without a pause. */
  isLong(chunk: ChatChunk): boolean {
    return isLonger(chunk, this.#longest);
  }

  /**
   * Searches the texts of a chunk that `take` is about to get, with pauses. Returns false if those that come in one piece
   * could not be searched: each guard has `clockMs` for them.
   */
  *searchAhead(chunk: ChatChunk, clockMs: number, spentMs: () => number): Generator<void, boolean> {
    const { whole, pieces } = textsIn(chunk);
    const walk = isLonger(chunk, LONG_WALK) ? STEPS_OF_LONG_WALK : 0;
    spend(walk);
    yield;
    const matches = yield* search(whole, this.#guards, clockMs, spentMs);
    if (matches.unsearched.length > 0) return false;
    this.#guard.foundWhole(priorMatches(whole, this.#guards, matches));
    spend(walk);
    yield;
    yield* this.searchPieces(pieces);
    return true;
  }

  /** Searches texts that come in pieces, as `searchAhead` does. */
  *searchPieces(pieces: readonly TextPiece[]): Generator<void, void> {
    for (const piece of pieces) yield* this.#guard.searchAhead(piece, this.#longest);
  }

  /** Returns the chunk as it may be sent by now, behind what was held back of texts that it ends. */
  take(given: ChatChunk): readonly ChatChunk[] {
    return this.parts(given).flatMap((part) => {
      const ended = part.choices.flatMap((choice) => this.#endedBy(choice));
      const chunk = this.#guard.chunk(part);
      return [...ended, { ...chunk, choices: chunk.choices.map((choice) => this.#takeChoice(choice)) }];
    });
  }

  /** Divides a repaired chunk, each entry of which has one kind of content, where texts end with their blocks. */
  parts(chunk: ChatChunk): readonly ChatChunk[] {
    return this.#hasBlocks ? chunkOfEach(chunk, chunk.choices) : [chunk];
  }

  /** Whether a part of a chunk ends a text. */
  endsText(part: ChatChunk): boolean {
    return this.#hasBlocks && part.choices.some((choice) => this.#blockBefore(choice) !== null);
  }

  /** Returns the block that a choice ends by beginning another one; `null` if it ends none. */
  #blockBefore({ index = 0, delta }: ChunkChoice): Block | null {
    const before = this.#choices.get(index)?.block ?? null;
    return before === (blockIn(delta) ?? before) ? null : before;
  }

  /** Returns what was held back of the text that a choice ends, and the citations that waited for its end. */
  #endedBy(source: ChunkChoice): readonly ChatChunk[] {
    if (!this.#hasBlocks) return [];
    const choice = this.#choiceOf(source.index ?? 0);
    const before = this.#blockBefore(source);
    choice.block = blockIn(source.delta) ?? choice.block;
    if (before === null) return [];
    const rest = this.#rest(choice, (key) => (blockOf(choice, key) === before ? this.#guard.end(key) : ""));
    return [...chunksOf(choice, rest), ...(before === "content" ? this.#cited(choice) : [])];
  }

  /** Returns what guards still held back at the end of the stream. */
  end(): readonly ChatChunk[] {
    const rest = this.#restOfAll((key) => this.#guard.end(key));
    return [...rest, ...[...this.#choices.values()].flatMap((choice) => this.#cited(choice))];
  }

  /**
   * Keeps citations until their text has ended. When there are too many, returns all of them, moved by the masks that are
   * known so far.
   */
  #keepCitations(choice: GuardedChoice, annotations: readonly Json[]): readonly Json[] | undefined {
    for (const annotation of annotations) {
      choice.citations.push(annotation);
      choice.citationsLeft = leftAfter(annotation, choice.citationsLeft);
    }
    return choice.citationsLeft < 0 ? this.#takeCitations(choice) : undefined;
  }

  /** Returns the citations that wait, as they stand in the masked text; none waits any more. */
  #takeCitations(choice: GuardedChoice): readonly Json[] {
    choice.citationsLeft = MOST_CITED;
    return this.#guard.citations(textKey(choice, "content"), choice.citations.splice(0));
  }

  /** Returns the citations that wait, as a chunk. */
  #cited(choice: GuardedChoice): readonly ChatChunk[] {
    const annotations = this.#takeCitations(choice);
    return chunksOf(choice, annotations.length === 0 ? [] : [{ annotations }]);
  }

  /** Returns what need not be held back any more, although no further chunk has come. */
  released(): readonly ChatChunk[] {
    return this.#restOfAll((key) => this.#guard.released(key));
  }

  #restOfAll(rest: (key: string) => string): readonly ChatChunk[] {
    return [...this.#choices.values()].flatMap((choice) => chunksOf(choice, this.#rest(choice, rest)));
  }

  /** Nothing is searched any more: `take` and `end` return what they get, and what guards held back, unchanged. */
  passUnsearched(): void {
    this.#guard.passUnsearched();
  }

  #takeChoice(source: ChunkChoice): ChunkChoice {
    const choice = this.#choiceOf(source.index ?? 0);
    const shown: Record<string, unknown> = { ...source };
    if (source.delta !== undefined) shown["delta"] = this.#takeDelta(choice, source.delta);
    if (this.#guard.changesTexts && source.logprobs !== undefined) shown["logprobs"] = null;
    for (const name in source) if (!CHOICE_MEMBERS.has(name)) shown[name] = this.#guard.whole(source[name], name);
    return shown as ChunkChoice;
  }

  #choiceOf(index: number): GuardedChoice {
    return this.#choices.getOrInsertComputed(index, () => ({
      index,
      calls: 0,
      takingText: new Set(),
      citations: [],
      citationsLeft: MOST_CITED,
      block: null,
    }));
  }

  #takeDelta(choice: GuardedChoice, delta: ChunkDelta): ChunkDelta {
    const { annotations, ...others } = this.#guard.others(choice.index, delta);
    const shown: Record<string, unknown> = others;
    const cited =
      this.#guard.changesTexts && Array.isArray(annotations)
        ? this.#keepCitations(choice, annotations as readonly Json[])
        : annotations;
    if (cited !== undefined) shown["annotations"] = cited;
    for (const name of TEXT_MEMBERS) {
      const text = delta[name];
      if (typeof text === "string") shown[name] = text === "" ? "" : this.#guard.take(textKey(choice, name), text);
    }
    if (isSet(delta.reasoning_details))
      shown["reasoning_details"] = this.#guard.details(choice.index, delta.reasoning_details);
    if (isSet(delta.tool_calls)) shown["tool_calls"] = delta.tool_calls.map((call) => this.#takeCall(choice, call));
    return shown as ChunkDelta;
  }

  /** A name comes once, with the first delta of its call. */
  #takeCall(choice: GuardedChoice, delta: ToolCallDelta): ToolCallDelta {
    const { index = 0, function: called = {}, custom } = delta;
    const { name, text, takesText } = calledIn(delta);
    choice.calls = Math.max(choice.calls, index + 1);
    if (takesText) choice.takingText.add(index);
    if (typeof name === "string") this.#guard.name(name);
    if (typeof delta.id === "string") this.#guard.name(delta.id);
    const own = this.#ownOf(delta, CALL);
    const shown =
      typeof text !== "string" || text === "" ? "" : this.#guard.take(callKey(choice.index, index), text, !takesText);
    return takesText
      ? {
          ...delta,
          ...own,
          custom: { ...(custom as JsonObject), ...this.#ownOf(custom as JsonObject, CALLED), input: shown },
        }
      : { ...delta, ...own, function: { ...called, ...this.#ownOf(called, CALLED), arguments: shown } };
  }

  /** Returns a vendor's own members of an object as they may be shown. */
  #ownOf(object: JsonObject, known: ReadonlySet<string>): JsonObject {
    const own: Record<string, JsonObject[string]> = {};
    for (const name in object) if (!known.has(name)) own[name] = this.#guard.whole(object[name], name)!;
    return own;
  }

  #rest({ index, calls, takingText }: GuardedChoice, rest: (key: string) => string): readonly ChunkDelta[] {
    const guard = this.#guard;
    const deltas: JsonObject[] = [];
    for (const name of TEXT_MEMBERS) {
      const text = rest(textKey({ index }, name));
      if (text !== "") deltas.push({ [name]: text });
    }
    const details = guard.restOfDetails(index, rest);
    if (details.length > 0) deltas.push({ reasoning_details: details });
    deltas.push(...guard.restOfMembers(index, rest));
    for (let call = 0; call < calls; call++) {
      const text = rest(callKey(index, call));
      if (text !== "") deltas.push({ tool_calls: [pieceOf(call, text, takingText.has(call))] });
    }
    return deltas;
  }
}

function chunksOf({ index }: GuardedChoice, deltas: readonly ChunkDelta[]): readonly ChatChunk[] {
  return deltas.map((delta) => ({ choices: [{ index, delta }] }));
}

/** Returns the block that a delta continues or begins; `null` for what belongs to none. */
function blockIn(delta: ChunkDelta | undefined): Block | null {
  for (const name in delta) {
    const piece = delta[name];
    const block = DELTA_MEMBERS.get(name);
    if (isSet(block) && (isText(piece) || (Array.isArray(piece) && piece.length > 0))) return block;
  }
  return null;
}

/** The block of the text with a key; `null` for a call and for a member that is not a block. */
function blockOf(choice: GuardedChoice, key: string): Block | null {
  if (key.startsWith(detailsOf(choice.index))) return "reasoning";
  const name = TEXT_MEMBERS.find((one) => key === textKey(choice, one));
  return name === undefined ? null : DELTA_MEMBERS.get(name)!;
}

function textKey({ index }: Pick<GuardedChoice, "index">, name: string): string {
  return `${index} ${name}`;
}

function callKey(choice: number, position: number): string {
  return `${choice} call ${position}`;
}

/** Returns what guards search in a chunk: texts that come in one piece, and pieces of others. */
export function textsIn(chunk: ChatChunk): { readonly whole: Texts; readonly pieces: readonly TextPiece[] } {
  const pieces: TextPiece[] = [];
  const onPiece = (piece: TextPiece): void => void pieces.push(piece);
  const whole = textsOf((guard) => new GuardedChunks([], () => {}, { whole: () => guard, onPiece }).take(chunk));
  return { whole, pieces };
}

/**
 * Whether guards search more than so many characters in a chunk, those of tool calls and of a vendor's members included.
 */
function isLonger(chunk: ChatChunk, most: number): boolean {
  let left = most;
  for (const name in chunk)
    if (name === "id" || name === "usage" || isVendorField(name, chunk[name])) left = leftAfter(chunk[name], left);
  if (Array.isArray(chunk.choices))
    for (const choice of chunk.choices as readonly ChunkChoice[])
      for (const name in choice)
        if (name === "delta") for (const spoken in choice.delta) left = leftAfter(choice.delta[spoken], left);
        else if (!CHOICE_MEMBERS.has(name)) left = leftAfter(choice[name], left);
  return left < 0;
}

/**
 * Returns how many of so many characters are left after those of a value; the value is not read further than that. A
 * number, true, false and null count as one character, and so does what holds others.
 */
function leftAfter(value: unknown, most: number): number {
  if (typeof value === "string") return most - value.length;
  let left = most - 1;
  if (typeof value !== "object" || value === null) return left;
  if (Array.isArray(value))
    for (const item of value) {
      if (left < 0) break;
      left = leftAfter(item, left);
    }
  else
    for (const name in value) {
      if (left < 0) break;
      left = leftAfter((value as Record<string, unknown>)[name], left - name.length);
    }
  return left;
}

/**
 * Splits a chunk into several, none of whose texts is longer. How a text is split does not change what a guard does.
 * Members that arrive in one piece are not split.
 */
export function splitChunk(chunk: ChatChunk, longest: number): readonly ChatChunk[] {
  if (!Array.isArray(chunk.choices) || !isLonger(chunk, longest)) return [chunk];
  const choices = (chunk.choices as readonly ChunkChoice[]).flatMap((choice) => splitChoice(choice, longest));
  return choices.length === chunk.choices.length ? [chunk] : chunkOfEach(chunk, choices);
}

/** Returns a chunk for each of the choices into which those of one chunk are divided. */
function chunkOfEach(chunk: ChatChunk, choices: readonly ChunkChoice[]): readonly ChatChunk[] {
  if (choices.length < 2) return [chunk];
  // the chunk's identifying fields come first, and what ends the answer comes last
  return choices.map((choice, at) =>
    at === choices.length - 1
      ? { ...chunk, choices: [choice] }
      : at === 0
        ? { ...chunk, usage: null, choices: [choice] }
        : { choices: [choice] },
  );
}

function splitChoice(choice: ChunkChoice, longest: number): readonly ChunkChoice[] {
  if (!isObject(choice) || !isObject(choice.delta)) return [choice];
  const { index, delta } = choice;
  const pieces: ChunkDelta[] = [];
  const rest: Record<string, unknown> = { ...delta };
  for (const name of TEXT_MEMBERS) {
    const text = delta[name];
    if (typeof text !== "string" || text === "") continue;
    for (const piece of piecesOf(text, longest)) pieces.push({ [name]: piece });
    delete rest[name];
  }
  if (Array.isArray(delta.tool_calls)) {
    for (const call of delta.tool_calls as readonly ToolCallDelta[])
      for (const piece of splitCall(call, longest)) pieces.push({ tool_calls: [piece] });
    delete rest["tool_calls"];
  }
  return pieces.length === 0
    ? [choice]
    : [
        ...pieces.map((piece) => ({ ...(index !== undefined && { index }), delta: piece })),
        { ...choice, delta: rest as ChunkDelta },
      ];
}

/** A delta without index, id and name continues the last call. */
function splitCall(call: ToolCallDelta, longest: number): readonly ToolCallDelta[] {
  const { text, takesText } = isObject(call) ? calledIn(call) : { text: null, takesText: false };
  if (typeof text !== "string" || text.length <= longest) return [call];
  const [first = "", ...others] = piecesOf(text, longest);
  const { custom } = call;
  const place = call.index === undefined ? {} : { index: call.index };
  const piece = (cut: string): ToolCallDelta =>
    takesText ? { custom: { input: cut } } : { function: { arguments: cut } };
  return [
    takesText
      ? { ...call, custom: { ...(custom as JsonObject), input: first } }
      : { ...call, function: { ...call.function, arguments: first } },
    ...others.map((cut) => ({ ...place, ...piece(cut) })),
  ];
}
