// Makes the event of a reached threshold. Its key is derived from what was reached, so it is stored once in a window of
// the account, however many replicas report it.
import { usd } from "../accounting/price.ts";
import type { NewEvent } from "../core/event.ts";
import type { LimitRule } from "../core/limit.ts";
import type { Crossed } from "./thresholds.ts";

export function thresholdEvent({
  account: { rule, value },
  threshold: { percent, degradeTo },
  standing: { used, resetsAtMs },
}: Crossed): NewEvent {
  const { id, name, tenantId, projectId, unit, window, limit } = rule;
  return {
    type: "budget.threshold_reached",
    tenantId,
    projectId,
    onceKey: JSON.stringify(["threshold", tenantId, projectId, id, value, percent, limit, resetsAtMs]),
    data: {
      budget_id: id,
      budget: name,
      percent,
      window,
      unit: unit === "nano_usd" ? "usd" : unit,
      limit: amount(limit, unit),
      used: amount(used, unit),
      account: value === "" ? null : value,
      degrade_to: degradeTo,
      resets_at: resetsAtMs === null ? null : new Date(resetsAtMs).toISOString(),
    },
  };
}

/** Money as exact decimal text, other units as a number. */
function amount(units: number, unit: LimitRule["unit"]): string | number {
  return unit === "nano_usd" ? usd(Math.round(units)) : units;
}
