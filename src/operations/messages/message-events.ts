// The events of a streamed message as text: https://platform.claude.com/docs/en/build-with-claude/streaming. Each has
// the name of its type, because some client libraries skip events without a name.
import type { JsonObject } from "../../core/json.ts";

export function eventText(event: JsonObject & { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

export const PING = eventText({ type: "ping" });

export function blockStart(index: number, block: JsonObject): string {
  return eventText({ type: "content_block_start", index, content_block: block });
}

const DELTAS = {
  text: ["text_delta", "text"],
  thinking: ["thinking_delta", "thinking"],
  signature: ["signature_delta", "signature"],
  tool_use: ["input_json_delta", "partial_json"],
} as const;

/** Nearly all events of a stream are deltas, so that their text is put together here. */
export function blockDelta(index: number, kind: keyof typeof DELTAS, piece: string): string {
  const [type, member] = DELTAS[kind];
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${member}":${JSON.stringify(piece)}}}\n\n`;
}

export function citationDelta(index: number, citation: JsonObject): string {
  return eventText({ type: "content_block_delta", index, delta: { type: "citations_delta", citation } });
}

export function blockStop(index: number): string {
  return eventText({ type: "content_block_stop", index });
}
