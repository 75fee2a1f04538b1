// Encodes `tools` and `tool_choice`: https://docs.cohere.com/reference/chat#request.body.tools
import type { ChatParams } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { invalidRequest } from "../../core/refusals.ts";
import { BEFORE_R7B } from "./models.ts";

export interface EncodedTools {
  readonly tools?: readonly JsonObject[];
  readonly tool_choice?: "REQUIRED" | "NONE";
  readonly strict_tools?: true;
}

export function encodeTools({ tools = [], tool_choice: choice }: ChatParams, model: string): EncodedTools {
  const named = namedFunction(choice);
  const offered = named === null ? tools : tools.filter((tool) => functionOf(tool)["name"] === named);
  // To force one function, only that function is offered.
  if (named !== null && offered.length === 0)
    throw invalidRequest(
      "tool_choice",
      `tool_choice names the function ${JSON.stringify(named)}, which tools does not declare.`,
    );
  if (offered.length === 0 || (choice === "none" && BEFORE_R7B.test(model))) return {};
  const word = named !== null || choice === "required" ? "REQUIRED" : choice === "none" ? "NONE" : undefined;
  return {
    tools: offered.map(encodeTool),
    ...(word !== undefined && { tool_choice: word }),
    ...(offered.some((tool) => functionOf(tool)["strict"] === true) && { strict_tools: true }),
  };
}

/** The vendor requires `parameters` even for functions that have none. */
function encodeTool(tool: JsonObject): JsonObject {
  const { strict: _strict, parameters, ...rest } = functionOf(tool);
  return {
    ...tool,
    function: { ...rest, parameters: isObject(parameters) ? parameters : { type: "object", properties: {} } },
  };
}

function functionOf(tool: JsonObject): JsonObject {
  return isObject(tool["function"]) ? tool["function"] : {};
}

function namedFunction(choice: Json | undefined): string | null {
  const named = isObject(choice) && isObject(choice["function"]) ? choice["function"]["name"] : null;
  return typeof named === "string" ? named : null;
}
