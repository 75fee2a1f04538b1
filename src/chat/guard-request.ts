// A request under guards: every text of it that goes to the provider is looked at, and replaced where a guard masks. What was replaced goes out in the new form
// to every kind of target: it is noted as rewritten, so that nobody copies it from the text of the caller (docs/decisions/0002).
import { GuardedText, type GuardedTextOptions, type GuardPolicy, type GuardSpoke, guardText } from "../auth/guarded-text.ts";
import type { ChatParams, ChatRequest, Message } from "../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../core/json.ts";

/** Throws BlockedText. The same object where nothing was replaced. */
export function guardedRequest(request: ChatRequest, guard: TextGuard): ChatRequest {
  const messages = mapTexts(request.messages, guard, messageKind) as unknown as readonly Message[];
  const params = guardedParams(request.params, guard);
  const extra = mapTexts(request.extra, guard, anyText) as JsonObject;
  if (messages === request.messages && params === request.params && extra === request.extra) return request;
  const rewritten = new Set(request.source.rewritten);
  if (messages !== request.messages) rewritten.add("messages");
  for (const name of changedNames(request.params as JsonObject, params as JsonObject)) rewritten.add(name);
  for (const name of changedNames(request.extra, extra)) rewritten.add(name);
  return { ...request, messages, params, extra, source: { ...request.source, rewritten } };
}

/** What a text is: nothing that a guard looks at, words, or JSON in a text. */
export type TextKind = "skip" | "words" | "json";
/** By the member that a text stands in, and the object around it. */
export type KindOf = (name: string, owner: JsonObject) => TextKind;
export type TextGuard = (text: string, kind: "words" | "json") => string;

const AS_JSON: GuardedTextOptions = { isJson: true };

/** Long texts that were looked at ahead, by kind, with what became of them. */
export type LookedAt = Readonly<Record<"words" | "json", Map<string, string>>>;

export function textGuard(guards: readonly GuardPolicy[], spoke: GuardSpoke, ahead: LookedAt | null = null): TextGuard {
  return (text, kind) => (text === "" ? text : (ahead?.[kind].get(text) ?? guardText(text, guards, spoke, kind === "json" ? AS_JSON : undefined)));
}

/** Characters of a request from which on its texts are looked at ahead, and of one of them; and how many at a time. */
export const LONG_REQUEST = 65_536;
const LONG_TEXT = 4096;
const SLICE = 16_384;

/** Looks at the long texts of a request in turns with other calls, which a document of megabytes would keep waiting. Rejects with BlockedText. */
export async function lookAhead(request: ChatRequest, guards: readonly GuardPolicy[], spoke: GuardSpoke): Promise<LookedAt> {
  const ahead: LookedAt = { words: new Map(), json: new Map() };
  guardedRequest(request, (text, kind) => {
    if (text.length >= LONG_TEXT) ahead[kind].set(text, text);
    return text;
  });
  for (const kind of ["words", "json"] as const) {
    for (const text of ahead[kind].keys()) {
      const guarded = new GuardedText(guards, spoke, kind === "json" ? AS_JSON : {});
      const pieces: string[] = [];
      for (let at = 0; at < text.length; at += SLICE) {
        pieces.push(guarded.push(text.slice(at, at + SLICE)));
        await new Promise<void>((resume) => setImmediate(resume));
      }
      ahead[kind].set(text, pieces.join("") + guarded.end());
    }
  }
  return ahead;
}

/** Words of a protocol, addresses, and bytes: a mask would break them, and they are no text of a person. */
const NO_TEXT: ReadonlySet<string> = new Set(["type", "role", "id", "tool_call_id", "call_id", "index", "url", "signature", "format", "file_id", "media_type", "mime_type", "detail", "file_data", "thought_signature", "encrypted_content", "cache_control"]);

const anyText: KindOf = (name) => (NO_TEXT.has(name) ? "skip" : "words");

function messageKind(name: string, owner: JsonObject): TextKind {
  if (name === "arguments") return "json";
  // the name of a function is not the caller's to choose anew; a participant's is a text
  if (name === "name") return "arguments" in owner || owner["role"] === "function" || owner["role"] === "tool" ? "skip" : "words";
  // bytes in base64, unless the source says that it is plain text
  if (name === "data") return owner["type"] === "text" ? "words" : "skip";
  return anyText(name, owner);
}

/** Descriptions are texts; the rest of a schema is its author's code. */
const describedKind: KindOf = (name) => (name === "description" || name === "title" ? "words" : "skip");

const TEXT_PARAMS = ["user", "safety_identifier", "prompt_cache_key", "stop", "prediction", "initial_prompt_value", "final_prompt_value", "roles", "web_search_options"] as const satisfies readonly (keyof ChatParams)[];
const SCHEMA_PARAMS = ["tools", "response_format"] as const satisfies readonly (keyof ChatParams)[];

function guardedParams(params: ChatParams, guard: TextGuard): ChatParams {
  let changed: Record<string, unknown> | null = null;
  const look = (name: keyof ChatParams, kind: KindOf): void => {
    const value = params[name];
    if (value === undefined) return;
    const guarded = typeof value === "string" ? guard(value, "words") : mapTexts(value, guard, kind);
    if (guarded !== value) (changed ??= { ...params })[name] = guarded;
  };
  for (const name of TEXT_PARAMS) look(name, anyText);
  for (const name of SCHEMA_PARAMS) look(name, describedKind);
  return changed ?? params;
}

function changedNames(before: JsonObject, after: JsonObject): readonly string[] {
  return before === after ? [] : Object.keys(after).filter((name) => before[name] !== after[name]);
}

/** Deeper than that a value is no conversation. */
const MAX_DEPTH = 64;

/** Every text of a value; the same value where none was replaced. */
export function mapTexts(value: Json, guard: TextGuard, kindOf: KindOf, name = "", owner: JsonObject = {}, depth = 0): Json {
  if (typeof value === "string") {
    const kind = kindOf(name, owner);
    return kind === "skip" || value.startsWith("data:") ? value : guard(value, kind);
  }
  if (depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return mapList(value as readonly Json[], (item) => mapTexts(item, guard, kindOf, name, owner, depth + 1));
  if (!isObject(value)) return value;
  let changed: Record<string, Json | undefined> | null = null;
  for (const key in value) {
    const member = value[key];
    if (member === undefined || member === null || typeof member === "number" || typeof member === "boolean") continue;
    const guarded = mapTexts(member, guard, kindOf, key, value, depth + 1);
    if (guarded !== member) (changed ??= { ...value })[key] = guarded;
  }
  return changed ?? value;
}

function mapList(list: readonly Json[], map: (item: Json) => Json): readonly Json[] {
  let changed: Json[] | null = null;
  for (let index = 0; index < list.length; index++) {
    const mapped = map(list[index]!);
    if (mapped !== list[index]) (changed ??= [...list])[index] = mapped;
  }
  return changed ?? list;
}
