// How a process follows the purges of others through the audit log.
import { expect, test } from "bun:test";
import { followPurges } from "../../src/cache/follow-purges.ts";
import { systemClock } from "../../src/core/clock.ts";
import { LOCAL_ACTOR } from "../../src/store/records.ts";
import { openAdminWorld } from "../harness/admin.ts";

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

test("[d13.5] a purge is found that was made after the clock was set back, and before the next look", async () => {
  let nowMs = Date.UTC(2040, 0, 1);
  const readFrom: number[] = [];
  const purges = followPurges({
    cache: { purge: async () => 0, mayHold: () => true },
    reader: {
      async listAudit(_page, filter) {
        readFrom.push(filter!.fromMs!);
        return { data: [], nextCursor: null };
      },
    },
    clock: { now: () => nowMs },
  });
  await purges.follow();
  nowMs -= 3_600_000;
  const purgedMs = nowMs;
  nowMs += 500;
  readFrom.length = 0;
  await purges.follow();
  purges.end();
  expect(readFrom.length).toBeGreaterThan(0);
  expect(Math.max(...readFrom)).toBeLessThanOrEqual(purgedMs);
});

test("[d13.5] what was purged, or was of a removed tenant, while a process did not run is removed when it starts", async () => {
  const world = await openAdminWorld();
  const purge = await world.send("acme.owner", "POST", "/api/v1/admin/tenants/acme/cache/purge", { route: "faq" });
  expect(purge.status).toBe(200);
  await world.store.change(LOCAL_ACTOR, (writer) => writer.removeTenant("beta"));
  const day = 86_400_000;
  const startedAfter = async (days: number) => {
    const purged: unknown[] = [];
    const purges = followPurges({
      cache: { purge: async (place) => purged.push(place), mayHold: () => true },
      reader: world.store,
      clock: { now: () => systemClock.now() + days * day },
    });
    await purges.follow();
    purges.end();
    return purged;
  };
  expect(await startedAfter(29)).toEqual([{ tenantId: "acme", route: "faq" }, { tenantId: "beta" }]);
  // nothing is kept for so long
  expect(await startedAfter(31)).toEqual([]);
  await world.close();
});
