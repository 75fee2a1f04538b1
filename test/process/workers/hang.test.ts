// When a worker counts as hanging, and how long its replacement waits.
import { describe, expect, test } from "bun:test";
import { BackOff, livenessOf } from "../../../src/process/workers/hang.ts";

describe("[d13.2] a worker", () => {
  test("hangs when it sends no beat for 2 s although it computes, and is left alone when it gets no CPU", () => {
    expect(livenessOf({ sinceBeatMs: 1999, cpuSinceBeatMs: 1999 })).toBe("alive");
    expect(livenessOf({ sinceBeatMs: 2000, cpuSinceBeatMs: 1000 })).toBe("hung");
    expect(livenessOf({ sinceBeatMs: 60_000, cpuSinceBeatMs: 990 })).toBe("silent");
  });

  test("is replaced at once, and later and later when it ends again and again, but soon while no other serves", () => {
    const backOff = new BackOff();
    const ends = (livedMs: number, isLast = false, hasServed = false): number =>
      backOff.waitMs({ livedMs, isLast, hasServed });
    expect([ends(100), ends(100), ends(100), ends(100)]).toEqual([0, 250, 500, 1000]);
    for (let index = 0; index < 20; index++) ends(100);
    expect(ends(100)).toBe(30_000);
    expect(ends(100, true)).toBe(1000);
    expect(ends(100, false, true)).toBe(1000);
    expect(ends(10_000)).toBe(0);
    expect(ends(100)).toBe(0);
  });
});
