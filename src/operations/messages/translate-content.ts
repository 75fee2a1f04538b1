// Content blocks as parts of chat completions: https://platform.claude.com/docs/en/api/messages (content blocks).
import type { ContentPart, Untranslated } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { invalid, objectAt, textAt } from "../../core/refusals.ts";
import { vendorCitations } from "./citations.ts";
import { bad, cacheMark, filledTextAt, given } from "./fields.ts";
import { asked, never, orLeft } from "./untranslated.ts";

/** A block, and where the client wrote it. The text of a message is a block as well. */
export interface PlacedBlock {
  readonly block: JsonObject;
  readonly path: string;
}

export function placedBlocks(content: Json | undefined, path: string): readonly PlacedBlock[] {
  if (typeof content === "string") return content === "" ? [] : [{ block: { type: "text", text: content }, path }];
  if (!Array.isArray(content)) throw invalid(path, "a string or an array of content blocks", content);
  return (content as readonly Json[]).map((block, index) => {
    const place = `${path}[${index}]`;
    if (!isObject(block)) throw invalid(place, "an object with a type", block);
    if (typeof block["type"] !== "string") throw invalid(`${place}.type`, "a string", block["type"]);
    return { block, path: place };
  });
}

/** Returns the path of what a part of the block is made of, for errors. */
export function sourceOf({ block, path }: PlacedBlock): string {
  const { source } = block;
  if (!isObject(source)) return path;
  const name = ["data", "url"].find((one) => source[one] !== undefined);
  return name === undefined ? `${path}.source` : `${path}.source.${name}`;
}

/** Returns the parts that say the same; none for a block that is listed in `left`. */
export function partsOf({ block, path }: PlacedBlock, left: Untranslated[]): readonly ContentPart[] {
  switch (block["type"]) {
    case "text":
      return [textPart(block, path, left)];
    case "image":
      return imageParts(block, path, left);
    case "document":
      return documentParts(block, path, left);
    case "search_result":
      return [searchResult(block, path)];
    default:
      left.push(
        never(
          path,
          `a block of type ${JSON.stringify((block["type"] as string).slice(0, 64))}`,
          "leave it out, or use a model that takes it",
        ),
      );
      return [];
  }
}

/** Empty text is refused, as by the vendor. Citations stay on their text. */
export function textPart(block: JsonObject, path: string, left: Untranslated[]): ContentPart {
  const text = textAt(block, "text", path);
  orLeft(left, "", () => filledTextAt(block, "text", path));
  const citations = given(block, "citations");
  const own = Array.isArray(citations) ? vendorCitations(citations as readonly Json[]) : [];
  return { type: "text", text, ...(own.length > 0 && { citations: own }), ...cacheMark(block, path) };
}

/** The text of parts without any other member; null for all others. */
export function plainText(parts: readonly ContentPart[]): string | null {
  const isPlain = parts.every((part) => part.type === "text" && Object.keys(part).length === 2);
  return isPlain && parts.length <= 1 ? parts.map((part) => part["text"] as string).join("") : null;
}

function imageParts(block: JsonObject, path: string, left: Untranslated[]): readonly ContentPart[] {
  const source = objectAt(block, "source", path);
  const place = `${path}.source`;
  switch (source["type"]) {
    case "base64": {
      const mediaType = filledTextAt(source, "media_type", place);
      const url = `data:${mediaType};base64,${filledTextAt(source, "data", place)}`;
      return [{ type: "image_url", image_url: { url }, ...cacheMark(block, path) }];
    }
    case "url":
      return [{ type: "image_url", image_url: { url: filledTextAt(source, "url", place) }, ...cacheMark(block, path) }];
    case "file":
      left.push(ofVendor(place));
      return [];
    default:
      left.push(ofUnknownSource(source, place));
      return [];
  }
}

function ofVendor(path: string): Untranslated {
  return never(path, "a file that was uploaded at a vendor", "send the data of the file");
}

/** Throws when the source has no type at all. */
function ofUnknownSource(source: JsonObject, path: string): Untranslated {
  const type = filledTextAt(source, "type", path);
  return never(path, `a source of type ${type.slice(0, 64)}`, "send the data");
}

/** What a document says of itself beside its source. */
function aboutDocument(block: JsonObject, path: string, left: Untranslated[]): readonly string[] {
  const citations = given(block, "citations");
  if (isObject(citations) && citations["enabled"] === true)
    left.push(asked(`${path}.citations`, "asking for citations"));
  return ["title", "context"].flatMap((name) => (given(block, name) === undefined ? [] : [textAt(block, name, path)]));
}

function documentParts(block: JsonObject, path: string, left: Untranslated[]): readonly ContentPart[] {
  const source = objectAt(block, "source", path);
  const place = `${path}.source`;
  const mark = cacheMark(block, path);
  switch (source["type"]) {
    case "text": {
      const text = [...aboutDocument(block, path, left), filledTextAt(source, "data", place)].join("\n\n");
      return [{ type: "text", text, ...mark }];
    }
    case "content": {
      const head = aboutDocument(block, path, left).map((text): ContentPart => ({ type: "text", text }));
      const parts = placedBlocks(source["content"], `${place}.content`).flatMap((inner) => partsOf(inner, left));
      return withMark([...head, ...parts], mark);
    }
    case "base64":
      filledTextAt(source, "media_type", place);
      filledTextAt(source, "data", place);
      return [{ type: "document", source, ...documentMembers(block, path, left), ...mark }];
    case "url":
      filledTextAt(source, "url", place);
      return [{ type: "document", source, ...documentMembers(block, path, left), ...mark }];
    case "file":
      return [{ type: "file", file: fileOf(block, filledTextAt(source, "file_id", place)), ...mark }];
    default:
      left.push(ofUnknownSource(source, place));
      return [];
  }
}

function fileOf({ title }: JsonObject, id: string): JsonObject {
  return { file_id: id, ...(typeof title === "string" && { filename: title }) };
}

function documentMembers(block: JsonObject, path: string, left: Untranslated[]): JsonObject {
  aboutDocument(block, path, left);
  const { title, context } = block;
  return { ...(typeof title === "string" && { title }), ...(typeof context === "string" && { context }) };
}

function withMark(parts: readonly ContentPart[], mark: JsonObject): readonly ContentPart[] {
  return parts.map((part, index) => (index === parts.length - 1 ? { ...part, ...mark } : part));
}

function searchResult(block: JsonObject, path: string): ContentPart {
  const title = textAt(block, "title", path);
  const source = textAt(block, "source", path);
  const texts = placedBlocks(block["content"], `${path}.content`).map((inner) => {
    if (inner.block["type"] !== "text") throw bad(`${inner.path}.type`, 'must be "text" in a search result.');
    return filledTextAt(inner.block, "text", inner.path);
  });
  return { type: "text", text: [title, source, ...texts].join("\n"), ...cacheMark(block, path) };
}
