// How many rows refused calls leave, and that no tenant displaces the rows of another.
import { expect, test } from "bun:test";
import { RefusalAllowance } from "../../../src/store/journal/refusal-allowance.ts";

function opened() {
  let nowMs = 0;
  const allowance = new RefusalAllowance({ now: () => nowMs, monotonic: () => nowMs });
  return {
    pass: (ms: number) => void (nowMs += ms),
    /** Of so many refused calls, how many leave rows. */
    rows: (tenantId: string | null, calls: number): number =>
      Array.from({ length: calls }, () => allowance.take(tenantId)).filter(Boolean).length,
  };
}

test("a flood of refused calls is bounded, and a tenant's flood leaves the rows of another tenant alone", () => {
  const { rows, pass } = opened();
  expect(rows("hostile", 100_000)).toBe(5200);
  expect(rows("quiet", 150)).toBe(150);
  for (let second = 0; second < 60; second++) {
    pass(1000);
    expect(rows("hostile", 1000)).toBe(52);
    expect(rows("quiet", 2)).toBe(2);
  }
});

test("callers without a valid token take no room from the rows of callers with one", () => {
  const { rows, pass } = opened();
  expect(rows(null, 100_000)).toBe(200);
  expect(rows("tenant", 5)).toBe(5);
  pass(10_000);
  expect(rows(null, 1000)).toBe(20);
});
