// Converts reasoning items to reasoning details and back. An item is sent back with its encrypted content, or with its
// raw text where the vendor does not encrypt it. https://platform.openai.com/docs/guides/reasoning
import type { Message, ReasoningDetail } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";

/** Stands between the parts of reasoning, which a chat completion has in one text. */
export const REASONING_BREAK = "\n\n";

/** The texts of an item's raw content and summary, in this order. */
export function reasoningTexts(item: JsonObject): readonly string[] {
  return [...objectsIn(item["content"]), ...objectsIn(item["summary"])]
    .map(({ text }) => textOrEmpty(text))
    .filter((text) => text !== "");
}

/**
 * The details of an item, numbered from `first` on. Empty when the vendor would not take the item back: it has neither
 * encrypted content nor raw text.
 */
export function reasoningDetails(item: JsonObject, first: number, ownFormat: string): readonly ReasoningDetail[] {
  const { id, encrypted_content: encrypted, format: named } = item;
  const data = textOrEmpty(encrypted);
  const raw = objectsIn(item["content"]).filter(({ text }) => textOrEmpty(text) !== "");
  if (data === "" && raw.length === 0) return [];
  const rest = {
    ...(typeof id === "string" && id !== "" && { id }),
    // A gateway of many models names the format of each: https://openrouter.ai/docs/use-cases/reasoning-tokens
    format: typeof named === "string" && named !== "" ? named : ownFormat,
  };
  const details: (JsonObject & Pick<ReasoningDetail, "type">)[] = [
    ...raw.map(({ text }) => ({ type: "reasoning.text" as const, text: text as string })),
    ...objectsIn(item["summary"]).map(({ text }) => ({
      type: "reasoning.summary" as const,
      summary: textOrEmpty(text),
    })),
    ...(data === "" ? [] : [{ type: "reasoning.encrypted" as const, data }]),
  ];
  return details.map((detail, at) => ({ ...detail, ...rest, index: first + at }));
}

/**
 * The reasoning items of an earlier answer. Details of one item have the same id; those without an id belong to the item
 * that their neighbours make. Details of other vendors are left out, and so are items that the vendor would not take.
 */
export function reasoningItems(message: Message, accepts: (format: string) => boolean): readonly JsonObject[] {
  const details: Json | undefined = message["reasoning_details"];
  if (!Array.isArray(details)) return [];
  const items: OpenItem[] = [];
  for (const detail of (details as readonly Json[]).filter(isObject)) {
    const { format, id } = detail;
    if (typeof format !== "string" || !accepts(format)) continue;
    const last = items.at(-1);
    const isNext = last === undefined || (typeof id === "string" && last.id !== null && id !== last.id) || last.isWhole;
    const item = isNext ? newItem() : last;
    if (isNext) items.push(item);
    if (typeof id === "string" && id !== "") item.id ??= id;
    if (format !== "unknown") item.format ??= format;
    addDetail(item, detail);
  }
  return items.filter(({ encrypted, content }) => encrypted !== null || content.length > 0).map(itemOf);
}

/** The one item of these details that its vendor has encrypted; null where they make none. */
export function encryptedItem(details: readonly ReasoningDetail[]): JsonObject | null {
  const items = reasoningItems({ role: "assistant", reasoning_details: details }, () => true);
  return items.length === 1 && items[0]!["encrypted_content"] !== undefined ? items[0]! : null;
}

interface OpenItem {
  id: string | null;
  format: string | null;
  readonly summary: JsonObject[];
  readonly content: JsonObject[];
  encrypted: string | null;
  /** The encrypted content is the last detail of an item. */
  isWhole: boolean;
}

function newItem(): OpenItem {
  return { id: null, format: null, summary: [], content: [], encrypted: null, isWhole: false };
}

function addDetail(item: OpenItem, { type, text, summary, data }: JsonObject): void {
  if (type === "reasoning.text" && typeof text === "string" && text !== "")
    item.content.push({ type: "reasoning_text", text });
  else if (type === "reasoning.summary" && typeof summary === "string")
    item.summary.push({ type: "summary_text", text: summary });
  else if (type === "reasoning.encrypted" && typeof data === "string" && data !== "") {
    item.encrypted = data;
    item.isWhole = true;
  }
}

function itemOf({ id, summary, content, encrypted }: OpenItem): JsonObject {
  return {
    type: "reasoning",
    ...(id !== null && { id }),
    summary,
    ...(content.length > 0 && { content }),
    ...(encrypted !== null && { encrypted_content: encrypted }),
  };
}
