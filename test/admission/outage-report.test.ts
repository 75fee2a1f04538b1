// When the log reports that the limit store is unreachable: at once, for any tenant, again while this lasts, and seldom where the store comes and goes.
import { expect, test } from "bun:test";
import { openOutageReport } from "../../src/admission/valkey/outage-report.ts";

function watched() {
  let nowMs = 0;
  const told: string[] = [];
  const reach = openOutageReport({
    now: () => nowMs,
    onState: (state, error) => void told.push(state === "away" ? `${nowMs} away ${String(error)}` : `${nowMs} back`),
  });
  return { reach, told, at: (ms: number) => (nowMs = ms) };
}

test("a failure for one tenant is reported once, even if another tenant still reaches its node, and again every minute", () => {
  const { reach, told, at } = watched();
  for (let ms = 0; ms < 130_000; ms += 500) {
    at(ms);
    reach.failed("one", "WRONGTYPE");
    reach.answered("other");
  }
  expect(told).toEqual(["0 away WRONGTYPE", "60000 away WRONGTYPE", "120000 away WRONGTYPE"]);
  expect(reach.outage()).toEqual({ sinceMs: 0, error: "WRONGTYPE" });
  at(130_000);
  reach.answered("one");
  expect(told.at(-1)).toBe("130000 back");
  expect(reach.outage()).toBeNull();
});

test("a store that comes and goes ten times a second does not flood the log", () => {
  const { reach, told, at } = watched();
  for (let ms = 0; ms < 60_000; ms += 100) {
    at(ms);
    reach.failed("one", "slow");
    at(ms + 50);
    reach.answered("one");
  }
  expect(told).toHaveLength(24);
});
