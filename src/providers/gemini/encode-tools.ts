// Encodes tools and tool_choice as tools and toolConfig. https://ai.google.dev/gemini-api/docs/function-calling,
// https://ai.google.dev/api/caching#Tool
import type { ChatParams, FunctionTool } from "../../core/chat.ts";
import { describe, isObject, type Json, type JsonObject } from "../../core/json.ts";
import { invalidRequest, unsupportedValue } from "../../core/refusals.ts";
import { isGemini3OrLater, takesJsonSchema, validatesFunctionCalls } from "./models.ts";
import { openApiSubset } from "./schema-subset.ts";
import type { GeminiPlatform } from "./platform.ts";

export interface EncodedTools {
  readonly tools: readonly JsonObject[];
  /** `null` when there is nothing to send. */
  readonly toolConfig: JsonObject | null;
}

/** A function's name on the wire, which has to begin with a letter or an underscore. */
export function wireName(name: string): string {
  return /^[A-Za-z_]/.test(name) ? name : `_${name}`;
}

/** The renamed functions of a request, by their names on the wire. `null` when there are none. */
export type RenamedFunctions = ReadonlyMap<string, string> | null;

export function renamedFunctions(params: ChatParams): RenamedFunctions {
  const renamed = functionsOf(params)
    .map((tool) => tool.function.name)
    .filter((name) => wireName(name) !== name);
  return renamed.length === 0 ? null : new Map(renamed.map((name) => [wireName(name), name]));
}

export function encodeTools(params: ChatParams, model: string, platform: GeminiPlatform): EncodedTools {
  const functions = functionsOf(params);
  const declarations = (params.tools ?? []).flatMap((tool, index) =>
    isFunctionTool(tool) ? [declaration(tool, `tools[${index}].function.parameters`, model)] : [],
  );
  const served = (params.tools ?? []).filter((tool) => !isFunctionTool(tool)).map((tool) => googleTool(tool, platform));
  const search = params.web_search_options === undefined ? [] : [searchTool(params.web_search_options)];
  // the mode NONE holds for functions alone: Google would go on to use, and to bill, its own tools
  const others = params.tool_choice === "none" ? search : [...served, ...search];
  const config = callingConfig(params.tool_choice, functions, model);
  const combined = platform.combinesOnRequest && declarations.length > 0 && combines(others, model);
  return {
    tools: [...(declarations.length > 0 ? [{ functionDeclarations: declarations }] : []), ...others],
    toolConfig:
      config === null && !combined
        ? null
        : {
            ...(config !== null && { functionCallingConfig: config }),
            ...(combined && { includeServerSideToolInvocations: true }),
          },
  };
}

/**
 * "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling." Only the
 * client acts on computer use. https://ai.google.dev/gemini-api/docs/tool-combination,
 * https://github.com/ag2ai/ag2/pull/3145
 */
function combines(others: readonly JsonObject[], model: string): boolean {
  return isGemini3OrLater(model) && others.some((tool) => tool["computerUse"] === undefined);
}

function isFunctionTool(tool: JsonObject): tool is FunctionTool {
  return tool["type"] === "function" && isObject(tool["function"]);
}

function functionsOf(params: ChatParams): readonly FunctionTool[] {
  return (params.tools ?? []).filter(isFunctionTool);
}

function declaration(tool: FunctionTool, path: string, model: string): JsonObject {
  const { name, description, parameters } = tool.function;
  const isJsonSchema = takesJsonSchema(model);
  const schema =
    parameters === undefined || parameters === null || takesNothing(parameters, isJsonSchema)
      ? {}
      : isJsonSchema
        ? { parametersJsonSchema: parameters }
        : { parameters: openApiSubset(parameters, path) };
  return { name: wireName(name), ...(typeof description === "string" && { description }), ...schema };
}

/**
 * Parameters without members are left out, because in the OpenAPI form the server refuses an object schema without
 * members. JSON Schema can say that such an object takes any members (`additionalProperties: true`).
 */
function takesNothing(schema: JsonObject, isJsonSchema: boolean): boolean {
  const empty = (value: Json | undefined): boolean => !isObject(value) || Object.keys(value).length === 0;
  const { additionalProperties: others } = schema;
  return (
    empty(schema["properties"]) &&
    (isJsonSchema ? others !== true && !isObject(others) : empty(others)) &&
    !["$ref", "anyOf", "oneOf", "allOf", "patternProperties"].some((keyword) => schema[keyword] !== undefined)
  );
}

function googleTool(tool: JsonObject, platform: GeminiPlatform): JsonObject {
  const { type, ...settings } = tool;
  const field = typeof type === "string" ? platform.tools[type] : undefined;
  if (field === undefined)
    throw unsupportedValue("tools", `tools: a tool of type ${describe(type)} is not known to this provider.`);
  return { [field]: settings };
}

function searchTool(options: JsonObject): JsonObject {
  const set = (name: string): boolean => options[name] !== undefined && options[name] !== null;
  const other = set("user_location")
    ? "user_location"
    : set("search_context_size") && options["search_context_size"] !== "medium"
      ? "search_context_size"
      : null;
  if (other !== null) {
    const param = `web_search_options.${other}`;
    throw unsupportedValue(param, `${param} is not supported by this provider, whose search has no settings; omit it.`);
  }
  return { googleSearch: {} };
}

/** `null` when there is nothing to send. The server refuses the setting in a request without functions. */
function callingConfig(choice: Json | undefined, functions: readonly FunctionTool[], model: string): JsonObject | null {
  if (functions.length === 0) {
    if (choice === undefined || choice === "none" || choice === "auto") return null;
    throw invalidRequest("tool_choice", "tool_choice asks for a function, but tools declares none.");
  }
  // Strict schemas are enforced only in the mode VALIDATED, which leaves the choice to the model.
  const auto =
    validatesFunctionCalls(model) && functions.every((tool) => tool.function.strict === true) ? "VALIDATED" : "AUTO";
  if (choice === undefined) return auto === "AUTO" ? null : { mode: auto };
  if (choice === "auto") return { mode: auto };
  if (choice === "none") return { mode: "NONE" };
  if (choice === "required") return { mode: "ANY" };
  const names = chosenNames(choice);
  return { mode: names.must ? "ANY" : "VALIDATED", allowedFunctionNames: names.list.map(wireName) };
}

/**
 * One function, or OpenAI's `allowed_tools`: https://platform.openai.com/docs/guides/function-calling#allowed-tools
 */
function chosenNames(choice: Json): { readonly list: readonly string[]; readonly must: boolean } {
  const nameOf = (value: Json | undefined): string | null => {
    const named = isObject(value) ? value["function"] : undefined;
    return isObject(named) && typeof named["name"] === "string" ? named["name"] : null;
  };
  if (isObject(choice)) {
    const one = nameOf(choice);
    if (one !== null) return { list: [one], must: true };
    const allowed = choice["allowed_tools"];
    const tools = isObject(allowed) ? allowed["tools"] : undefined;
    if (isObject(allowed) && Array.isArray(tools)) {
      const list = tools.map(nameOf);
      if (list.length > 0 && list.every((name) => name !== null)) return { list, must: allowed["mode"] === "required" };
    }
  }
  throw unsupportedValue(
    "tool_choice",
    `tool_choice must be "none", "auto", "required", one function or allowed_tools with functions for this provider; got ${describe(choice)}.`,
  );
}
