// Prometheus metrics of the tools that the gateway ran for calls.
import { Counter, Histogram, type Registry } from "prom-client";
import type { CallRecord } from "../../core/record/record.ts";
import { bounded, MOST } from "./labels.ts";

/** Whether a tool server is registered in the place of the call, and is not a name that the caller made up. */
export type IsRegisteredServer = (call: Pick<CallRecord, "tenantId" | "projectId">, label: string) => boolean;

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const ROUNDS = [1, 2, 3, 4, 5, 7, 10, 20, 50];

export function openToolMeters(registry: Registry, isRegistered: IsRegisteredServer): (record: CallRecord) => void {
  const registers = [registry];
  const runs = new Counter({
    name: "dragoman_tool_runs_total",
    help: "Tool runs of the gateway, by server and outcome.",
    labelNames: ["server", "outcome"],
    registers,
  });
  const duration = new Histogram({
    name: "dragoman_tool_run_seconds",
    help: "Time from the call of a tool to its result.",
    labelNames: ["server"],
    buckets: SECONDS,
    registers,
  });
  const rounds = new Histogram({
    name: "dragoman_tool_rounds",
    help: "Rounds with the model, in calls whose tools the gateway ran.",
    buckets: ROUNDS,
    registers,
  });
  const serverLabel = bounded(MOST.server);
  return (record) => {
    if (record.tools.length === 0) return;
    rounds.observe(record.rounds);
    for (const { server: label, code, isError, startMs, totalMs } of record.tools) {
      const server = isRegistered(record, label) ? serverLabel(label) : "other";
      runs.inc({ server, outcome: code !== null ? "failed" : isError ? "error" : "ok" });
      if (totalMs !== null) duration.observe({ server }, Math.max(0, totalMs - startMs) / 1000);
    }
  };
}
