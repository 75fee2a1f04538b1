// An answer under guards: the whole one at once, a stream text by text over a window (decisions 3.3). What is the same text to a client is one window: the content
// of a choice, its reasoning, the arguments of each of its calls. Log probabilities would spell out what is masked, and are left out.
import { GuardedText, type GuardPolicy, type GuardSpoke } from "../auth/guarded-text.ts";
import type { ChatChunk, ChunkDelta, ReasoningDetail } from "../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import { blockedError } from "./call-policies.ts";
import type { FittedRequest } from "./fit.ts";
import { type KindOf, mapTexts, textGuard, type TextGuard } from "./guard-request.ts";
import { isVendorField } from "./strict-fields.ts";
import type { WholeAnswer } from "./whole-answer.ts";

function changes(guards: readonly GuardPolicy[]): boolean {
  return guards.some(({ mode }) => mode === "enforce");
}

/** Tells the caller that the log probabilities that he asked for are missing. */
export function withheldLogprobs(fitted: FittedRequest, guards: readonly GuardPolicy[]): FittedRequest {
  const { request } = fitted;
  return request.params.logprobs !== true || !changes(guards) ? fitted : { ...fitted, request: { ...request, warnings: [...request.warnings, "logprobs_withheld"] } };
}

const NO_TEXT: ReadonlySet<string> = new Set(["id", "object", "type", "role", "index", "signature", "format", "data", "url", "file_id", "finish_reason", "native_finish_reason", "service_tier", "system_fingerprint", "thought_signature", "encrypted_content"]);

const answerKind: KindOf = (name, owner) => {
  if (name === "arguments") return "json";
  if (name === "name") return "arguments" in owner ? "skip" : "words";
  return NO_TEXT.has(name) ? "skip" : "words";
};

/** Throws `policy_violation`. */
export function guardedAnswer(answer: WholeAnswer, guards: readonly GuardPolicy[], spoke: GuardSpoke): WholeAnswer {
  if (guards.length === 0) return answer;
  const guard = textGuard(guards, spoke);
  const body: Record<string, Json | undefined> = { ...answer.body };
  try {
    for (const name in body) if (name === "choices" || isVendorField(name, body[name])) body[name] = mapTexts(body[name]!, guard, answerKind, name);
  } catch (thrown) {
    throw blockedError(thrown);
  }
  if (changes(guards)) body["choices"] = (body["choices"] as readonly JsonObject[]).map((choice) => ({ ...choice, logprobs: null }));
  return { ...answer, body };
}

/** The texts of one stream. Everything here throws `policy_violation` where a guard blocks. */
export class StreamGuard {
  /** Log probabilities may not leave. */
  readonly withholdsLogprobs: boolean;
  readonly #guards: readonly GuardPolicy[];
  readonly #spoke: GuardSpoke;
  readonly #whole: TextGuard;
  readonly #texts = new Map<string, GuardedText>();
  /** By choice: what the reasoning blocks look like whose text is under way. */
  readonly #details = new Map<string, JsonObject>();

  constructor(guards: readonly GuardPolicy[], spoke: GuardSpoke) {
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
    try {
      return text.push(piece);
    } catch (thrown) {
      throw blockedError(thrown);
    }
  }

  /** The rest of a text; empty where there is none. */
  end(key: string): string {
    const text = this.#texts.get(key);
    if (text === undefined) return "";
    this.#texts.delete(key);
    try {
      return text.end();
    } catch (thrown) {
      throw blockedError(thrown);
    }
  }

  /** Blocks of reasoning with as much of their text as may go out; one that has nothing else to say waits. */
  details(choice: number, details: readonly ReasoningDetail[]): readonly JsonObject[] {
    return details.filter(isObject).flatMap((detail) => {
      const shown: Record<string, Json | undefined> = { ...detail };
      let waits = false;
      for (const name of ["text", "summary"] as const) {
        const text = detail[name];
        if (typeof text !== "string" || text === "") continue;
        const key = detailKey(choice, detail, name);
        const { text: _text, summary: _summary, signature: _signature, data: _data, ...frame } = detail;
        this.#details.set(key, frame);
        shown[name] = this.take(key, text);
        waits ||= shown[name] === "";
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

  /** A delta whose further members may go out; the text of spoken words is a window like others. */
  others(choice: number, delta: ChunkDelta): ChunkDelta {
    const shown: Record<string, Json | undefined> = { ...delta };
    for (const name in shown) if (!WINDOWED.has(name)) shown[name] = this.whole(shown[name], name);
    const audio = delta["audio"];
    if (isObject(audio) && typeof audio["transcript"] === "string") {
      const transcript = this.take(`${choice} transcript`, audio["transcript"]);
      const { transcript: _transcript, ...rest } = audio;
      shown["audio"] = transcript === "" ? (Object.keys(rest).length === 0 ? undefined : rest) : { ...rest, transcript };
    }
    return shown;
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

  /** A value that comes in one piece. */
  whole<T extends Json | undefined>(value: T, name: string): T {
    if (value === undefined || value === null) return value;
    try {
      return mapTexts(value, this.#whole, answerKind, name) as T;
    } catch (thrown) {
      throw blockedError(thrown);
    }
  }
}

/** Texts that come in pieces, and what is no text. */
const WINDOWED: ReadonlySet<string> = new Set(["role", "content", "refusal", "reasoning_content", "reasoning_details", "tool_calls", "function_call", "audio"]);

function detailKey(choice: number, { index, type }: ReasoningDetail, name: string): string {
  return `${choice} detail ${index ?? ""} ${type} ${name}`;
}

function isNothing(value: Json | undefined): boolean {
  return value === undefined || value === null || value === "";
}
