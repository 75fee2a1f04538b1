// What workers of a killed supervisor held in a shared limit store is charged by their journals. The store here is in memory.
import { expect, test } from "bun:test";
import { mkdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { LimitStore, Need } from "../../src/admission/limit-store.ts";
import { openMemoryLimits } from "../../src/admission/memory.ts";
import { openEarlierWorkers } from "../../src/admission/valkey/earlier-workers.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { CallRecord } from "../../src/core/record/record.ts";
import type { Journal } from "../../src/store/journal/journal.ts";
import { lockHolder, openSettledFile, settledOfEarlier } from "../../src/store/journal/limit-holders.ts";
import { accountOf } from "../contract/limit-store.suite.ts";
import { until } from "../harness/time/until.ts";
import { aCall, ended, newFolder, newJournal, opened } from "../store/journal/ledger-parts.ts";

const HOLDER = "0000000a";
const BUDGET = accountOf({
  id: "tokens",
  kind: "budget",
  unit: "tokens",
  window: "total",
  tenantId: "default",
  limit: 1000,
});

const heldCall = (holder: string): CallRecord =>
  aCall({
    limits: [
      {
        id: "tokens",
        value: "",
        unit: "tokens",
        before: 0,
        reserved: 100,
        settled: null,
        after: 100,
        wouldRefuse: false,
        counted: { kind: "budget", window: "total", stamp: 1, holder },
      },
    ],
  });

async function settle(journal: Journal, call: CallRecord, units: number, settlement: number): Promise<void> {
  const entry = await opened(journal, call);
  const [limit] = call.limits;
  Object.assign(limit!, { settled: units, counted: { ...limit!.counted, settlement } });
  await journal.close(entry, ended(call));
}

/** Three calls of the worker, of which the supervisor had applied the settlements up to 5, and one of another worker. */
async function killed() {
  const folder = newFolder();
  const slot = join(folder, "ledger", "1");
  mkdirSync(slot, { recursive: true });
  const journal = newJournal(slot);
  await journal.start();
  await settle(journal, heldCall(HOLDER), 10, 3);
  await settle(journal, heldCall(HOLDER), 20, 7);
  const inFlight = heldCall(HOLDER);
  await opened(journal, inFlight);
  await settle(journal, heldCall("0000000b"), 50, 9);
  openSettledFile(folder, HOLDER).applied(5);
  const limits: LimitStore = openMemoryLimits({ clock: systemClock });
  const used = async (): Promise<number> => (await limits.status(BUDGET)).used;
  return { folder, ledger: join(folder, "ledger"), journal, inFlight, limits, used };
}

test("[d11.2 d13.2] what a dead worker had settled without its supervisor counts as used, and a call that had not ended as reserved", async () => {
  const { folder, ledger, limits, used } = await killed();
  const earlier = openEarlierWorkers(folder, ledger);
  expect(earlier.isCharged()).toBe(false);
  const charged = Promise.withResolvers<void>();
  const needs: Need[] = [];
  const reserve: LimitStore["reserve"] = (more) => {
    needs.push(...more);
    return limits.reserve(more);
  };
  await earlier.charge({ reserve }, charged.resolve);
  // it is charged whatever is left, and by a limit of which nothing is leased
  expect(new Set(needs.map(({ account, force }) => `${account.rule.limit} ${force}`))).toEqual(new Set(["0 true"]));
  await charged.promise;
  expect([await used(), earlier.isCharged(), limits.open()]).toEqual([20 + 100, true, 0]);
  // once
  expect(settledOfEarlier(folder).size).toBe(0);
  await openEarlierWorkers(folder, ledger).charge(limits, () => {});
  expect(await used()).toBe(120);
});

test("[d11.2 d13.2] a file without a number, as a power failure leaves it, says that nothing was applied", async () => {
  const { folder, ledger, limits, used } = await killed();
  truncateSync(join(folder, `worker-${HOLDER}.settled`), 0);
  const charged = Promise.withResolvers<void>();
  await openEarlierWorkers(folder, ledger).charge(limits, charged.resolve);
  await charged.promise;
  expect(await used()).toBe(10 + 20 + 100);
});

test("[d11.2 d13.2] what a worker holds that still runs counts as reserved, and when it has ended, as used", async () => {
  const { folder, ledger, journal, inFlight, limits, used } = await killed();
  const lock = await lockHolder(folder, HOLDER);
  const earlier = openEarlierWorkers(folder, ledger);
  await earlier.charge(limits, () => {});
  expect([await used(), earlier.isCharged()]).toEqual([20 + 100, false]);
  await settle(journal, inFlight, 5, 8);
  lock.release();
  await until(() => earlier.isCharged());
  expect([await used(), limits.open()]).toEqual([20 + 5, 0]);
});

test("[d13.2] a store that is away is asked again until it has charged everything", async () => {
  const { folder, ledger, limits, used } = await killed();
  const earlier = openEarlierWorkers(folder, ledger);
  let isAway = true;
  const store: Pick<LimitStore, "reserve"> = {
    reserve: (needs) =>
      isAway
        ? {
            need: needs[0]!,
            status: { limit: 0, used: 0, remaining: 0, resetsAtMs: null },
            fitsAtMs: null,
            exceedsLimit: false,
            unavailable: true,
          }
        : limits.reserve(needs),
  };
  await earlier.charge(store, () => {});
  expect([await used(), earlier.isCharged()]).toEqual([0, false]);
  isAway = false;
  await until(() => earlier.isCharged());
  expect(await used()).toBe(120);
});
