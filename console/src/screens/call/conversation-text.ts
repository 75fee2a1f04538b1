// Messages of a conversation as text. Pictures and files are named, and never loaded.
import type { JsonObject } from "../play/play-request.ts";

export function textOf({ content, refusal }: JsonObject): string {
  const said = typeof content === "string" ? content : Array.isArray(content) ? content.map(partText).join("\n") : "";
  return [said, typeof refusal === "string" ? refusal : ""].filter((text) => text !== "").join("\n");
}

function partText(part: unknown): string {
  if (typeof part === "string") return part;
  if (typeof part !== "object" || part === null) return "";
  const { text, type } = part as { readonly text?: unknown; readonly type?: unknown };
  return typeof text === "string" ? text : `[${typeof type === "string" ? type : "part"}]`;
}

export function toolCallsOf({ tool_calls: calls }: JsonObject): readonly { name: string; arguments: string }[] {
  if (!Array.isArray(calls)) return [];
  return (calls as readonly unknown[]).map((call) => {
    const { function: called } = (call ?? {}) as { readonly function?: JsonObject };
    const word = (value: unknown): string => (typeof value === "string" ? value : "");
    return { name: word(called?.["name"]), arguments: word(called?.["arguments"]) };
  });
}

/** How many messages both conversations begin with. */
export function commonStart(earlier: readonly JsonObject[], later: readonly JsonObject[]): number {
  const differs = later.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(earlier[at]));
  return differs < 0 ? later.length : differs;
}
