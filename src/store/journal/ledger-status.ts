// What the folder of a ledger contains, also while a process writes to it: for `dragoman ledger` and for metrics.
import { statSync } from "node:fs";
import { join } from "node:path";
import { type JournalPlace, segmentPath, segmentsOf, setAsideOf, slotsOf } from "./journal-folder.ts";
import { type Damage, type Gap, inspectJournal } from "./journal-recovery.ts";
import { readState } from "./journal-state.ts";

export interface LedgerStatus {
  readonly folder: string;
  readonly segments: number;
  readonly bytes: number;
  readonly unshippedBytes: number;
  readonly closings: number;
  /** Calls that are in flight, or were when a process ended that has not been started again. */
  readonly openings: number;
  readonly unsettled: number;
  readonly damages: readonly Damage[];
  /** Segments that are missing. */
  readonly gaps: readonly Gap[];
  /** Files that were set aside because some of their bytes cannot be read. */
  readonly setAside: readonly string[];
}

/**
 * The bytes after the place; files may disappear while they are counted. `writtenTo` says how far the segment that is
 * being written has come.
 */
export function unshippedBytes(folder: string, place: JournalPlace, writtenTo?: JournalPlace): number {
  return unshippedOf(
    segmentsOf(folder).map((segment) => [
      segment,
      segment === writtenTo?.segment ? writtenTo.offset : sizeOf(folder, segment),
    ]),
    place,
  );
}

function unshippedOf(sizes: Iterable<readonly [segment: number, bytes: number]>, place: JournalPlace): number {
  let sum = 0;
  for (const [segment, bytes] of sizes)
    if (segment >= place.segment) sum += Math.max(0, bytes - (segment === place.segment ? place.offset : 0));
  return sum;
}

function sizeOf(folder: string, segment: number): number {
  return statSync(segmentPath(folder, segment), { throwIfNoEntry: false })?.size ?? 0;
}

/** One status for each process that has a folder there. Throws the system's error. */
export function ledgerStatus(ledgerFolder: string): readonly LedgerStatus[] {
  return slotsOf(ledgerFolder).map((name) => {
    const folder = join(ledgerFolder, name);
    const state = readState(folder);
    const { closings, openings, unsettled, damages, gaps, sizes } = inspectJournal(folder, { state });
    const bytes = sizes.values().reduce((sum, size) => sum + size, 0);
    const unshipped = unshippedOf(sizes, state?.shipped ?? { segment: 0, offset: 0 });
    return {
      folder,
      segments: sizes.size,
      bytes,
      unshippedBytes: unshipped,
      closings,
      openings: openings.length,
      unsettled,
      damages,
      gaps,
      setAside: setAsideOf(folder),
    };
  });
}
