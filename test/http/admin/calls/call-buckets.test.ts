// A histogram that leaves out the time before its first call, where not all calls have been counted.
import { expect, test } from "bun:test";
import { type Buckets, bucketsOf, narrowest } from "../../../../src/http/admin/calls/call-buckets.ts";

const DAY_MS = 86_400_000;
const TO = Date.parse("2026-06-15T13:00:00Z");
const ASKED = { from: TO - 30 * DAY_MS, to: TO, bucket: "auto", timezone: "UTC" } as const;

/** All calls are of the last two hours. */
const read = (searchedToMs: (wanted: Buckets) => number | null) => async (wanted: Buckets) => ({
  ...wanted,
  buckets: wanted.edges.slice(1).map((end) => ({ calls: end > TO - DAY_MS / 12 ? 1n : 0n })),
  searchedToMs: searchedToMs(wanted),
});

const narrowed = async (searchedToMs: (wanted: Buckets) => number | null) => {
  const reading = read(searchedToMs);
  return narrowest(ASKED, await reading(bucketsOf(ASKED, TO)), TO, reading);
};

test("[d14.3] it says how far calls have been counted where only the whole time was too much", async () => {
  const all = await narrowed(() => null);
  expect(all.edges[0]!).toBeGreaterThan(TO - 2 * DAY_MS);
  expect(all.searchedToMs).toBeNull();
  const some = await narrowed(({ edges }) => (edges[0] === ASKED.from ? TO - DAY_MS / 24 : null));
  expect(some.edges).toEqual(all.edges);
  expect(some.searchedToMs).toBe(some.edges[0]!);
  const fewer = await narrowed(() => TO - DAY_MS / 24);
  expect(fewer.searchedToMs).toBe(TO - DAY_MS / 24);
});
