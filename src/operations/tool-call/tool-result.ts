// The result of a tool as clients of the protocol get it: its blocks and its structured content as the server sent them,
// after guards. https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result
import type { Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, textOrEmpty } from "../../core/json.ts";
import type { ResultWriter } from "../../engine/tools/run-tool.ts";

/**
 * Writes a result as a message of role tool, so that guards search it. Its blocks are the message's parts, and its
 * structured content, which is JSON in a text, has the form of a tool call's arguments.
 */
export const resultForClient: ResultWriter = ({ blocks, structured }) => ({
  message: {
    content: blocks.map((block) => withBytesAs("data", "blob", asBlock(block))) as Message["content"] & object,
    ...(structured !== undefined && {
      tool_calls: [{ id: "", type: "function", function: { name: "result", arguments: JSON.stringify(structured) } }],
    }),
  },
  images: [],
});

/** Returns the result that the guarded message has. A guard may have replaced all of its content by a text. */
export function clientResult({ content, tool_calls: structured }: Message, isError: boolean): JsonObject {
  if (!Array.isArray(content)) return { content: [{ type: "text", text: textOrEmpty(content) }], isError: true };
  const [result] = structured ?? [];
  return {
    content: (content as readonly JsonObject[]).map((block) => withBytesAs("blob", "data", block)),
    ...(result !== undefined && { structuredContent: JSON.parse(result.function.arguments) as Json }),
    ...(isError && { isError: true }),
  };
}

function asBlock(block: Json): JsonObject {
  return isObject(block) ? block : { type: "text", text: JSON.stringify(block) };
}

/** Renames the bytes of a file, which guards know by the name `data`. */
function withBytesAs(name: "data" | "blob", from: "data" | "blob", block: JsonObject): JsonObject {
  const { resource } = block;
  if (!isObject(resource) || typeof resource[from] !== "string") return block;
  const { [from]: bytes, ...rest } = resource;
  return { ...block, resource: { ...rest, [name]: bytes } };
}
