// Walks over a JSON value and applies a guard to its texts, the names of its members and its numbers. A value in which
// nothing is replaced stays the same object.
import { isObject, isRawNumber, type Json, type JsonObject } from "../../core/json.ts";
import { mappedList, mappedMembers } from "../../core/request/mapped-list.ts";
import type { Found } from "../../guards/guarded-text.ts";
import { guardedFile } from "./guard-file.ts";
import { isProtocolWord } from "./protocol-words.ts";
import type { TextGuard } from "./text-guard.ts";

/**
 * How a text is searched: not at all (`skip`), as plain text, as a name, as JSON, as a file or its address, or as a text
 * that cannot be replaced (`fixed`). `arguments`: a value that a translated request has as JSON text, all of whose texts are
 * plain, and a text as plain text.
 */
export type TextKind = "skip" | "plain" | "name" | "json" | "file" | "fixed" | "arguments";
/**
 * Decides by the name of the member that holds a text, and by the object that contains the member. A text of no member,
 * whose name is empty, is not `arguments`.
 */
export type KindOf = (name: string, owner: JsonObject) => TextKind;
/**
 * Searches every text of a message as `mapTexts` does. Models read the text parts as one text, so matches that extend
 * over several parts are found too.
 */
export function mapMessage(message: Json, guard: TextGuard, kindOf: KindOf): Json {
  const content = isObject(message) ? message["content"] : null;
  if (guard.divided === undefined || !Array.isArray(content) || content.length < 2)
    return mapTexts(message, guard, kindOf);
  const parts = content as readonly Json[];
  const divided = guard.divided(textsOfParts(parts));
  if (divided.size === 0) return mapTexts(message, guard, kindOf);
  const across = new Map([...divided].map(([index, found]) => [parts[index] as JsonObject, found]));
  return mapTexts(message, guard, kindOf, "", {}, across);
}

/** The texts of adjacent parts; an empty one for a part without a text. */
export function textsOfParts(parts: readonly Json[]): readonly string[] {
  return parts.map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : ""));
}

/** Of texts that all cannot be replaced. */
export const fixedKind: KindOf = () => "fixed";

/** Of texts whose members somebody else has named, so that a name says nothing of how a text is to be read. */
const plainKind: KindOf = () => "plain";

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
  if (typeof value !== "string" && (typeof value !== "object" || value === null)) return value;
  return mapTextsOfKind(value, kindOf(name, owner), guard, kindOf, name, owner, across);
}

/** All items of a list are of its own kind. */
function mapTextsOfKind(
  value: Json,
  kind: TextKind,
  guard: TextGuard,
  kindOf: KindOf,
  name: string,
  owner: JsonObject,
  across: ReadonlyMap<JsonObject, readonly Found[]> | undefined,
): Json {
  if (typeof value === "string") {
    if (kind === "file")
      return guardedFile(value, owner, {
        text: (text) => guard(text, "plain"),
        fixed: (text) => void guardFixed(text, guard),
      });
    if (kind === "fixed") return guardFixed(value, guard);
    if (kind === "skip") return value;
    if (kind === "name") return guardName(value, guard);
    return guard(value, kind === "arguments" ? "plain" : kind, name === "text" ? across?.get(owner) : undefined);
  }
  if (Array.isArray(value))
    return mappedList(value as readonly Json[], (item) =>
      mapTextsOfKind(item, kind, guard, kindOf, name, owner, across),
    );
  if (!isObject(value)) return value;
  if (kind === "arguments")
    return mapTexts(value, guard.within?.(JSON.stringify(value)) ?? guard, plainKind, "", {}, across);
  return mappedMembers(value, (member, key) =>
    member === undefined ? member : mapTexts(member, guard, kindOf, key, value, across),
  );
}

/** Searches a text that cannot be replaced. Throws BlockedText for a match, whether the guard masks or blocks. */
export function guardFixed(text: string, guard: TextGuard): string {
  if (!isProtocolWord(text)) guard.fixed?.(text);
  return text;
}

/** Searches names of members and numbers, which cannot be replaced. Throws BlockedText. */
export function guardFixedNames(value: Json, guard: TextGuard): void {
  if (typeof value === "number" || isRawNumber(value)) {
    const text = isRawNumber(value) ? value.rawJSON : String(value);
    if (text.length >= LONG_NUMBER) guardFixed(text, guard);
  } else if (Array.isArray(value)) for (const item of value as readonly Json[]) guardFixedNames(item, guard);
  else if (isObject(value))
    for (const name in value) {
      if (name.length >= LONG_NAME) guardFixed(name, guard);
      const member = value[name];
      if (typeof member === "object" ? member !== null : typeof member === "number") guardFixedNames(member!, guard);
    }
}

/** The fewest characters of a number that is searched, because shorter numbers identify no person. */
const LONG_NUMBER = 8;

export function namesAndNumbers(value: Json, guard: TextGuard): Json {
  if (typeof value === "number" || isRawNumber(value)) {
    const text = isRawNumber(value) ? value.rawJSON : String(value);
    if (text.length < LONG_NUMBER) return value;
    const guarded = guard(text, "plain");
    return guarded === text ? value : guarded;
  }
  if (Array.isArray(value)) return mappedList(value as readonly Json[], (item) => namesAndNumbers(item, guard));
  if (!isObject(value)) return value;
  // the members so far, once one of them has changed
  let members: (readonly [string, Json | undefined])[] | null = null;
  let index = 0;
  for (const name in value) {
    const member = value[name];
    const shownName = guardedName(name, guard);
    const shown = member === undefined ? member : namesAndNumbers(member, guard);
    if (shownName !== name || shown !== member) members ??= Object.entries(value).slice(0, index);
    members?.push([shownName, shown]);
    index += 1;
  }
  if (members === null) return value;
  // masking must not remove a member by making two names equal, so the names count as text that cannot be replaced
  if (new Set(members.map(([name]) => name)).size < members.length) for (const name in value) guardFixed(name, guard);
  return Object.fromEntries(members);
}
/** The length of the shortest e-mail address. */
const LONG_NAME = 6;

/** Masks the names in a skeleton, which contains the names of many messages. Names that become equal may be merged. */
export function guardedNames(value: Json, guard: TextGuard): Json {
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
  return name.length < LONG_NAME || isProtocolWord(name) ? name : guardName(name, guard);
}

export function guardName(name: string, guard: TextGuard): string {
  return guard.ofName === undefined ? guard(name, "plain") : guard.ofName(name);
}
