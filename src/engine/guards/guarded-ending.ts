// What a streamed answer shows at its end, searched before the stream normalizer keeps it for the last events.
import type { ChatChunk, ChunkChoice } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";
import type { StreamUnderGuards } from "./stream-under-guards.ts";

/**
 * Returns a chunk as the provider sent it, with what the answer shows of it at its end as it may be shown: the usage and
 * the provider's own reasons.
 */
export async function endingUnderGuards(chunk: ChatChunk, guarded: StreamUnderGuards): Promise<ChatChunk> {
  const given: unknown = chunk.choices;
  const choices = Array.isArray(given) ? (given as readonly ChunkChoice[]) : [];
  const native = choices.map((choice) => (isObject(choice) ? choice.native_finish_reason : undefined));
  const hasNative = native.some((reason) => typeof reason === "string");
  if (!hasNative && !isObject(chunk.usage)) return chunk;
  const [shown] = await guarded.take([
    {
      ...(isObject(chunk.usage) && { usage: chunk.usage }),
      choices: hasNative ? native.map((reason = null) => ({ native_finish_reason: reason })) : [],
    },
  ]);
  const { choices: reasons, ...members } = shown!;
  const withReason = (choice: ChunkChoice, at: number): ChunkChoice =>
    typeof native[at] === "string"
      ? { ...choice, native_finish_reason: reasons[at]!.native_finish_reason as string }
      : choice;
  return { ...chunk, ...members, ...(hasNative && { choices: choices.map(withReason) }) };
}
