// Local time in any zone, as the console works it out: days and fields for times agree with the zone, on days of a clock change too.
import { expect, test } from "bun:test";
import { dayBounds } from "../../console/src/format/day.ts";
import { inAllZones, localTime, timeInZone } from "../../console/src/format/time.ts";

const iso = (ms: number): string => new Date(ms).toISOString();

test.each([
  // the clock goes forward at 2, and back at 3
  ["Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"],
  ["Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z"],
  ["Asia/Kathmandu", "2026-03-10", "2026-03-09T18:15:00.000Z", "2026-03-10T18:15:00.000Z"],
  // half an hour, and at midnight
  ["Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30:00.000Z", "2026-10-04T13:00:00.000Z"],
  // the day begins at one, because midnight is left out
  ["Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00.000Z", "2026-04-24T21:00:00.000Z"],
  ["UTC", "2026-01-01", "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"],
])("in %s the day %s has its own beginning and end", (zone, day, from, to) => {
  const bounds = dayBounds(day, zone);
  expect([iso(bounds.fromMs), iso(bounds.toMs)]).toEqual([from, to]);
});

test("a time that is typed is the moment that is shown", () => {
  for (const zone of ["Asia/Kolkata", "America/New_York", "UTC"]) {
    const at = Date.UTC(2026, 6, 1, 12, 34);
    expect(timeInZone(localTime(at, zone), zone)).toBe(iso(at));
  }
  expect(localTime(Date.UTC(2026, 6, 1, 12, 34), "Asia/Kolkata")).toBe("2026-07-01T18:04");
  expect([timeInZone("", "UTC"), timeInZone("soon", "UTC")]).toEqual([null, null]);
});

test("a year whose digits are still being typed comes back as it was typed", () => {
  for (const zone of ["Europe/Berlin", "UTC"])
    for (const typed of ["0002-11-26T10:00", "0020-11-26T10:00", "0202-02-28T10:00", "2026-11-26T10:00"])
      expect(localTime(Date.parse(timeInZone(typed, zone)!), zone)).toBe(typed);
});

test("a moment is told in the zone of the page and in UTC", () => {
  expect(inAllZones(Date.UTC(2026, 6, 1, 12, 34), "Asia/Kolkata").split("\n")[0]).toBe(
    "1 Jul 2026 18:04:00 Asia/Kolkata",
  );
  expect(inAllZones(0, "Asia/Kolkata")).toContain("1 Jan 1970 00:00:00 UTC");
});
