// What is open at the same time is counted in all, for tenants and for owners, and compared with an independent count.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { OpenCount } from "../../../src/core/concurrency/open-count.ts";
import { printedSeed } from "../../harness/time/chance.ts";

test("[d5.8] one tenant opens at most half, whatever it does, and the rest is left to others", () => {
  const count = new OpenCount(10);
  const opened = Array.from({ length: 8 }, (_, owner) => count.begin("greedy", `g${owner}`, 8));
  expect(opened.map((end) => end !== null)).toEqual([true, true, true, true, true, false, false, false]);
  expect(count.begin("modest", "m", 1)).not.toBeNull();
  expect(count.begin("modest", "m", 1)).toBeNull();
  opened[0]!();
  opened[0]!();
  expect([count.all, count.begin("greedy", "g", 1), count.begin("greedy", "g", 2)]).toEqual([
    5,
    expect.any(Function),
    null,
  ]);
});

const seed = printedSeed("open count");
test("[d5.8] what may begin is what an independent count of all that is open allows", () => {
  const steps = fc.array(
    fc.record({ begins: fc.boolean(), tenant: fc.nat(2), owner: fc.nat(1), mostOfOwner: fc.nat(4), which: fc.nat() }),
    { maxLength: 100 },
  );
  fc.assert(
    fc.property(steps, fc.integer({ min: 0, max: 9 }), (doings, most) => {
      const count = new OpenCount(most);
      let open: { readonly tenant: string; readonly owner: string; readonly end: () => void }[] = [];
      for (const { begins, tenant, owner, mostOfOwner, which } of doings) {
        if (begins) {
          const one = { tenant: `t${tenant}`, owner: `t${tenant}/${owner}` };
          const isAllowed =
            open.length < most &&
            2 * (open.filter((other) => other.tenant === one.tenant).length + 1) <= most &&
            open.filter((other) => other.owner === one.owner).length < mostOfOwner;
          const end = count.begin(one.tenant, one.owner, mostOfOwner);
          expect(end !== null).toBe(isAllowed);
          if (end !== null) open.push({ ...one, end });
        } else if (open.length > 0) {
          const ended = open[which % open.length]!;
          ended.end();
          if (which % 2 === 0) ended.end();
          open = open.filter((other) => other !== ended);
        }
        expect(count.all).toBe(open.length);
      }
    }),
    { seed, numRuns: 300 },
  );
});
