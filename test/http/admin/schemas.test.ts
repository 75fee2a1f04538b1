// What fields that many operations of the admin API share may hold.
import { expect, test } from "bun:test";
import { instant } from "../../../src/http/admin/schemas.ts";

test("a time is a day or a moment that the calendar has", () => {
  const at = (text: string): number | null => instant.safeParse(text).data ?? null;
  expect(at("2026-02-28")).toBe(Date.UTC(2026, 1, 28));
  expect(at("2024-02-29")).toBe(Date.UTC(2024, 1, 29));
  expect(at("2026-02-28T09:30:00.5+02:00")).toBe(Date.UTC(2026, 1, 28, 7, 30, 0, 500));
  for (const none of [
    "2026-02-29",
    "2026-02-30",
    "2026-04-31",
    "2026-13-01",
    "2026-2-1",
    "2026-02-30T00:00:00Z",
    "2026-02-28T24:00:00Z",
    "2026-02-28T00:00:00",
    "today",
    "",
  ])
    expect([none, at(none)]).toEqual([none, null]);
});
