// Limits and budgets in words, as the console shows them.
import { describe, expect, test } from "bun:test";
import type { LimitState } from "../../console/src/api/types.ts";
import { usdText } from "../../console/src/format/money.ts";
import { dayAndClock, utcAndOwn } from "../../console/src/format/time.ts";
import { boundText, hitText, projectionText, scopeText } from "../../console/src/screens/limits/limit-words.ts";

/** A Thursday. */
const NOW = Date.UTC(2026, 5, 18, 12);
const HOUR_MS = 3_600_000;

const account = (parts: Partial<LimitState["accounts"][number]> = {}): LimitState["accounts"][number] => ({
  value: null,
  used: "9",
  reserved: "1",
  remaining: "3",
  share: 0.75,
  resets_at: "2026-07-01T00:00:00.000Z",
  hits_at: null,
  ...parts,
});
const state = (parts: Partial<LimitState> = {}): LimitState => ({
  id: "b",
  name: "b",
  kind: "budget",
  project_id: null,
  scope: {},
  metric: "usd",
  window: "month",
  mode: "enforce",
  limit: "12",
  begins_at: "2026-06-01T00:00:00.000Z",
  accounts: [],
  ...parts,
});

describe("a limit or budget", () => {
  test("says what it bounds, and whose calls", () => {
    expect(boundText(state())).toBe("$12.00 per month");
    expect(boundText(state({ metric: "tokens", limit: 2_500_000, window: "total" }))).toBe("2.5M tokens in total");
    expect(boundText(state({ kind: "limit", metric: "requests", limit: 600, window: "minute" }))).toBe(
      "600 requests in any minute",
    );
    expect(boundText(state({ kind: "limit", metric: "concurrency", limit: 20, window: null }))).toBe(
      "20 calls at the same time",
    );
    expect(scopeText(state())).toBe("all calls");
    expect(scopeText(state({ scope: { user: "*", route: "chat" } }))).toBe("each end user, route chat");
  });

  test("says when it will be used up and not how much is used", () => {
    const words = (parts: Parameters<typeof account>[0], of: Partial<LimitState> = {}): string =>
      projectionText(state(of), account(parts), NOW, "utc");
    const inTwoDays = new Date(NOW + 50 * HOUR_MS).toISOString();
    expect(words({ hits_at: inTwoDays })).toBe(
      "$3.00 are left. At the present rate it will be used up Sat 14:00, in 2 days.",
    );
    expect(words({ hits_at: new Date(NOW).toISOString(), remaining: "0" })).toContain("It is used up");
    expect(words({})).toBe("$3.00 are left, which will last until it resets at the present rate.");
    expect(words({ resets_at: null }, { window: "total" })).toBe("$3.00 are left. Nothing uses them up at present.");
    expect(words({ remaining: 4 }, { kind: "limit", metric: "requests" })).toBe("There is room for 4 more.");
    expect(words({ share: 1 }, { kind: "limit", metric: "requests" })).toContain("It is full");
    expect(hitText(account(), NOW, "utc")).toBeNull();
  });

  test("[d4.6] says what becomes of calls where there is no room, by its mode, its window and what it counts", () => {
    const full = (of: Partial<LimitState>): string =>
      projectionText(state(of), account({ hits_at: new Date(NOW).toISOString(), share: 1 }), NOW, "utc");
    const otherwise = "unless a threshold sends them to a cheaper model.";
    expect(full({})).toBe(`It is used up: calls are refused until it resets, or until it is raised, ${otherwise}`);
    expect(full({ window: "total" })).toBe(`It is used up: calls are refused until it is raised, ${otherwise}`);
    expect(full({ kind: "limit", metric: "tokens", window: "minute" })).toBe(
      "It is full: further calls are refused until earlier ones have left the window.",
    );
    expect(full({ kind: "limit", metric: "concurrency", window: null })).toBe(
      "It is full: further calls are refused until earlier ones have ended.",
    );
    for (const kind of ["limit", "budget"] as const)
      expect(full({ kind, mode: "audit" })).toEndWith(", and refuses nothing, because it only reports.");
  });
});

test("a moment in UTC is told in the reader's own zone too, where that differs", () => {
  const own = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" }).format(Date.UTC(2026, 6, 1));
  const text = utcAndOwn(Date.UTC(2026, 6, 1));
  expect(text).toStartWith("1 Jul 00:00 UTC");
  expect(text.includes("yours")).toBe(own !== "00:00");
  if (own !== "00:00") expect(text).toContain(own);
});

test("moments of the coming days are named by weekday, later ones by date, and those of other years with the year", () => {
  expect(dayAndClock(NOW + 26 * HOUR_MS, NOW, "utc")).toBe("Fri 14:00");
  expect(dayAndClock(NOW + 10 * 24 * HOUR_MS, NOW, "utc")).toBe("28 Jun 12:00");
  expect(dayAndClock(NOW + 400 * 24 * HOUR_MS, NOW, "utc")).toBe("23 Jul 2027 12:00");
});

test("an amount is written as the API writes it, to the nano-dollar", () => {
  expect(usdText(8_000_000_001n)).toBe("8.000000001");
  expect(usdText(0n)).toBe("0.000000000");
});
