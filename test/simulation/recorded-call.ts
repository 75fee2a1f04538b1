// A call as simulations read it from the records.
import type { RecordedCall } from "../../src/store/calls/calls.ts";

/** Answered by `openai:gpt-4o`, unless `parts` say otherwise. */
export function recordedCall(parts: Partial<RecordedCall> = {}): RecordedCall {
  return {
    traceId: "0".repeat(32),
    operation: "chat.completions",
    projectId: "default",
    tokenId: null,
    userId: null,
    endUser: null,
    stream: false,
    route: "chat",
    provider: "openai",
    model: "gpt-4o",
    modelAsked: null,
    status: 200,
    code: null,
    messages: null,
    usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
    metadata: null,
    policies: [],
    totalMs: 300,
    firstContentMs: null,
    timeMs: Date.UTC(2026, 5, 15, 12),
    parameters: [],
    costNanoUsd: null,
    attempts: [
      { provider: "openai", model: "gpt-4o", code: null, status: 200, startMs: 0, firstContentMs: null, totalMs: 300 },
    ],
    ...parts,
  };
}
