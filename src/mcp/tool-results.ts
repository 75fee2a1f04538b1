// Converts a tool result as its server sends it into the parts that a model can receive.
// https://modelcontextprotocol.io/specification/2025-11-25/server/tools
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import type { ToolResult, ToolResultPart } from "../core/configured/tool.ts";
import { isDeeperThan } from "./depth.ts";
import { ToolFault } from "./faults.ts";

const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i;
const BASE64 = /^[A-Za-z0-9+/\r\n]*={0,2}\s*$/;

const MAX_DEPTH = 100;

/** Throws ToolFault for an invalid result, and for one that is larger or deeper than allowed. */
export function readResult(answer: unknown, maxBytes: number): ToolResult {
  if (!isObject(answer) || !Array.isArray(answer["content"] ?? []))
    throw new ToolFault("failed", "the answer is not a tool result");
  const {
    content = [],
    structuredContent: structured,
    isError,
  } = answer as { readonly content?: readonly Json[]; readonly structuredContent?: Json; readonly isError?: Json };
  if (isDeeperThan([content, structured ?? null], MAX_DEPTH))
    throw new ToolFault("failed", `the result is deeper than ${MAX_DEPTH} levels`);
  const bytes = Buffer.byteLength(JSON.stringify(structured === undefined ? content : [content, structured]));
  if (bytes > maxBytes) throw new ToolFault("failed", `the result is larger than ${maxBytes} bytes`);
  return { parts: content.map(readPart), blocks: content, structured, isError: isError === true, bytes };
}

function readPart(block: Json): ToolResultPart {
  if (!isObject(block)) return text(JSON.stringify(block));
  const { type, text: plain, data, mimeType } = block;
  if (type === "text" && typeof plain === "string") return text(plain);
  if (
    type === "image" &&
    typeof data === "string" &&
    typeof mimeType === "string" &&
    MEDIA_TYPE.test(mimeType) &&
    BASE64.test(data)
  )
    return { kind: "image", mediaType: mimeType.toLowerCase(), base64: data.replaceAll(/\s/g, "") };
  if (type === "resource" && isObject(block["resource"])) return embedded(block["resource"]);
  if (type === "resource_link")
    return text(
      ["Resource:", block["name"], block["uri"], block["description"]]
        .filter((word) => typeof word === "string")
        .join(" "),
    );
  if ((type === "audio" || type === "image") && typeof data === "string")
    return text(`[${type} of ${JSON.stringify(mimeType)}, ${data.length} characters of base64, which cannot be shown]`);
  return text(JSON.stringify(block));
}

function embedded({ uri, text: plain, blob, mimeType }: JsonObject): ToolResultPart {
  if (typeof plain === "string") return text(plain);
  if (
    typeof blob === "string" &&
    typeof mimeType === "string" &&
    mimeType.startsWith("image/") &&
    MEDIA_TYPE.test(mimeType) &&
    BASE64.test(blob)
  )
    return { kind: "image", mediaType: mimeType.toLowerCase(), base64: blob.replaceAll(/\s/g, "") };
  return text(`[resource ${JSON.stringify(uri)} of ${JSON.stringify(mimeType)}, which cannot be shown]`);
}

/** Servers cut texts in the middle of a character, and providers refuse a whole request for half of a surrogate pair. */
function text(plain: string): ToolResultPart {
  return { kind: "text", text: plain.toWellFormed() };
}
