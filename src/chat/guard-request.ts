// A request under guards: every text of it that goes to the provider is looked at, and replaced where a guard masks. What was replaced goes out in the new form
// to every kind of target: it is noted as rewritten, so that nobody copies it from the text of the caller (docs/decisions/0002).
import { BlockedText, type Found, GuardedText, type GuardedTextOptions, guardFound, type GuardPolicy, type GuardSpoke, guardText } from "../auth/guarded-text.ts";
import type { ChatParams, ChatRequest, Message } from "../core/chat.ts";
import { isObject, isRawNumber, type Json, type JsonObject } from "../core/json.ts";
import { FUNCTION_NAME } from "../core/params.ts";
import { guardedFile } from "./guard-file.ts";

/** Throws BlockedText. The same object where nothing was replaced. */
export function guardedRequest(request: ChatRequest, guard: TextGuard): ChatRequest {
  const messages = guardedMessages(request.messages, guard);
  const params = guardedParams(request.params, guard);
  const extra = guardedExtra(request.extra, guard) as JsonObject;
  if (messages === request.messages && params === request.params && extra === request.extra) return request;
  const rewritten = new Set(request.source.rewritten);
  if (messages !== request.messages) rewritten.add("messages");
  for (const name of changedNames(request.params as JsonObject, params as JsonObject)) rewritten.add(name);
  for (const name of changedNames(request.extra, extra)) rewritten.add(name);
  return { ...request, messages, params, extra, source: { ...request.source, rewritten } };
}

/** Throws BlockedText. The same list where nothing was replaced. */
export function guardedMessages(messages: readonly Message[], guard: TextGuard): readonly Message[] {
  return mapTexts(mapList(messages, (message) => undividedParts(message, guard)), guard, messageKind) as unknown as readonly Message[];
}

/** What a text is: nothing that a guard looks at, words, JSON in a text, or a file, if not its address; `none` says the same of all that is inside. */
export type TextKind = "none" | "skip" | "words" | "json" | "file";
/** By the member that a text stands in, and the object around it. */
export type KindOf = (name: string, owner: JsonObject) => TextKind;
export interface TextGuard {
  (text: string, kind: "words" | "json"): string;
  /** Takes out of texts that stand side by side what is divided between them; the same list where nothing is. */
  readonly divided?: (texts: readonly string[]) => readonly string[];
}

const AS_JSON: GuardedTextOptions = { isJson: true };

/** What was found ahead, by kind and text. */
export interface LookedAt extends Readonly<Record<"words" | "json", ReadonlyMap<string, readonly Found[]>>> {
  /** Guards that did not come to an end, though they may have found something. */
  readonly unlooked: ReadonlySet<GuardPolicy>;
}

/** Throws BlockedText where a guard has not looked ahead in its time, and blocks for that. */
export function textGuard(guards: readonly GuardPolicy[], spoke: GuardSpoke, ahead: LookedAt | null = null): TextGuard {
  if (ahead !== null && ahead.unlooked.size > 0) demandLooked(guards, spoke, ahead);
  const guard = (text: string, kind: "words" | "json"): string => {
    if (text === "") return text;
    const options = kind === "json" ? AS_JSON : undefined;
    const found = ahead?.[kind].get(text);
    return found === undefined ? guardText(text, guards, spoke, options) : guardFound(text, found, guards, spoke, options);
  };
  return Object.assign(guard, { divided: (texts: readonly string[]) => withoutDivided(texts, guards, spoke, ahead) });
}

interface Place {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function withoutDivided(texts: readonly string[], guards: readonly GuardPolicy[], spoke: GuardSpoke, ahead: LookedAt | null): readonly string[] {
  const joined = texts.join("");
  const known = ahead?.words.get(joined);
  let end = 0;
  const places = texts.map((text): Place => ({ text, start: end, end: (end += text.length) }));
  const across = (known ?? searchText(joined, guards)).flatMap((found) => {
    const first = placeAt(places, found.start);
    const last = placeAt(places, found.end - 1);
    return first === last ? [] : [{ found, first, last }];
  });
  if (across.length === 0) return texts;
  const own = new Map<number, readonly Found[]>();
  const ownOf = (index: number): readonly Found[] => {
    const { text, start } = places[index]!;
    if (!own.has(index)) own.set(index, (ahead?.words.get(text) ?? searchText(text, guards)).map((found) => ({ ...found, start: found.start + start, end: found.end + start })));
    return own.get(index)!;
  };
  const parts = new Map<number, Found[]>();
  for (const { found, first, last } of across) {
    const indexes = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter((index) => places[index]!.text !== "");
    // what is found in one of them by itself ends there, whatever word the next begins with
    if (indexes.some((index) => ownOf(index).some((one) => one.start < found.end && found.start < one.end))) continue;
    for (const index of indexes) {
      const { start } = places[index]!;
      if (!parts.has(index)) parts.set(index, []);
      // a part of nothing is refused by some providers
      parts.get(index)!.push({ ...found, start: Math.max(found.start, start) - start, end: Math.min(found.end, places[index]!.end) - start, mask: found.start >= start || found.end >= places[index]!.end ? found.mask : "" });
    }
  }
  return texts.map((text, index) => (parts.has(index) ? guardFound(text, parts.get(index)!, guards, spoke) : text));
}

/** Of the places side by side, the one that holds a position. */
function placeAt(places: readonly Place[], position: number): number {
  let low = 0;
  let high = places.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle]!.end > position) high = middle;
    else low = middle + 1;
  }
  return low;
}

function searchText(text: string, guards: readonly GuardPolicy[]): readonly Found[] {
  const all: Found[] = [];
  new GuardedText(guards, () => {}, { onFound: (found) => all.push(found) }).end(text);
  return all;
}

/** Models read the text parts of a message as one text. */
export function undividedParts(message: Json, guard: TextGuard): Json {
  const content = isObject(message) ? message["content"] : null;
  if (guard.divided === undefined || !Array.isArray(content) || content.length < 2) return message;
  const parts = content as readonly Json[];
  const texts = parts.map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : ""));
  const undivided = guard.divided(texts);
  return undivided.every((text, index) => text === texts[index]) ? message : { ...(message as JsonObject), content: parts.map((part, index) => (undivided[index] === texts[index] ? part : { ...(part as JsonObject), text: undivided[index]! })) };
}

/** Why a guard has not looked. */
export const UNLOOKED = "the guard could not look at the text within its time";

/** Throws BlockedText for a guard that has to have looked, and has not. */
function demandLooked(guards: readonly GuardPolicy[], spoke: GuardSpoke, { unlooked }: LookedAt): void {
  for (const policy of guards) {
    if (!unlooked.has(policy)) continue;
    spoke(policy, UNLOOKED);
    if (policy.mode === "enforce" && policy.guard.onError === "block") throw new BlockedText(policy, UNLOOKED);
  }
}

/** Words of a protocol, addresses, and bytes: a mask would break them, and they are no text of a person. */
const NO_TEXT: ReadonlySet<string> = new Set(["type", "role", "id", "tool_call_id", "call_id", "index", "signature", "format", "media_type", "mime_type", "detail", "thought_signature", "encrypted_content", "cache_control"]);
/** What may hold a file, whose bytes may be those of a text. */
const FILES: ReadonlySet<string> = new Set(["url", "file_id", "file_data", "data"]);

const anyText: KindOf = (name) => (FILES.has(name) ? "file" : NO_TEXT.has(name) ? "skip" : "words");

function isFunctionName(name: Json | undefined): boolean {
  return typeof name === "string" && FUNCTION_NAME.test(name);
}

function messageKind(name: string, owner: JsonObject): TextKind {
  if (name === "arguments") return "json";
  // the name of a function is not the caller's to choose anew; a participant's is a text
  if (name === "name") return ("arguments" in owner || owner["role"] === "function" || owner["role"] === "tool") && isFunctionName(owner["name"]) ? "skip" : "words";
  if (name === "data" && owner["type"] === "text") return "words";
  return anyText(name, owner);
}

/** Words of JSON Schema, names of functions, and what a tool server is called with; all else that a tool says may be read by the model. */
const SCHEMA_WORDS: ReadonlySet<string> = new Set(["type", "name", "format", "$ref", "$schema", "$id", "server_url", "server_label", "cache_control"]);
const schemaKind: KindOf = (name, owner) => ((name === "headers" || name === "authorization") && "server_url" in owner ? "none" : SCHEMA_WORDS.has(name) ? "skip" : "words");

const TEXT_PARAMS = ["user", "safety_identifier", "prompt_cache_key", "stop", "prediction", "initial_prompt_value", "final_prompt_value", "bos_token", "eos_token", "roles", "web_search_options"] as const satisfies readonly (keyof ChatParams)[];
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
  for (const name of SCHEMA_PARAMS) look(name, schemaKind);
  return changed ?? params;
}

/** Digits of a number that is worth a look: shorter ones are nobody's. */
const LONG_NUMBER = 8;

/** Fields that nobody here knows: names of members and numbers are looked at as well. */
function guardedExtra(extra: Json, guard: TextGuard): Json {
  return namesAndNumbers(mapTexts(extra, guard, extraKind), guard);
}
const OPAQUE: ReadonlySet<string> = new Set(["signature", "thought_signature", "encrypted_content"]);
const extraKind: KindOf = (name) => (FILES.has(name) ? "file" : OPAQUE.has(name) ? "skip" : "words");

export function namesAndNumbers(value: Json, guard: TextGuard): Json {
  if (typeof value === "number" || isRawNumber(value)) {
    const text = isRawNumber(value) ? value.rawJSON : String(value);
    if (text.length < LONG_NUMBER) return value;
    const guarded = guard(text, "words");
    return guarded === text ? value : guarded;
  }
  if (Array.isArray(value)) return mapList(value as readonly Json[], (item) => namesAndNumbers(item, guard));
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name.length < LONG_NAME ? name : guard(name, "words"), member === undefined ? member : namesAndNumbers(member, guard)] as const);
  return members.every(([name, member]) => name in value && value[name] === member) ? value : Object.fromEntries(members);
}
/** The shortest address of e-mail. */
const LONG_NAME = 6;

function changedNames(before: JsonObject, after: JsonObject): readonly string[] {
  return before === after ? [] : Object.keys(after).filter((name) => before[name] !== after[name]);
}

/** Every text of a value; the same value where none was replaced. What is parsed nests no deeper than this can follow. */
export function mapTexts(value: Json, guard: TextGuard, kindOf: KindOf, name = "", owner: JsonObject = {}): Json {
  if (typeof value === "string") {
    const kind = kindOf(name, owner);
    if (kind === "file") return guardedFile(value, (text) => guard(text, "words"));
    return kind === "skip" || kind === "none" ? value : guard(value, kind);
  }
  if (typeof value !== "object" || value === null || (name !== "" && kindOf(name, owner) === "none")) return value;
  if (Array.isArray(value)) return mapList(value as readonly Json[], (item) => mapTexts(item, guard, kindOf, name, owner));
  if (!isObject(value)) return value;
  let changed: Record<string, Json | undefined> | null = null;
  for (const key in value) {
    const member = value[key];
    if (member === undefined || member === null || typeof member === "number" || typeof member === "boolean") continue;
    const guarded = mapTexts(member, guard, kindOf, key, value);
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
