// The thresholds of budgets (promise 4.6). Each is reported to the event log, the metrics and the log once in a window of
// its account, across all replicas, when that much of the budget is used or reserved; and again when the budget was
// changed and that much of its new amount is.
import { usd } from "../accounting/price.ts";
import type { Events, NewEvent } from "../core/record/event.ts";
import type { Account, LimitRule, Threshold } from "../core/configured/limit.ts";
import { isPending } from "../core/maybe-promise.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics/metrics.ts";
import type { AccountStatus, LimitStore } from "./limit-store.ts";

export interface CrossedThreshold {
  readonly account: Account;
  readonly threshold: Threshold;
  readonly status: AccountStatus;
}

/**
 * Called with an account whose rule has thresholds, after it was charged or has refused a need. `refused` is its status
 * at the refusal, else `null`.
 */
export type OnCharged = (account: Account, refused: AccountStatus | null) => void;

/** `onCrossed` never throws. */
export function thresholdWatch(
  store: Pick<LimitStore, "status" | "first">,
  onCrossed: (crossed: CrossedThreshold) => void,
): OnCharged {
  /** The thresholds already reported by this process, so that the store is not asked for every call. */
  const reported = new WeakMap<Account, { readonly resetsAtMs: number | null; readonly percents: Set<number> }>();

  const judge = (account: Account, status: AccountStatus, refused: boolean): void => {
    for (const threshold of account.rule.thresholds) {
      if (!isReached(threshold, status, refused)) continue;
      let known = reported.get(account);
      if (known === undefined || known.resetsAtMs !== status.resetsAtMs)
        reported.set(account, (known = { resetsAtMs: status.resetsAtMs, percents: new Set() }));
      const { percents } = known;
      if (percents.has(threshold.percent)) continue;
      percents.add(threshold.percent);
      const report = (isFirst: boolean): void => {
        if (isFirst) onCrossed({ account, threshold, status });
      };
      // where the store cannot say it, the next charge asks again
      const asked = store.first(account, `threshold ${threshold.percent} of ${account.rule.limit}`);
      asked.then(report, () => void percents.delete(threshold.percent));
    }
  };

  return (account, refused) => {
    const status = refused ?? store.status(account);
    if (isPending(status))
      status.then(
        (known) => judge(account, known, false),
        () => {},
      );
    else judge(account, status, refused !== null);
  };
}

/**
 * A budget that refuses may have too little left for any call, so a refusal at 90 percent or more counts as reaching
 * the threshold.
 */
function isReached({ percent }: Threshold, { used, limit }: AccountStatus, refused: boolean): boolean {
  return used * 100 >= percent * limit || (refused && used * 10 >= limit * 9);
}

export interface ThresholdReceivers {
  readonly log: Pick<Log, "warn">;
  readonly metrics: Pick<Metrics, "thresholdReached">;
  readonly events: Events;
}

export function reportThreshold(crossed: CrossedThreshold, { log, metrics, events }: ThresholdReceivers): void {
  const {
    account: { rule, value },
    threshold,
    status,
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
      used: status.used,
    },
    "a budget has reached a threshold",
  );
}

/**
 * The key of the event is derived from what was reached, so that it is stored once in a window of the account, however
 * many replicas report it.
 */
export function thresholdEvent({
  account: { rule, value },
  threshold: { percent, degradeTo },
  status: { used, resetsAtMs },
}: CrossedThreshold): NewEvent {
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
