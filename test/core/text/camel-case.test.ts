// Names with underscores and in camel case, of single names and of the members of objects.
import { expect, test } from "bun:test";
import { camelCase, camelCased, snakeCased } from "../../../src/core/text/camel-case.ts";

test("a name with underscores becomes one in camel case", () => {
  const names = ["route", "max_body_bytes", "per_1000_characters", "p50_ms"];
  expect(names.map((name) => camelCase(name))).toStrictEqual(["route", "maxBodyBytes", "per1000Characters", "p50Ms"]);
});

test("an object with renamed members has all values but undefined ones", () => {
  const unset: number | undefined = undefined;
  const [kept, breaker] = [camelCased({ keep_days: null, keep_in: unset }), snakeCased({ windowMs: 0, openMs: unset })];
  expect(kept as object).toStrictEqual({ keepDays: null });
  expect(breaker as object).toStrictEqual({ window_ms: 0 });
});
