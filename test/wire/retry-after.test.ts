// The waits that providers ask for, header by header, and the one that the gateway asks for.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { formatRetryAfter, retryAfterMs } from "../../src/wire/retry-after.ts";

const NOW_MS = Date.UTC(2026, 10, 20, 9, 0, 0);

function waitOf(headers: Readonly<Record<string, string>>, vendor?: string): number | null {
  return retryAfterMs((name) => headers[name] ?? null, NOW_MS, vendor);
}

describe("the wait that a provider asks for", () => {
  test.each([
    [{ "retry-after-ms": "1500" }, 1500],
    [{ "retry-after-ms": "12.5" }, 13],
    [{ "retry-after-ms": "0" }, 0],
    [{ "x-ms-retry-after-ms": "250" }, 250],
    [{ "retry-after": "2" }, 2000],
    [{ "retry-after": " 2 " }, 2000],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "0.25" }, 250],
    [{ "retry-after": "86400" }, 86_400_000],
    [{ "retry-after": "Fri, 20 Nov 2026 09:00:30 GMT" }, 30_000],
    [{ "retry-after": "Friday, 20-Nov-26 09:00:30 GMT" }, 30_000],
    [{ "retry-after": "Fri Nov 20 09:00:30 2026" }, 30_000],
    [{ "retry-after": "Tue Dec  1 09:00:00 2026" }, 11 * 86_400_000],
    [{ "retry-after": "Fri, 20 Nov 2026 08:59:30 GMT" }, 0],
    [{ "retry-after": "Sunday, 06-Nov-94 08:49:37 GMT" }, 0],
  ])("%j is %d ms", (headers, expected) => {
    expect(waitOf(headers)).toBe(expected);
  });

  test("is taken from the more exact header first, and from the next one where that is invalid", () => {
    expect(waitOf({ "retry-after-ms": "700", "retry-after": "1" })).toBe(700);
    expect(waitOf({ "x-ms-retry-after-ms": "700", "retry-after": "1" })).toBe(700);
    expect(waitOf({ "retry-after-ms": "soon", "retry-after": "1" })).toBe(1000);
    expect(waitOf({ "retry-after": "soon", "x-ratelimit-reset-requests": "3s" })).toBe(3000);
    expect(
      waitOf({ "retry-after": "1", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "3s" }),
    ).toBe(1000);
  });

  test.each([
    "",
    " ",
    "soon",
    "-1",
    "-0.5",
    "+1",
    "1,2",
    "1 s",
    "0x10",
    "1e3",
    "NaN",
    "Infinity",
    "99999999999999999999",
    "1795165200",
    "Fri, 20 Nov 2026",
    "Fri, 20 Nov 2026 09:00:30",
    "Fri, 20 Nov 2026 25:00:00 GMT",
    "Fri, 00 Nov 2026 09:00:00 GMT",
    "Fri, 20 Foo 2026 09:00:30 GMT",
    "Fri, 20 Nov 2036 09:00:30 GMT",
    "20 Nov 2026 09:00:30 GMT",
  ])("%j in retry-after is invalid", (value) => {
    expect(waitOf({ "retry-after": value })).toBeNull();
  });

  test.each(["", "x", "-5", "1s", "Fri, 20 Nov 2026 09:00:30 GMT", "1795165200000"])(
    "%j in retry-after-ms is invalid",
    (value) => {
      expect(waitOf({ "retry-after-ms": value, "x-ms-retry-after-ms": value })).toBeNull();
    },
  );

  test("is unknown without a header", () => {
    expect(waitOf({})).toBeNull();
    expect(waitOf({}, "vendor")).toBeNull();
  });

  test("is never negative, whatever the headers hold", () => {
    const value = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.integer().map((seconds) => `${seconds}s`),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    );
    const name = fc.constantFrom(
      "retry-after-ms",
      "x-ms-retry-after-ms",
      "retry-after",
      "x-ratelimit-reset-requests",
      "x-ratelimit-remaining-requests",
      "ratelimit-reset",
      "v-ratelimit-tokens-reset",
    );
    fc.assert(
      fc.property(fc.dictionary(name, value), (headers) => {
        const waitMs = waitOf(headers, "v");
        expect(waitMs === null || (Number.isInteger(waitMs) && waitMs >= 0 && waitMs <= 366 * 86_400_000)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("the time when a rate limit resets", () => {
  test.each([
    ["1s", 1000],
    ["6m0s", 360_000],
    ["120ms", 120],
    ["17.379s", 17_379],
    ["2m59.56s", 179_560],
    ["1h2m3s", 3_723_000],
    ["1d", 86_400_000],
    ["7", 7000],
    ["0.5", 500],
    [String(NOW_MS / 1000 + 20), 20_000],
    [String(NOW_MS + 20_000), 20_000],
    ["2026-11-20T09:00:05Z", 5000],
    ["2026-11-20T10:00:05.250+01:00", 5250],
  ])("%s is %d ms", (reset, expected) => {
    expect(waitOf({ "x-ratelimit-reset-requests": reset })).toBe(expected);
    expect(waitOf({ "x-ratelimit-reset-tokens": reset })).toBe(expected);
    expect(waitOf({ "x-ratelimit-reset": reset })).toBe(expected);
    expect(waitOf({ "ratelimit-reset": reset })).toBe(expected);
  });

  test.each([
    "",
    "s",
    "1x",
    "1s2",
    "-1s",
    "1 s",
    "ms",
    "1..5s",
    "2026-11-20",
    "2026-13-45T99:99:99Z",
    "tomorrow",
    "X-RATELIMIT-RESET-TOKENS-XXX",
    "400d",
  ])("%j is invalid", (reset) => {
    expect(waitOf({ "x-ratelimit-reset-requests": reset })).toBeNull();
  });

  test("counts for the limits that are used up, the longest of them", () => {
    const requests = { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2s" };
    const tokens = { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9s" };
    expect(waitOf({ ...requests, ...tokens })).toBe(9000);
    expect(waitOf({ ...requests, ...tokens, "x-ratelimit-remaining-tokens": "150" })).toBe(2000);
    expect(waitOf({ ...requests, "x-ratelimit-reset-requests": "0s" })).toBe(0);
  });

  test("is the shortest positive wait where no limit is used up", () => {
    expect(
      waitOf({
        "x-ratelimit-remaining-requests": "99",
        "x-ratelimit-reset-requests": "8m",
        "x-ratelimit-remaining-tokens": "12",
        "x-ratelimit-reset-tokens": "6s",
      }),
    ).toBe(6000);
    expect(waitOf({ "x-ratelimit-reset-requests": "0ms", "x-ratelimit-reset-tokens": "6s" })).toBe(6000);
    expect(waitOf({ "x-ratelimit-reset-requests": "0ms" })).toBeNull();
  });

  test("is read under the vendor's own name too, for that vendor alone", () => {
    const headers = {
      "anthropic-ratelimit-requests-remaining": "49",
      "anthropic-ratelimit-requests-reset": "2026-11-20T09:00:01Z",
      "anthropic-ratelimit-input-tokens-remaining": "0",
      "anthropic-ratelimit-input-tokens-reset": "2026-11-20T09:00:40Z",
      "anthropic-ratelimit-output-tokens-remaining": "8000",
      "anthropic-ratelimit-output-tokens-reset": "2026-11-20T09:00:00Z",
    };
    expect(waitOf(headers, "anthropic")).toBe(40_000);
    expect(waitOf({ ...headers, "retry-after": "41" }, "anthropic")).toBe(41_000);
    expect(waitOf(headers, "other")).toBeNull();
    expect(waitOf(headers)).toBeNull();
  });
});

describe("the wait that the gateway asks for", () => {
  test.each([
    [0, "0", "0"],
    [1, "1", "1"],
    [999.2, "1", "1000"],
    [1000, "1", "1000"],
    [1001, "2", "1001"],
    [60_000, "60", "60000"],
    [-5, "0", "0"],
    [Number.NaN, "0", "0"],
  ])("of %d ms is rounded up", (ms, seconds, milliseconds) => {
    expect(formatRetryAfter(ms)).toEqual({ "retry-after": seconds, "retry-after-ms": milliseconds });
  });

  test("is read back as it was meant, also by a client that knows only seconds", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 366 * 86_400 * 1000 }), (ms) => {
        const headers = formatRetryAfter(ms);
        expect(waitOf(headers)).toBe(ms);
        const bySeconds = waitOf({ "retry-after": headers["retry-after"] });
        expect(bySeconds).toBeWithin(ms, ms + 1000);
      }),
    );
  });
});
