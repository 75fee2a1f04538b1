// Inserts calls into their tables: names get numbers, each call gets its place, and records go into blocks.
import type { Kysely, Transaction } from "kysely";
import { type AskedAttempt, namesOfAsked } from "../sums/attempt-sums.ts";
import { BlockTakenError, type BlockWriter, type KeptRecord } from "./call-blocks.ts";
import { type CallFigures, namesIn, type PlacedRow, rowOf } from "./call-columns.ts";
import { placeOf } from "./call-keys.ts";
import { numbersFor } from "./call-names.ts";
import type { CallRow, CallSchema } from "./call-schema.ts";
import type { SumRow, SumTable } from "../sums/call-sums.ts";
import type { TagRow } from "./call-tags.ts";
import { inParts } from "../database/in-parts.ts";
import { beginWriting } from "../database/transactions.ts";

type Db = Kysely<CallSchema>;
export type Tx = Transaction<CallSchema>;

/** Keys that one statement looks up. */
export const KEYS_AT_ONCE = 100;

/** A call that is to be inserted. */
export interface Incoming {
  readonly figures: CallFigures;
  /** UTF-8 of the JSON of its record. */
  readonly detail: Uint8Array;
  /** What it asked of providers. */
  readonly asked: readonly AskedAttempt[];
}

/** How rows are inserted within a transaction, in the way that suits the database best. */
export interface CallInserts {
  /** The writer of blocks for this connection. */
  readonly blocks: BlockWriter;
  /** Runs a transaction with rows of these times, with the tables that these need; twice where one was missing. */
  withTables(db: Db, timesMs: readonly number[], run: () => Promise<void>): Promise<void>;
  /** Returns the calls that were not inserted, because another row has the same id. */
  calls(tx: Tx, rows: readonly CallRow[]): Promise<ReadonlySet<CallRow>>;
  tags(tx: Tx, rows: readonly TagRow[]): Promise<void>;
  /** Called before the first sum is changed: nobody else changes sums until the transaction ends. */
  lockSums(tx: Tx): Promise<void>;
  addUp(tx: Tx, table: SumTable, rows: readonly SumRow[]): Promise<void>;
}

/** An incoming call, its row, and its record. */
export interface Placed {
  readonly incoming: Incoming;
  readonly row: PlacedRow;
  readonly record: KeptRecord;
}

/**
 * Inserts calls in one transaction. `finish` gets those that were added and those that had been there, in the same
 * transaction, and returns those whose record is to be kept.
 */
export async function insertIncoming(
  db: Db,
  inserts: CallInserts,
  batch: readonly Incoming[],
  finish: (
    tx: Tx,
    added: readonly Placed[],
    known: readonly Placed[],
    numberOf: (name: string) => number,
  ) => Promise<readonly Placed[]>,
): Promise<void> {
  const timesMs = batch.map(({ figures }) => figures.timeMs);
  const insert = async (): Promise<void> => {
    const records = batch.map(({ figures, detail }): KeptRecord => ({
      timeMs: figures.timeMs,
      detail,
      blockId: 0n,
      isKept: false,
    }));
    const plan = inserts.blocks.plan(records);
    await beginWriting(db).execute(async (tx) => {
      const names = new Set(namesIn(batch));
      for (const { asked } of batch) for (const name of namesOfAsked(asked)) names.add(name);
      const numbers = await numbersFor(tx, names);
      const numberOf = (name: string): number => numbers.get(name)!;
      const placed = batch.map((incoming, index): Placed => {
        const { figures } = incoming;
        const record = records[index]!;
        return {
          incoming,
          record,
          row: rowOf(figures, placeOf(figures.plain.trace_id), numberOf, record.blockId),
        };
      });
      const { added, known } = await insertPlaced(tx, inserts, placed);
      for (const { record } of await finish(tx, added, known, numberOf)) record.isKept = true;
      await plan.write(tx);
    });
    plan.committed();
  };
  await inserts.withTables(db, timesMs, async () => {
    await insert().catch((error: unknown) => {
      if (!(error instanceof BlockTakenError)) throw error;
      return insert();
    });
  });
}

/** Inserts each row at its place or, where another call is there, at the next free one. */
async function insertPlaced(
  tx: Tx,
  inserts: CallInserts,
  placed: readonly Placed[],
): Promise<{ readonly added: readonly Placed[]; readonly known: readonly Placed[] }> {
  const added: Placed[] = [];
  const known: Placed[] = [];
  let pending = placed;
  while (pending.length > 0) {
    const sorted = pending.toSorted(inOrder);
    const taken = await inserts.calls(
      tx,
      sorted.map(({ row }) => row),
    );
    added.push(...(taken.size === 0 ? sorted : sorted.filter(({ row }) => !taken.has(row))));
    pending = sorted.filter(({ row }) => taken.has(row));
    const there = await traceIdsAt(tx, pending);
    const isKnown = ({ row }: Placed): boolean => there.get(row.id) === row.trace_id;
    known.push(...pending.filter(isKnown));
    pending = pending.filter((one) => !isKnown(one));
    for (const { row } of pending) row.id += 1n;
  }
  return { added, known };
}

/** By id; times are compared first, because numbers are compared more quickly. */
function inOrder(a: Placed, b: Placed): number {
  return (
    a.incoming.figures.timeMs - b.incoming.figures.timeMs || (a.row.id < b.row.id ? -1 : a.row.id > b.row.id ? 1 : 0)
  );
}

/** Which calls are at the places of these. */
async function traceIdsAt(tx: Tx, placed: readonly Placed[]): Promise<ReadonlyMap<bigint, string>> {
  const ids = new Map<bigint, string>();
  for (const part of inParts(
    placed.map(({ row }) => row.id),
    KEYS_AT_ONCE,
  ))
    for (const row of await tx.selectFrom("call").select(["id", "trace_id"]).where("id", "in", part).execute())
      ids.set(row.id, row.trace_id);
  return ids;
}
