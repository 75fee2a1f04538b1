// The times at which deliveries are retried.
import { expect, test } from "bun:test";
import { waitAfter } from "../../../src/observe/webhooks/webhook-schedule.ts";

const S = 1000;
const H = 3_600_000;

test("[d11.4] waits grow from seconds to a day, over more than three days in ten attempts, and stay there", () => {
  const waits = Array.from({ length: 12 }, (_, index) => waitAfter(index + 1, 0.5, null));
  expect(waits).toEqual([
    5 * S,
    300 * S,
    1800 * S,
    2 * H,
    5 * H,
    10 * H,
    14 * H,
    20 * H,
    24 * H,
    24 * H,
    24 * H,
    24 * H,
  ]);
  expect(waits.slice(0, 9).reduce((sum, wait) => sum + wait)).toBeGreaterThan(3 * 24 * H);
});

test("[d11.4] deliveries that failed together are not retried together", () => {
  expect(waitAfter(2, 0, null)).toBe(270 * S);
  expect(waitAfter(2, 0.999_999, null)).toBeCloseTo(330 * S, -1);
});

test("[d11.4] a wait that the receiver asks for is respected, for a day at most, and never shortens the schedule", () => {
  expect(waitAfter(1, 0.5, 60 * S)).toBe(60 * S);
  expect(waitAfter(3, 0.5, 60 * S)).toBe(1800 * S);
  expect(waitAfter(1, 0.5, 1000 * H)).toBe(24 * H);
});
