// What tool servers send, in forms that clients of `/mcp` accept: the libraries of clients refuse a whole list for one tool
// whose description breaks the protocol, and a whole result for one block.
import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Library } from "./serving.ts";

/**
 * Returns the tool without what breaks the protocol and can be missed, which are annotations and the schema of results;
 * `null` for a tool that breaks it in other ways. Clients of earlier versions know no schemas `true` and `false`, in
 * whose place equal ones stand.
 */
export function strictTool(tool: Tool, { isSpecType }: Library): Tool | null {
  const { annotations: _annotations, ...unannotated } = tool;
  const { outputSchema: _outputSchema, ...bare } = unannotated;
  const found = [tool, unannotated, bare].find((one) => isSpecType.Tool(one));
  if (found === undefined) return null;
  const { inputSchema, outputSchema } = found as unknown as { inputSchema: JsonObject; outputSchema?: JsonObject };
  return {
    ...found,
    inputSchema: withoutBooleans(inputSchema),
    ...(outputSchema !== undefined && { outputSchema: withoutBooleans(outputSchema) }),
  } as Tool;
}

/** Those of the properties of an object are the only ones at which clients look. */
function withoutBooleans(schema: JsonObject): JsonObject {
  const { properties } = schema;
  if (!isObject(properties) || !Object.values(properties).some((one) => typeof one === "boolean")) return schema;
  const named = Object.entries(properties).map(([name, one]) => [
    name,
    one === true ? {} : one === false ? { not: {} } : one,
  ]);
  return { ...schema, properties: Object.fromEntries(named) as JsonObject };
}

/**
 * Returns the result with a text in place of each block that is none of the protocol's, as models get it: the tool has
 * run, so that the client must not take the call for one that failed.
 */
export function strictResult({ content, ...rest }: JsonObject, { isSpecType }: Library): CallToolResult {
  const blocks = (content as readonly Json[]).map((block) =>
    isSpecType.ContentBlock(block) ? block : { type: "text", text: JSON.stringify(block) },
  );
  return { ...rest, content: blocks } as unknown as CallToolResult;
}
