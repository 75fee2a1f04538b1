// Records of calls that were traced, for the tests of what is made of them.
import type { CallRecord } from "../../../src/core/record/record.ts";
import type { ToolRun } from "../../../src/core/configured/tool.ts";
import type { RecordedCall } from "../../../src/observe/integrations/sink.ts";
import { attemptOf, recordOf } from "../../contract/store/call-records.ts";

export const TRACE = "0af7651916cd43dd8448eb211c80319c";
export const CALL_SPAN = "00f067aa0ba902b7";

export function toolOf(parts: Partial<ToolRun> = {}): ToolRun {
  return {
    callId: "call_1",
    server: "weather",
    tool: "forecast",
    round: 1,
    startMs: 20,
    totalMs: 45,
    code: null,
    isError: false,
    resultBytes: 12,
    spanId: "b".repeat(16),
    ...parts,
  };
}

export function tracedCall(parts: Partial<CallRecord> = {}, content: RecordedCall["content"] = null): RecordedCall {
  return {
    record: recordOf({
      trace: { traceId: TRACE, spanId: CALL_SPAN, parentSpanId: null, sampled: true, state: null },
      modelAsked: "fast",
      route: "fast",
      provider: "mine",
      model: "gpt-4o",
      attempts: [attemptOf()],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      totalMs: 100,
      firstContentMs: 55,
      ownMs: 1.5,
      ...parts,
    }),
    content,
  };
}
