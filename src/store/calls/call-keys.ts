// The keys of calls: integers in the order of time, so that rows are added at the end of the table and of most indexes.
// A key is the time in milliseconds and, below it, 20 bits of the trace id; a call whose place is taken by another one
// has the next free place. A trace id begins with the time of its call (core/ids.ts), so it leads to its key without an
// index.

// Decides (records and configuration): Where is a call in the database, and is it there already? By: `placeOf`,
// `findKey`. Also: `call-insert.ts` (`insertPlaced`). Rule: The time and 20 bits of its trace id are its place; if
// another call is there, the next free place.
import { type Kysely, sql } from "kysely";
import { TRACE_TIME_DIGITS } from "../../core/ids.ts";
import type { CallSchema } from "./call-schema.ts";

type Db = Kysely<CallSchema>;

const SLOT_BITS = 20n;
const SLOT_DIGITS = 5;
/** Behind its place a call is looked for in so many further ones. Chains of taken places are far shorter. */
const MOST_TAKEN = 64n;
/** Exclusive. Later times do not fit. */
export const MOST_MS = 2 ** 43;

/** One key as an integer and as two words: arithmetic with bigints takes several times as long. */
const KEY = new BigInt64Array(1);
const LOW_HIGH = new Int32Array(KEY.buffer);
/** What the low word holds of the time. */
const LOW_TIME_BITS = 32 - Number(SLOT_BITS);

function keyAt(timeMs: number, slot: number): bigint {
  const high = Math.floor(timeMs / 2 ** LOW_TIME_BITS);
  LOW_HIGH[0] = ((timeMs - high * 2 ** LOW_TIME_BITS) << Number(SLOT_BITS)) | slot;
  LOW_HIGH[1] = high;
  return KEY[0]!;
}

export const firstKeyAt = (timeMs: number): bigint => keyAt(timeMs, 0);
/** The first key of a moment that may be outside of what keys can hold, or between two milliseconds. */
export const keyBoundAt = (timeMs: number): bigint =>
  firstKeyAt(Math.min(Math.max(Math.ceil(timeMs), -MOST_MS), MOST_MS - 1));
export function timeOfKey(key: bigint): number {
  KEY[0] = key;
  return LOW_HIGH[1]! * 2 ** LOW_TIME_BITS + (LOW_HIGH[0]! >>> Number(SLOT_BITS));
}
/** The same in SQL. */
export const timeOfKeySql = (column: string): string => `(${column} >> ${SLOT_BITS})`;

/** The time of a call, as far as a key can hold it. A text that is no trace id has the time 0. */
export function timeOfTrace(traceId: string): number {
  return Math.min(Number.parseInt(traceId.slice(0, TRACE_TIME_DIGITS), 16) || 0, MOST_MS - 1);
}

/** Where a call is, or behind which place it is. */
export function placeOf(traceId: string): bigint {
  const slot = Number.parseInt(traceId.slice(TRACE_TIME_DIGITS, TRACE_TIME_DIGITS + SLOT_DIGITS), 16);
  return keyAt(timeOfTrace(traceId), slot || 0);
}

export async function findKey(db: Db, traceId: string): Promise<bigint | null> {
  const first = placeOf(traceId);
  const { rows } = await sql<{
    readonly id: bigint;
  }>`select id from call where id >= ${first} and id < ${first + MOST_TAKEN} and trace_id = ${traceId}`.execute(db);
  return rows[0]?.id ?? null;
}
