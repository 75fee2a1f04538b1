// Applies guards to an answer: to a non-streaming one as a whole, to a stream by a window over each text (promise 3.3).
// What a client reads as one text has one window: the content of a choice, its reasoning, and the arguments of each
// tool call. Log probabilities are removed, because they would reveal masked text.
import { GuardedText, type GuardFinding, type ReleasedText } from "../../guards/guarded-text.ts";
import { MaskedPlaces } from "../../guards/masked-places.ts";
import { type ChatChunk, type ChunkDelta, FINISH_REASONS, type ReasoningDetail, type Usage } from "../../core/chat.ts";
import { DELTA_MEMBERS } from "../../core/delta-members.ts";
import { isObject, isSet, type Json, type JsonObject } from "../../core/json.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import { mappedList, mappedMembers } from "../../core/request/mapped-list.ts";
import { isProtocolWord } from "./protocol-words.ts";
import { underGuards } from "../policies/policy-violation.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { guardName, type KindOf, mapTexts, namesAndNumbers } from "./guarded-values.ts";
import { type PriorMatches, type Searched, textGuard, type TextGuard } from "./text-guard.ts";
import { isVendorField, movedCitations, SERVICE_TIERS } from "../answer/strict-fields.ts";
import type { NonStreamingAnswer } from "../answer/non-streaming-answer.ts";
import { isCall, opaque, SEALED } from "./guard-request.ts";
import { MalformedAnswer } from "../../providers/interface/upstream-failure.ts";

function changes(guards: readonly GuardPolicy[]): boolean {
  return guards.some(({ mode }) => mode === "enforce");
}

/** Warns the caller that the requested log probabilities will be missing. */
export function withheldLogprobs(fitted: FittedRequest, guards: readonly GuardPolicy[]): FittedRequest {
  const { request } = fitted;
  return request.params.logprobs !== true || !changes(guards)
    ? fitted
    : { ...fitted, request: { ...request, warnings: [...request.warnings, "logprobs_withheld"] } };
}

/** Members whose values name something or are a choice of the form, so that a mask would break what reads them. */
const FIXED: ReadonlySet<string> = new Set(["id", "object", "type", "role", "format"]);
/** Members whose values are words of the protocol, as a rule. */
const REASONS: ReadonlySet<string> = new Set(["finish_reason", "native_finish_reason", "service_tier"]);
const WORDS: ReadonlySet<unknown> = new Set([...FINISH_REASONS, ...SERVICE_TIERS]);
const FILES: ReadonlySet<string> = new Set(["data", "url", "file_id", "file_data"]);

const answerKind: KindOf = (name, owner) => {
  if (name === "arguments") return "json";
  // the name of the called tool cannot be replaced; any other name is text
  if (name === "name") return isCall(owner) ? "fixed" : "plain";
  if (name === "data" && owner["type"] === "reasoning.encrypted") return opaque(owner[name]);
  if (FILES.has(name)) return typeof owner[name] === "string" && isAddress(owner[name]) ? "plain" : "file";
  if (FIXED.has(name)) return "fixed";
  if (SEALED.has(name)) return "skip";
  if (!REASONS.has(name)) return "plain";
  const reason = owner[name];
  if (WORDS.has(reason)) return "skip";
  return typeof reason === "string" && /^\w{1,64}$/.test(reason) ? "name" : "plain";
};

function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(text.slice(0, 32)) && !/^data:/i.test(text.slice(0, 8));
}

/** The characters are those of the texts for which `walk` calls its guard. */
function searchedBy<T>(given: T, walk: (guard: TextGuard) => T): Searched<T> {
  const characters = (): number => {
    let sum = 0;
    walk((text) => {
      sum += text.length;
      return text;
    });
    return sum;
  };
  return { given, characters, walk };
}

/** What is searched is made here, once for all walks over it. `isLong`: it is never searched in the serving thread. */
export function searchedAnswer(
  answer: NonStreamingAnswer,
  guards: readonly GuardPolicy[],
  isLong: boolean,
): Searched<NonStreamingAnswer> {
  const isChanged = changes(guards);
  const shown = isChanged ? { ...answer, body: withoutLogprobs(answer.body) as JsonObject } : answer;
  const searched = searchedBy(answer, (guard) => guardedAnswer(shown, isChanged, guard));
  return isLong ? { ...searched, characters: () => Number.POSITIVE_INFINITY } : searched;
}

/** Returns the answer as guards let it through, whose search of a text is `guard`. Throws BlockedText. */
function guardedAnswer(answer: NonStreamingAnswer, isChanged: boolean, guard: TextGuard): NonStreamingAnswer {
  const body = mapAnswer(answer, guard);
  if (isChanged)
    body["choices"] = (body["choices"] as readonly JsonObject[]).map((choice) => ({ ...choice, logprobs: null }));
  return { ...answer, body, usage: body["usage"] as Usage };
}

const LOGPROBS = "logprobs";

/** Returns a value without the log probabilities in it: vendors repeat them in members of their own. */
function withoutLogprobs(value: Json): Json {
  if (Array.isArray(value)) return mappedList(value as readonly Json[], withoutLogprobs);
  if (!isObject(value)) return value;
  return mappedMembers(value, (member, name) =>
    name === LOGPROBS || member === undefined ? undefined : withoutLogprobs(member),
  );
}

/** The most that a counter of tokens says; a longer number may be one of a card or a person. */
const MAX_COUNT = 1e12;

/** Returns usage with a vendor's own members as they may be shown; counts of tokens are figures and no text. */
function guardedUsage(value: Json, guard: TextGuard): Json {
  if (!isObject(value)) return value;
  const figures: Record<string, Json> = {};
  const others: Record<string, Json> = {};
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const isFigure = name.endsWith("_tokens") && typeof member === "number" && member < MAX_COUNT;
    if (isFigure) figures[name] = member;
    else others[name] = name.endsWith("_tokens_details") ? guardedUsage(member, guard) : member;
  }
  const shown = namesAndNumbers(mapTexts(others, guard, answerKind, "usage"), guard) as JsonObject;
  return shown === others && Object.keys(others).every((name) => others[name] === value[name])
    ? value
    : { ...figures, ...shown };
}

/** What a vendor says in the answer to a task. */
export interface TaskWords {
  /** Its own objects, which the client gets. */
  readonly values: readonly JsonObject[];
  readonly figures: JsonObject;
}

/**
 * The names in the objects of an answer to a task are those of categories and its numbers are scores, which are not
 * searched.
 */
export function searchedWords(words: TaskWords): Searched<TaskWords> {
  return searchedBy(words, (guard) => ({
    values: mapTexts(words.values, guard, answerKind, "values") as readonly Json[] as readonly JsonObject[],
    figures: guardedUsage(words.figures, guard) as JsonObject,
  }));
}

function mapAnswer(answer: NonStreamingAnswer, guard: TextGuard): Record<string, Json | undefined> {
  const body: Record<string, Json | undefined> = { ...answer.body };
  for (const name in body)
    if (name === "choices")
      body[name] = (body[name] as readonly JsonObject[]).map((choice) => mapChoice(choice, guard));
    else if (name === "usage") body[name] = guardedUsage(body[name]!, guard);
    else if (name === "id") body[name] = guardName(body[name] as string, guard);
    else if (isVendorField(name, body[name]))
      body[name] = namesAndNumbers(mapTexts(body[name]!, guard, answerKind, name, answer.body), guard);
  return body;
}

function mapChoice(choice: JsonObject, guard: TextGuard): JsonObject {
  const mapped: Record<string, Json | undefined> = {
    ...(mapTexts(choice, guard, answerKind, "choices") as JsonObject),
  };
  for (const name in mapped) {
    const member = mapped[name];
    if (member === undefined || FORM_OF_CHOICE.has(name)) continue;
    const shown =
      name === "message" && isObject(member) ? withCitations(member, choice["message"] as JsonObject, guard) : member;
    mapped[name] = namesAndNumbers(shown, guard);
  }
  return mapped;
}

/** Members of a choice whose names and numbers are those of the form. */
const FORM_OF_CHOICE: ReadonlySet<string> = new Set(["index", "finish_reason", LOGPROBS]);

/** Moves the citations of a message whose content was masked. */
function withCitations(message: JsonObject, given: JsonObject, guard: TextGuard): JsonObject {
  const { annotations } = message;
  if (!Array.isArray(annotations) || message["content"] === given["content"]) return message;
  const places = new MaskedPlaces();
  guard(given["content"] as string, "plain", undefined, places);
  return { ...message, annotations: movedIn(places, annotations as readonly Json[]) };
}

const movedIn = (places: MaskedPlaces, annotations: readonly Json[]): readonly Json[] =>
  movedCitations(annotations, (position, side) => places.moved(position, side));

/** A piece of a text of a stream. */
export interface TextPiece {
  /** What stays the same for all pieces of a text. */
  readonly key: string;
  readonly piece: string;
  readonly isJson: boolean;
}

export interface StreamGuardOptions {
  /** Returns what searches texts that come in one piece; the guards if left out. */
  readonly whole?: () => TextGuard;
  /** Receives the pieces of other texts as they are taken. */
  readonly onPiece?: (piece: TextPiece) => void;
}

/** How much of a piece was searched in advance, and what of it may be sent. */
interface Ahead {
  end: number;
  shown: string;
}

/** The keys of the texts that citations are about: the content of a choice. */
const CITED = /^\d+ content$/;

/** Applies guards to the texts of one stream. All methods throw `policy_violation` when a guard blocks. */
export class StreamGuard {
  /** True if log probabilities must be removed from the chunks, and citations wait until their text is complete. */
  readonly changesTexts: boolean;
  readonly #guards: readonly GuardPolicy[];
  readonly #onFinding: GuardFinding;
  readonly #options: StreamGuardOptions;
  #ownWhole: TextGuard | null = null;
  readonly #texts = new Map<string, GuardedText>();
  /** The ends of texts that have ended and may go on, by their keys. */
  readonly #released = new Map<string, ReleasedText>();
  /** Of the texts that citations are about, by their keys. */
  readonly #maskedPlaces = new Map<string, MaskedPlaces>();
  /** The pieces that were searched in advance, in their order, by the key of their text. */
  readonly #ahead = new Map<string, Ahead[]>();
  /** The other members of each reasoning block whose text has not ended, by the key of that text. */
  readonly #details = new Map<string, JsonObject>();
  readonly #names = new Map<string, string>();
  #passesUnsearched = false;

  constructor(guards: readonly GuardPolicy[], onFinding: GuardFinding, options: StreamGuardOptions = {}) {
    this.#guards = guards;
    this.#onFinding = onFinding;
    this.#options = options;
    this.changesTexts = changes(guards);
  }

  /** Takes the next piece of a text and returns what may be sent of the text. */
  take(key: string, piece: string, isJson = false): string {
    this.#options.onPiece?.({ key, piece, isJson });
    const text = this.#textOf(key, isJson);
    const { end, shown } = this.#ahead.get(key)?.shift() ?? NOT_SEARCHED;
    const rest = piece.slice(end);
    if (this.#passesUnsearched) return shown + text.passUnsearched() + rest;
    return rest === "" ? shown : shown + underGuards(() => text.push(rest));
  }

  /**
   * Searches a piece that `take` is about to get, and pauses after each part of at most `longest` characters. `take` then
   * has only the rest left to search.
   */
  *searchAhead({ key, piece, isJson }: TextPiece, longest: number): Generator<void, void> {
    const text = this.#textOf(key, isJson);
    const ahead: Ahead = { end: 0, shown: "" };
    this.#ahead.getOrInsertComputed(key, () => []).push(ahead);
    while (ahead.end < piece.length) {
      const part = piece.slice(ahead.end, ahead.end + longest);
      ahead.shown += underGuards(() => text.push(part));
      ahead.end += part.length;
      yield;
    }
  }

  /** Throws MalformedAnswer for more texts than a stream may have. */
  #textOf(key: string, isJson: boolean): GuardedText {
    return this.#texts.getOrInsertComputed(key, () => {
      if (this.#texts.size + this.#released.size >= MAX_TEXTS)
        throw new MalformedAnswer(
          `The provider's stream has more than ${MAX_TEXTS} texts, which guards cannot search.`,
        );
      const masked = CITED.test(key) ? this.#maskedPlaces.getOrInsertComputed(key, () => new MaskedPlaces()) : null;
      const after = isJson ? undefined : this.#released.get(key);
      return new GuardedText(this.#guards, this.#onFinding, { isJson, after, ...(masked && { masked }) });
    });
  }

  /** Takes what was found in texts that come in one piece, before the chunk with them is taken. */
  foundWhole(prior: PriorMatches): void {
    this.#ownWhole = textGuard(this.#guards, this.#onFinding, prior);
  }

  #whole(): TextGuard {
    if (this.#passesUnsearched) return UNGUARDED;
    return this.#options.whole?.() ?? (this.#ownWhole ??= textGuard(this.#guards, this.#onFinding));
  }

  /** Stops the search. What guards hold back, and what comes now, is sent unchanged. */
  passUnsearched(): void {
    this.#passesUnsearched = true;
  }

  /** Returns what may be sent of a text by now, without a further piece. */
  released(key: string): string {
    const text = this.#texts.get(key);
    return text === undefined ? "" : underGuards(() => text.push(""));
  }

  /**
   * Ends a text and returns what was held back of it, which is empty if the text is not known. More pieces of the text may
   * follow.
   */
  end(key: string): string {
    const text = this.#texts.get(key);
    if (text === undefined) return "";
    this.#texts.delete(key);
    const rest = underGuards(() => (this.#passesUnsearched ? text.passUnsearched() : text.end()));
    this.#released.set(key, text.released());
    return rest;
  }

  /** Returns citations as they stand in a text that has ended. */
  citations(key: string, annotations: readonly Json[]): readonly Json[] {
    const places = this.#maskedPlaces.get(key);
    return places === undefined ? annotations : movedIn(places, annotations);
  }

  /**
   * Returns reasoning blocks with as much of their text as may be sent. A block that has nothing else to send is held
   * back.
   */
  details(choice: number, details: readonly ReasoningDetail[]): readonly JsonObject[] {
    return details.filter(isObject).flatMap((detail) => {
      const others = withoutPieces(detail);
      const frame = this.whole(others, "reasoning_details");
      const shown: Record<string, Json | undefined> = { ...(frame === others ? detail : frame) };
      let waits = false;
      const isSigned = !isNothing(detail["signature"]);
      for (const name of PIECES) {
        const text = detail[name];
        const key = detailKey(choice, detail, name);
        if (typeof text === "string") shown[name] = text;
        if (typeof text === "string" && text !== "") {
          const { signature: _signature, data: _data, ...rest } = frame;
          this.#details.set(key, rest);
          shown[name] = this.take(key, text);
          waits ||= shown[name] === "";
        }
        // a signature covers the whole text and ends it
        if (isSigned && this.#details.delete(key))
          shown[name] = ((shown[name] as string | null | undefined) ?? "") + this.end(key);
      }
      return waits && isNothing(shown["signature"]) && isNothing(shown["data"]) ? [] : [shown];
    });
  }

  /** Returns what `rest` gives of each reasoning block. */
  restOfDetails(choice: number, rest: (key: string) => string): readonly JsonObject[] {
    return [...this.#details].flatMap(([key, frame]) => {
      if (!key.startsWith(detailsOf(choice))) return [];
      const text = rest(key);
      return text === "" ? [] : [{ ...frame, [key.slice(key.lastIndexOf(" ") + 1)]: text }];
    });
  }

  /**
   * Returns a delta with as much of its other members as may be sent. Each of their texts may arrive in pieces, and so
   * each has a window of its own.
   */
  others(choice: number, delta: ChunkDelta): ChunkDelta {
    const shown: Record<string, Json | undefined> = {};
    for (const name in delta) {
      if (isSearchedElsewhere(name)) shown[name] = delta[name];
      else shown[this.#nameOf(name)] = this.#member(delta[name], `${choice} member `, name);
    }
    return shown;
  }

  /** Returns the name of a member as it may be sent. */
  #nameOf(name: string): string {
    let shown = this.#names.get(name);
    if (shown === undefined) {
      shown = isProtocolWord(name) ? name : underGuards(() => guardName(name, this.#whole()));
      if (this.#names.size < MAX_NAMES) this.#names.set(name, shown);
    }
    return shown;
  }

  /** Returns undefined if nothing of the member may be sent yet. */
  #member(value: Json | undefined, place: string, name: string): Json | undefined {
    if (name === LOGPROBS && this.changesTexts) return undefined;
    if (typeof value === "string") {
      const kind = value === "" ? "skip" : answerKind(name, { [name]: value });
      if (kind === "fixed") this.name(value);
      if (kind === "skip" || kind === "fixed") return value;
      const shown = this.take(`${place}${JSON.stringify(name)}\n`, value);
      return shown === "" ? undefined : shown;
    }
    if (!isObject(value)) return this.whole(value, name);
    const members = Object.entries(value).map(
      ([inner, member]) =>
        [this.#nameOf(inner), this.#member(member, `${place}${JSON.stringify(name)}\n`, inner)] as const,
    );
    if (members.length > 0 && members.every(([, member]) => member === undefined)) return undefined;
    return Object.fromEntries(members.filter(([, member]) => member !== undefined));
  }

  /** Returns what `rest` gives of the other members of a choice, as deltas. */
  restOfMembers(choice: number, rest: (key: string) => string): readonly JsonObject[] {
    const place = `${choice} member `;
    return [...this.#texts.keys()]
      .filter((key) => key.startsWith(place))
      .flatMap((key) => {
        const text = rest(key);
        const names = key
          .slice(place.length, -1)
          .split("\n")
          .map((name) => this.#nameOf(JSON.parse(name) as string));
        return text === "" ? [] : [nested(names, text)];
      });
  }

  /** Returns a chunk with its vendor's members as they may be sent. */
  chunk(chunk: ChatChunk): ChatChunk {
    return mappedMembers(chunk, (value, name) => {
      if (isVendorField(name, value)) return this.whole(value, name);
      if (name === "usage" && isObject(value)) return underGuards(() => guardedUsage(value, this.#whole()));
      return name === "id" && typeof value === "string" ? this.#nameOf(value) : value;
    }) as unknown as ChatChunk;
  }

  /** Searches the name of a function, which cannot be replaced. */
  name(text: string): void {
    underGuards(() => this.#whole().fixed!(text));
  }

  /** Searches a value that arrives in one piece. */
  whole<T extends Json | undefined>(value: T, name: string): T {
    if (value === undefined || value === null) return value;
    const shown = this.changesTexts ? withoutLogprobs(value) : value;
    return underGuards(
      () => namesAndNumbers(mapTexts(shown, this.#whole(), answerKind, name, { [name]: shown }), this.#whole()) as T,
    );
  }
}

const NOT_SEARCHED: Readonly<Ahead> = { end: 0, shown: "" };
const UNGUARDED = textGuard([], () => {});
/** The most texts of a stream: each has a window of its own, and the provider chooses the names of members and blocks. */
const MAX_TEXTS = 8192;
/** The most member names of a stream that are remembered, so that each is searched only once. */
const MAX_NAMES = 1000;

/** Whether `others` does not search a member of a delta: the role, and the members that GuardedChunks searches. */
function isSearchedElsewhere(name: string): boolean {
  return name === "role" || isSet(DELTA_MEMBERS.get(name));
}

function nested([name, ...inner]: readonly string[], text: string): JsonObject {
  return { [name!]: inner.length === 0 ? text : nested(inner, text) };
}

/** How the keys of the reasoning blocks of a choice begin. */
export function detailsOf(choice: number): string {
  return `${choice} detail `;
}

function detailKey(choice: number, { index, type }: ReasoningDetail, name: string): string {
  return `${detailsOf(choice)}${index ?? ""} ${type} ${name}`;
}

/** Members of a reasoning block whose texts come in pieces. */
const PIECES = ["text", "summary"] as const;

/** Returns the members of a reasoning block that come whole. */
function withoutPieces(detail: JsonObject): JsonObject {
  const isPiece = (name: string): boolean => PIECES.some((one) => one === name) && typeof detail[name] === "string";
  return Object.fromEntries(Object.entries(detail).filter(([name]) => !isPiece(name)));
}

function isNothing(value: Json | undefined): boolean {
  return value === undefined || value === null || value === "";
}
