// How a process follows the purges of others through the audit log.
import { expect, test } from "bun:test";
import { followPurges } from "../../src/cache/follow-purges.ts";

test("[d13.5] a process that holds no answers need not read the purges of that time later", async () => {
  let nowMs = Date.UTC(2040, 0, 1);
  let mayHold = false;
  const readFrom: unknown[] = [];
  const purges = followPurges({
    cache: { purge: async () => 0, mayHold: () => mayHold },
    reader: {
      async listAudit(_page, filter) {
        readFrom.push(filter?.fromMs);
        return { data: [], nextCursor: null };
      },
    },
    clock: { now: () => nowMs },
  });
  nowMs += 86_400_000;
  await purges.follow();
  mayHold = true;
  await purges.follow();
  // a row may appear some seconds later than its time says
  expect(readFrom).toEqual([nowMs - 10_000]);
  purges.end();
});
