// Tools, the choice among them, and the format of the answer, which this form writes flat:
// https://platform.openai.com/docs/guides/migrate-to-responses
import type { ChatParams } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn } from "../../core/json.ts";

export function encodeTools(params: ChatParams): readonly JsonObject[] {
  const tools = (params.tools ?? []).map(encodeTool);
  return params.web_search_options === undefined ? tools : [...tools, webSearch(params.web_search_options)];
}

function encodeTool(tool: JsonObject): JsonObject {
  const { type, function: definition, custom } = tool;
  if ((type === undefined || type === "function") && isObject(definition)) {
    const { name, description, parameters, strict } = definition;
    return {
      type: "function",
      name,
      ...(description !== undefined && { description }),
      parameters: parameters ?? { type: "object", properties: {} },
      // It is true when it is absent here, and false in chat completions.
      strict: strict ?? false,
    };
  }
  if (type === "custom" && isObject(custom)) {
    const { format, ...rest } = custom;
    return { type, ...rest, ...(format !== undefined && { format: encodeGrammar(format) }) };
  }
  return tool;
}

function encodeGrammar(format: Json): Json {
  if (!isObject(format) || !isObject(format["grammar"])) return format;
  const { grammar, ...rest } = format;
  return { ...rest, ...grammar };
}

/** https://platform.openai.com/docs/guides/tools-web-search */
function webSearch(options: JsonObject): JsonObject {
  const { user_location: location, ...rest } = options;
  const approximate = isObject(location) ? location["approximate"] : undefined;
  return {
    type: "web_search",
    ...rest,
    ...(location !== undefined &&
      location !== null && {
        user_location: isObject(approximate) ? { type: "approximate", ...approximate } : location,
      }),
  };
}

/** `{type: "function", function: {name}}` is flat here, also inside of `allowed_tools`. */
export function encodeChoice(choice: Json): Json {
  if (!isObject(choice)) return choice;
  const { type, allowed_tools: allowed, ...rest } = choice;
  if (type === "allowed_tools" && isObject(allowed))
    return { type, ...rest, ...allowed, tools: objectsIn(allowed["tools"]).map((tool) => encodeChoice(tool)) };
  const named = choice["function"] ?? choice["custom"];
  return isObject(named) ? { type: type ?? "function", name: named["name"] } : choice;
}

/** The member `text` of a request; absent where nothing of it was asked for. */
export function encodeText({ response_format: format, verbosity }: ChatParams): { readonly text?: JsonObject } {
  if (format === undefined && verbosity === undefined) return {};
  return {
    text: {
      ...(format !== undefined && {
        format: format.type === "json_schema" ? { type: format.type, ...format.json_schema } : format,
      }),
      ...(verbosity !== undefined && { verbosity }),
    },
  };
}
