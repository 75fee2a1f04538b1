// Offers the tools of tool servers to a model as functions (promise 10.2), with valid names and with schemas that every
// provider accepts.
import { invalidRequest } from "../../core/refusals.ts";
import { withMembers } from "../../core/request/request-source.ts";
import { hash } from "node:crypto";
import type { ChatParams, ChatRequest, FunctionTool, OfferedTools } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { FUNCTION_NAME } from "../../core/params.ts";
import type { ToolDefinition } from "../../core/configured/tool.ts";
import { hasValidHeaders } from "../../mcp/parameter-headers.ts";

const MAX_NAME = 64;
const HASH_LENGTHS = [8, 16, 40] as const;
const MAX_DESCRIPTION = 16_384;
const MAX_SCHEMA_CHARACTERS = 131_072;
const MAX_DEPTH = 64;

/** Returns the key of a tool in `OfferedTools.names`. It is unambiguous, because a label contains no space. */
export function toolPlace(label: string, tool: string): string {
  return `${label} ${tool}`;
}

/**
 * Names each tool `<server_label>__<tool>`. A name that is not valid or not unique is shortened and ends in a hash of
 * both parts. Names do not depend on the order of the tools.
 */
export function offeredNames(
  tools: readonly { readonly label: string; readonly tool: string }[],
): ReadonlyMap<string, string> {
  const plain = tools.map(({ label, tool }) => `${label}__${tool}`);
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = new Map<string, string>();
  const used = new Set<string>();
  const isPlain = (name: string): boolean => FUNCTION_NAME.test(name) && counts.get(name) === 1;
  for (const name of plain) if (isPlain(name)) used.add(name);
  for (const [index, { label, tool }] of tools.entries()) {
    const place = toolPlace(label, tool);
    if (isPlain(plain[index]!)) {
      names.set(place, plain[index]!);
      continue;
    }
    const name = shortenedName(plain[index]!, place, used);
    used.add(name);
    names.set(place, name);
  }
  return names;
}

/** Returns a name for a function whose plain name is not valid or not unique: it ends in a hash of `key`. */
export function shortenedName(plain: string, key: string, used: ReadonlySet<string>): string {
  const digest = hash("sha256", key, "hex");
  const names = HASH_LENGTHS.map(
    (length) => `${inFunctionName(plain).slice(0, MAX_NAME - 1 - length)}_${digest.slice(0, length)}`,
  );
  return names.find((name) => !used.has(name)) ?? digest;
}

/** Returns the text with what the name of a function may not have replaced. */
export function inFunctionName(text: string): string {
  return text.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

/** Returns how the name of each tool of the server with this label begins, however short it was made. */
export function labelPrefix(label: string): string {
  return inFunctionName(`${label}__`).slice(0, MAX_NAME - 1 - HASH_LENGTHS[2]);
}

/** Whether a function is named like the tools of one of the servers with these labels. */
export function isNamedLikeTool(name: string, labels: readonly string[]): boolean {
  return labels.some((label) => name.startsWith(labelPrefix(label)));
}

/**
 * Returns the function that describes a tool to a model, or null if the tool's schema is not that of an object, too
 * long or nested too deeply.
 */
export function offeredFunction(tool: ToolDefinition, name: string): FunctionTool | null {
  const described = describedTool(tool);
  return described === null ? null : { type: "function", function: { name, ...described } };
}

const describedTool = memoizePerObject(
  ({ description, title, inputSchema }: ToolDefinition): Omit<FunctionTool["function"], "name"> | null => {
    const parameters = fittedSchema(inputSchema);
    if (parameters === null || !hasValidHeaders(inputSchema)) return null;
    const text = description ?? title ?? "";
    return { ...(text !== "" && { description: text.slice(0, MAX_DESCRIPTION).toWellFormed() }), parameters };
  },
);

/** What the tool takes of a request, in characters. */
export const offeredCharacters = memoizePerObject(
  (tool: ToolDefinition): number => JSON.stringify(describedTool(tool)).length,
);

/** Providers require a schema of an object with properties, and some refuse `$schema`. */
function fittedSchema(schema: JsonObject): JsonObject | null {
  const { $schema: _dialect, type = "object", properties = {}, ...rest } = schema;
  if (type !== "object" || !isObject(properties) || isDeeper(schema, MAX_DEPTH)) return null;
  const fit = { type, properties, ...rest };
  return JSON.stringify(fit).length > MAX_SCHEMA_CHARACTERS ? null : fit;
}

function isDeeper(value: Json | undefined, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member as Json, levels - 1));
}

/** Returns the request with the offered functions added to its own tools. Throws `invalid_request`. */
export function withOfferedTools(request: ChatRequest, offered: OfferedTools): ChatRequest {
  const own = request.params.tools ?? [];
  const names = new Set<unknown>(offered.functions.map(({ function: { name } }) => name));
  const clash = own.findIndex((tool) => isObject(tool["function"]) && names.has(tool["function"]["name"]));
  if (clash >= 0) {
    const { name } = own[clash]!["function"] as { readonly name: string };
    throw invalidRequest(
      placeOfFunction(request, clash),
      `The function ${name} has the same name as a tool of a tool server; rename it.`,
    );
  }
  const tools = [...own, ...offered.functions];
  const { tools: _tools, ...others } = request.params;
  const params = withChoice(tools.length === 0 ? others : { ...others, tools }, offered);
  return { ...withMembers(request, { params }), offered };
}

/** Returns the path of the client's function with index `own`. Entries for tool servers may stand before it. */
function placeOfFunction({ source: { members }, options }: ChatRequest, own: number): string {
  if (members.has("functions")) return `functions[${own}].name`;
  const servers = new Set(options.toolServers.map(({ path }) => path));
  let index = 0;
  for (let left = own; ; index += 1)
    if (!servers.has(`tools[${index}]`) && left-- === 0) return `tools[${index}].function.name`;
}

/** A forced choice applies to the first round only, because otherwise the model could never answer. */
export function withChoice(params: ChatParams, { choice, names }: OfferedTools): ChatParams {
  const { tool_choice: requested, ...others } = params;
  // some providers refuse a tool choice without tools
  if (choice === "none") return params.tools === undefined ? others : { ...params, tool_choice: "none" };
  if (requested === undefined || requested === "none" || requested === "auto") return params;
  if (choice === "asked")
    return isObject(requested) && requested["type"] === "mcp"
      ? { ...params, tool_choice: { type: "function", function: { name: namedChoice(requested, names) } } }
      : params;
  if (isObject(requested) && isObject(requested["allowed_tools"]))
    return { ...params, tool_choice: { ...requested, allowed_tools: { ...requested["allowed_tools"], mode: "auto" } } };
  return others;
}

/** The parser has checked that both members are strings. */
function namedChoice({ server_label: label, name }: JsonObject, names: OfferedTools["names"]): string {
  const offered = names.get(toolPlace(label as string, name as string));
  if (offered === undefined)
    throw invalidRequest(
      "tool_choice.name",
      `tool_choice.name must be a tool that the server ${label as string} offers in this call.`,
    );
  return offered;
}
