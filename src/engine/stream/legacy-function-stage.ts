// The stage for clients that sent the deprecated `functions` (promise 6.6): the first tool call of each choice becomes
// `function_call`, and further calls are left out, because the form has room for one.
import type { ChatChunk, ChunkChoice, ToolCallDelta } from "../../core/chat.ts";
import type { StreamStage } from "./stream-stage.ts";

export class LegacyFunctionStage implements StreamStage {
  /** The choices with a call. */
  readonly #calling = new Set<number>();

  write(chunk: ChatChunk): ChatChunk {
    return { ...chunk, choices: chunk.choices.map((choice) => this.#choice(choice)) };
  }

  #choice(choice: ChunkChoice): ChunkChoice {
    const { index, delta, finish_reason: finish } = choice;
    const call: ToolCallDelta | undefined = delta?.tool_calls?.[0];
    if (call !== undefined) {
      if (call.index !== 0) return { ...choice, delta: {} };
      this.#calling.add(index!);
      return { ...choice, delta: { function_call: { ...call.function } } };
    }
    return finish === "tool_calls" && this.#calling.has(index!)
      ? { ...choice, finish_reason: "function_call" }
      : choice;
  }
}
