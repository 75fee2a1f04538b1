// Inserts ledger rows into the call tables and their sums, in one transaction and exactly once for each trace id. A
// call that was charged with its reservation because its process had ended, and that arrives as settled later, replaces
// the first row, and the sums are corrected. Any other repeated row is ignored, so that whatever fails on the way of a row
// (docs/design/row-of-a-call.md), it is sent again.
import { type Kysely, sql } from "kysely";
import { addAttempts, askedIn, type AskingCall } from "../sums/attempt-sums.ts";
import { figuresOf } from "./call-columns.ts";
import { type CallInserts, type Incoming, insertIncoming, KEYS_AT_ONCE, type Placed, type Tx } from "./call-insert.ts";
import type { CallColumn } from "./call-column-types.ts";
import { type CallRow, type CallSchema, type FoundRow, SUM_COLUMNS } from "./call-schema.ts";
import { KEYS, loweredSum, type SumRow, sumsOfCalls, type SumTable } from "../sums/call-sums.ts";
import { tagRowsOf } from "./call-tags.ts";
import type { CallRecord } from "../../core/record/record.ts";
import { inParts } from "../database/in-parts.ts";
import { beginWriting } from "../database/transactions.ts";
import { parseRecord } from "../../wire/json/record-json.ts";
import { keepPlace } from "./journal-places.ts";
import { bytesOf } from "../journal/journal-row.ts";
import type { LedgerRow, ShippedPlace } from "../journal/ledger.ts";

type Db = Kysely<CallSchema>;

export function incomingOf(row: LedgerRow): Incoming {
  const detail = bytesOf(row);
  const bytes = Buffer.from(detail.buffer, detail.byteOffset, detail.byteLength);
  return incomingText(bytes.toString("utf8"), detail, row.settled);
}

/** `detail` is UTF-8 of `text`. */
export function incomingText(text: string, detail: Uint8Array, settled: boolean): Incoming {
  const record = parseRecord<CallRecord>(text);
  return { detail, figures: figuresOf(record, settled), asked: askedIn(record) };
}

export async function ingestCalls(
  db: Db,
  rows: readonly Incoming[],
  place: ShippedPlace | undefined,
  inserts: CallInserts,
): Promise<void> {
  const batch = deduplicated(rows);
  if (batch.length === 0) {
    if (place !== undefined) await beginWriting(db).execute((tx) => keepPlace(tx, place));
    return;
  }
  await insertIncoming(db, inserts, batch, async (tx, added, known, numberOf) => {
    const late = known.filter(({ row }) => row.settled === 1);
    const before = late.length === 0 ? [] : await claimUnsettled(tx, late);
    const claimed = new Set(before.map(({ id }) => id));
    const replaced = late.filter(({ row }) => claimed.has(row.id));
    for (const { row } of replaced) await replace(tx, row);
    const counted = [...added, ...replaced].map(({ row }) => row);
    await removeTags(tx, before);
    await inserts.tags(tx, counted.flatMap(tagRowsOf));
    if (counted.length > 0) await inserts.lockSums(tx);
    for (const [table, sums] of sumsOfCalls(before)) await takeOff(tx, table, sums);
    for (const [table, sums] of sumsOfCalls(counted)) await inserts.addUp(tx, table, sums);
    // A row that is replaced names no attempt, because it was made of the opening entry of its call.
    await addAttempts(tx, [...added, ...replaced].map(askingCall), numberOf);
    if (place !== undefined) await keepPlace(tx, place);
    return [...added, ...replaced];
  });
}

const askingCall = ({ row, incoming: { figures, asked } }: Placed): AskingCall => ({
  tenantId: row.tenant_id,
  projectId: row.project_id,
  timeMs: figures.timeMs,
  traceId: row.trace_id,
  asked,
});

/** Keeps the settled row among those with one trace id, else the first. */
function deduplicated(rows: readonly Incoming[]): readonly Incoming[] {
  const batch = new Map<string, Incoming>();
  for (const row of rows) {
    const { trace_id: id, settled } = row.figures.plain;
    if ((batch.get(id)?.figures.plain.settled ?? -1) < settled) batch.set(id, row);
  }
  return [...batch.values()];
}

/**
 * Claims the unsettled rows of these calls and returns them as they were; no other transaction can claim them as well.
 */
async function claimUnsettled(tx: Tx, calls: readonly Placed[]): Promise<readonly FoundRow[]> {
  const claimed: FoundRow[] = [];
  for (const part of inParts(
    calls.map(({ row }) => row.id),
    KEYS_AT_ONCE,
  ))
    claimed.push(
      ...(await tx
        .updateTable("call")
        .set({ settled: 1n })
        .where("id", "in", part)
        .where("settled", "=", 0n)
        .returningAll()
        .execute()),
    );
  return claimed;
}

async function replace(tx: Tx, { id, ...columns }: CallRow): Promise<void> {
  const values = (Object.keys(columns) as Exclude<CallColumn, "id">[]).map((column) => {
    const value = columns[column];
    return sql`${sql.ref(column)} = ${typeof value === "number" ? BigInt(value) : value}`;
  });
  await sql`update call set ${sql.join(values)} where id = ${id}`.execute(tx);
}

/** Removes the tags of calls, found through the calls' own rows. */
export async function removeTags(db: Db, calls: readonly Parameters<typeof tagRowsOf>[0][]): Promise<void> {
  for (const part of inParts(calls.flatMap(tagRowsOf), KEYS_AT_ONCE)) {
    const these = sql.join(
      part.map(({ tag, id }) => sql`(tag = ${tag} and id = ${id})`),
      sql` or `,
    );
    await sql`delete from call_tag where ${these}`.execute(db);
  }
}

async function takeOff(tx: Tx, table: SumTable, rows: readonly SumRow[]): Promise<void> {
  for (const { key, sums } of rows) {
    const same = sql.join(
      KEYS[table].map((column) => {
        const value = key[column]!;
        return sql`${sql.ref(column)} = ${typeof value === "number" ? BigInt(value) : value}`;
      }),
      sql` and `,
    );
    const lowered = SUM_COLUMNS.map((column, index) => `"${column}" = ${loweredSum(column, sums[index]!)}`).join(", ");
    await sql`update ${sql.table(table)} set ${sql.raw(lowered)} where ${same}`.execute(tx);
    await sql`delete from ${sql.table(table)} where ${same} and calls = 0`.execute(tx);
  }
}
