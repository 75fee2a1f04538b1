// Applies guards to a request: every text that goes to the provider is searched, and masked if a guard masks. Masked
// members are marked as rewritten, so that no target gets the caller's original text of them (docs/decisions/0002).
import type { ChatParams, ChatRequest, Message } from "../../core/chat.ts";
import { heldPlace } from "../../core/request/held-member.ts";
import { isObject, isRawNumber, type Json, type JsonObject, jsonIn } from "../../core/json.ts";
import { mappedList, mappedMembers } from "../../core/request/mapped-list.ts";
import { COMMON, FUNCTION_NAME, GATEWAY } from "../../core/params.ts";
import { type SourcedMembers, withMembers } from "../../core/request/request-source.ts";
import {
  fixedKind,
  guardedNames,
  guardFixed,
  guardFixedNames,
  type KindOf,
  mapMessage,
  mapTexts,
  namesAndNumbers,
  type TextKind,
  textsOfParts,
} from "./guarded-values.ts";
import { isWholeCarrier } from "../carriers/reasoning-carrier.ts";
import type { Searched, TextGuard } from "./text-guard.ts";

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

/** The characters of the texts are measured by their JSON. */
export function searchedMessages(messages: readonly Message[]): Searched<readonly Message[]> {
  const charactersOf = (message: Message): number =>
    typeof message.content === "string" && message.tool_calls === undefined
      ? message.content.length
      : JSON.stringify(message).length;
  return {
    given: messages,
    characters: () => messages.reduce((sum, message) => sum + charactersOf(message), 0),
    walk: (guard) => guardedMessages(messages, guard),
  };
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
  const value = escapedJson(textsOfParts(content).join(""));
  if (value === undefined) return;
  mapTexts(value, guard, fixedKind, "text");
  guardFixedNames(value, guard);
}

function isOfTool(role: Json | undefined): boolean {
  return role === "tool" || role === "function";
}

/**
 * Returns the value of a text that is JSON with escapes; undefined for any other text. A provider gets such escapes
 * decoded if its vendor takes tool results as values.
 */
export function escapedJson(text: string): Json | undefined {
  return text.includes("\\") && /^\s*[{[]/.test(text) ? jsonIn(text) : undefined;
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
export const SEALED: ReadonlySet<string> = new Set(["signature", "thought_signature", "encrypted_content"]);
/** Members that may contain a file, which may be text. */
const FILES: ReadonlySet<string> = new Set(["url", "file_id", "file_data", "data"]);

export const anyText: KindOf = (name, owner) =>
  FILES.has(name) ? "file" : SEALED.has(name) ? opaque(owner[name]) : FIXED.has(name) ? "fixed" : "plain";

/** Treats a value as opaque bytes, which are not searched, only if it is long and nothing but base64, or a carrier. */
export function opaque(value: Json | undefined): TextKind {
  if (isWholeCarrier(value)) return "skip";
  return typeof value === "string" && value.length >= 32 && /^[A-Za-z0-9+/_=-]+$/.test(value) && /[A-Za-z]/.test(value)
    ? "skip"
    : "fixed";
}

export function isFunctionName(name: Json | undefined): boolean {
  return typeof name === "string" && FUNCTION_NAME.test(name);
}

/** Whether an object says which tool is called: a function with its arguments, or a tool that takes any text. */
export function isCall(owner: JsonObject): boolean {
  return "arguments" in owner || "input" in owner;
}

function messageKind(name: string, owner: JsonObject): TextKind {
  if (name === "arguments") return "json";
  if (name === "content" && isOfTool(owner["role"]) && typeof owner["content"] === "string")
    return escapedJson(owner["content"]) === undefined ? "plain" : "json";
  // the name of a tool cannot be replaced, but the name of a participant is text
  if (name === "name")
    return (isCall(owner) || owner["role"] === "function" || owner["role"] === "tool") && isFunctionName(owner["name"])
      ? "fixed"
      : "plain";
  if (name === "data" && owner["type"] === "text") return "plain";
  if (name === "data" && owner["type"] === "reasoning.encrypted" && isWholeCarrier(owner["data"])) return "skip";
  return anyText(name, owner);
}

/** Members of a schema that refer to something by its name; the model reads the rest of a schema as text. */
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
export const schemaKind: KindOf = (name) => (SCHEMA_FIXED.has(name) ? "fixed" : "plain");

/**
 * Searches tools, choices of tools and forms of answers. The headers and the authorization of a tool server are credentials
 * and are not searched; within a schema, these names are those of a tool's own arguments.
 */
export function mapSchemas(value: Json, guard: TextGuard, kindOf: KindOf): Json {
  if (!Array.isArray(value)) return mapTexts(value, guard, kindOf);
  return mappedList(value as readonly Json[], (tool) =>
    isObject(tool) && Object.hasOwn(tool, "server_url")
      ? mappedMembers(tool, (member, name) =>
          member === undefined || name === "headers" || name === "authorization"
            ? member
            : mapTexts(member, guard, kindOf, name, tool),
        )
      : mapTexts(tool, guard, kindOf),
  );
}

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

/** Searches all parameters that are present, so that a parameter that is added later is searched as well. */
function guardedParams(params: ChatParams, guard: TextGuard): ChatParams {
  return mappedMembers(params as JsonObject, (value, name) => {
    if (value === undefined || value === null || typeof value === "boolean") return value;
    const isText = TEXTS.has(name);
    const guarded =
      typeof value === "string"
        ? isText
          ? guard(value, "plain")
          : guardFixed(value, guard)
        : SCHEMAS.has(name)
          ? mapSchemas(value, guard, schemaKind)
          : mapTexts(value, guard, isText ? anyText : fixedKind);
    // a number by itself is a setting, such as a seed
    if (typeof value === "object" && !isRawNumber(value)) guardFixedNames(value, guard);
    return guarded;
  });
}

/** Searches members that the gateway does not know, including their names and numbers. */
function guardedExtra(extra: JsonObject, guard: TextGuard, kindOf: KindOf): JsonObject {
  return namesAndNumbers(mapTexts(extra, guard, kindOf), guard) as JsonObject;
}
/** Searches parameters that an entry of a request has added, by their names in chat completions. */
export function guardedAdded(added: JsonObject, guard: TextGuard): JsonObject {
  const named = (isOne: (name: string) => boolean): JsonObject =>
    Object.fromEntries(Object.entries(added).filter(([name]) => isOne(name)));
  const isOwn = (name: string): boolean => Object.hasOwn(GATEWAY, name);
  const isCommon = (name: string): boolean => Object.hasOwn(COMMON, name);
  return {
    ...named(isOwn),
    ...(guardedParams(named(isCommon), guard) as JsonObject),
    ...guardedExtra(
      named((name) => !isOwn(name) && !isCommon(name)),
      guard,
      extraKind,
    ),
  };
}
const extraKind: KindOf = (name, owner) =>
  FILES.has(name) ? "file" : SEALED.has(name) ? opaque(owner[name]) : "plain";
/** Skips the placeholder of a member that another thread holds. */
const besideHeldKind: KindOf = (name, owner) => (heldPlace(owner[name]) === null ? extraKind(name, owner) : "skip");
