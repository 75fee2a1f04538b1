// What the thread that serves calls knows of a body that another thread holds, in the form of an operation other than
// chat completions (promise 5.8). It suffices to judge whether a target that speaks the operation may be sent the body.

import { isObject, isSet, type Json, type JsonObject, leastJsonLength, listIn } from "../json.ts";

export interface HeldBody {
  /** The names of all members. */
  readonly names: readonly string[];
  /** The names of the members that are null. */
  readonly unset: readonly string[];
  readonly tools: readonly NotedTool[];
  /** Whether reasoning or a carrier of it stands in it. */
  readonly hasReasoning: boolean;
  /** Whether what stands in place of the client's own items has reasoning of earlier answers. */
  readonly returnsReasoning: boolean;
  /** The words by which the body uses features that a header lists. */
  readonly uses: readonly string[];
  /** The members that are short enough for the thread that serves calls. */
  readonly short: JsonObject;
}

/** In characters of JSON, about. */
const SHORT_MEMBER = 1024;

export function shortMembersOf(body: JsonObject): JsonObject {
  const isShort = (value: Json | undefined): boolean => leastJsonLength(value, SHORT_MEMBER) <= SHORT_MEMBER;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => isShort(value)));
}

/** Returns a member of a body with a short value, such as a switch, wherever the body is held. */
export function shortMember(
  { body, held }: { readonly body: JsonObject; readonly held?: HeldBody },
  name: string,
): Json | undefined {
  const members = held === undefined ? body : held.short;
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

/** The names of the members that a body sets, wherever the body is held. */
export function setMembers({ body, held }: { readonly body: JsonObject; readonly held?: HeldBody }): readonly string[] {
  if (held === undefined) return Object.keys(body).filter((name) => isSet(body[name]));
  const unset = new Set(held.unset);
  return held.names.filter((name) => !unset.has(name));
}

/** Whether a body sets the member, wherever the body is held. */
export function setsMember(
  { body, held }: { readonly body: JsonObject; readonly held?: HeldBody },
  name: string,
): boolean {
  if (held !== undefined) return held.names.includes(name) && !held.unset.includes(name);
  return Object.hasOwn(body, name) && isSet(body[name]);
}

/** A tool, and where it stands in a body: `tools[0]`, or in an item of the conversation. */
export interface PlacedTool {
  readonly path: string;
  readonly tool: Json;
}

/** Returns the tools of a list, each followed by those that it holds itself, as a namespace does. */
export function* placedTools(list: Json | undefined, path: string): Generator<PlacedTool> {
  for (const [index, tool] of listIn(list).entries()) {
    const at = `${path}[${index}]`;
    yield { path: at, tool };
    if (isObject(tool)) yield* placedTools(tool["tools"], `${at}.tools`);
  }
}

/**
 * Returns the tools that items of a response's input bring, as `additional_tools` and `tool_search_output` do:
 * https://github.com/openai/openai-node (resources/responses/responses.ts)
 */
export function* toolsOfItems({ input }: JsonObject): Generator<PlacedTool> {
  for (const [index, item] of listIn(input).entries())
    if (isObject(item)) yield* placedTools(item["tools"], `input[${index}].tools`);
}

/** Returns the type of a tool, and its name or the label of its server; null for what it does not have. */
export function wordsOfTool({ type, name, server_label: label }: JsonObject): Pick<NotedTool, "type" | "name"> {
  return { type: textIn(type), name: textIn(name) ?? textIn(label) };
}

function textIn(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}

/** A tool of a type of its own, which may need the operator's consent, or one that needs a permission. */
export interface NotedTool {
  /** Where it stands in the body. */
  readonly path: string;
  /** As far as it can be the name of a type; null where it is no string. */
  readonly type: string | null;
  /** Its name, or the label of its server, as far as it can be one; null where it has neither. */
  readonly name: string | null;
  /** Whether a vendor runs it. */
  readonly isHosted: boolean;
  /** The first of its members that needs a permission; null where there is none. */
  readonly privileged: string | null;
}
