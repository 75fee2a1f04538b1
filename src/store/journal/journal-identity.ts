// Identifies the run to which the bytes of a segment belong. Each start of a process on a journal is a run with a
// random name; the name of the run and the number of the segment are in the first entry of each segment. A place in one
// run is therefore never mistaken for a place in another, whatever was stopped, copied or restored in between.
import { closeSync, openSync, readSync } from "node:fs";
import { formatAtStart, nextEntry, readEntry } from "./journal-entry.ts";
import { segmentPath, segmentsOf } from "./journal-folder.ts";
import { codeOf } from "../../core/thrown.ts";

/** How much is read to identify a segment; this contains the first entry except in absurd cases. */
const FRONT_BYTES = 64 * 1024;

/** Says which part of which run a segment is. */
export interface SegmentIdentity {
  readonly run: string;
  /** Its number within the run. */
  readonly segment: number;
}

export function newRandomName(): string {
  return crypto.getRandomValues(new Uint8Array(16)).toHex();
}

export function headingText({ run, segment }: SegmentIdentity): string {
  return JSON.stringify({ run, segment });
}

/** `null` when the file is empty or no longer exists. Throws the system's error. */
export function identityOf(folder: string, segment: number): SegmentIdentity | null {
  return identityOfBytes(frontOf(segmentPath(folder, segment)), segment);
}

/** The highest version of the format of entries in this folder; 0 when it has none. Throws the system's error. */
export function formatIn(folder: string): number {
  return Math.max(0, ...segmentsOf(folder).map((segment) => formatAtStart(frontOf(segmentPath(folder, segment))) ?? 0));
}

/**
 * A damaged heading cannot be read. Its segment counts as a run of its own, named by its first whole entry, which contains a random id. `segment` is the number in the file's name.
 */
export function identityOfBytes(bytes: Buffer, segment: number): SegmentIdentity | null {
  if (bytes.length === 0) return null;
  const first = readEntry(bytes, 0);
  if (typeof first === "object" && first.kind === "heading") {
    const heading = JSON.parse(first.text) as SegmentIdentity;
    // A file whose number was changed is not part of the sequence that its run wrote.
    if (heading.segment === segment) return heading;
  }
  const at = nextEntry(bytes, 0);
  const entry = at === null ? null : readEntry(bytes, at);
  return {
    run: `unnamed-${digestOf(entry === null || typeof entry !== "object" ? bytes : bytes.subarray(at!, entry.end))}`,
    segment: 0,
  };
}

function digestOf(bytes: Buffer): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex").slice(0, 32);
}

function frontOf(path: string): Buffer {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch (fault) {
    if (codeOf(fault) === "ENOENT") return Buffer.alloc(0);
    throw fault;
  }
  try {
    const bytes = Buffer.alloc(FRONT_BYTES);
    return bytes.subarray(0, readSync(descriptor, bytes, 0, FRONT_BYTES, 0));
  } finally {
    closeSync(descriptor);
  }
}
