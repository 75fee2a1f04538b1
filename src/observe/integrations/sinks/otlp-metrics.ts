// Metrics of calls over OTLP: every call is counted when it arrives, whatever happens to its trace, and the sums are
// exported at intervals.
import { within } from "../../../core/concurrency/timeout.ts";
import type { Clock } from "../../../core/clock.ts";
import { systemClock } from "../../../core/clock.ts";
import type { CallRecord } from "../../../core/record/record.ts";
import { messageOf } from "../../../core/thrown.ts";
import { ProtobufWriter } from "../../../wire/protobuf.ts";
import { countCall } from "../otlp/call-metrics.ts";
import { exportTo } from "../otlp/exporter.ts";
import { encodeMetrics, MetricSums } from "../otlp/metric.ts";
import { SinkFault } from "../sink.ts";
import type { QueueWatch } from "../sink-queue.ts";
import type { TraceBase } from "./trace-fields.ts";

export interface MetricsExport {
  count(record: CallRecord): void;
  /** Exports what has been counted, with one attempt. */
  end(withinMs: number): Promise<void>;
}

/** Of exports, as of the deliveries of a queue. */
export type MetricsWatch = Pick<QueueWatch, "failed" | "failing" | "back">;

/** Returns null when the integration gets no metrics. */
export function openMetricsExport(
  { otlp: { metrics, resource, gzip }, delivery: { timeoutMs } }: Pick<TraceBase, "otlp" | "delivery">,
  watch: MetricsWatch,
  clock: Pick<Clock, "now" | "monotonic"> = systemClock,
): MetricsExport | null {
  if (metrics === null) return null;
  const { temporality, intervalMs } = metrics;
  const sums = new MetricSums(temporality, clock.now());
  const writer = new ProtobufWriter();
  let isFailing = false;
  let running: Promise<void> | null = null;
  let notBeforeMs = Number.NEGATIVE_INFINITY;

  const send = async (withinMs: number): Promise<void> => {
    const nowMs = clock.now();
    const collected = sums.collect(nowMs);
    const message = encodeMetrics(writer, resource, collected, temporality, nowMs);
    if (message === null) return;
    try {
      const partial = await exportTo({ ...metrics, gzip }, message, AbortSignal.timeout(Math.max(1, withinMs)), clock);
      if (partial !== null)
        throw new SinkFault(
          `the receiver rejected ${partial.rejected} points${partial.message === "" ? "" : `: ${partial.message}`}`,
          { isRetryable: false },
        );
      if (isFailing) watch.back();
      isFailing = false;
    } catch (thrown) {
      // The receiver would reject the same points again, and there would be more and more of them.
      if (!(thrown instanceof SinkFault) || thrown.isRetryable) sums.restore(collected);
      if (thrown instanceof SinkFault) notBeforeMs = clock.monotonic() + (thrown.retryAfterMs ?? 0);
      watch.failed();
      if (!isFailing) watch.failing(`metrics: ${messageOf(thrown)}`);
      isFailing = true;
    }
  };
  const timer = setInterval(() => {
    if (clock.monotonic() < notBeforeMs) return;
    running ??= send(timeoutMs).finally(() => (running = null));
  }, intervalMs).unref();

  return {
    count: (record) => countCall(record, sums),
    async end(withinMs) {
      clearInterval(timer);
      // An export in flight may hang, and the last figures must not wait for it.
      const halfMs = withinMs / 2;
      if (running !== null) await within(running, halfMs);
      await send(Math.min(timeoutMs, halfMs));
    },
  };
}
