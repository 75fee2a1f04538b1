// How full budgets are, as the metrics show it.
import { expect, test } from "bun:test";
import { openBudgetUsage } from "../../src/admission/budget-usage.ts";
import { limitSetOf } from "../../src/admission/compile-limits.ts";
import { openMemoryLimits } from "../../src/admission/memory.ts";
import type { CallRecord } from "../../src/core/record/record.ts";
import type { Snapshot } from "../../src/core/snapshot.ts";
import { accountOf, needOf, reserved } from "../contract/limit-store.suite.ts";
import { turnedClock } from "./turned-clock.ts";

test("[d4.6] of a budget that counts for each tenant apart, the tenant that has used most of it is shown", async () => {
  const store = openMemoryLimits({ clock: turnedClock() });
  const { rule } = accountOf({ kind: "budget", unit: "tokens", window: "day", limit: 100 });
  const limitRules = limitSetOf([{ ...rule, tenantId: null, projectId: null, scope: {} }]);
  const usage = openBudgetUsage(store, () => ({ limitRules }) as unknown as Snapshot);
  const spend = async (tenantId: string, units: number): Promise<void> => {
    const caller = { tenantId, projectId: `${tenantId}-project`, tokenId: `${tenantId}-token` };
    const [account] = limitRules.forCaller(tenantId, caller.projectId, caller.tokenId)!.ofEveryCall;
    (await reserved(store, needOf(account!, units))).settle([units]);
    const { used } = store.status(account!);
    usage.publish({ ...caller, limits: [{ id: rule.id, value: "", after: used }] } as unknown as CallRecord);
  };
  const shown = async (): Promise<readonly number[]> => (await usage.statuses()).map(({ used }) => used);
  await spend("first", 10);
  expect(await shown()).toEqual([0.1]);
  await spend("second", 90);
  expect(await shown()).toEqual([0.9]);
  await spend("first", 10);
  expect(await shown()).toEqual([0.9]);
});
