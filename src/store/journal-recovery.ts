// What a journal is found to hold at the start (decisions 11.2): calls whose process ended before they did, and damage. Whole entries behind damage count; bytes at
// the end that are no whole entry are what a crash left, and are cut.
import { readFileSync, statSync, truncateSync } from "node:fs";
import { nextEntry, readEntry, withoutZeros } from "./journal-entry.ts";
import { segmentPath, segmentsOf } from "./journal-folder.ts";
import { traceIdOf } from "./journal-row.ts";

export interface Damage {
  readonly segment: number;
  readonly offset: number;
  readonly bytes: number;
  /** It ends the segment: an entry that was being written. */
  readonly isTail: boolean;
}

export interface JournalFindings {
  /** Text of each opening without a closing, in order. */
  readonly openings: readonly string[];
  readonly damages: readonly Damage[];
  readonly closings: number;
  readonly unsettled: number;
  /** 0: there is none. */
  readonly lastSegment: number;
  /** Bytes of each segment, without the zeros ahead of the entries. */
  readonly sizes: ReadonlyMap<number, number>;
}

/** Reads all segments and changes nothing; `hear` is told the text of every entry of those that were written to since `sinceMs`. Throws the system's error. */
export function inspectJournal(folder: string, sinceMs = Number.POSITIVE_INFINITY, hear: (text: string) => void = () => {}): JournalFindings {
  const openings = new Map<string, string>();
  const damages: Damage[] = [];
  const count = { opening: 0, closing: 0, unsettled: 0 };
  const sizes = new Map<number, number>();
  let lastSegment = 0;
  for (const segment of segmentsOf(folder)) {
    lastSegment = segment;
    const bytes = withoutZeros(bytesOf(segmentPath(folder, segment)));
    sizes.set(segment, bytes.length);
    const isHeard = sinceMs < Number.POSITIVE_INFINITY && writtenMs(segmentPath(folder, segment)) >= sinceMs;
    for (let at = 0; at < bytes.length; ) {
      const entry = readEntry(bytes, at);
      if (typeof entry === "object") {
        count[entry.kind] += 1;
        const traceId = traceIdOf(entry.text);
        if (entry.kind === "opening") openings.set(traceId, entry.text);
        else openings.delete(traceId);
        if (isHeard) hear(entry.text);
        at = entry.end;
        continue;
      }
      const next = nextEntry(bytes, at + 1);
      damages.push({ segment, offset: at, bytes: (next ?? bytes.length) - at, isTail: next === null });
      at = next ?? bytes.length;
    }
  }
  return { openings: [...openings.values()], damages, closings: count.closing, unsettled: count.unsettled, lastSegment, sizes };
}

function writtenMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** None, when the process that writes the journal has removed the file meanwhile. */
function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw fault;
  }
}

/** Cuts what a crash left at the ends of the segments: zeros, and in the last one an entry that was being written. Throws the system's error. */
export function cutTorn(folder: string, { damages, lastSegment, sizes }: JournalFindings): void {
  for (const [segment, size] of sizes) {
    const torn = segment === lastSegment ? damages.find((damage) => damage.isTail && damage.segment === segment) : undefined;
    const end = torn?.offset ?? size;
    if ((statSync(segmentPath(folder, segment), { throwIfNoEntry: false })?.size ?? 0) > end) truncateSync(segmentPath(folder, segment), end);
  }
}
