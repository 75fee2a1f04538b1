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

test("[d4.6] one that the store could not be asked about is reported with the next charge", async () => {
  const store = openMemoryLimits({ clock: turnedClock() });
  const told: number[] = [];
  let isAway = true;
  const first: typeof store.first = (...asked) =>
    isAway ? Promise.reject(new Error("the store is away")) : store.first(...asked);
  const status: typeof store.status = (account) => store.status(account);
  const watch = thresholdWatch({ first, status }, ({ threshold }) => told.push(threshold.percent));
  const thresholds = [{ percent: 80, degradeTo: null }];
  const account = accountOf({ kind: "budget", unit: "tokens", window: "day", limit: 100, thresholds });
  (await reserved(store, needOf(account, 90))).settle([90]);
  const charged = async (): Promise<void> => {
    watch(account, null);
    await store.first(account, crypto.randomUUID());
    await store.first(account, crypto.randomUUID());
  };
  await charged();
  isAway = false;
  await charged();
  await charged();
  expect(told).toEqual([80]);
});
