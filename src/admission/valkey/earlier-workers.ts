// What workers of a killed supervisor held in the shared store. The supervisor was one replica, whose file says of such
// reservations that they were not used, because only the journals of its workers know what became of the calls. The next
// process on the data folder charges what these say: what a call used, or if it had not ended, what it had reserved.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { LimitRule } from "../../core/configured/limit.ts";
import { slotsOf } from "../../store/journal/journal-folder.ts";
import { inspectJournal } from "../../store/journal/journal-recovery.ts";
import { JournalledCounts } from "../../store/journal/journalled-counts.ts";
import type { JournalledHold } from "../../store/journal/limit-counts.ts";
import { ALL_SETTLED, isHolderRunning, removeSettled, settledOfEarlier } from "../../store/journal/limit-holders.ts";
import { accountName } from "../journalled-accounts.ts";
import { type Account, isShortage, type LimitStore, type Reservation } from "../limit-store.ts";

/** How often it is looked whether workers that still ran have ended, and whether a store that was away is back. */
const LOOK_EVERY_MS = 500;

export type EarlierWorkers = ReturnType<typeof openEarlierWorkers>;

export function openEarlierWorkers(dataFolder: string, ledgerFolder: string) {
  const all = [...settledOfEarlier(dataFolder)];
  for (const [holder, settlement] of all) if (settlement === ALL_SETTLED) removeSettled(dataFolder, holder);
  const through = new Map(all.filter(([, settlement]) => settlement < ALL_SETTLED));
  // What journals said stays known: workers that are started next take over journals.
  const journalled = new JournalledCounts();
  if (through.size > 0) readHolds(ledgerFolder, journalled);
  const workers = [...through.keys()].map((holder) => ({ holder, charged: new Map<string, Reservation>() }));
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isClosed = false;
  const look = async (limits: Pick<LimitStore, "reserve">, onCharged: () => void): Promise<void> => {
    const running = new Set(workers.map(({ holder }) => holder).filter((each) => isHolderRunning(dataFolder, each)));
    if (workers.length > 0) readHolds(ledgerFolder, journalled);
    const { holds } = journalled;
    for (const worker of workers.slice()) {
      const { holder, charged } = worker;
      const open = holds.filter(
        (each) => each.holder === holder && (each.settlement === undefined || each.settlement > through.get(holder)!),
      );
      if (!(await chargeAll(limits, open, charged)) || running.has(holder)) continue;
      const units = unitsByAccount(open);
      for (const [key, reservation] of charged) reservation.settle([units.get(key)?.units ?? 0]);
      removeSettled(dataFolder, holder);
      workers.splice(workers.indexOf(worker), 1);
    }
    if (isClosed) return;
    if (workers.length === 0) onCharged();
    else timer = setTimeout(() => void look(limits, onCharged), LOOK_EVERY_MS);
  };
  return {
    /** Whether everything is charged that workers of earlier supervisors held, so that their journals may go. */
    isCharged: () => workers.length === 0,
    /**
     * Charges it, and goes on in the background with what workers hold that still run. `onCharged` is called when that is
     * over. Never rejects.
     */
    charge: look,
    close(): void {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Returns whether all of it could be charged: the store may be away. */
async function chargeAll(
  limits: Pick<LimitStore, "reserve">,
  holds: readonly JournalledHold[],
  charged: Map<string, Reservation>,
): Promise<boolean> {
  for (const [key, { account, units }] of unitsByAccount(holds)) {
    if (charged.has(key)) continue;
    const answer = await limits.reserve([{ account, units, force: true }]);
    if (isShortage(answer)) return false;
    answer.recorded?.();
    charged.set(key, answer);
  }
  return true;
}

function unitsByAccount(
  holds: readonly JournalledHold[],
): ReadonlyMap<string, { readonly account: Account; readonly units: number }> {
  return new Map(
    [...Map.groupBy(holds, accountName)].map(([name, of]) => [
      name,
      { account: accountOf(of[0]!), units: of.reduce((sum, { units }) => sum + units, 0) },
    ]),
  );
}

/**
 * The store knows an account by these members. Where no call has given it a limit yet, everything is charged by one of 0,
 * because it is forced, and nothing is leased; the limit of calls that are under way stays.
 */
function accountOf({ tenantId, id, kind, unit, window, value }: JournalledHold): Account {
  const rule: LimitRule = {
    tenantId,
    id,
    name: id,
    kind,
    unit,
    window,
    projectId: null,
    scope: {},
    limit: 0,
    mode: "audit",
    onStoreFailure: "closed",
    assumeOutputTokens: 0,
    unpriced: "deny",
    thresholds: [],
  };
  return { rule, value, isWithoutLimit: true };
}

/** Of all journals, also of processes that run. One that cannot be read is reported where it is taken over. */
function readHolds(ledgerFolder: string, journalled: JournalledCounts): void {
  for (const slot of existsSync(ledgerFolder) ? slotsOf(ledgerFolder) : [])
    try {
      inspectJournal(join(ledgerFolder, slot), { sinceMs: 0, onEntry: journalled.onHold });
    } catch {
      // Other journals can be read.
    }
}
