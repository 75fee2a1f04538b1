// How long calls are kept: what is removed when, in rounds, and that the end of the process does not wait for all of them.
import { expect, jest, test } from "bun:test";
import type { KeptSince } from "../../../src/store/calls/calls.ts";
import { callsSection, pruneOld } from "../../../src/store/calls/call-retention.ts";
import { everyHour } from "../../../src/store/database/pruning.ts";

const DAY_MS = 86_400_000;

function pruned(...answers: readonly number[]) {
  const asked: KeptSince[] = [];
  const left = [...answers];
  const prune = (before: KeptSince): Promise<number> => {
    asked.push(before);
    return Promise.resolve(left.shift() ?? 0);
  };
  return { asked, calls: { prune } };
}

test("[d11.3] days of the configuration become points in time; rounds go on until nothing is left to delete", async () => {
  const { asked, calls } = pruned(2000, 2000, 5);
  expect(await pruneOld(calls, callsSection.parse({}), 100 * DAY_MS)).toBe(4005);
  expect(asked).toEqual(
    Array.from({ length: 4 }, () => ({ callsMs: 10 * DAY_MS, detailsMs: 70 * DAY_MS, placesMs: -300 * DAY_MS })),
  );
});

test("records that are kept for ever are not searched for, and ledger positions are deleted after 400 days in any case", async () => {
  const { asked, calls } = pruned();
  expect(
    await pruneOld(calls, callsSection.parse({ keep_days: "forever", keep_details_days: "forever" }), 401 * DAY_MS),
  ).toBe(0);
  await pruneOld(calls, callsSection.parse({ keep_days: "forever", keep_details_days: 1 }), 500 * DAY_MS);
  expect(asked).toEqual([
    { callsMs: null, detailsMs: null, placesMs: DAY_MS },
    { callsMs: null, detailsMs: 499 * DAY_MS, placesMs: 100 * DAY_MS },
  ]);
  for (const wrong of [{ keep_days: 0 }, { keep_days: 1.5 }, { keep_days: "never" }, { keep_details_days: -1 }])
    expect(callsSection.safeParse(wrong).success).toBe(false);
});

test("closing stops it between two rounds", async () => {
  let rounds = 0;
  const removed = await pruneOld(
    { prune: () => Promise.resolve(++rounds) },
    callsSection.parse({}),
    DAY_MS,
    () => rounds >= 3,
  );
  expect([rounds, removed]).toEqual([3, 6]);
  await everyHour(
    () => Promise.reject(new Error("away")),
    () => {},
  )();
});

test("[d11.3] a removal that takes longer than an hour has no other one beside it, and is waited for at the end", async () => {
  jest.useFakeTimers();
  try {
    const removals: PromiseWithResolvers<void>[] = [];
    const end = everyHour(
      () => removals[removals.push(Promise.withResolvers<void>()) - 1]!.promise,
      () => {},
    );
    jest.advanceTimersByTime(3 * 3_600_000);
    expect(removals).toHaveLength(1);
    let isOver = false;
    const over = end().then(() => (isOver = true));
    await Promise.resolve();
    expect(isOver).toBe(false);
    removals[0]!.resolve();
    await over;
  } finally {
    jest.useRealTimers();
  }
});
