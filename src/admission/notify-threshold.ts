// Reports a reached threshold of a budget to the event log, the metrics and the log, once in a window of the budget.
import type { Events } from "../core/event.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics/metrics.ts";
import { thresholdEvent } from "./threshold-event.ts";
import type { Crossed } from "./thresholds.ts";

export interface ThresholdWatchers {
  readonly log: Pick<Log, "warn">;
  readonly metrics: Pick<Metrics, "thresholdReached">;
  readonly events: Events;
}

export function notifyThreshold(crossed: Crossed, { log, metrics, events }: ThresholdWatchers): void {
  const {
    account: { rule, value },
    threshold,
    standing,
  } = crossed;
  events.emit(thresholdEvent(crossed));
  metrics.thresholdReached(rule.id);
  const { tenantId: tenant, projectId: project, id, name, unit, limit } = rule;
  log.warn(
    {
      event: "budget_threshold",
      tenant,
      project,
      budget: name,
      budget_id: id,
      value,
      percent: threshold.percent,
      degrade_to: threshold.degradeTo,
      unit,
      limit,
      used: standing.used,
    },
    "a budget has reached a threshold",
  );
}
