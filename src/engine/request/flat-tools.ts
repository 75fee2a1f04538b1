// Tools as some editors send them to chat completions, in the flat form of the Responses API: `{type, name, ...}`. They
// become tools of chat completions, in which the answer then names them (promise 12.13).
// https://platform.openai.com/docs/guides/migrate-to-responses
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { mappedList } from "../../core/request/mapped-list.ts";

/** Whether it is a function whose name and parameters stand beside the type. */
export function isFlatFunction({ type, function: definition, name }: JsonObject): boolean {
  return type === "function" && definition === undefined && typeof name === "string";
}

/** Anthropic's tools of the same type have an `input_schema` instead. */
function isFlatCustom({ type, custom, name, input_schema: schema }: JsonObject): boolean {
  return type === "custom" && custom === undefined && schema === undefined && typeof name === "string";
}

/** Returns the same object when nothing is flat. */
export function withNestedTools(params: Readonly<Record<string, Json>>): Readonly<Record<string, Json>> {
  const { tools, tool_choice: choice } = params;
  const nested = Array.isArray(tools) ? mappedList(tools as readonly Json[], nestedTool) : tools;
  const chosen = nestedChoice(choice);
  if (nested === tools && chosen === choice) return params;
  return {
    ...params,
    ...(nested !== undefined && { tools: nested }),
    ...(chosen !== undefined && { tool_choice: chosen }),
  };
}

function nestedTool(tool: Json): Json {
  if (!isObject(tool)) return tool;
  if (isFlatFunction(tool)) {
    const { type, cache_control: mark, ...definition } = tool;
    return { type, function: definition, ...(mark !== undefined && { cache_control: mark }) };
  }
  if (!isFlatCustom(tool)) return tool;
  const { type, format, ...definition } = tool;
  return { type, custom: { ...definition, ...(format !== undefined && { format: nestedFormat(format) }) } };
}

function nestedFormat(format: Json): Json {
  if (!isObject(format) || format["type"] !== "grammar" || format["grammar"] !== undefined) return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

function nestedChoice(choice: Json | undefined): Json | undefined {
  if (!isObject(choice)) return choice;
  const { type, name, tools, mode } = choice;
  if (isFlatFunction(choice)) return { type: "function", function: { name: name! } };
  if (isFlatCustom(choice)) return { type: "custom", custom: { name: name! } };
  if (type !== "allowed_tools" || !Array.isArray(tools) || choice["allowed_tools"] !== undefined) return choice;
  return {
    type,
    allowed_tools: {
      ...(mode !== undefined && { mode }),
      tools: (tools as readonly Json[]).map((tool) => nestedChoice(tool) ?? tool),
    },
  };
}
