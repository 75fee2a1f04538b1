// Opens the ledger of one process: its own journal folder, what an earlier process left in it, and the shipper of its
// rows (docs/design/journal.md). Several processes on one data folder have a folder each. The others take over what a
// process leaves behind that does not come back.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { pathFault } from "../config/path-fault.ts";
import type { CallRecord } from "../core/record.ts";
import { Journal, type JournalStatus } from "./journal.ts";
import { ledgerFolderUnusable } from "./data-folder.ts";
import { type JournalDisk, systemDisk } from "./journal-disk.ts";
import {
  type FolderLock,
  type JournalPlace,
  lockFolder,
  lockPath,
  segmentPath,
  segmentsOf,
  setAsidePath,
  slotsOf,
} from "./journal-folder.ts";
import { identityOf, newRandomName } from "./journal-identity.ts";
import { earlierInDatabase, moment, reportMissing } from "./journal-missing.ts";
import {
  cutTorn,
  type InspectOptions,
  inspectJournal,
  type JournalFindings,
  recordOfKilledCall,
} from "./journal-recovery.ts";
import {
  type EarlierJournal,
  earlierNumber,
  type JournalState,
  type KnownJournal,
  lockIdentity,
  readState,
  writeState,
} from "./journal-state.ts";
import { JournalledCounts } from "./journalled-counts.ts";
import { JournalShipper, type Progress } from "./journal-shipper.ts";
import type { Ledger, LedgerSink, ShippedPlace } from "./ledger.ts";
import type { JournalledCount } from "./limit-counts.ts";
import type { LedgerSettings } from "./ledger-settings.ts";
import { unshippedBytes } from "./ledger-status.ts";
import { StoreError } from "./store.ts";

const MAX_PROCESSES = 64;
/**
 * How many copies of copies are remembered: a folder that is copied for each start would otherwise have no end of them.
 */
const MAX_EARLIER = 16;
/** How often the folders of other processes are checked. */
const ADOPT_MS = 30_000;
/** What is not shipped within this time is shipped after the next start. */
const LAST_ROWS_MS = 2000;

export interface LedgerOptions {
  readonly folder: string;
  readonly settings: Pick<LedgerSettings, "sync" | "onFull">;
  readonly sink: LedgerSink;
  readonly clock: Clock;
  readonly disk?: JournalDisk;
  /** Creates the folder and locks it for this process; `null` when another process holds it. */
  readonly lock?: (folder: string) => FolderLock | null;
  /** Entries of processes that have ended are searched for counts of limits; omitted to skip this. */
  readonly counted?: CountedOptions;
  readonly log: (level: "info" | "warn" | "error", message: string, fields?: Readonly<Record<string, unknown>>) => void;
  readonly segmentBytes?: number;
  readonly pace?: Partial<Pace>;
}

export interface CountedOptions {
  /** Entries written since this time, in milliseconds since 1970, may be newer than the counts that were kept. */
  sinceMs(): number;
  /** True when this process takes over the counts at once; false while another process still has them. */
  readonly atStart: boolean;
  /** Whether this process keeps the counts: only such a process takes over what others leave. */
  keepsCounts(): boolean;
  /**
   * Returns a function that says whether everything counted up to this call has been kept elsewhere: until then, the
   * entries that state it stay. `null` when nothing counts yet.
   */
  kept(): (() => boolean) | null;
}

/** For tests, which wait less. */
interface Pace {
  readonly pollMs: number;
  readonly backoffMs: number;
  readonly probeMs: number;
  readonly adoptMs: number;
}

export interface LedgerStatus extends JournalStatus {
  readonly shipped: number;
  /** Bytes of the journal that have not been shipped, opening entries included. */
  readonly unshippedBytes: number;
  readonly folder: string;
}

export interface OpenLedger extends Ledger {
  status(): LedgerStatus;
  /** Calls of earlier processes that were in flight when these ended. */
  readonly recovered: readonly CallRecord[];
  /** The last count of each account of a limit in the entries of processes that had ended. */
  readonly counts: readonly JournalledCount[];
  /** The same for processes that have ended since. */
  laterCounts(): readonly JournalledCount[];
  /** Ships what it can within seconds; the rest stays on the disk. */
  end(): Promise<void>;
}

/** Throws StoreError. */
export async function openLedger(options: LedgerOptions): Promise<OpenLedger> {
  const { slot, lock } = ownFolder(options);
  const counts = new JournalledCounts();
  const later = new JournalledCounts();
  if (options.counted?.atStart === true) countOthers(options, slot, counts);
  const own = await openJournal(
    options,
    join(options.folder, slot),
    lock,
    options.counted?.atStart === true ? counts : null,
  );
  const { journal, shipper } = own;
  shipper.start();
  const met = new Set<string>();
  let adopting = adoptOthers(options, slot, later, met);
  const timer = setInterval(
    () => void (adopting = adopting.then(() => adoptOthers(options, slot, later, met))),
    options.pace?.adoptMs ?? ADOPT_MS,
  );
  timer.unref();
  return {
    refusal: () => journal.refusal(),
    open: (record) => journal.open(record),
    reopen: (entry, record) => journal.reopen(entry, record),
    close: (entry, record) => journal.close(entry, record),
    status: () => ({
      ...journal.status(),
      shipped: shipper.shipped,
      unshippedBytes: unshippedBytes(own.folder, shipper.place, journal.writtenTo),
      folder: own.folder,
    }),
    recovered: own.recovered,
    counts: counts.all,
    laterCounts() {
      countOthers(options, slot, later);
      return later.all;
    },
    async end() {
      clearInterval(timer);
      await adopting;
      await endJournal(own, options.log);
    },
  };
}

interface OpenJournal {
  readonly folder: string;
  readonly lock: FolderLock;
  readonly journal: Journal;
  readonly shipper: JournalShipper;
  readonly recovered: readonly CallRecord[];
  readonly keep: (progress: Progress | null) => Promise<void>;
  /** Whether the counts in the entries of the segment are kept elsewhere. */
  readonly isKept: (segment: number) => boolean;
  /** Removes a segment, or sets it aside when some of it cannot be read. */
  readonly drop: (segment: number, isDamaged: boolean) => void;
}

/** Takes the first folder that no other process holds. */
function ownFolder({ folder, lock: take = lockFolder }: LedgerOptions): {
  readonly slot: string;
  readonly lock: FolderLock;
} {
  try {
    for (let slot = 0; slot < MAX_PROCESSES; slot++) {
      const lock = take(join(folder, String(slot)));
      if (lock !== null) return { slot: String(slot), lock };
    }
  } catch (error) {
    throw ledgerFolderUnusable(folder, pathFault(error, folder), error);
  }
  throw new StoreError("busy", `${MAX_PROCESSES} processes, the maximum, have ledgers in ${folder} already.`);
}

/** Recovers what an earlier process left. Throws StoreError. */
async function openJournal(
  { settings, sink, clock, disk = systemDisk, counted, log, segmentBytes, pace = {} }: LedgerOptions,
  folder: string,
  lock: FolderLock,
  counts: JournalledCounts | null,
): Promise<OpenJournal> {
  const found = findingsOf(
    folder,
    counts === null || counted === undefined ? {} : { sinceMs: counted.sinceMs(), onEntry: counts.onEntry },
  );
  const { findings } = found;
  logFindings(folder, found, log);
  const run = newRandomName();
  const state = openState(found, folder, disk);
  const journal = new Journal({
    folder,
    run,
    firstSegment: state.firstSegment,
    settings,
    disk,
    clock,
    ...(segmentBytes !== undefined && { segmentBytes }),
    ...(pace.probeMs !== undefined && { probeMs: pace.probeMs }),
    onFault: (message) =>
      log(
        "error",
        `the ledger cannot be written: ${message}; new calls ${settings.onFull === "refuse" ? "are refused" : "run without a row"} (ledger.on_full)`,
      ),
    onMended: (message) => log("warn", `the ledger can be written again: ${message}`),
  });
  await journal.start();
  const recovered = findings.openings.map(recordOfKilledCall);
  for (const record of recovered) journal.addUnsettled(record);
  await journal.synced();
  if (recovered.length > 0)
    log("warn", "calls were in flight when an earlier process ended; they are charged what was reserved for them", {
      calls: recovered.length,
    });
  const keep = (progress: Progress | null) => state.keep(journal.writtenTo, progress);
  // On a full disk the state is stored later, when there is space.
  await keep(null).catch(() => {});
  const marks = new Map<number, () => boolean>();
  const isKept = (segment: number): boolean => {
    if (counted === undefined) return true;
    const mark = marks.get(segment) ?? counted.kept();
    if (mark === null) return false;
    if (!mark()) marks.set(segment, mark);
    else marks.delete(segment);
    return !marks.has(segment);
  };
  const damaged = new Set(
    findings.damages
      .filter(({ segment, isTail }) => !isTail || segment !== findings.lastSegment)
      .map(({ segment }) => segment),
  );
  const drop = (segment: number, isDamaged: boolean): void => {
    const path = segmentPath(folder, segment);
    if (!isDamaged && !damaged.has(segment)) return disk.remove(path);
    const kept = setAsidePath(folder, segment, identityOf(folder, segment)?.run ?? "", "whole");
    disk.rename(path, kept);
    log(
      "error",
      "a segment of the ledger is partly unreadable; its other rows are in the database, and it is set aside",
      { file: kept },
    );
  };
  const shipper = new JournalShipper({
    folder,
    journal: state.name,
    run,
    ...pace,
    earlierNames: state.known.map(({ journal: name }) => name),
    sink,
    clock,
    disk,
    keep,
    writtenTo: () => journal.writtenTo,
    release: async (segment, isDamaged) => {
      if (!isKept(segment) || !(await journal.mayRelease(segment))) return false;
      drop(segment, isDamaged);
      return true;
    },
    onLearned: (lastOf, shippedOf) => {
      reportMissing({ folder, journals: state.known, lastOf, shippedOf, findings }, log);
      state.learned(lastOf);
    },
    onProblem: (message) => log("error", message),
  });
  return { folder, lock, journal, shipper, recovered, keep, isKept, drop };
}

interface Found {
  readonly findings: JournalFindings;
  /** What the journal had stored about itself; `null` when nothing can be read. */
  readonly state: JournalState | null;
  readonly lock: string;
}

function findingsOf(folder: string, counting: Pick<InspectOptions, "sinceMs" | "onEntry">): Found {
  try {
    const state = readState(folder);
    const findings = inspectJournal(folder, { state, ...counting });
    cutTorn(folder, findings);
    return { findings, state, lock: lockIdentity(folder) };
  } catch (error) {
    throw new StoreError(
      "unusable",
      `The ledger in ${folder} cannot be read (${(error as { readonly code?: string }).code ?? String(error)}).`,
      error,
    );
  }
}

function logFindings(folder: string, { findings, state, lock }: Found, log: LedgerOptions["log"]): void {
  for (const { segment, offset, bytes, isTail } of findings.damages) {
    const isTorn = isTail && segment === findings.lastSegment;
    log(
      isTorn ? "warn" : "error",
      isTorn
        ? "the ledger ended with an incomplete entry, which was removed"
        : "the ledger is damaged; the damaged entries are lost",
      { file: segmentPath(folder, segment), offset, bytes },
    );
  }
  for (const { from, to } of findings.gaps)
    log("error", "segments of the ledger are missing; rows in them that the database does not have are lost", {
      from: segmentPath(folder, from),
      to: segmentPath(folder, to),
    });
  if (isCopy(state, lock))
    log(
      "warn",
      "this ledger is a copy: of a backup that was restored, or of a folder that was moved. What the original recorded later is not in it",
      { folder, last_call: moment(Math.max(findings.lastMs, state?.shipped?.lastMs ?? 0)) },
    );
}

function isCopy(state: JournalState | null, lock: string): boolean {
  return state !== null && state.lock !== lock;
}

interface OpenState {
  readonly name: string;
  readonly firstSegment: number;
  /** The stored state of this journal, unless it is a copy, and of the journals that it continues. */
  readonly known: readonly EarlierJournal[];
  /** Takes what the database has answered. */
  learned(lastOf: (journal: string) => ShippedPlace | null): void;
  /** Rejects with the system's error. */
  keep(written: JournalPlace, progress: Progress | null): Promise<void>;
}

/** A copy continues under a new name, because the original may run on as well. Segment numbers continue in any case. */
function openState({ findings, state, lock }: Found, folder: string, disk: JournalDisk): OpenState {
  const own = isCopy(state, lock) ? null : state;
  const before = state === null ? [] : [{ ...knownOf(state, findings), isMet: false }];
  let earlier = [...(state?.earlier ?? []), ...(own === null ? before : [])].slice(-MAX_EARLIER);
  const firstSegment = Math.max(
    findings.lastSegment + 1,
    earlierNumber(folder) + 1,
    freeBehind(state?.written ?? null),
    freeBehind(state?.shipped ?? null),
  );
  const name = own?.journal ?? newRandomName();
  let shipped = own?.shipped ?? null;
  return {
    name,
    firstSegment,
    known: own === null ? earlier : [...earlier, ...before],
    learned: (lastOf) => void (earlier = [...earlierInDatabase(earlier, lastOf)]),
    async keep(written, progress) {
      if (progress !== null) {
        const { place, rows, lastMs } = progress;
        shipped =
          place === null && shipped === null ? null : { segment: 0, offset: 0, ...shipped, ...place, rows, lastMs };
      }
      await writeState(disk, folder, {
        journal: name,
        lock,
        first: own?.first ?? firstSegment,
        written,
        shipped,
        earlier,
      });
    },
  };
}

/** The last writes may not have been noted in the state yet. */
function knownOf({ journal, written, shipped }: JournalState, { lastSegment, sizes }: JournalFindings): KnownJournal {
  const offset = sizes.get(lastSegment) ?? 0;
  const isFurther = lastSegment > written.segment || (lastSegment === written.segment && offset > written.offset);
  return { journal, written: isFurther ? { segment: lastSegment, offset } : written, shipped };
}

/** The first segment number to which nothing was written. */
function freeBehind(place: JournalPlace | null): number {
  return place === null ? 1 : place.segment + (place.offset > 0 ? 1 : 0);
}

/** Removes files that are no longer needed, once the stored state allows it. */
async function endJournal(
  { folder, lock, journal, shipper, keep, isKept, drop }: OpenJournal,
  log: LedgerOptions["log"],
): Promise<void> {
  const isShipped = await shipper.drain(LAST_ROWS_MS);
  await journal.end();
  const { openCalls, waitingRows } = journal.status();
  const lost = journal.rowsInMemoryAlone;
  if (lost > 0)
    log("error", "the process ends before these rows of the ledger are on disk; they are lost", {
      folder,
      rows: lost,
    });
  const { progress } = shipper;
  if (
    isShipped &&
    progress !== null &&
    openCalls === 0 &&
    waitingRows === 0 &&
    unshippedBytes(folder, shipper.place) === 0 &&
    isKept(Number.POSITIVE_INFINITY)
  ) {
    await keep({ ...progress, place: journal.writtenTo }).catch(() => {});
    for (const segment of segmentsOf(folder)) drop(segment, false);
  }
  lock.release();
}

/**
 * Reads the journals of other folders too, because the process that counted last may have used one of them. Journals of
 * running processes are skipped.
 */
function countOthers(
  { folder, lock: take = lockFolder, counted }: LedgerOptions,
  ownSlot: string,
  counts: JournalledCounts,
): void {
  if (counted === undefined) return;
  for (const slot of slotsOf(folder)) {
    const lock = slot === ownSlot ? null : take(join(folder, slot));
    if (lock === null) continue;
    try {
      inspectJournal(join(folder, slot), { sinceMs: counted.sinceMs(), onEntry: counts.onEntry });
    } catch {
      // The process that takes the folder over reports what is wrong with it.
    }
    lock.release();
  }
}

/**
 * Ships what processes that no longer run have left. A journal without rows is opened once as well, because it may be
 * the one that knows what a restored database lacks. Never rejects: the next round handles what this one did not.
 */
async function adoptOthers(
  options: LedgerOptions,
  ownSlot: string,
  counts: JournalledCounts,
  met: Set<string>,
): Promise<void> {
  const { folder: all, lock: take = lockFolder, counted } = options;
  // The process that keeps the counts reads them from there first.
  if (counted?.keepsCounts() === false) return;
  try {
    for (const slot of slotsOf(all).filter((name) => name !== ownSlot)) {
      const folder = join(all, slot);
      const hasRows = segmentsOf(folder).length > 0;
      if (!existsSync(lockPath(folder)) || !(hasRows || (!met.has(slot) && readState(folder) !== null))) continue;
      const lock = take(folder);
      if (lock === null) continue;
      if (hasRows) options.log("info", "taking over rows of the ledger that another process left", { folder });
      const other = await openJournal(options, folder, lock, counts);
      await endJournal(other, options.log);
      if (other.shipper.progress !== null) met.add(slot);
    }
  } catch (fault) {
    options.log("error", "rows of the ledger that another process left cannot be taken over", {
      error_detail: String(fault),
    });
  }
}
