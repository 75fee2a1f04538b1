// Opens the limit store, in memory or in Valkey.

// Decides (money and limits): What are budgets when `limits.sqlite` is missing at the start? By: `openLimits`. Also:
// `admission/rebuilt-budgets.ts` (`rebuiltBudgets`). Rule: Sums of the rows of calls. Sliding limits begin at zero.
import type { LimitStore } from "../../admission/limit-store.ts";
import { openMemoryLimits } from "../../admission/memory.ts";
import { rebuiltBudgets } from "../../admission/rebuilt-budgets.ts";
import { systemClock } from "../../core/clock.ts";
import type { LimitSet } from "../../core/configured/limit.ts";
import { messageOf } from "../../core/thrown.ts";
import { within } from "../../core/concurrency/timeout.ts";
import type { Log } from "../../observe/log.ts";
import type { LimitStoreFigures } from "../../observe/metrics/limit-store-gauges.ts";
import { leasesFolderOf } from "../../store/data-folder.ts";
import type { OpenLedger } from "../../store/journal/open-ledger.ts";
import type { Base } from "./base.ts";
import type { Records } from "./open-records.ts";

/** Time for rows of earlier processes to arrive in the database, where budgets are counted from them. */
const EARLIER_ROWS_MS = 10_000;
const EARLIER_ROWS_POLL_MS = 20;

/** The start waits so long for the limit store to charge what workers of a killed supervisor held. */
const EARLIER_CHARGES_MS = 2000;

export type OpenLimits = LimitStore & { figures?(): LimitStoreFigures };

/** Opens the limit store in memory or in Valkey, whose driver is loaded only when it is configured. */
export async function openLimits(
  { options: { dataFolder, limitStore }, log, closing, onFault }: Base,
  { calls, countStore, ledger, counting, earlierWorkers }: Records,
  rules: LimitSet,
  onAnswered: (seconds: number) => void,
): Promise<OpenLimits> {
  if (limitStore === null) {
    if (countStore?.isNew === true && ledger.holds.length > 0) await allShipped(ledger, log);
    const rebuilt = countStore?.isNew === true ? await rebuiltBudgets(calls, rules, systemClock.now()) : [];
    if (rebuilt.length > 0)
      log.warn(
        { source: "limits", accounts: rebuilt.length },
        "there was no file with the counts of limits: budgets are counted from the rows of calls",
      );
    // The journal's counts of an account are later than its rows.
    const inMemory = openMemoryLimits({
      clock: systemClock,
      countStore,
      journalled: [...rebuilt, ...ledger.counts],
      laterJournalled: () => ledger.laterCounts(),
      holds: ledger.holds,
      laterHolds: () => ledger.laterHolds(),
      writeLedger: (traceIds) => ledger.writeStateOf(traceIds),
      onFault,
    });
    // When the disk stored none of the counts, they are counted again after the next start.
    if (countStore?.isNew === true && (rebuilt.length === 0 || countStore.read().length > 0)) countStore.markComplete();
    counting.kept = () => inMemory.kept();
    closing.beside(() => inMemory.close());
    return inMemory;
  }
  const { openValkeyLimits } = await import("../../admission/valkey/valkey.ts");
  const onState = (state: "away" | "back", error: unknown): void => {
    if (state === "back") log.info({ source: "limit_store" }, "the limit store can be reached again");
    else
      log.warn(
        { source: "limit_store", error_detail: messageOf(error) },
        "the limit store cannot be reached: each limit applies its on_store_failure",
      );
  };
  const shared = await openValkeyLimits({
    ...limitStore,
    clock: systemClock,
    folder: leasesFolderOf(dataFolder),
    ledger,
    onState,
    onAnswered,
    onFault,
  });
  closing.beside(() => shared.close());
  if (earlierWorkers !== undefined)
    await within(
      earlierWorkers.charge(shared, () => void ledger.adopt()),
      EARLIER_CHARGES_MS,
    );
  return shared;
}

/** What workers of a killed supervisor used is in the rows of their journals, which budgets are then counted from. */
async function allShipped(ledger: OpenLedger, log: Log): Promise<void> {
  const deadline = systemClock.monotonic() + EARLIER_ROWS_MS;
  await ledger.adopt();
  while (ledger.status().unshippedBytes > 0) {
    if (systemClock.monotonic() > deadline) {
      log.warn(
        { source: "limits" },
        "rows of the ledger are not in the database yet: budgets are counted without them",
      );
      return;
    }
    await Bun.sleep(EARLIER_ROWS_POLL_MS);
  }
}
