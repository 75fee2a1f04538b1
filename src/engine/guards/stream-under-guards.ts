// A stream that guards search, as those see it who write the stream.
import type { ChatChunk } from "../../core/chat.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";

/**
 * The methods return the chunks that may be sent, or a promise when that takes long. They throw `policy_violation`, or
 * reject with it, when a guard blocks.
 */
export interface StreamUnderGuards {
  take(chunks: readonly ChatChunk[]): MaybePromise<readonly ChatChunk[]>;
  /** Returns the chunks that were held back until the end. */
  end(): MaybePromise<readonly ChatChunk[]>;
  /** The stream is not read further. */
  close(): void;
}
