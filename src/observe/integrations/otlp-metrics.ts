// Metrics of calls over OpenTelemetry's protocol: every call is counted when it comes, whatever becomes of its trace, and the sums are sent now and then.
import { within } from "../../core/timeout.ts";
import type { Clock } from "../../core/clock.ts";
import { systemClock } from "../../core/clock.ts";
import type { CallRecord } from "../../core/record.ts";
import { ProtobufWriter } from "../../wire/protobuf.ts";
import { countCall } from "./otlp/call-metrics.ts";
import { exportTo } from "./otlp/exporter.ts";
import { encodeMetrics, MetricSums } from "./otlp/metric.ts";
import { SinkFault } from "./sink.ts";
import type { TraceBase } from "./trace-fields.ts";

export interface MetricsExport {
  count(record: CallRecord): void;
  /** Sends what has been counted, with one try. */
  end(withinMs: number): Promise<void>;
}

export interface MetricsWatch {
  /** One export came to nothing. */
  failed(): void;
  /** The first failure after a success, and the first success after failures. */
  failing(words: string): void;
  back(): void;
}

/** Null: it gets no metrics. */
export function openMetricsExport(
  { otlp: { metrics, resource, gzip }, delivery: { timeoutMs } }: Pick<TraceBase, "otlp" | "delivery">,
  watch: MetricsWatch,
  clock: Pick<Clock, "now"> = systemClock,
): MetricsExport | null {
  if (metrics === null) return null;
  const { temporality, intervalMs } = metrics;
  const sums = new MetricSums(temporality, clock.now());
  const writer = new ProtobufWriter();
  let isFailing = false;
  let running: Promise<void> | null = null;

  const send = async (withinMs: number): Promise<void> => {
    const nowMs = clock.now();
    const collected = sums.collect(nowMs);
    const message = encodeMetrics(writer, { attributes: resource }, collected, temporality, nowMs);
    if (message === null) return;
    try {
      const partial = await exportTo({ ...metrics, gzip }, message, AbortSignal.timeout(Math.max(1, withinMs)), clock);
      if (partial !== null)
        throw new SinkFault(
          `the receiver did not take ${partial.rejected} points${partial.message === "" ? "" : `: ${partial.message}`}`,
          { isRetryable: false },
        );
      if (isFailing) watch.back();
      isFailing = false;
    } catch (thrown) {
      // what it refuses it would refuse again, and ever more of it
      if (!(thrown instanceof SinkFault) || thrown.isRetryable) sums.restore(collected);
      watch.failed();
      if (!isFailing) watch.failing(`metrics: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
      isFailing = true;
    }
  };
  const timer = setInterval(() => {
    running ??= send(timeoutMs).finally(() => (running = null));
  }, intervalMs);
  timer.unref();

  return {
    count: (record) => countCall(record, sums),
    async end(withinMs) {
      clearInterval(timer);
      // one that is under way may hang, and the last figures are not to wait for it
      const halfMs = withinMs / 2;
      if (running !== null) await within(running, halfMs);
      await send(Math.min(timeoutMs, halfMs));
    },
  };
}
