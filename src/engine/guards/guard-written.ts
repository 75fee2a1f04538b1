// Applies guards to a body in the form of an operation that a target speaks itself: every text that the provider would
// read is searched, also in members that the gateway does not know, and masked in its place. What is not masked keeps its
// text byte for byte.
import type { WrittenRequest } from "../../core/chat.ts";
import { isObject, isRawNumber, type Json, type JsonObject } from "../../core/json.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";
import type { Found } from "../../guards/guarded-text.ts";
import { isWholeCarrier } from "../carriers/reasoning-carrier.ts";
import { anyText, escapedJson, guardedAdded, isFunctionName, mapSchemas, opaque, schemaKind } from "./guard-request.ts";
import {
  fixedKind,
  guardFixed,
  guardFixedNames,
  type KindOf,
  mapTexts,
  namesAndNumbers,
  textsOfParts,
} from "./guarded-values.ts";
import type { TextGuard } from "./text-guard.ts";

/** Members of a body that no provider is sent, or whose value the gateway replaces. */
const NOT_SENT: ReadonlySet<string> = new Set(["model", "x_gateway"]);
/** Members that describe tools or answers by schemas. */
const SCHEMAS: ReadonlySet<string> = new Set(["tools", "tool_choice", "text", "output_config", "output_format"]);
/** Members with settings, whose values are words of the form. */
const SETTINGS: ReadonlySet<string> = new Set([
  "thinking",
  "reasoning",
  "include",
  "truncation",
  "service_tier",
  "cache_control",
  "stream_options",
  "prompt_cache_retention",
  "speed",
  "previous_response_id",
]);
/** Members with the versions and features of an API. */
const OF_VERSIONS = /_(?:version|beta)$/;
/** Members of items and blocks that say how they are to be read or which thing is meant. */
const FIXED: ReadonlySet<string> = new Set([
  "tool_use_id",
  "item_id",
  "approval_request_id",
  "server_label",
  "status",
  "phase",
  "execution",
  "syntax",
]);
/** Members with a file or its address, where they hold a text. */
const ADDRESSES: ReadonlySet<string> = new Set(["image_url", "file_url"]);

/** Blocks whose input is an object, which a translated request has as the JSON text of arguments. */
const CALLS: ReadonlySet<Json | undefined> = new Set(["tool_use", "server_tool_use", "mcp_tool_use"]);

const writtenKind: KindOf = (name, owner) => {
  const value = owner[name];
  if (name === "arguments") return "json";
  // members of these are named by a tool or by the caller, and not by the form
  if ((name === "input" && CALLS.has(owner["type"])) || (name === "metadata" && isObject(value))) return "arguments";
  if (name === "output" || (name === "content" && owner["type"] === "tool_result"))
    return typeof value === "string" && escapedJson(value) !== undefined ? "json" : "plain";
  // the name of a function cannot be replaced; any other name is text
  if (name === "name" || name === "namespace") return "type" in owner && isFunctionName(value) ? "fixed" : "plain";
  if (name === "data" && owner["type"] === "text") return "plain";
  if (name === "data" && owner["type"] === "redacted_thinking" && isWholeCarrier(value)) return "skip";
  if (name.startsWith("encrypted_")) return opaque(value);
  if (ADDRESSES.has(name)) return "file";
  return FIXED.has(name) ? "fixed" : anyText(name, owner);
};
const toolKind: KindOf = (name, owner) => (name === "ttl" || FIXED.has(name) ? "fixed" : schemaKind(name, owner));

/** Returns what the client wrote with the changes by which guards mask it. Throws BlockedText. */
export function guardedWritten(written: WrittenRequest, guard: TextGuard): WrittenRequest {
  const { body, replaced, added } = written;
  const masks: JsonEdit[] = [];
  for (const name of Object.keys(body)) {
    if (replaced !== undefined && Object.hasOwn(replaced, name)) continue;
    const value = body[name];
    if (value !== undefined) masks.push(...editsBetween(value, guardedMember(name, value, guard, body), [name]));
  }
  const other: Record<string, Json | undefined> = { ...replaced };
  for (const [name, value] of Object.entries(other))
    if (value !== undefined) other[name] = guardedMember(name, value, guard);
  return {
    ...written,
    masks,
    added: guardedAdded(added, guard),
    ...(replaced !== undefined && { replaced: other }),
  };
}

/** `owner` is the body in which the value stands. */
function guardedMember(name: string, value: Json, guard: TextGuard, owner: JsonObject = { [name]: value }): Json {
  if (NOT_SENT.has(name)) return value;
  // what the gateway does not know would be read by its name as well
  guardFixedNames({ [name]: null }, guard);
  if (SETTINGS.has(name) || SCHEMAS.has(name) || OF_VERSIONS.test(name)) {
    if (typeof value !== "object" && typeof value !== "string") return value;
    guardFixedNames(value, guard);
    if (typeof value === "string") return guardFixed(value, guard);
    return SCHEMAS.has(name) ? mapSchemas(value, guard, toolKind) : mapTexts(value, guard, fixedKind);
  }
  if (NUMBERS.has(name) && (typeof value === "number" || isRawNumber(value))) return value;
  const across = acrossParts(value, guard);
  return namesAndNumbers(mapTexts(value, guard, writtenKind, name, owner, across), guard);
}

/** Settings that are a single number. */
const NUMBERS: ReadonlySet<string> = new Set([
  "temperature",
  "top_p",
  "top_k",
  "top_logprobs",
  "max_tokens",
  "max_output_tokens",
  "max_tool_calls",
  "seed",
]);

/** Models read adjacent parts as one text: returns the matches that extend over several of them, by part. */
function acrossParts(value: Json, guard: TextGuard): ReadonlyMap<JsonObject, readonly Found[]> {
  const across = new Map<JsonObject, readonly Found[]>();
  const visit = (inside: Json | undefined): void => {
    if (Array.isArray(inside)) {
      const parts = inside as readonly Json[];
      const texts = textsOfParts(parts);
      if (texts.filter((text) => text !== "").length > 1)
        for (const [index, found] of guard.divided?.(texts) ?? []) across.set(parts[index] as JsonObject, found);
      for (const part of parts) visit(part);
    } else if (isObject(inside)) for (const name in inside) if (typeof inside[name] === "object") visit(inside[name]);
  };
  visit(value);
  return across;
}

/** Returns the changes that make one value of the other, each at the innermost place that differs. */
export function editsBetween(before: Json, after: Json, path: JsonEdit["path"]): readonly JsonEdit[] {
  if (before === after) return [];
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    const items = after as readonly Json[];
    return (before as readonly Json[]).flatMap((item, index) => editsBetween(item, items[index]!, [...path, index]));
  }
  if (isObject(before) && isObject(after)) {
    const names = Object.keys(before);
    const others = Object.keys(after);
    // the name of a member was masked
    if (names.length !== others.length || names.some((name, index) => name !== others[index]))
      return [{ path, value: after }];
    return names.flatMap((name) => editsBetween(before[name]!, after[name]!, [...path, name]));
  }
  return [{ path, value: after }];
}
