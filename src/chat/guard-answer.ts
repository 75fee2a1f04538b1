// An answer under guards: the whole one at once, a stream text by text over a window (promise 3.3). What is the same text to a client is one window: the content
// of a choice, its reasoning, the arguments of each of its calls. Log probabilities would spell out what is masked, and are left out.
import { GuardedText, type GuardPolicy, type GuardFinding } from "../auth/guarded-text.ts";
import type { ChatChunk, ChunkDelta, ReasoningDetail } from "../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import { isProtocolWord } from "./guard-words.ts";
import { blockedError } from "./policy-violation.ts";
import type { FittedRequest } from "./fit.ts";
import { type KindOf, type LookedAt, mapTexts, namesAndNumbers, textGuard, type TextGuard } from "./guard-request.ts";
import { isVendorField } from "./strict-fields.ts";
import type { WholeAnswer } from "./whole-answer.ts";

function changes(guards: readonly GuardPolicy[]): boolean {
  return guards.some(({ mode }) => mode === "enforce");
}

/** Tells the caller that the log probabilities that he asked for are missing. */
export function withheldLogprobs(fitted: FittedRequest, guards: readonly GuardPolicy[]): FittedRequest {
  const { request } = fitted;
  return request.params.logprobs !== true || !changes(guards)
    ? fitted
    : { ...fitted, request: { ...request, warnings: [...request.warnings, "logprobs_withheld"] } };
}

/** Words of the protocol, and a provider's own bytes. */
const NO_TEXT: ReadonlySet<string> = new Set([
  "id",
  "object",
  "type",
  "role",
  "index",
  "signature",
  "format",
  "finish_reason",
  "native_finish_reason",
  "service_tier",
  "system_fingerprint",
  "thought_signature",
  "encrypted_content",
]);
const FILES: ReadonlySet<string> = new Set(["data", "url", "file_id", "file_data"]);

const answerKind: KindOf = (name, owner) => {
  if (name === "arguments") return "json";
  // which function is called cannot be replaced; words are, also in addresses
  if (name === "name") return "arguments" in owner ? "fixed" : "words";
  if (FILES.has(name)) return typeof owner[name] === "string" && isAddress(owner[name]) ? "words" : "file";
  return NO_TEXT.has(name) ? "skip" : "words";
};

function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(text.slice(0, 32)) && !/^data:/i.test(text.slice(0, 8));
}

/** Characters of an answer that guards look at. */
export function charactersOfAnswer(answer: WholeAnswer): number {
  let characters = 0;
  mapAnswer(answer, (text) => {
    characters += text.length;
    return text;
  });
  return characters;
}

/** Shows all texts of an answer. */
export function visitAnswer(answer: WholeAnswer, guard: TextGuard): void {
  mapAnswer(answer, guard);
}

/** `ahead` null: nothing was looked for before. Throws `policy_violation`. */
export function guardedAnswer(
  answer: WholeAnswer,
  guards: readonly GuardPolicy[],
  spoke: GuardFinding,
  ahead: LookedAt | null,
): WholeAnswer {
  try {
    return answerUnder(guards, answer, spoke, ahead);
  } catch (thrown) {
    throw blockedError(thrown);
  }
}

/** The same, which throws BlockedText. */
export function answerUnder(
  guards: readonly GuardPolicy[],
  answer: WholeAnswer,
  spoke: GuardFinding,
  ahead: LookedAt | null,
): WholeAnswer {
  const body = mapAnswer(answer, textGuard(guards, spoke, ahead));
  if (changes(guards))
    body["choices"] = (body["choices"] as readonly JsonObject[]).map((choice) => ({ ...choice, logprobs: null }));
  return { ...answer, body };
}

function mapAnswer(answer: WholeAnswer, guard: TextGuard): Record<string, Json | undefined> {
  const body: Record<string, Json | undefined> = { ...answer.body };
  for (const name in body)
    if (name === "choices")
      body[name] = (body[name] as readonly JsonObject[]).map((choice) => mapChoice(choice, guard));
    else if (isVendorField(name, body[name]))
      body[name] = namesAndNumbers(mapTexts(body[name]!, guard, answerKind, name), guard);
  return body;
}

function mapChoice(choice: JsonObject, guard: TextGuard): JsonObject {
  const mapped = mapTexts(choice, guard, answerKind, "choices") as JsonObject;
  const { message } = mapped;
  return isObject(message) ? { ...mapped, message: namesAndNumbers(message, guard) } : mapped;
}

/** The texts of one stream. Everything here throws `policy_violation` where a guard blocks. */
export class StreamGuard {
  /** Log probabilities may not leave. */
  readonly withholdsLogprobs: boolean;
  readonly #guards: readonly GuardPolicy[];
  readonly #spoke: GuardFinding;
  readonly #whole: TextGuard;
  readonly #texts = new Map<string, GuardedText>();
  /** By choice: what the reasoning blocks look like whose text is under way. */
  readonly #details = new Map<string, JsonObject>();
  readonly #names = new Map<string, string>();
  #isAbandoned = false;

  constructor(guards: readonly GuardPolicy[], spoke: GuardFinding) {
    this.#guards = guards;
    this.#spoke = spoke;
    this.#whole = textGuard(guards, spoke);
    this.withholdsLogprobs = changes(guards);
  }

  /** What may go out of a text, with its next piece. */
  take(key: string, piece: string, isJson = false): string {
    let text = this.#texts.get(key);
    if (text === undefined) {
      text = new GuardedText(this.#guards, this.#spoke, { isJson });
      this.#texts.set(key, text);
    }
    return this.#guarded(() => text.push(piece));
  }

  /** From here on nothing is looked at any more: what is held goes out as it is. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  /** The rest of a text; empty where there is none. */
  end(key: string): string {
    const text = this.#texts.get(key);
    if (text === undefined) return "";
    this.#texts.delete(key);
    return this.#guarded(() => (this.#isAbandoned ? text.abandon() : text.end()));
  }

  /** Blocks of reasoning with as much of their text as may go out; one that has nothing else to say waits. */
  details(choice: number, details: readonly ReasoningDetail[]): readonly JsonObject[] {
    return details.filter(isObject).flatMap((detail) => {
      const shown: Record<string, Json | undefined> = { ...detail };
      let waits = false;
      const isSigned = !isNothing(detail["signature"]);
      for (const name of ["text", "summary"] as const) {
        const text = detail[name];
        const key = detailKey(choice, detail, name);
        if (typeof text === "string" && text !== "") {
          const { text: _text, summary: _summary, signature: _signature, data: _data, ...frame } = detail;
          this.#details.set(key, frame);
          shown[name] = this.take(key, text);
          waits ||= shown[name] === "";
        }
        // a signature is of the whole text, and its end
        if (isSigned && this.#details.delete(key))
          shown[name] = ((shown[name] as string | null | undefined) ?? "") + this.end(key);
      }
      return waits && isNothing(shown["signature"]) && isNothing(shown["data"]) ? [] : [shown];
    });
  }

  endedDetails(choice: number): readonly JsonObject[] {
    return [...this.#details].flatMap(([key, frame]) => {
      if (!key.startsWith(`${choice} detail `)) return [];
      const rest = this.end(key);
      return rest === "" ? [] : [{ ...frame, [key.slice(key.lastIndexOf(" ") + 1)]: rest }];
    });
  }

  /** A delta whose further members may go out. Each of their texts may come in pieces, and is a window of its own, as the text of spoken words is. */
  others(choice: number, delta: ChunkDelta): ChunkDelta {
    const shown: Record<string, Json | undefined> = {};
    for (const name in delta) {
      if (SPOKEN.has(name)) shown[name] = delta[name];
      else shown[this.#nameOf(name)] = this.#member(delta[name], `${choice} member `, name);
    }
    return shown;
  }

  /** A member's name as it may go out. */
  #nameOf(name: string): string {
    let shown = this.#names.get(name);
    if (shown === undefined) {
      shown = isProtocolWord(name) ? name : this.#guarded(() => this.#whole(name, "words"));
      if (this.#names.size < MAX_NAMES) this.#names.set(name, shown);
    }
    return shown;
  }

  #guarded<T>(look: () => T): T {
    try {
      return look();
    } catch (thrown) {
      throw blockedError(thrown);
    }
  }

  /** Undefined: nothing of it may go out now. */
  #member(value: Json | undefined, place: string, name: string): Json | undefined {
    if (typeof value === "string") {
      if (value === "" || NO_TEXT.has(name)) return value;
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

  /** What is left of the further members of a choice, as deltas. */
  endedMembers(choice: number): readonly JsonObject[] {
    const place = `${choice} member `;
    return [...this.#texts.keys()]
      .filter((key) => key.startsWith(place))
      .flatMap((key) => {
        const rest = this.end(key);
        const names = key
          .slice(place.length, -1)
          .split("\n")
          .map((name) => this.#nameOf(JSON.parse(name) as string));
        return rest === "" ? [] : [nested(names, rest)];
      });
  }

  /** A chunk whose vendor's fields may go out. */
  chunk(chunk: ChatChunk): ChatChunk {
    let shown: Record<string, Json | undefined> | null = null;
    for (const name in chunk) {
      if (!isVendorField(name, chunk[name])) continue;
      const guarded = this.whole(chunk[name], name);
      if (guarded !== chunk[name]) (shown ??= { ...chunk })[name] = guarded;
    }
    return (shown ?? chunk) as ChatChunk;
  }

  /** The name of a function, which cannot be replaced. */
  name(text: string): void {
    this.#guarded(() => this.#whole.fixed!(text));
  }

  /** A value that comes in one piece. */
  whole<T extends Json | undefined>(value: T, name: string): T {
    if (value === undefined || value === null) return value;
    return this.#guarded(() => namesAndNumbers(mapTexts(value, this.#whole, answerKind, name), this.#whole) as T);
  }
}

/** Names of members of a stream that are known, so that each is looked at once. */
const MAX_NAMES = 1000;
/** What the grammar itself shows a guard, and what is no text. */
const SPOKEN: ReadonlySet<string> = new Set([
  "role",
  "content",
  "refusal",
  "reasoning_content",
  "reasoning_details",
  "tool_calls",
  "function_call",
]);

function nested([name, ...inner]: readonly string[], text: string): JsonObject {
  return { [name!]: inner.length === 0 ? text : nested(inner, text) };
}

function detailKey(choice: number, { index, type }: ReasoningDetail, name: string): string {
  return `${choice} detail ${index ?? ""} ${type} ${name}`;
}

function isNothing(value: Json | undefined): boolean {
  return value === undefined || value === null || value === "";
}
