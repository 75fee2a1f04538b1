// Traces of calls over OTLP. Metrics are exported separately (otlp-metrics.ts), because they count all calls, including
// those that are dropped here.
import { systemClock } from "../../../core/clock.ts";
import { messageOf } from "../../../core/thrown.ts";
import { ProtobufWriter } from "../../../wire/protobuf.ts";
import { exportTo } from "../otlp/exporter.ts";
import { openInference } from "../otlp/open-inference.ts";
import { type Dialect, spansOf } from "../otlp/call-spans.ts";
import { spanContent } from "../otlp/span-content.ts";
import { type EncodedSpan, encodeSpans } from "../otlp/span.ts";
import type { OtlpSettings } from "./otlp-settings.ts";
import { type RecordedCall, type Rejected, type Sink, SinkFault } from "../sink.ts";
import type { TraceBase } from "./trace-fields.ts";
import { isSent } from "../../tracing.ts";

export function openOtlpSink(settings: OtlpSettings): Sink {
  return openTraceSink(settings, settings.openInference ? [spanContent, openInference] : [spanContent]);
}

const NO_SINK: Sink = { deliver: () => Promise.resolve(), close: () => Promise.resolve() };

/** The sink for every receiver of OTLP. */
export function openTraceSink(
  { otlp: { traces, resource, gzip }, trace }: Pick<TraceBase, "otlp" | "trace">,
  dialects: readonly Dialect[],
): Sink {
  if (traces === null) return NO_SINK;
  const writer = new ProtobufWriter();
  /**
   * A record that cannot be converted into spans fails for good, because a retry would fail again. Throws SinkFault.
   */
  const encoded = (calls: readonly RecordedCall[]) => {
    try {
      const spans: EncodedSpan[] = [];
      let sent = 0;
      for (const call of calls) {
        if (call.record.trace === null || !isSent(call.record.trace, trace.sampleRatio)) continue;
        const own = spansOf(call, dialects);
        if (own.length > 0) sent += 1;
        spans.push(...own);
      }
      return { spans, sent, message: encodeSpans(writer, resource, spans) };
    } catch (thrown) {
      throw new SinkFault(`spans could not be made: ${messageOf(thrown)}`, {
        isRetryable: false,
        refusedFor: "call",
      });
    }
  };
  const deliver = async (calls: readonly RecordedCall[], signal: AbortSignal): Promise<Rejected | undefined> => {
    const { spans, sent, message } = encoded(calls);
    const partial = spans.length === 0 ? null : await exportTo({ ...traces, gzip }, message, signal, systemClock);
    if (partial === null) return undefined;
    // The receiver counts spans, while the gateway counts calls.
    return {
      rejected: Math.min(sent, Math.ceil((partial.rejected / spans.length) * sent)),
      why: `the receiver rejected ${partial.rejected} spans${partial.message === "" ? "" : `: ${partial.message}`}`,
    };
  };
  return { deliver, close: () => Promise.resolve() };
}
