// What is kept of calls: until it expires, and within the bounds of each tenant and of the process.
import { expect, test } from "bun:test";
import { KeptObjects, type KeptOwner } from "../../../src/chat/keeping/kept-objects.ts";

const BOUNDS = { lifetimeMs: 1000, objectBytes: 50, tenantBytes: 100, bytes: 150 };
const owner = (tenantId: string): KeptOwner => ({ tenantId, projectId: "p", tokenId: "t", userId: null });

function open() {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const kept = new KeptObjects(clock, BOUNDS);
  return { clock, kept, has: (...ids: readonly string[]) => ids.map((id) => kept.find(id) !== null) };
}

test("[d12.8] an object is found by its id and by those of its parts until it expires", () => {
  const { clock, kept, has } = open();
  expect(kept.keep(["a", "part"], owner("one"), "value", 10)).toBe(true);
  expect([kept.find("a")?.value, kept.find("part")?.value, kept.find("b")]).toEqual(["value", "value", null]);
  clock.nowMs = 999;
  expect(has("a", "part")).toEqual([true, true]);
  clock.nowMs = 1000;
  expect(has("a", "part")).toEqual([false, false]);
  kept.close();
});

test("[d12.8] the oldest objects of a tenant make room, and those of others only at the bound of the process", () => {
  const { kept, has } = open();
  for (const id of ["a", "b"]) kept.keep([id], owner("one"), id, 50);
  kept.keep(["c"], owner("two"), "c", 40);
  kept.keep(["d"], owner("one"), "d", 10);
  expect(has("a", "b", "c", "d")).toEqual([false, true, true, true]);
  kept.keep(["e"], owner("two"), "e", 50);
  kept.keep(["f"], owner("three"), "f", 50);
  expect(has("b", "c", "d", "e", "f")).toEqual([false, true, true, true, true]);
  expect(kept.keep(["g"], owner("one"), "g", 51)).toBe(false);
  expect(has("g")).toEqual([false]);
  kept.close();
  expect(has("c", "d", "e", "f")).toEqual([false, false, false, false]);
});

test("an object that is removed leaves the parts of a later one alone", () => {
  const { kept, has } = open();
  kept.keep(["a", "part"], owner("one"), "a", 10);
  kept.keep(["b", "part"], owner("one"), "b", 10);
  kept.remove(kept.find("a")!);
  expect([...has("a", "b"), kept.find("part")?.value]).toEqual([false, true, "b"]);
  kept.close();
});
