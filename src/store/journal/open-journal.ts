// Opens one journal: recovers what an earlier process left in its folder, continues it, and ships its rows
// (docs/design/journal.md).
import { VERSION } from "../../core/version.ts";
import { Journal } from "./journal.ts";
import { JOURNAL_FORMAT } from "./journal-entry.ts";
import { type JournalDisk, systemDisk } from "./journal-disk.ts";
import {
  type FolderLock,
  isBehind,
  type JournalPlace,
  segmentPath,
  segmentsOf,
  setAsidePath,
} from "./journal-folder.ts";
import { formatIn, identityOf, newRandomName } from "./journal-identity.ts";
import { earlierInDatabase, moment, reportMissing } from "./journal-missing.ts";
import {
  cutTorn,
  type InspectOptions,
  inspectJournal,
  type JournalFindings,
  recordOfKilledCall,
} from "./journal-recovery.ts";
import { type JournalState, type KnownJournal, lockIdentity, readState, writeState } from "./journal-state.ts";
import type { JournalledCounts } from "./journalled-counts.ts";
import { JournalShipper, type Progress } from "./journal-shipper.ts";
import type { ShippedPlace } from "./ledger.ts";
import { unshippedBytes } from "./ledger-status.ts";
import { StoreError } from "../store-error.ts";
import type { LedgerOptions } from "./ledger-options.ts";

/**
 * How many copies of copies are remembered: a folder that is copied for each start would otherwise have no end of them.
 */
const MAX_EARLIER = 16;
/** What is not shipped within this time is shipped after the next start. */
const LAST_ROWS_MS = 2000;

/** Recovers what an earlier process left. Throws StoreError. */
export async function openJournal(
  { settings, sink, clock, disk = systemDisk, counted, beforeRecovery, log, segmentBytes, pace = {} }: LedgerOptions,
  folder: string,
  lock: FolderLock,
  counts: JournalledCounts | null,
) {
  beforeRecovery?.();
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
    log(
      "warn",
      "calls were in flight when an earlier process ended; they are charged the most that they might have used",
      {
        calls: recovered.length,
      },
    );
  const keep = (progress: Progress | null) => state.keep(journal.writtenTo, progress);
  // On a full disk the state is stored later, when there is space.
  await keep(null).catch(() => {});
  const { isKept, drop } = openRelease(folder, findings, counted, { disk, log });
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
    tail: journal.tail,
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

/** Decides when a segment that was shipped may go, and removes it. */
function openRelease(
  folder: string,
  findings: JournalFindings,
  counted: LedgerOptions["counted"] | undefined,
  { disk, log }: Required<Pick<LedgerOptions, "disk" | "log">>,
) {
  const marks = new Map<number, () => boolean>();
  const damaged = new Set(
    findings.damages
      .filter(({ segment, isTail }) => !isTail || segment !== findings.lastSegment)
      .map(({ segment }) => segment),
  );
  return {
    /** Whether the counts in the entries of the segment are kept elsewhere. */
    isKept: (segment: number): boolean => {
      if (counted === undefined) return true;
      const mark = marks.get(segment) ?? counted.kept();
      if (mark === null) return false;
      if (!mark()) marks.set(segment, mark);
      else marks.delete(segment);
      return !marks.has(segment);
    },
    /** Removes a segment, or sets it aside when some of it cannot be read. */
    drop: (segment: number, isDamaged: boolean): void => {
      const path = segmentPath(folder, segment);
      if (!isDamaged && !damaged.has(segment)) return disk.remove(path);
      const kept = setAsidePath(folder, segment, identityOf(folder, segment)?.run ?? "", "whole");
      disk.rename(path, kept);
      log(
        "error",
        "a segment of the ledger is partly unreadable; its other rows are in the database, and it is set aside",
        { file: kept },
      );
    },
  };
}

interface Found {
  readonly findings: JournalFindings;
  /** What the journal had stored about itself; `null` when nothing can be read. */
  readonly state: JournalState | null;
  readonly lock: string;
}

function findingsOf(folder: string, counting: Pick<InspectOptions, "sinceMs" | "onEntry">): Found {
  try {
    requireFormat(folder);
    const state = readState(folder);
    const findings = inspectJournal(folder, { state, ...counting });
    cutTorn(folder, findings);
    return { findings, state, lock: lockIdentity(folder) };
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(
      "unusable",
      `The ledger in ${folder} cannot be read (${(error as { readonly code?: string }).code ?? String(error)}).`,
      error,
    );
  }
}

/** Entries of a newer format would be taken for damage, and set aside. */
function requireFormat(folder: string): void {
  const format = formatIn(folder);
  if (format > JOURNAL_FORMAT)
    throw new StoreError(
      "unusable",
      `The ledger in ${folder} has entries in format ${format}, which a newer version of Dragoman has written. This is Dragoman ${VERSION}, which knows format ${JOURNAL_FORMAT}. Start the newer version again: it ships them to the database, and an orderly end leaves none behind.`,
    );
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

/** A copy continues under a new name, because the original may run on as well. Segment numbers continue in any case. */
function openState({ findings, state, lock }: Found, folder: string, disk: JournalDisk) {
  const own = isCopy(state, lock) ? null : state;
  const before = state === null ? [] : [{ ...knownOf(state, findings), isMet: false }];
  let earlier = [...(state?.earlier ?? []), ...(own === null ? before : [])].slice(-MAX_EARLIER);
  const firstSegment = Math.max(
    findings.lastSegment + 1,
    freeBehind(state?.written ?? null),
    freeBehind(state?.shipped ?? null),
  );
  const name = own?.journal ?? newRandomName();
  let shipped = own?.shipped ?? null;
  return {
    name,
    firstSegment,
    /** The stored state of this journal, unless it is a copy, and of the journals that it continues. */
    known: own === null ? earlier : [...earlier, ...before],
    /** Takes what the database has answered. */
    learned: (lastOf: (journal: string) => ShippedPlace | null) =>
      void (earlier = [...earlierInDatabase(earlier, lastOf)]),
    /** Rejects with the system's error. */
    async keep(written: JournalPlace, progress: Progress | null): Promise<void> {
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
  const end = { segment: lastSegment, offset: sizes.get(lastSegment) ?? 0 };
  return { journal, written: isBehind(end, written) ? end : written, shipped };
}

/** The first segment number to which nothing was written. */
function freeBehind(place: JournalPlace | null): number {
  return place === null ? 1 : place.segment + (place.offset > 0 ? 1 : 0);
}

/** Removes files that are no longer needed, once the stored state allows it. Returns whether all rows were shipped. */
export async function endJournal(
  { folder, lock, journal, shipper, keep, isKept, drop }: Awaited<ReturnType<typeof openJournal>>,
  log: LedgerOptions["log"],
): Promise<boolean> {
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
  return isShipped;
}
