// Where the bars of a chart stand, which bucket is under the pointer, and what stands below the axis.
import { describe, expect, test } from "bun:test";
import { bucketAt, drawnTime, markText, WHOLE_STEPS } from "../../console/src/charts/chart-time.ts";

const NOON = Date.UTC(2026, 5, 15, 12);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe("the time of a chart", () => {
  test("a first and a last bucket that are cut are drawn as wide as the others, and each moment is in its bucket", () => {
    const startsMs = [NOON + 55 * MINUTE_MS, NOON + HOUR_MS, NOON + 2 * HOUR_MS, NOON + 3 * HOUR_MS];
    const drawn = drawnTime({ startsMs, endMs: NOON + 3 * HOUR_MS + 5 * MINUTE_MS });
    expect(drawn.starts.map((start) => (start * 1000 - NOON) / HOUR_MS)).toEqual([0, 1, 2, 3]);
    expect((drawn.end * 1000 - NOON) / HOUR_MS).toBe(4);
    const at = (hours: number): number => bucketAt(drawn, (NOON + hours * HOUR_MS) / 1000);
    expect([-1, 0, 0.99, 1, 2.5, 3, 3.99, 9].map(at)).toEqual([0, 0, 0, 1, 2, 3, 3, 3]);
  });

  test("one bucket, and none, take the whole time", () => {
    expect(drawnTime({ startsMs: [NOON], endMs: NOON + HOUR_MS })).toEqual({
      starts: [NOON / 1000],
      end: (NOON + HOUR_MS) / 1000,
    });
    expect(drawnTime({ startsMs: [], endMs: NOON })).toEqual({ starts: [], end: NOON / 1000 });
    expect(bucketAt({ starts: [], end: 0 }, 1)).toBe(0);
  });

  test("marks are times of the day in the zone of the page, and days at its midnight", () => {
    const mark = (timeMs: number, apart: number, zone: string): string => markText(timeMs / 1000, apart, zone);
    expect(mark(NOON, 3600, "UTC")).toBe("12:00");
    expect(mark(NOON, 3600, "Asia/Kathmandu")).toBe("17:45");
    expect(mark(NOON - 12 * HOUR_MS, 3600, "UTC")).toMatch(/15/);
    expect(mark(NOON - 12 * HOUR_MS, 3600, "UTC")).not.toContain(":");
    expect(mark(NOON, 86_400, "UTC")).not.toContain(":");
    expect(
      mark(NOON - 6 * HOUR_MS - 15 * MINUTE_MS + 30 * MINUTE_MS + 12 * HOUR_MS, 3600, "Asia/Kathmandu"),
    ).not.toContain(":");
  });

  test("marks of counts are whole, from one to more calls than there ever are", () => {
    expect(WHOLE_STEPS.slice(0, 6)).toEqual([1, 2, 5, 10, 20, 50]);
    expect(WHOLE_STEPS.filter((step) => !Number.isInteger(step))).toEqual([]);
  });
});
