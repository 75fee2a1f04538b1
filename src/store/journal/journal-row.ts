// The contents of journal entries: a call as it was admitted, and as it ended.
import type { CallRecord, ChargeInFlight } from "../../core/record/record.ts";
import { admittedMembers, recordText } from "../../core/record/record-text.ts";
import { parseCallRecord } from "../../wire/json/record-json.ts";
import { MAX_TEXT_BYTES } from "./journal-entry.ts";
import type { LedgerRow } from "./ledger.ts";

/** In UTF-16 units; texts that clients choose freely are cut when an entry is longer. */
const MAX_TEXT = Math.floor(MAX_TEXT_BYTES / 3);
const MAX_DETAIL = 16_384;

/**
 * The text of an opening entry: what a recovery charges, and to whom. Members that say nothing are left out, as
 * `emptyRecord` has them.
 */
export function openingText(record: CallRecord, charge: ChargeInFlight | null = null): string {
  const opening = { ...admittedMembers(record), usage: charge?.usage ?? undefined, cost: charge?.cost ?? undefined };
  const text = JSON.stringify(opening);
  return text.length <= MAX_TEXT
    ? text
    : JSON.stringify({ ...opening, modelAsked: opening.modelAsked?.slice(0, MAX_DETAIL), metadata: undefined });
}

export function closingText(record: CallRecord): string {
  const text = recordText(record);
  if (text.length <= MAX_TEXT) return text;
  const bounded: CallRecord = {
    ...record,
    modelAsked: record.modelAsked?.slice(0, MAX_DETAIL) ?? null,
    errorDetail: record.errorDetail?.slice(0, MAX_DETAIL) ?? null,
    dispositions: {},
    metadata: null,
    nativeFinishReasons: [],
    warnings: [...record.warnings, "record_cut"],
  };
  return recordText(bounded);
}

/** A row for the database. Its record is parsed only when it is read. */
export function rowOf(bytes: Buffer, settled: boolean): LedgerRow {
  return {
    bytes,
    settled,
    get record() {
      return parseCallRecord(bytes.toString("utf8"));
    },
  };
}

/** UTF-8 of the JSON of the row's record. */
export function bytesOf(row: LedgerRow): Uint8Array {
  return row.bytes ?? Buffer.from(recordText(row.record));
}

/** The trace id with which every entry begins. */
export function traceIdOf(text: string): string {
  return TRACE_ID.exec(text)?.[1] ?? (JSON.parse(text) as CallRecord).traceId;
}
const TRACE_ID = /^\{"traceId":"([0-9a-f]{32})"/;

/** When the call of an entry began, in milliseconds since 1970; 0 when that is not in its usual place. */
export function startOf(text: string): number {
  return Number(START.exec(text.slice(0, START_WITHIN))?.[1] ?? 0);
}
const START = /"startedAtMs":(\d+)/;
const START_WITHIN = 96;
