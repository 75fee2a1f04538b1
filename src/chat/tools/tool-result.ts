// Turns the result of a tool into text and images for a model. A message of role tool holds only text, so images follow
// in a message of role user (promise 10.2).
import { isDeepStrictEqual } from "node:util";
import type { ToolResult } from "../../core/tool.ts";
import type { JsonObject } from "../../core/json.ts";

export interface ToldResult {
  readonly text: string;
  /** The parts of the message with images. A line before each image names its tool. */
  readonly images: readonly JsonObject[];
}

/** The types of images that models can see. For any other type, the text names the type. */
const IMAGE_TYPE = /^image\/(png|jpeg|gif|webp)$/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function toldResult(result: ToolResult, name: string): ToldResult {
  const lines: string[] = [];
  const images: JsonObject[] = [];
  for (const part of result.parts) {
    if (part.kind === "text") lines.push(part.text);
    else if (!IMAGE_TYPE.test(part.mediaType) || !BASE64.test(part.base64))
      lines.push(`[an image of type ${part.mediaType.slice(0, 64)}, which cannot be shown]`);
    else {
      const label = `image ${images.length / 2 + 1} of ${name}`;
      lines.push(`[${label}: ${part.mediaType.toLowerCase()}, shown below to models that take images]`);
      images.push(
        { type: "text", text: `[${label}]` },
        { type: "image_url", image_url: { url: `data:${part.mediaType.toLowerCase()};base64,${part.base64}` } },
      );
    }
  }
  const { structured } = result;
  if (structured !== undefined && !lines.some((line) => says(line, structured))) lines.push(JSON.stringify(structured));
  const text = lines.join("\n");
  // some providers refuse messages without content
  const told = text.trim() === "" ? "(no content)" : text;
  return { text: result.isError ? `Error: ${told}` : told, images };
}

/** Servers repeat structured content as text, for clients that do not support structured content. */
function says(line: string, structured: unknown): boolean {
  const first = line.trimStart()[0];
  if (first === undefined || !'{["-0123456789tfn'.includes(first)) return false;
  try {
    return isDeepStrictEqual(JSON.parse(line), structured);
  } catch {
    return false;
  }
}
