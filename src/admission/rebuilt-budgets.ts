// Rebuilds the counts of budgets in their periods from the rows of calls, for a process whose file of counts is gone.
// It sums what calls finally used, at the target that answered. Sliding windows are not rebuilt because they end soon
// by themselves.
import type { LimitSet } from "../core/configured/limit.ts";
import type { CallStore } from "../store/calls/calls.ts";
import type { JournalledCount } from "../store/journal/limit-counts.ts";
import { keyOf } from "./kept-state.ts";
import { periodAt } from "./windows.ts";

const CALLER_AND_PLACE = ["tenant", "project", "token", "route", "provider", "model"] as const;

/** Rejects with StoreError. */
export async function rebuiltBudgets(
  calls: Pick<CallStore, "spent">,
  limits: LimitSet,
  nowMs: number,
): Promise<readonly JournalledCount[]> {
  const counts = new Map<string, JournalledCount>();
  for (const { window, isByUser, isByOperation } of limits.budgetCounts) {
    const [sinceMs] = periodAt(window, nowMs);
    const by = [
      ...CALLER_AND_PLACE,
      ...(isByOperation ? (["operation"] as const) : []),
      ...(isByUser ? (["end_user"] as const) : []),
    ];
    for (const { values, tokens, costNanoUsd } of await calls.spent({ sinceMs, by })) {
      const [tenantId, projectId, tokenId, route, provider, model, ...further] = values;
      const operation = isByOperation ? (further.shift() ?? undefined) : undefined;
      const user = further[0] ?? null;
      // A call that reached no provider has used nothing.
      if (
        tenantId == null ||
        projectId == null ||
        tokenId == null ||
        route == null ||
        provider == null ||
        model == null
      )
        continue;
      const accounts =
        limits
          .forCaller(tenantId, projectId, tokenId, operation)
          ?.accountsAt({ route, provider, model: `${provider}:${model}` }, user) ?? [];
      for (const { rule, value } of accounts) {
        const { scope } = rule;
        if (rule.kind !== "budget" || rule.window !== window) continue;
        if ((scope.user !== undefined) !== isByUser || (scope.operation !== undefined) !== isByOperation) continue;
        const key = `${keyOf(rule)}\n${value}`;
        const total = (counts.get(key)?.total ?? 0) + Number(rule.unit === "tokens" ? tokens : costNanoUsd);
        counts.set(key, {
          tenantId,
          id: rule.id,
          unit: rule.unit,
          kind: rule.kind,
          window,
          value,
          stamp: Math.floor(nowMs) * 1000,
          total,
        });
      }
    }
  }
  return [...counts.values()].filter(({ total }) => total > 0);
}
