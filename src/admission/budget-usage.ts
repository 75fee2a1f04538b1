// Reports how full budgets are, for the metrics. For each budget it keeps the account that was fullest when calls were
// last charged in this process, and reads the status of that account when the metrics are collected.
import { LATE, within } from "../core/concurrency/timeout.ts";
import type { CallRecord } from "../core/record/record.ts";
import type { LimitRule } from "../core/configured/limit.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { isPending, type MaybePromise } from "../core/maybe-promise.ts";
import type { BudgetStatus } from "../observe/metrics/refusal-meters.ts";
import type { LimitStore, AccountStatus } from "./limit-store.ts";

const MAX_BUDGETS = 500;
/** A limit store that does not answer must not delay the metrics for longer than this. */
const MOST_WAIT_MS = 500;

/** A budget of the configuration file counts for each tenant apart, so an account is that of a tenant. */
interface Seen {
  tenantId: string;
  projectId: string;
  tokenId: string;
  value: string;
  after: number;
}

export type BudgetUsage = ReturnType<typeof openBudgetUsage>;

export function openBudgetUsage(limits: Pick<LimitStore, "status">, snapshot: () => Snapshot) {
  const budgets = new Map<string, Seen>();
  /**
   * A record lists limits and budgets together. These are the ids known to be limits, so that each is looked up only
   * once.
   */
  let others = new Set<string>();
  const ruleOf = (
    id: string,
    { tenantId, projectId, tokenId }: Pick<Seen, "tenantId" | "projectId" | "tokenId">,
  ): LimitRule | undefined =>
    snapshot()
      .limitRules.forCaller(tenantId, projectId, tokenId)
      ?.rules.find((rule) => rule.id === id && rule.kind === "budget");

  return {
    publish({ limits: outcomes, tenantId, projectId, tokenId }: CallRecord): void {
      if (tenantId === null || projectId === null || tokenId === null) return;
      for (const { id, value, after } of outcomes) {
        if (others.has(id)) continue;
        const seen = budgets.get(id);
        if (seen === undefined) {
          const caller = { tenantId, projectId, tokenId };
          if (ruleOf(id, caller) === undefined) {
            if (others.size >= MAX_BUDGETS) others = new Set();
            others.add(id);
          } else if (budgets.size < MAX_BUDGETS) budgets.set(id, { ...caller, value, after });
        } else if ((tenantId === seen.tenantId && value === seen.value) || after > seen.after)
          Object.assign(seen, { tenantId, projectId, tokenId, value, after });
      }
    },
    async statuses(): Promise<readonly BudgetStatus[]> {
      const statuses = await Promise.all(
        [...budgets].map(async ([id, seen]): Promise<BudgetStatus | null> => {
          const rule = ruleOf(id, seen);
          if (rule === undefined) {
            budgets.delete(id);
            return null;
          }
          const status = await statusInTime(limits.status({ rule, value: seen.value }));
          if (status === null) return null;
          seen.after = status.used;
          return { budget: id, name: rule.name, used: status.limit === 0 ? 1 : status.used / status.limit };
        }),
      );
      return statuses.filter((status) => status !== null);
    },
  };
}

/** `null` when the status does not arrive in time. */
async function statusInTime(reading: MaybePromise<AccountStatus>): Promise<AccountStatus | null> {
  if (!isPending(reading)) return reading;
  try {
    const status = await within(reading, MOST_WAIT_MS);
    return status === LATE ? null : status;
  } catch {
    return null;
  }
}
