// Whose bytes a segment holds. Each start of a process on a journal is a run with a random name of its own; the run's name and the segment's number stand in the
// first entry of each segment. A place in one run is therefore never taken for a place in another one, whatever was stopped, copied or restored in between.
import { closeSync, openSync, readSync } from "node:fs";
import { nextEntry, readEntry } from "./journal-entry.ts";
import { segmentPath } from "./journal-folder.ts";

/** What is read to find out: it holds the first entry in all but absurd cases. */
const FRONT_BYTES = 64 * 1024;

/** Which part of which run a segment is. */
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

/** Null: the file holds nothing, or has gone. Throws the system's error. */
export function identityOf(folder: string, segment: number): SegmentIdentity | null {
  return identityOfBytes(frontOf(segmentPath(folder, segment)), segment);
}

/**
 * Segments of earlier versions have no heading, and a damaged one cannot be read. Such a segment is a run by itself, and its first whole entry, which holds a
 * random id, is its name. `segment` is the number that the file's name has.
 */
export function identityOfBytes(bytes: Buffer, segment: number): SegmentIdentity | null {
  if (bytes.length === 0) return null;
  const first = readEntry(bytes, 0);
  if (typeof first === "object" && first.kind === "heading") {
    const heading = JSON.parse(first.text) as SegmentIdentity;
    // a file that was given another number is no part of the sequence that its run wrote
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
    if ((fault as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw fault;
  }
  try {
    const bytes = Buffer.alloc(FRONT_BYTES);
    return bytes.subarray(0, readSync(descriptor, bytes, 0, FRONT_BYTES, 0));
  } finally {
    closeSync(descriptor);
  }
}
