// Inserts ledger rows into the call tables and their sums, in one transaction and exactly once for each trace id. A
// call that was charged with its reservation because its process had ended, and that arrives as settled later, replaces
// the first row, and the sums are corrected. Any other repeated row is ignored.
import { type Kysely, sql, type Transaction } from "kysely";
import { openBulkInsert, ROWS_AT_ONCE } from "./bulk-insert.ts";
import { columnsOf, hourSums, raisedSum, type SumRow, type Tagged, tagRowsOf, userDaySums } from "./call-columns.ts";
import {
  CALL_COLUMNS,
  type CallColumns,
  type CallSchema,
  DETAIL_COLUMNS,
  SUM_COLUMNS,
  TAG_COLUMNS,
} from "./call-schema.ts";
import { keepPlace } from "./journal-places.ts";
import { parseClosing } from "./journal-row.ts";
import type { LedgerRow, ShippedPlace } from "./ledger.ts";

type Tx = Transaction<CallSchema>;
type TagRow = CallSchema["call_tag"];

/** A call in the form in which it is inserted. */
export interface Incoming {
  readonly columns: CallColumns;
  /** JSON of its record. */
  readonly detail: string;
}

/** How rows are inserted within a transaction, in the way that suits the database best. */
export interface CallInserts {
  /** Returns the calls that were inserted; existing ones are left unchanged. */
  calls(tx: Tx, rows: readonly Incoming[]): Promise<readonly Incoming[]>;
  details(tx: Tx, rows: readonly Incoming[]): Promise<void>;
  tags(tx: Tx, rows: readonly TagRow[]): Promise<void>;
  addUp(tx: Tx, table: SumTable, rows: readonly SumRow[]): Promise<void>;
}

export type SumTable = "call_hour" | "call_user_day";

export function incomingOf(row: LedgerRow): Incoming {
  return incomingText(row.text ?? JSON.stringify(row.record), row.settled);
}

/** `detail` is the JSON of a record of any version. */
export function incomingText(detail: string, settled: boolean): Incoming {
  return { detail, columns: columnsOf({ record: parseClosing(detail), settled }) };
}

export async function ingestCalls(
  db: Kysely<CallSchema>,
  rows: readonly Incoming[],
  place: ShippedPlace | undefined,
  inserts: CallInserts,
): Promise<void> {
  const batch = deduplicated(rows);
  if (batch.size === 0) return;
  await db.transaction().execute(async (tx) => {
    const sorted = [...batch.values()].toSorted((a, b) => (a.columns.trace_id < b.columns.trace_id ? -1 : 1));
    const added = await inserts.calls(tx, sorted);
    const isNew = new Set(added);
    const again = added.length === sorted.length ? [] : sorted.filter((one) => !isNew.has(one));
    const late = again.filter(({ columns }) => columns.settled === 1n);
    const before = late.length === 0 ? [] : await claimUnsettled(tx, late);
    const replaced = late.filter(({ columns }) => before.some(({ trace_id: id }) => id === columns.trace_id));
    for (const {
      columns: { trace_id: id, ...columns },
      detail,
    } of replaced) {
      await tx.updateTable("call").set(columns).where("trace_id", "=", id).execute();
      await tx.updateTable("call_detail").set({ record: detail }).where("trace_id", "=", id).execute();
    }
    await inserts.details(tx, added);
    const counted = [...added, ...replaced].map(({ columns }) => columns);
    await removeTags(tx, before);
    await inserts.tags(tx, counted.flatMap(tagRowsOf));
    await takeOff(tx, "call_hour", hourSums(before));
    await takeOff(tx, "call_user_day", userDaySums(before));
    await inserts.addUp(tx, "call_hour", hourSums(counted));
    await inserts.addUp(tx, "call_user_day", userDaySums(counted));
    if (place !== undefined) await keepPlace(tx, place);
  });
}

/** Keeps the settled row among those with one trace id, else the first. */
function deduplicated(rows: readonly Incoming[]): ReadonlyMap<string, Incoming> {
  const batch = new Map<string, Incoming>();
  for (const row of rows) {
    const { trace_id: id, settled } = row.columns;
    if ((batch.get(id)?.columns.settled ?? -1n) < settled) batch.set(id, row);
  }
  return batch;
}

/**
 * Claims the unsettled rows of these calls and returns them as they were; no other transaction can claim them as well.
 */
async function claimUnsettled(tx: Tx, calls: readonly Incoming[]): Promise<readonly CallColumns[]> {
  const claimed: CallColumns[] = [];
  for (const part of parts(calls))
    claimed.push(
      ...(await tx
        .updateTable("call")
        .set({ settled: 1n })
        .where(
          "trace_id",
          "in",
          part.map(({ columns }) => columns.trace_id),
        )
        .where("settled", "=", 0n)
        .returningAll()
        .execute()),
    );
  return claimed;
}

/** Removes the tags of calls, found through the calls' own rows. */
export async function removeTags(db: Kysely<CallSchema>, calls: readonly Tagged[]): Promise<void> {
  for (const part of parts(calls.flatMap(tagRowsOf))) {
    const these = sql.join(
      part.map(
        ({ tag, time_ms: timeMs, trace_id: traceId }) =>
          sql`(tag = ${tag} and time_ms = ${timeMs} and trace_id = ${traceId})`,
      ),
      sql` or `,
    );
    await sql`delete from call_tag where ${these}`.execute(db);
  }
}

/** For a database behind a connection: few and long statements. */
export function insertsOfMany(): CallInserts {
  const insertMany = openBulkInsert();
  const insertNew = async (
    tx: Tx,
    table: string,
    columns: readonly string[],
    key: readonly string[],
    rows: readonly Readonly<Record<string, unknown>>[],
  ): Promise<void> => {
    for (const part of parts(rows))
      await insertMany(
        tx,
        table,
        columns,
        part,
        () => sql`on conflict (${sql.join(key.map((column) => sql.ref(column)))}) do nothing`,
      );
  };
  return {
    async calls(tx, rows) {
      const ids = new Set<string>();
      for (const part of parts(rows)) {
        const inserted = await insertMany<{ readonly trace_id: string }>(
          tx,
          "call",
          CALL_COLUMNS,
          part.map(({ columns }) => ({ ...columns })),
          () => sql`on conflict (trace_id) do nothing returning trace_id`,
        );
        for (const { trace_id: id } of inserted) ids.add(id);
      }
      return rows.filter(({ columns }) => ids.has(columns.trace_id));
    },
    details: (tx, rows) =>
      insertNew(
        tx,
        "call_detail",
        DETAIL_COLUMNS,
        ["trace_id"],
        rows.map(({ columns, detail }) => ({ trace_id: columns.trace_id, time_ms: columns.time_ms, record: detail })),
      ),
    tags: (tx, rows) => insertNew(tx, "call_tag", TAG_COLUMNS, ["tag", "time_ms", "trace_id"], rows),
    async addUp(tx, table, rows) {
      for (const part of parts(rows)) {
        const keys = Object.keys(part[0]!.key);
        const values = part.map(({ key, sums }) => ({
          ...key,
          ...Object.fromEntries(SUM_COLUMNS.map((column, index) => [column, sums[index]!])),
        }));
        const raised = () => sql.raw(SUM_COLUMNS.map((column) => raisedSum(table, column)).join(", "));
        await insertMany(
          tx,
          table,
          [...keys, ...SUM_COLUMNS],
          values,
          () => sql`on conflict (${sql.join(keys.map((column) => sql.ref(column)))}) do update set ${raised()}`,
        );
      }
    },
  };
}

async function takeOff(tx: Tx, table: SumTable, rows: readonly SumRow[]): Promise<void> {
  for (const { key, sums } of rows) {
    const same = sql.join(
      Object.entries(key).map(([column, value]) => sql`${sql.ref(column)} = ${value}`),
      sql` and `,
    );
    const lowered = sql.join(
      SUM_COLUMNS.map(
        (column, index) =>
          sql`${sql.ref(column)} = case when ${sql.ref(column)} < ${sums[index]!} then 0 else ${sql.ref(column)} - ${sums[index]!} end`,
      ),
    );
    await sql`update ${sql.table(table)} set ${lowered} where ${same}`.execute(tx);
    await sql`delete from ${sql.table(table)} where ${same} and calls = 0`.execute(tx);
  }
}

function parts<T>(rows: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(rows.length / ROWS_AT_ONCE) }, (_, index) =>
    rows.slice(index * ROWS_AT_ONCE, (index + 1) * ROWS_AT_ONCE),
  );
}
