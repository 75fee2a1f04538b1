// By how much the clock of a computer is wrong, as far as the console believes it.
import { expect, test } from "bun:test";
import { clockOffset } from "../../console/src/clock.ts";

test("a difference that an answer may have taken on its way is none, and any other one is the clock's", () => {
  const nowMs = Date.parse("2026-03-08T07:00:00.000Z");
  const offset = (differenceMs: number): number => clockOffset(new Date(nowMs + differenceMs).toISOString(), nowMs);
  expect([0, -4000, 9999, 60_000, -172_800_000].map(offset)).toEqual([0, 0, 0, 60_000, -172_800_000]);
});
