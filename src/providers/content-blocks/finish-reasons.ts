// Stop reasons of APIs whose turns are lists of content blocks, as finish reasons of chat completions.
import type { FinishReason } from "../../core/chat.ts";

export interface Finish {
  readonly finish_reason: FinishReason;
  readonly native_finish_reason: string;
}

const COMMON = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
} as const;

/** `own` holds the further stop reasons of one API. */
export function stopReasons(own: Readonly<Record<string, FinishReason>>) {
  const reasons: ReadonlyMap<string | null, FinishReason> = new Map(Object.entries({ ...COMMON, ...own }));
  return {
    /**
     * `hasCalls` is true when the answer holds tool calls that the caller has to run. A stop reason that the vendor adds
     * later counts as `end_turn`. A whole answer without one has no finish either.
     */
    finishOf: (stopReason: string | null, hasCalls: boolean): Partial<Finish> => {
      if (stopReason === null) return {};
      const reason = reasons.get(stopReason) ?? "stop";
      const isNormal = reason === "stop" || reason === "tool_calls";
      return {
        finish_reason: isNormal ? (hasCalls ? "tool_calls" : "stop") : reason,
        native_finish_reason: stopReason,
      };
    },
    /** True when a tool call's input may have been cut off. */
    isCutOff: (stopReason: string | null) => reasons.get(stopReason) === "length",
  };
}
