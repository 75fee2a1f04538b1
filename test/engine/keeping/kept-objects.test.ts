// What one process keeps of calls: within the bound of each tenant, and of all of them together.
import { expect, test } from "bun:test";
import { turnedClock } from "../../harness/time/turned-clock.ts";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";

const BOUNDS = { lifetimeMs: 1000, objectBytes: 50, tenantBytes: 100, bytes: 150 };

function open() {
  const clock = turnedClock(0);
  const kept = new KeptObjects<string>(clock, BOUNDS);
  const keep = (tenantId: string, ids: readonly string[], bytes: number): boolean =>
    kept.keep({ tenantId, projectId: null, ids, value: ids[0]!, size: () => bytes });
  const has = (...places: readonly string[]): readonly boolean[] =>
    places.map((place) => kept.find(place.split("/")[0]!, place.split("/")[1]!) !== null);
  return { clock, kept, keep, has };
}

test("[d12.8] the oldest objects of a tenant make room, and those of others only at the bound of the process", () => {
  const { kept, keep, has } = open();
  for (const id of ["a", "b"]) keep("one", [id], 50);
  keep("two", ["c"], 40);
  keep("one", ["d"], 10);
  expect(has("one/a", "one/b", "two/c", "one/d")).toEqual([false, true, true, true]);
  keep("two", ["e"], 50);
  keep("three", ["f"], 50);
  expect(has("one/b", "two/c", "one/d", "two/e", "three/f")).toEqual([false, true, true, true, true]);
  kept.close();
  expect(has("two/c", "one/d", "two/e", "three/f")).toEqual([false, false, false, false]);
});

test("[d12.8] an object of which the time is over is not found, and another is kept in its place", async () => {
  const { clock, kept, keep, has } = open();
  keep("one", ["a"], 10);
  clock.turnTo(1000);
  expect(has("one/a")).toEqual([false]);
  keep("two", ["b"], 10);
  expect(has("two/b")).toEqual([true]);
  kept.close();
});

test("[d12.8] setting the machine's clock removes no object, and keeps none beyond its time", () => {
  const clock = { nowMs: 10_000_000, passedMs: 0, now: () => clock.nowMs, monotonic: () => clock.passedMs };
  const kept = new KeptObjects<string>(clock, BOUNDS);
  const keep = (id: string): boolean =>
    kept.keep({ tenantId: "one", projectId: null, ids: [id], value: id, size: () => 10 });
  const has = (id: string): boolean => kept.find("one", id) !== null;
  keep("a");
  clock.nowMs += 5_000_000;
  expect(has("a")).toBe(true);
  clock.nowMs -= 9_000_000;
  clock.passedMs = 999;
  expect(has("a")).toBe(true);
  keep("b");
  clock.passedMs = 1000;
  expect([has("a"), has("b")]).toEqual([false, true]);
  clock.passedMs = 1999;
  expect(has("b")).toBe(false);
  kept.close();
});

test("an object that is removed leaves the parts of a later one alone", () => {
  const { kept, keep, has } = open();
  keep("one", ["a", "part"], 10);
  keep("one", ["b", "part"], 10);
  kept.remove("one", "a");
  expect([...has("one/a", "one/b"), kept.find("one", "part")?.value]).toEqual([false, true, "b"]);
  kept.remove("one", "part");
  expect(has("one/b")).toEqual([true]);
  kept.close();
});
