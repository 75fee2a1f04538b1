// The form of a stage of the stream normalizer (docs/design/stream-normalizer.md).
import type { ChatChunk, ChunkDelta } from "../../core/chat.ts";

/**
 * Takes the chunks of one stream and returns what the next stage gets. From the second stage on, chunks are strict: each
 * entry of `choices` is one event with one kind of content, and an entry with nothing to send yields no event.
 */
export interface StreamStage {
  /** Throws MalformedAnswer when a bound is exceeded. */
  write(chunk: ChatChunk): ChatChunk;
}

/** Whether a delta opens its choice: it has a role and nothing else. A role beside content is not sent again. */
export function isOpening(delta: ChunkDelta): boolean {
  if (delta.role === undefined) return false;
  for (const name in delta) if (name !== "role" && delta[name] !== null && delta[name] !== undefined) return false;
  return true;
}
