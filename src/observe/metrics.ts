// Prometheus metrics made from the call records. Label values are bounded: providers are the configured ones, and a model gets a label of its own
// only until MAX_MODELS have been seen.
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { CallRecord } from "../core/record.ts";
import type { Observer } from "./observer.ts";

const MAX_MODELS = 500;
const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const OWN_SECONDS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1];

export interface Metrics extends Observer {
  /** Calls that have begun and not ended. */
  readonly inFlight: { inc(): void; dec(): void };
  /** The text exposition format. */
  text(): Promise<string>;
  readonly contentType: string;
}

export function openMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const labelNames = ["provider", "model"] as const;
  const calls = new Counter({ name: "dragoman_calls_total", help: "Calls by outcome.", labelNames: [...labelNames, "status", "stream"] as const, registers });
  const errors = new Counter({ name: "dragoman_errors_total", help: "Calls that failed, by code.", labelNames: [...labelNames, "code"] as const, registers });
  const duration = new Histogram({ name: "dragoman_call_duration_seconds", help: "From the arrival of a request to the end of its answer.", labelNames, buckets: SECONDS, registers });
  const firstToken = new Histogram({ name: "dragoman_first_token_seconds", help: "From the arrival of a request to the first content sent, on streams.", labelNames, buckets: SECONDS, registers });
  const own = new Histogram({ name: "dragoman_own_seconds", help: "The gateway's own share of a call.", labelNames: [], buckets: OWN_SECONDS, registers });
  const tokens = new Counter({ name: "dragoman_tokens_total", help: "Tokens by kind.", labelNames: [...labelNames, "kind"] as const, registers });
  const cancelled = new Counter({ name: "dragoman_cancelled_total", help: "Calls whose client left before the end.", labelNames, registers });
  const inFlight = new Gauge({ name: "dragoman_calls_in_flight", help: "Calls that have begun and not ended.", registers });
  processGauges(registry);

  const models = new Set<string>();
  const boundedModel = (model: string): string => {
    if (models.has(model)) return model;
    if (models.size >= MAX_MODELS) return "other";
    models.add(model);
    return model;
  };

  return {
    inFlight,
    contentType: registry.contentType,
    text: () => registry.metrics(),
    publish: (record: CallRecord) => {
      const provider = record.provider ?? "none";
      // only names that a provider answered to become labels: a caller cannot make up series
      const model = record.model !== null && record.status < 400 ? boundedModel(record.model) : "none";
      const labels = { provider, model };
      calls.inc({ provider, model, status: record.status, stream: record.stream ? "true" : "false" });
      duration.observe(labels, record.totalMs / 1000);
      own.observe(record.ownMs / 1000);
      if (record.code !== null) errors.inc({ provider, model, code: record.code });
      if (record.cancelled) cancelled.inc(labels);
      if (record.stream && record.firstContentMs !== null) firstToken.observe(labels, record.firstContentMs / 1000);
      if (record.usage !== null) {
        tokens.inc({ provider, model, kind: "prompt" }, record.usage.prompt_tokens);
        tokens.inc({ provider, model, kind: "completion" }, record.usage.completion_tokens);
      }
    },
  };
}

/** prom-client's default metrics are partly wrong on Bun, so these few are made here. */
function processGauges(registry: Registry): void {
  const registers = [registry];
  new Gauge({ name: "process_resident_memory_bytes", help: "Resident memory.", registers, collect() { this.set(process.memoryUsage.rss()); } });
  new Gauge({ name: "process_cpu_seconds_total", help: "User and system CPU time.", registers, collect() { const usage = process.cpuUsage(); this.set((usage.user + usage.system) / 1e6); } });
  new Gauge({ name: "process_uptime_seconds", help: "Seconds since the start.", registers, collect() { this.set(process.uptime()); } });
}
