// Encodes `tools` and `tool_choice`: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
import type { ChatParams, FunctionDefinition } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import type { JsonOutput } from "../claude/json-output.ts";
import { leavesStrict, strictFunctions } from "../claude/strict-tools.ts";

/** This version works on every model that has web search. Later versions need code execution beside them. */
const WEB_SEARCH = "web_search_20250305";

export interface EncodedTools {
  readonly tools?: readonly JsonObject[];
  readonly tool_choice?: JsonObject;
  /** Whether a function that the client calls strict is not sent as strict. */
  readonly leavesStrict: boolean;
}

export function encodeTools(params: ChatParams, json: JsonOutput): EncodedTools {
  const given = params.tools ?? [];
  const strict = strictFunctions(given);
  const left = { leavesStrict: leavesStrict(given, strict) };
  const tools = [...given.map((tool) => encodeTool(tool, strict)), ...webSearch(params.web_search_options)];
  const choice = encodeChoice(params.tool_choice);
  // A tool call that the caller forces is already the whole answer, so no JSON output is added.
  if (json?.kind === "tool" && choice?.["type"] !== "any" && choice?.["type"] !== "tool") {
    const free = tools.length > 0 && choice?.["type"] !== "none";
    const forced = free
      ? withParallel({ type: "any" }, params.parallel_tool_calls)
      : { type: "tool", name: json.tool.name, disable_parallel_tool_use: true };
    return { tools: [...tools, json.tool], tool_choice: forced, ...left };
  }
  if (tools.length === 0) return left; // The vendor refuses a choice without tools.
  const chosen =
    params.parallel_tool_calls === undefined
      ? choice
      : withParallel(choice ?? { type: "auto" }, params.parallel_tool_calls);
  return { tools, ...(chosen !== undefined && { tool_choice: chosen }), ...left };
}

function encodeTool(tool: JsonObject, strictOnes: ReadonlySet<FunctionDefinition>): JsonObject {
  const { type, function: definition, ...more } = tool;
  if (type !== "function") return tool;
  const { name, description, parameters, strict, ...rest } = definition as FunctionDefinition;
  return {
    name,
    ...(typeof description === "string" && { description }),
    input_schema:
      isObject(parameters) && Object.keys(parameters).length > 0 ? parameters : { type: "object", properties: {} },
    ...((strict === false || strictOnes.has(definition as FunctionDefinition)) && { strict }),
    ...rest,
    ...more,
  };
}

function webSearch(options: JsonObject | undefined): readonly JsonObject[] {
  if (options === undefined) return [];
  const { search_context_size: size, user_location: location } = options;
  if (size !== undefined && size !== null && size !== "medium")
    throw unsupportedValue(
      "web_search_options.search_context_size",
      `web_search_options.search_context_size is not supported by this provider; omit it or send "medium".`,
    );
  const place = isObject(location) ? location["approximate"] : undefined;
  return [
    {
      type: WEB_SEARCH,
      name: "web_search",
      ...(isObject(place) && { user_location: { type: "approximate", ...place } }),
    },
  ];
}

function encodeChoice(choice: Json | undefined): JsonObject | undefined {
  if (typeof choice === "string") return { type: choice === "required" ? "any" : choice };
  if (!isObject(choice)) return undefined;
  if (choice["type"] !== "function") return choice;
  return { type: "tool", name: (choice["function"] as { readonly name: string }).name };
}

function withParallel(choice: JsonObject, parallel: boolean | undefined): JsonObject {
  return parallel === undefined || choice["type"] === "none"
    ? choice
    : { ...choice, disable_parallel_tool_use: !parallel };
}
