// Trace ids: they begin with the time, the rest is random, and what is chosen by them is chosen by the random digits.
import { expect, test } from "bun:test";
import { newRandomId, newTraceId } from "../../src/core/ids.ts";
import { isSampled } from "../../src/core/record/sampling.ts";
import { isKept } from "../../src/core/record/trace.ts";

const START_MS = Date.UTC(2026, 0, 5);

test("[d11.5] a trace id begins with the time of its call, so that later calls have greater ids, and none comes twice", () => {
  const ids = Array.from({ length: 5000 }, (_, index) => newTraceId(START_MS + index));
  for (const [index, id] of ids.entries()) {
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(Number.parseInt(id.slice(0, 12), 16)).toBe(START_MS + index);
  }
  expect(ids.toSorted()).toEqual(ids);
  const atOnce = Array.from({ length: 5000 }, () => newTraceId(START_MS + 0.7).slice(12));
  expect(new Set(atOnce).size).toBe(5000);
  expect(newTraceId(0)).toMatch(/^0{12}[0-9a-f]{20}$/);
  expect(newRandomId()).toMatch(/^[0-9a-f]{32}$/);
});

test("samples do not depend on the time of a call, and a sample of the kept traces is a sample of all calls", () => {
  const ids = Array.from({ length: 20_000 }, () => newTraceId(START_MS));
  const sampled = ids.filter((id) => isSampled(id, 0.25));
  expect(Math.abs(sampled.length - 5000)).toBeLessThan(400);
  const kept = ids.filter((id) => isKept(id, 0.5));
  expect(Math.abs(kept.filter((id) => isSampled(id, 0.25)).length - 2500)).toBeLessThan(300);
});
