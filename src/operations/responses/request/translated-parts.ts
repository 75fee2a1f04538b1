// Translates the content of messages and of tool outputs to the content parts of chat completions.
import { CACHE_MARK, SHORT_MARK } from "../../../core/configured/prompt-cache.ts";
import { isObject, type Json, type JsonObject } from "../../../core/json.ts";
import { invalid, invalidRequest, textAt } from "../../../core/refusals.ts";
import type { UntranslatedParts } from "./untranslated-parts.ts";

/** The types of parts that a message of a role may have. */
const PARTS = {
  input: ["input_text", "input_image", "input_file", "input_audio"],
  assistant: ["output_text", "refusal", "input_text"],
} as const;

const BREAKPOINT = "prompt_cache_breakpoint";
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  input_text: ["text", BREAKPOINT],
  output_text: ["text", "annotations", "logprobs"],
  refusal: ["refusal"],
  input_image: ["image_url", "detail", "file_id", BREAKPOINT],
  input_file: ["file_data", "file_id", "file_url", "filename", "detail", BREAKPOINT],
  input_audio: ["input_audio"],
};

export interface PartsContext {
  readonly left: UntranslatedParts;
  readonly speaker: "input" | "assistant";
}

/** Returns the content as a chat completion has it: a string for text alone. Throws `invalid_request` with the path. */
export function translatedContent(
  content: Json | undefined,
  path: string,
  context: PartsContext,
): string | readonly JsonObject[] {
  if (typeof content === "string") return content;
  const parts = translatedParts(content, path, context);
  return plainText(parts) ?? parts;
}

/** Returns the text of parts that say nothing else; null for others, such as one with a mark of the prompt cache. */
export function plainText(parts: readonly JsonObject[]): string | null {
  const [only] = parts;
  return parts.length === 1 && only!["type"] === "text" && Object.keys(only!).length === 2
    ? (only!["text"] as string)
    : null;
}

export function translatedParts(content: Json | undefined, path: string, context: PartsContext): readonly JsonObject[] {
  if (!Array.isArray(content)) throw invalid(path, "a string or an array of content parts", content);
  const parts = (content as readonly Json[]).map((part, index) => translatedPart(part, `${path}[${index}]`, context));
  return parts.filter((part) => part !== null);
}

/** Returns `null` for a part that has no counterpart, which is noted. */
function translatedPart(part: Json, path: string, { left, speaker }: PartsContext): JsonObject | null {
  if (!isObject(part)) throw invalid(path, "an object with a type", part);
  const type = part["type"];
  const known: readonly string[] = PARTS[speaker];
  if (typeof type !== "string") throw invalid(`${path}.type`, `one of ${known.join(", ")}`, type);
  if (!known.includes(type)) {
    left.never(
      path,
      `has the type ${JSON.stringify(type.slice(0, 64))}, which this provider cannot be sent`,
      `Send parts of the types ${known.join(", ")}.`,
    );
    return null;
  }
  noteOthers(part, type, left);
  const said = partOfType(part, type, path, left);
  // both ask for the conversation up to here to be kept for later requests
  const isMarked = MEMBERS[type]!.includes(BREAKPOINT) && isExplicit(part[BREAKPOINT]);
  return said !== null && isMarked ? { ...said, [CACHE_MARK]: SHORT_MARK } : said;
}

/** https://platform.openai.com/docs/guides/prompt-caching */
function isExplicit(breakpoint: Json | undefined): boolean {
  return isObject(breakpoint) && breakpoint["mode"] === "explicit";
}

function partOfType(part: JsonObject, type: string, path: string, left: UntranslatedParts): JsonObject | null {
  switch (type) {
    case "refusal":
      return { type: "refusal", refusal: textAt(part, "refusal", path) };
    case "input_image":
      return translatedImage(part, path, left);
    case "input_file":
      return translatedFile(part, path);
    case "input_audio":
      return { type: "input_audio", input_audio: part["input_audio"] ?? null };
    default:
      return { type: "text", text: textAt(part, "text", path) };
  }
}

/** Notes members of a part that are only hints, and members that nobody knows. */
function noteOthers(part: JsonObject, type: string, left: UntranslatedParts): void {
  for (const name in part) {
    const value = part[name];
    if (name === "type" || value === null || value === undefined) continue;
    const isHint = (name === BREAKPOINT && !isExplicit(value)) || name === "annotations" || name === "logprobs";
    if (MEMBERS[type]!.includes(name) && !(isHint && !(Array.isArray(value) && value.length === 0))) continue;
    left.always(`input[].content[].${name}`);
  }
}

function translatedImage(part: JsonObject, path: string, left: UntranslatedParts): JsonObject | null {
  const { image_url: url, file_id: id, detail } = part;
  if (typeof url !== "string") {
    if (typeof id !== "string") throw invalid(`${path}.image_url`, "an address or a data URI", url);
    left.never(
      `${path}.file_id`,
      "names a file that only its own provider has",
      "Send the image in image_url, as an address or a data URI.",
    );
    return null;
  }
  // chat completions know no finer detail than `high`
  const known = detail === "original" ? "high" : detail;
  return { type: "image_url", image_url: { url, ...(known !== undefined && known !== null && { detail: known }) } };
}

/** In chat completions, the id of a file may be its address on the web. */
function translatedFile(part: JsonObject, path: string): JsonObject {
  const { file_data: data, file_id: id, file_url: url, filename } = part;
  const named = { ...(typeof filename === "string" && { filename }) };
  if (typeof data === "string") return { type: "file", file: { ...named, file_data: data } };
  const address = typeof id === "string" ? id : url;
  if (typeof address === "string") return { type: "file", file: { ...named, file_id: address } };
  throw invalidRequest(path, `${path} must hold file_data, file_url or file_id.`);
}
