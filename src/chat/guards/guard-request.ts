// Applies guards to a request: every text that goes to the provider is searched, and masked if a guard masks. Masked
// members are marked as rewritten, so that no target gets the caller's original text of them (docs/decisions/0002).
import { type SourcedMembers, withMembers } from "../../core/request-source.ts";
import {
  BlockedText,
  type Found,
  GuardedText,
  type GuardedTextOptions,
  guardFound,
  type GuardFinding,
  guardText,
  noteUnsearched,
} from "../../guards/guarded-text.ts";
import type { ChatParams, ChatRequest, Message } from "../../core/chat.ts";
import { heldPlace } from "../../core/held-member.ts";
import { isObject, isRawNumber, type Json, type JsonObject } from "../../core/json.ts";
import { FUNCTION_NAME } from "../../core/params.ts";
import { mappedList } from "../../core/mapped-list.ts";
import type { GuardPolicy } from "../../core/policy.ts";
import { guardedFile } from "./guard-file.ts";
import { isProtocolWord } from "./protocol-words.ts";

/**
 * Searches the parts of a request that this thread holds. Throws BlockedText. Returns the same object if nothing was
 * replaced.
 */
export function guardedRequest(request: ChatRequest, guard: TextGuard): ChatRequest {
  const { held } = request;
  const guarded = withGuarded(request, {
    messages: guardedMessages(request.messages, guard),
    params: guardedParams(request.params, guard),
    extra: guardedExtra(request.extra, guard, held === undefined ? extraKind : besideHeldKind),
  });
  if (held === undefined) return guarded;
  const skeleton = mappedList(held.skeleton, (message) => guardedNames(message, guard) as Message);
  return skeleton === held.skeleton ? guarded : { ...guarded, held: { ...held, skeleton } };
}

/**
 * Searches the held parts of a request in the thread that holds them: the messages, and the values of members that
 * pass through. Throws BlockedText. Returns the same object if nothing was replaced.
 */
export function guardedConversation(request: ChatRequest, members: readonly string[], guard: TextGuard): ChatRequest {
  const messages = guardedMessages(request.messages, guard);
  const extra: Record<string, Json | undefined> = { ...request.extra };
  for (const name of members)
    extra[name] = namesAndNumbers(mapTexts(extra[name]!, guard, extraKind, name, request.extra), guard);
  return withGuarded(request, {
    messages,
    params: request.params,
    extra: members.every((name) => extra[name] === request.extra[name]) ? request.extra : extra,
  });
}

function withGuarded(request: ChatRequest, guarded: SourcedMembers<ChatRequest>): ChatRequest {
  const isSame =
    guarded.messages === request.messages && guarded.params === request.params && guarded.extra === request.extra;
  return isSame ? request : withMembers(request, guarded);
}

/** Throws BlockedText. Returns the same list if nothing was replaced. */
export function guardedMessages(messages: readonly Message[], guard: TextGuard): readonly Message[] {
  return mappedList(messages, (message) => {
    const guarded = namesAndNumbers(mapMessage(message, guard, messageKind), guard);
    if (isObject(guarded)) requireResultInParts(guarded, guard);
    return guarded as Message;
  });
}

/**
 * Searches the text parts of a tool result as one text, which may be JSON with escapes that are split between the
 * parts. Throws BlockedText.
 */
function requireResultInParts({ role, content }: JsonObject, guard: TextGuard): void {
  if (!isOfTool(role) || !Array.isArray(content)) return;
  const joined = (content as readonly Json[])
    .map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
  const value = escapedJson(joined);
  if (value !== undefined) mapTexts(value, guard, fixedKind, "text");
  if (value !== undefined) requirePlain(value, guard);
}

function isOfTool(role: Json | undefined): boolean {
  return role === "tool" || role === "function";
}

/**
 * Returns the value of a text that is JSON with escapes; undefined for any other text. A provider gets such escapes
 * decoded if its vendor takes tool results as values.
 */
function escapedJson(text: string): Json | undefined {
  if (!text.includes("\\") || !/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/**
 * How a text is searched: not at all (`skip`), as plain text, as JSON, as a file or its address, or as a text that
 * cannot be replaced (`fixed`). With `none`, nothing inside the value is searched either.
 */
export type TextKind = "none" | "skip" | "plain" | "json" | "file" | "fixed";
/** Decides by the name of the member that holds a text, and by the object that contains the member. */
export type KindOf = (name: string, owner: JsonObject) => TextKind;
export interface TextGuard {
  /** `across` are matches that extend beyond this text; they are added to the matches within it. */
  (text: string, kind: "plain" | "json", across?: readonly Found[]): string;
  /**
   * Searches a text that cannot be replaced. Throws BlockedText for a match, even if the guard masks. If the method is
   * missing, such texts are not searched.
   */
  readonly fixed?: (text: string) => void;
  /**
   * Searches adjacent texts for matches that extend over several of them. Returns the part of each text, by its index.
   */
  readonly divided?: (texts: readonly string[]) => ReadonlyMap<number, readonly Found[]>;
}

const AS_JSON: GuardedTextOptions = { isJson: true };

/** Matches that were found in advance, by kind and text. */
export interface PriorMatches extends Readonly<Record<"plain" | "json", ReadonlyMap<string, readonly Found[]>>> {
  /** The guards whose search did not finish, although they may have found something. */
  readonly unsearched: ReadonlySet<GuardPolicy>;
}

/** Throws BlockedText if a guard did not finish its search in advance, and blocks in that case. */
export function textGuard(
  guards: readonly GuardPolicy[],
  onFinding: GuardFinding,
  prior: PriorMatches | null = null,
): TextGuard {
  if (prior !== null && prior.unsearched.size > 0)
    for (const policy of guards) if (prior.unsearched.has(policy)) noteUnsearched(policy, onFinding);
  const guard = (text: string, kind: "plain" | "json", across?: readonly Found[]): string => {
    if (text === "") return text;
    const options = kind === "json" ? AS_JSON : undefined;
    const found = prior?.[kind].get(text);
    if (across !== undefined) {
      const all = [...across, ...(found ?? searchText(text, guards, options))];
      // findings are reported in the order of the guards
      const inTurn = all.toSorted((one, other) => guards.indexOf(one.policy) - guards.indexOf(other.policy));
      return guardFound(text, inTurn, guards, onFinding, options);
    }
    return found === undefined
      ? guardText(text, guards, onFinding, options)
      : guardFound(text, found, guards, onFinding, options);
  };
  const hasPatterns = guards.some(({ guard: { detectors } }) => detectors.some(({ folds }) => !folds));
  return Object.assign(guard, {
    divided: (texts: readonly string[]) => dividedBetween(texts, guards, prior),
    fixed(text: string) {
      // built-in detectors never match a short word of letters
      if (text === "" || (!hasPatterns && /^[A-Za-z_]{1,20}$/.test(text))) return;
      for (const { policy } of prior?.plain.get(text) ?? searchText(text, guards)) {
        if (!guards.includes(policy)) continue;
        const isMask = policy.guard.action === "mask";
        onFinding(policy, isMask && policy.mode === "enforce" ? UNREPLACEABLE : undefined);
        if (policy.mode === "enforce") throw new BlockedText(policy, isMask ? UNREPLACEABLE : null);
      }
    },
  });
}

/** Why a guard blocks a call although it is set to mask. */
export const UNREPLACEABLE = "the guard found a match in a place where it cannot be masked";

interface Place {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function dividedBetween(
  texts: readonly string[],
  guards: readonly GuardPolicy[],
  prior: PriorMatches | null,
): ReadonlyMap<number, readonly Found[]> {
  const joined = texts.join("");
  let end = 0;
  const places = texts.map((text): Place => ({ text, start: end, end: (end += text.length) }));
  const parts = new Map<number, Found[]>();
  const own = new Map<number, readonly Found[]>();
  const ownOf = (index: number): readonly Found[] => {
    const { text, start } = places[index]!;
    if (!own.has(index))
      own.set(
        index,
        (prior?.plain.get(text) ?? searchText(text, guards)).map((found) => ({
          ...found,
          start: found.start + start,
          end: found.end + start,
        })),
      );
    return own.get(index)!;
  };
  for (const found of prior?.plain.get(joined) ?? searchText(joined, guards)) {
    const first = placeAt(places, found.start);
    const last = placeAt(places, found.end - 1);
    if (first === last || !guards.includes(found.policy)) continue;
    const indexes = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(
      (index) => places[index]!.text !== "",
    );
    // if the guard also has a match within one of the texts, that match is masked by itself
    const isOwn = (one: Found): boolean =>
      one.policy === found.policy && one.start < found.end && found.start < one.end;
    if (indexes.some((index) => ownOf(index).some(isOwn))) continue;
    for (const index of indexes) {
      const { start } = places[index]!;
      if (!parts.has(index)) parts.set(index, []);
      // no text is emptied entirely, because some providers refuse empty parts
      parts.get(index)!.push({
        ...found,
        start: Math.max(found.start, start) - start,
        end: Math.min(found.end, places[index]!.end) - start,
        mask: found.start >= start || found.end >= places[index]!.end ? found.mask : "",
      });
    }
  }
  return parts;
}

/** Returns the index of the text that contains a position of the joined text. */
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

function searchText(text: string, guards: readonly GuardPolicy[], options?: GuardedTextOptions): readonly Found[] {
  const all: Found[] = [];
  new GuardedText(guards, () => {}, { ...options, onFound: (found) => all.push(found) }).end(text);
  return all;
}

/**
 * Searches every text of a message as `mapTexts` does. Models read the text parts as one text, so matches that extend
 * over several parts are found too.
 */
export function mapMessage(message: Json, guard: TextGuard, kindOf: KindOf): Json {
  const content = isObject(message) ? message["content"] : null;
  if (guard.divided === undefined || !Array.isArray(content) || content.length < 2)
    return mapTexts(message, guard, kindOf);
  const parts = content as readonly Json[];
  const divided = guard.divided(
    parts.map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : "")),
  );
  if (divided.size === 0) return mapTexts(message, guard, kindOf);
  const across = new Map([...divided].map(([index, found]) => [parts[index] as JsonObject, found]));
  return mapTexts(message, guard, kindOf, "", {}, across);
}

/** Members that say how something is to be read or which thing is meant. Their values cannot be replaced. */
const FIXED: ReadonlySet<string> = new Set([
  "type",
  "role",
  "id",
  "tool_call_id",
  "call_id",
  "index",
  "format",
  "media_type",
  "mime_type",
  "detail",
  "cache_control",
  "ttl",
]);
/** Members with opaque bytes of a provider, which the provider must get back unchanged. */
const OPAQUE: ReadonlySet<string> = new Set(["signature", "thought_signature", "encrypted_content"]);
/** Members that may contain a file, which may be text. */
const FILES: ReadonlySet<string> = new Set(["url", "file_id", "file_data", "data"]);

const anyText: KindOf = (name, owner) =>
  FILES.has(name) ? "file" : OPAQUE.has(name) ? opaque(owner[name]) : FIXED.has(name) ? "fixed" : "plain";

/** Treats a value as opaque bytes, which are not searched, only if it is long and nothing but base64. */
function opaque(value: Json | undefined): TextKind {
  return typeof value === "string" && value.length >= 32 && /^[A-Za-z0-9+/_=-]+$/.test(value) && /[A-Za-z]/.test(value)
    ? "skip"
    : "fixed";
}

function isFunctionName(name: Json | undefined): boolean {
  return typeof name === "string" && FUNCTION_NAME.test(name);
}

function messageKind(name: string, owner: JsonObject): TextKind {
  if (name === "arguments") return "json";
  if (name === "content" && isOfTool(owner["role"]) && typeof owner["content"] === "string")
    return escapedJson(owner["content"]) === undefined ? "plain" : "json";
  // the name of a function cannot be replaced, but the name of a participant is text
  if (name === "name")
    return ("arguments" in owner || owner["role"] === "function" || owner["role"] === "tool") &&
      isFunctionName(owner["name"])
      ? "fixed"
      : "plain";
  if (name === "data" && owner["type"] === "text") return "plain";
  return anyText(name, owner);
}

/**
 * Members of a schema that refer to something by its name; the model reads the rest of a schema as text. The headers
 * and the authorization of a tool server are credentials and are not searched.
 */
const SCHEMA_FIXED: ReadonlySet<string> = new Set([
  "type",
  "name",
  "format",
  "$ref",
  "$schema",
  "$id",
  "$anchor",
  "$dynamicRef",
  "$dynamicAnchor",
  "server_url",
  "server_label",
  "cache_control",
  "pattern",
]);
const schemaKind: KindOf = (name, owner) =>
  (name === "headers" || name === "authorization") && "server_url" in owner
    ? "none"
    : SCHEMA_FIXED.has(name)
      ? "fixed"
      : "plain";

/** Parameters with text that a model reads. The values of all other parameters cannot be replaced. */
const TEXTS: ReadonlySet<string> = new Set([
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "stop",
  "prediction",
  "initial_prompt_value",
  "final_prompt_value",
  "bos_token",
  "eos_token",
  "roles",
  "web_search_options",
] satisfies readonly (keyof ChatParams)[]);
const SCHEMAS: ReadonlySet<string> = new Set([
  "tools",
  "response_format",
  "tool_choice",
] satisfies readonly (keyof ChatParams)[]);
const fixedKind: KindOf = () => "fixed";

/** Searches all parameters that are present, so that a parameter that is added later is searched as well. */
function guardedParams(params: ChatParams, guard: TextGuard): ChatParams {
  let changed: Record<string, unknown> | null = null;
  for (const [name, value] of Object.entries(params as JsonObject)) {
    if (value === undefined || value === null || typeof value === "boolean") continue;
    const isText = TEXTS.has(name);
    const kind = SCHEMAS.has(name) ? schemaKind : isText ? anyText : fixedKind;
    const guarded =
      typeof value === "string" ? (isText ? guard(value, "plain") : fixed(value, guard)) : mapTexts(value, guard, kind);
    // a number by itself is a setting, such as a seed
    if (typeof value === "object" && !isRawNumber(value)) requirePlain(value, guard);
    if (guarded !== value) (changed ??= { ...params })[name] = guarded;
  }
  return changed ?? params;
}

/** Searches a text that cannot be replaced. Throws BlockedText for a match, whether the guard masks or blocks. */
function fixed(text: string, guard: TextGuard): string {
  if (!isProtocolWord(text)) guard.fixed?.(text);
  return text;
}

/** Searches names of members and numbers, which cannot be replaced. Throws BlockedText. */
function requirePlain(value: Json, guard: TextGuard): void {
  if (typeof value === "number" || isRawNumber(value)) {
    const text = isRawNumber(value) ? value.rawJSON : String(value);
    if (text.length >= LONG_NUMBER) fixed(text, guard);
  } else if (Array.isArray(value)) for (const item of value as readonly Json[]) requirePlain(item, guard);
  else if (isObject(value))
    for (const name in value) {
      if (name.length >= LONG_NAME) fixed(name, guard);
      const member = value[name];
      if (typeof member === "object" ? member !== null : typeof member === "number") requirePlain(member!, guard);
    }
}

/** The fewest characters of a number that is searched, because shorter numbers identify no person. */
const LONG_NUMBER = 8;

/** Searches members that the gateway does not know, including their names and numbers. */
function guardedExtra(extra: JsonObject, guard: TextGuard, kindOf: KindOf): JsonObject {
  return namesAndNumbers(mapTexts(extra, guard, kindOf), guard) as JsonObject;
}
const extraKind: KindOf = (name, owner) =>
  FILES.has(name) ? "file" : OPAQUE.has(name) ? opaque(owner[name]) : "plain";
/** Skips the placeholder of a member that another thread holds. */
const besideHeldKind: KindOf = (name, owner) => (heldPlace(owner[name]) === null ? extraKind(name, owner) : "skip");

export function namesAndNumbers(value: Json, guard: TextGuard): Json {
  if (typeof value === "number" || isRawNumber(value)) {
    const text = isRawNumber(value) ? value.rawJSON : String(value);
    if (text.length < LONG_NUMBER) return value;
    const guarded = guard(text, "plain");
    return guarded === text ? value : guarded;
  }
  if (Array.isArray(value)) return mappedList(value as readonly Json[], (item) => namesAndNumbers(item, guard));
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(
    ([name, member]) =>
      [guardedName(name, guard), member === undefined ? member : namesAndNumbers(member, guard)] as const,
  );
  if (members.every(([name, member]) => name in value && value[name] === member)) return value;
  // masking must not remove a member by making two names equal, so the names count as text that cannot be replaced
  if (new Set(members.map(([name]) => name)).size < members.length) for (const name in value) fixed(name, guard);
  return Object.fromEntries(members);
}
/** The length of the shortest e-mail address. */
const LONG_NAME = 6;

/** Masks the names in a skeleton, which contains the names of many messages. Names that become equal may be merged. */
function guardedNames(value: Json, guard: TextGuard): Json {
  if (Array.isArray(value)) return mappedList(value as readonly Json[], (item) => guardedNames(item, guard));
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [
    guardedName(name, guard),
    guardedNames(member!, guard),
  ]);
  const names = Object.keys(value);
  return members.every(([name, member], index) => name === names[index] && member === value[names[index]!])
    ? value
    : (Object.fromEntries(members) as Json);
}

function guardedName(name: string, guard: TextGuard): string {
  return name.length < LONG_NAME || isProtocolWord(name) ? name : guard(name, "plain");
}

/**
 * Searches every text of a value, and returns the same value if none was replaced. The parser bounds the depth of the
 * value. `across` are the matches that extend over several parts, by part.
 */
export function mapTexts(
  value: Json,
  guard: TextGuard,
  kindOf: KindOf,
  name = "",
  owner: JsonObject = {},
  across?: ReadonlyMap<JsonObject, readonly Found[]>,
): Json {
  if (typeof value === "string") {
    const kind = kindOf(name, owner);
    if (kind === "file")
      return guardedFile(value, owner, {
        text: (text) => guard(text, "plain"),
        fixed: (text) => void fixed(text, guard),
      });
    if (kind === "fixed") return fixed(value, guard);
    if (kind === "skip" || kind === "none") return value;
    return guard(value, kind, name === "text" ? across?.get(owner) : undefined);
  }
  if (typeof value !== "object" || value === null || (name !== "" && kindOf(name, owner) === "none")) return value;
  if (Array.isArray(value))
    return mappedList(value as readonly Json[], (item) => mapTexts(item, guard, kindOf, name, owner, across));
  if (!isObject(value)) return value;
  let changed: Record<string, Json | undefined> | null = null;
  for (const key in value) {
    const member = value[key];
    if (member === undefined || member === null || typeof member === "number" || typeof member === "boolean") continue;
    const guarded = mapTexts(member, guard, kindOf, key, value, across);
    if (guarded !== member) (changed ??= { ...value })[key] = guarded;
  }
  return changed ?? value;
}
