// How a process follows the purges of others through the audit log.
import { describe, expect, test } from "bun:test";
import { followPurges } from "../../src/cache/follow-purges.ts";
import type { AuditRow } from "../../src/store/records.ts";

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
  expect(readFrom).toEqual([nowMs - 10_000, nowMs - 10_000]);
  purges.end();
});

describe("[d13.5] what was purged while a process did not run", () => {
  const NOW_MS = Date.UTC(2040, 0, 31);
  const row = (of: object): AuditRow => ({ tenantId: "acme", after: null, ...of }) as AuditRow;

  test.each([
    ["answers", { action: "purge", kind: "response_cache", after: { route: "faq", removed: 0 } }, { route: "faq" }],
    ["a tenant, which may have been made anew", { action: "delete", kind: "tenant", after: null }, {}],
  ])("is removed from a store that has outlived it: %s", async (_what, removal, place) => {
    const atMs = NOW_MS - 20 * 86_400_000;
    const purged: unknown[] = [];
    const purges = followPurges({
      cache: { purge: async (...asked) => purged.push(asked), mayHold: () => true },
      reader: {
        listAudit: async (_page, { action, kind, fromMs } = {}) => ({
          data:
            action === removal.action && kind === removal.kind && atMs >= fromMs!
              ? [row({ id: "1", atMs, ...removal })]
              : [],
          nextCursor: null,
        }),
      },
      clock: { now: () => NOW_MS },
    });
    await purges.follow();
    await purges.follow();
    expect(purged).toEqual([[{ tenantId: "acme", ...place }, atMs]]);
    purges.end();
  });
});
