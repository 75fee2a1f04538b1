// How the console writes money, times and hostile text.
import { expect, test } from "bun:test";
import { percentText } from "../../console/src/format/count.ts";
import { exactUsd, nanoUsd, shortUsd } from "../../console/src/format/money.ts";
import { ageOf, dayAndMinute, duration, yearAndMinute } from "../../console/src/format/time.ts";
import { shellQuoted } from "../../console/src/format/shell-quoted.ts";
import { visibleText } from "../../console/src/format/visible-text.ts";

test("amounts are read to the nano-dollar, far beyond what a floating-point number holds", () => {
  expect(nanoUsd("0.000000001")).toBe(1n);
  expect(nanoUsd("123456789012345.123456789")).toBe(123_456_789_012_345_123_456_789n);
  expect(nanoUsd("-1.5")).toBe(-1_500_000_000n);
  for (const wrong of [null, undefined, "", "1e3", "1.0000000001", "NaN", ".5"]) expect(nanoUsd(wrong)).toBeNull();
});

test.each([
  ["0", "$0"],
  ["0.000000001", "$0.000000001"],
  ["0.000003457", "$0.0000035"],
  ["0.0123", "$0.012"],
  ["0.5", "$0.50"],
  ["0.999", "$1.00"],
  ["12.345", "$12.35"],
  ["1234567.891", "$1,234,567.89"],
  ["-0.02", "-$0.020"],
])("%s is short as %s", (amount, text) => {
  expect(shortUsd(nanoUsd(amount)!)).toBe(text);
});

test("an amount that is not zero is never shown as zero, and all digits are exact", () => {
  for (let nano = 1n; nano < 10n ** 15n; nano = nano * 7n + 3n) {
    expect(shortUsd(nano)).not.toMatch(/^\$[0.]*$/);
    expect(nanoUsd(exactUsd(nano).replaceAll(/[$,]/g, ""))).toBe(nano);
  }
});

test("a share is told in percent, without the digits that binary fractions add", () => {
  expect([0.07, 0.29, 0.0025, 1, 0].map(percentText)).toEqual(["7 %", "29 %", "0.25 %", "100 %", "0 %"]);
});

test("durations keep milliseconds, and ages say the largest unit", () => {
  expect([0.4, 9.96, 340.4, 1420, 12_345, 125_000].map(duration)).toEqual([
    "0.4 ms",
    "10 ms",
    "340 ms",
    "1.42 s",
    "12.3 s",
    "2 min 5 s",
  ]);
  expect([9.97, 999.7, 9996, 59_980, 60_000].map(duration)).toEqual([
    "10 ms",
    "1.00 s",
    "10.0 s",
    "1 min 0 s",
    "1 min 0 s",
  ]);
  expect(ageOf(0, 3 * 60_000)).toBe("3 minutes ago");
  expect(ageOf(2 * 86_400_000, 0)).toBe("in 2 days");
});

test("marks that hide or turn text are shown", () => {
  expect(visibleText("a\u202eb\u0000c\u200bd")).toBe("a⟨202E⟩b⟨0000⟩c⟨200B⟩d");
  expect(visibleText("\u061ca\u2028b\ud800c\u{e0041}d\ufffe")).toBe("⟨061C⟩a⟨2028⟩b⟨D800⟩c⟨E0041⟩d\ufffe");
  expect(visibleText("two\nlines\tand <b>")).toBe("two\nlines\tand <b>");
});

test("text in a command is one word of a shell, whatever it contains", () => {
  for (const text of ["plain", "it's", "'; touch harmed; '", "$(touch harmed)`touch harmed`\\", "two\nlines", "''"])
    expect(Bun.spawnSync(["sh", "-c", `printf %s ${shellQuoted(text)}`]).stdout.toString()).toBe(text);
});

test("moments are named to the minute, with their year where it matters", () => {
  const at = Date.UTC(2027, 8, 4, 13, 32, 20);
  expect(dayAndMinute(at, "UTC")).toBe("4 Sept, 13:32");
  expect(yearAndMinute(at, "Europe/Berlin")).toBe("4 Sept 2027, 15:32");
});
