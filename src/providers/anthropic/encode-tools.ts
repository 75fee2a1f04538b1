// Encodes `tools` and `tool_choice`: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
import type { ChatParams, FunctionDefinition } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import type { JsonOutput } from "../claude/json-output.ts";
import { strictMember } from "../claude/strict-tools.ts";

/** This version works on every model that has web search. Later versions need code execution beside them. */
const WEB_SEARCH = "web_search_20250305";

export interface EncodedTools {
  readonly tools?: readonly JsonObject[];
  readonly tool_choice?: JsonObject;
}

export function encodeTools(params: ChatParams, json: JsonOutput): EncodedTools {
  const tools = [...(params.tools ?? []).map(encodeTool), ...webSearch(params.web_search_options)];
  const choice = encodeChoice(params.tool_choice);
  // A tool call that the caller forces is already the whole answer, so no JSON output is added.
  if (json?.kind === "tool" && choice?.["type"] !== "any" && choice?.["type"] !== "tool") {
    const free = tools.length > 0 && choice?.["type"] !== "none";
    const forced = free
      ? withParallel({ type: "any" }, params.parallel_tool_calls)
      : { type: "tool", name: json.tool.name, disable_parallel_tool_use: true };
    return { tools: [...tools, json.tool], tool_choice: forced };
  }
  if (tools.length === 0) return {}; // The vendor refuses a choice without tools.
  const chosen =
    params.parallel_tool_calls === undefined
      ? choice
      : withParallel(choice ?? { type: "auto" }, params.parallel_tool_calls);
  return { tools, ...(chosen !== undefined && { tool_choice: chosen }) };
}

function encodeTool(tool: JsonObject): JsonObject {
  const { type, function: definition, ...more } = tool;
  if (type !== "function") return tool;
  const { name, description, parameters, strict: _strict, ...rest } = definition as FunctionDefinition;
  return {
    name,
    ...(typeof description === "string" && { description }),
    input_schema:
      isObject(parameters) && Object.keys(parameters).length > 0 ? parameters : { type: "object", properties: {} },
    ...strictMember(definition as FunctionDefinition),
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
