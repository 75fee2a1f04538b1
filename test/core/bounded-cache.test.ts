// The bounded cache against a list that is kept by hand.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { BoundedCache } from "../../src/core/bounded-cache.ts";

test("holds the newest entries up to its bound, whatever is set, made, deleted or cleared", () => {
  const key = fc.integer({ min: 0, max: 6 });
  const step = fc.oneof(
    fc.record({ kind: fc.constant("set" as const), key }),
    fc.record({ kind: fc.constant("make" as const), key }),
    fc.record({ kind: fc.constant("delete" as const), key }),
    { arbitrary: fc.record({ kind: fc.constant("clear" as const), key }), weight: 1 },
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 40 }), (max, steps) => {
      const cache = new BoundedCache<number, string>(max);
      let expected: (readonly [number, string])[] = [];
      for (const [at, { kind, key: name }] of steps.entries()) {
        const value = `${name} of step ${at}`;
        const known = expected.find(([other]) => other === name);
        const without = expected.filter(([other]) => other !== name);
        if (kind === "make") expect(cache.getOrMake(name, () => value)).toBe(known?.[1] ?? value);
        if (kind === "set") cache.set(name, value);
        if (kind === "delete") cache.delete(name);
        if (kind === "clear") cache.clear();
        if (kind === "set" || (kind === "make" && known === undefined))
          expected = [...without, [name, value] as const].slice(-max);
        if (kind === "delete") expected = without;
        if (kind === "clear") expected = [];
        for (let one = 0; one <= 6; one++) expect(cache.get(one)).toBe(expected.find(([other]) => other === one)?.[1]);
      }
    }),
    { seed: 20_261_121, numRuns: 500 },
  );
});

test("keeps nothing of a computation that failed", () => {
  const cache = new BoundedCache<string, number>(2);
  expect(() =>
    cache.getOrMake("a", () => {
      throw new Error("no");
    }),
  ).toThrow("no");
  expect(cache.getOrMake("a", () => 1)).toBe(1);
});
