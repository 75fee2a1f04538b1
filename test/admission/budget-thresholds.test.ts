// When the thresholds of a budget are reported.
import { expect, test } from "bun:test";
import { thresholdWatch } from "../../src/admission/budget-thresholds.ts";
import { openMemoryLimits } from "../../src/admission/memory.ts";
import { accountOf, needOf, reserved } from "../contract/limit-store.suite.ts";
import { turnedClock } from "./turned-clock.ts";

test("[d4.6] each is reported once in a window, and once more when the amount of the budget was changed and that much of it is used", async () => {
  const store = openMemoryLimits({ clock: turnedClock() });
  const told: string[] = [];
  const watch = thresholdWatch(store, ({ status, threshold }) =>
    told.push(`${threshold.percent} % of ${status.limit}`),
  );
  const spend = async (limit: number, units: number): Promise<void> => {
    const thresholds = [{ percent: 80, degradeTo: null }];
    const account = accountOf({ kind: "budget", unit: "tokens", window: "day", limit, thresholds });
    if (units > 0) (await reserved(store, needOf(account, units))).settle([units]);
    watch(account, null);
    // it is reported when the store has said that it is the first
    await store.first(account, "asked after it");
  };
  await spend(100, 80);
  await spend(100, 5);
  await spend(1_000, 15);
  expect(told).toEqual(["80 % of 100"]);
  await spend(1_000, 700);
  await spend(100, 0);
  await spend(900, 0);
  expect(told).toEqual(["80 % of 100", "80 % of 1000", "80 % of 900"]);
});
