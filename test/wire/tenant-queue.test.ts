// Turns of tenants, against an independent count, with random work.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { openTenantQueue } from "../../src/wire/tenant-queue.ts";

test("[d5.8] one piece runs at a time, and no tenant waits for more than one piece of each other tenant", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.boolean(), fc.nat(3)), { minLength: 1, maxLength: 40 }),
      async (pieces) => {
        const queue = openTenantQueue();
        const done: string[] = [];
        let running = 0;
        const all = pieces.map(([tenant, fails, waits]) =>
          queue
            .run(tenant, async () => {
              running += 1;
              expect(running).toBe(1);
              for (let wait = 0; wait < waits; wait++) await Promise.resolve();
              running -= 1;
              done.push(tenant);
              if (fails) throw new Error("fails");
            })
            .catch(() => {}),
        );
        await Promise.all(all);
        expect(done.toSorted()).toEqual(pieces.map(([tenant]) => tenant).toSorted());
        // the first begins at once; the rest is dealt like cards, one to each tenant that still has some
        const left = new Map<string, number>();
        for (const [tenant] of pieces.slice(1)) left.set(tenant, (left.get(tenant) ?? 0) + 1);
        const expected: string[] = [pieces[0]![0]];
        while (left.size > 0)
          for (const [tenant, count] of Array.from(left)) {
            expected.push(tenant);
            if (count === 1) left.delete(tenant);
            else left.set(tenant, count - 1);
          }
        expect(done).toEqual(expected);
      },
    ),
    { numRuns: 300 },
  );
});
