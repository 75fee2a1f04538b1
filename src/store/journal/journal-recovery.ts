// What a journal contains at a start (promise 11.2): calls whose process ended before they did, with what they are charged,
// and damage. Whole entries after damage count; bytes at the end that are not a whole entry were left by a crash, and are
// moved to a file beside the journal.

// Decides (records and configuration): What is charged for a call that was killed? By: `recordOfKilledCall`. Also: by
// what `engine/metering/call-meter.ts` (`inFlight`) knew. Rule: What its attempts had used, and the most that those
// in flight might have used, as a budget reserves it.
// Decides (records and configuration): What becomes of a journal's entry that was being written when the process ended?
// By: `cutTorn`. Also: damage elsewhere: `journal-reader.ts` (`nextEntry`). Rule: It is moved to a file beside the
// journal; a call whose closing entry it was is charged as one that was killed.
import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import type { Usage } from "../../core/chat.ts";
import type { CallRecord, LimitOutcome } from "../../core/record/record.ts";
import { codeOf } from "../../core/thrown.ts";
import { countedTokens } from "../../core/record/usage.ts";
import { parseCallRecord } from "../../wire/json/record-json.ts";
import { nextEntry, readEntry, wholeEntries, withoutRoomAhead } from "./journal-entry.ts";
import { segmentPath, segmentsOf, setAsidePath } from "./journal-folder.ts";
import { identityOfBytes, type SegmentIdentity } from "./journal-identity.ts";
import { startOf, traceIdOf } from "./journal-row.ts";
import type { JournalState } from "./journal-state.ts";
import { OWNERS_FILE } from "../database/owner-only.ts";

export interface Damage {
  readonly segment: number;
  readonly offset: number;
  readonly bytes: number;
  /** The damage ends the segment: it is an entry that was being written. */
  readonly isTail: boolean;
}

/** Numbers of segments that were written and are missing, both inclusive. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

export type JournalFindings = ReturnType<typeof inspectJournal>;

export interface InspectOptions {
  /** What the journal stores about itself; `null` when it stores nothing. */
  readonly state?: JournalState | null;
  /** `onEntry` gets the entries of segments written since this time, in milliseconds since 1970; none by default. */
  readonly sinceMs?: number;
  /** Called with the text of every entry in those segments. */
  readonly onEntry?: (text: string) => void;
}

/** Reads all segments and changes nothing. Throws the system's error. */
export function inspectJournal(
  folder: string,
  { state = null, sinceMs = Number.POSITIVE_INFINITY, onEntry = () => {} }: InspectOptions = {},
) {
  const openings = new Map<string, string>();
  const damages: Damage[] = [];
  const count = { opening: 0, closing: 0, unsettled: 0, heading: 0 };
  const sizes = new Map<number, number>();
  const identities = new Map<number, SegmentIdentity>();
  let lastMs = 0;
  for (const segment of segmentsOf(folder)) {
    const bytes = withoutRoomAhead(bytesOf(segmentPath(folder, segment)));
    sizes.set(segment, bytes.length);
    const identity = identityOfBytes(bytes, segment);
    if (identity !== null) identities.set(segment, identity);
    const isReported = sinceMs < Number.POSITIVE_INFINITY && writtenMs(segmentPath(folder, segment)) >= sinceMs;
    for (let at = 0; at < bytes.length;) {
      const entry = readEntry(bytes, at);
      if (typeof entry === "object") {
        at = entry.end;
        count[entry.kind] += 1;
        if (entry.kind === "heading") continue;
        const { text } = entry;
        const traceId = traceIdOf(text);
        if (entry.kind === "opening") openings.set(traceId, text);
        else openings.delete(traceId);
        lastMs = Math.max(lastMs, startOf(text));
        if (isReported) onEntry(text);
        continue;
      }
      const next = nextEntry(bytes, at + 1);
      damages.push({ segment, offset: at, bytes: (next ?? bytes.length) - at, isTail: next === null });
      at = next ?? bytes.length;
    }
  }
  const numbers = [...sizes.keys()];
  return {
    /** The text of each opening entry without a closing entry, in order. */
    openings: [...openings.values()],
    damages,
    gaps: gapsIn(numbers, state),
    closings: count.closing,
    unsettled: count.unsettled,
    lastSegment: numbers.at(-1) ?? 0,
    /** When the last call in the journal began, in milliseconds since 1970; 0 when it contains none. */
    lastMs,
    /** The bytes of each segment, without the unused space after its entries. */
    sizes,
    /** The run to which each segment belongs. */
    identities,
  };
}

/**
 * Numbers are given consecutively, and a segment is removed only when it and all earlier ones have been shipped, so any
 * other absent number is missing.
 */
function gapsIn(segments: readonly number[], state: JournalState | null): readonly Gap[] {
  const last = segments.at(-1) ?? 0;
  const from = state === null ? (segments[0] ?? 1) : Math.max(state.first, state.shipped?.segment ?? 0);
  const to =
    state === null
      ? last
      : Math.max(last, state.written.offset > 0 ? state.written.segment : state.written.segment - 1);
  const gaps: Gap[] = [];
  let expected = from;
  for (const segment of [...segments.filter((number) => number >= from), to + 1]) {
    if (segment > expected) gaps.push({ from: expected, to: segment - 1 });
    expected = segment + 1;
  }
  return gaps;
}

/**
 * Where the last whole entry of a segment ends. Infinite when the segment is gone: a process that wrote to it has made
 * it first, and it is removed only when all of it has been shipped. Throws the system's error.
 */
export function entriesEnd(folder: string, segment: number): number {
  const path = segmentPath(folder, segment);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return Number.POSITIVE_INFINITY;
  let end = 0;
  for (const entry of wholeEntries(bytesOf(path))) ({ end } = entry);
  return end;
}

function writtenMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Empty when the process that writes the journal has removed the file meanwhile. */
function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (fault) {
    if (codeOf(fault) === "ENOENT") return Buffer.alloc(0);
    throw fault;
  }
}

/**
 * Cuts what a crash left at the ends of the segments: zeros, and in the last segment an entry that was being written,
 * whose bytes are kept beside it. Throws the system's error.
 */
export function cutTorn(folder: string, { damages, lastSegment, sizes, identities }: JournalFindings): void {
  for (const [segment, size] of sizes) {
    const torn =
      segment === lastSegment ? damages.find((damage) => damage.isTail && damage.segment === segment) : undefined;
    const end = torn?.offset ?? size;
    if (torn !== undefined)
      writeFileSync(
        setAsidePath(folder, segment, identities.get(segment)?.run ?? "", "end"),
        bytesOf(segmentPath(folder, segment)).subarray(torn.offset, size),
        { mode: OWNERS_FILE },
      );
    if ((statSync(segmentPath(folder, segment), { throwIfNoEntry: false })?.size ?? 0) > end)
      truncateSync(segmentPath(folder, segment), end);
  }
}

/**
 * The record of a call that was in flight when its process ended: what its opening entry says, charged with what the
 * call had used and what its attempts in flight might still use. A limit may hold more, which an earlier attempt has
 * reserved; the largest of them is charged. Throws SyntaxError.
 */
export function recordOfKilledCall(opening: string): CallRecord {
  const call = parseCallRecord(opening);
  const limits = call.limits.map((each): LimitOutcome => ({ ...each, settled: each.settled ?? each.reserved }));
  const usage = usageOf(call.usage, heldIn("tokens", limits));
  const nanoUsd = Math.max(call.cost?.nanoUsd ?? 0, heldIn("nano_usd", limits));
  return {
    ...call,
    limits,
    status: 500,
    code: "internal_error",
    errorDetail: "the process ended before the call did",
    usage,
    usageSource: usage === null ? null : "estimated",
    cost: call.cost === null && nanoUsd === 0 ? null : { nanoUsd, priceId: call.cost?.priceId ?? "reservation" },
  };
}

/** The most that a limit in this unit holds for the call. One that counts attempts has an outcome for each of them. */
function heldIn(unit: LimitOutcome["unit"], limits: readonly LimitOutcome[]): number {
  const ofLimits = Map.groupBy(
    limits.filter((outcome) => outcome.unit === unit),
    ({ id }) => id,
  );
  return Math.max(
    0,
    ...[...ofLimits.values()].map((outcomes) => outcomes.reduce((sum, { settled }) => sum + settled!, 0)),
  );
}

/** The usage, with the tokens that a limit holds beyond it as completion: how they would have been divided is unknown. */
function usageOf(usage: Usage | null, tokens: number): Usage | null {
  const more = tokens - (usage === null ? 0 : countedTokens(usage));
  if (more <= 0) return usage;
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage ?? NO_USAGE;
  return { ...usage, prompt_tokens: prompt, completion_tokens: completion + more, total_tokens: total + more };
}
const NO_USAGE: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
