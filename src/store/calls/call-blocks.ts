// The records of calls, compressed together in blocks: alike as they are, a record of two kilobytes takes some 80 bytes
// in a block of a hundred. A block holds calls that began in the same hour. Few calls at a time are added to the block
// that was written last, which is compressed anew.

// Decides (records and configuration): Where is the record of a call? By: `BlockWriter`, `recordIn`. Rule: Among a
// hundred others, compressed together.
import { type Kysely, sql } from "kysely";
import { firstKeyAt, keyBoundAt } from "./call-keys.ts";
import type { CallSchema } from "./call-schema.ts";
import { startOf, traceIdOf } from "../journal/journal-row.ts";
import { StoreError } from "../store-error.ts";

type Db = Kysely<CallSchema>;

const HOUR_MS = 3_600_000;
/** A record is found by decompressing its block: some 0.2 ms. */
const MOST_RECORDS = 128;
const MOST_BYTES = 256 * 1024;
/** Fewer records than this are added to the last block. */
const FEW = MOST_RECORDS / 2;
/** Higher levels take longer and save nothing here. */
const LEVEL = 1;
/** Random bits below the time in a block's id: several gateways may write in the same millisecond. */
const RANDOM_IDS = 2 ** 20;
/** A record begins behind this byte, which JSON text never contains. */
const LINE = 0x0a;

export interface KeptRecord {
  readonly timeMs: number;
  /** UTF-8 of its JSON. */
  readonly detail: Uint8Array;
  /** Set by the plan. */
  blockId: bigint;
  /** To be set before the blocks are written. */
  isKept: boolean;
}

/** Another block has the same number by chance: the transaction is to be tried again, with a new plan. */
export class BlockTakenError extends Error {
  constructor() {
    super("A block of calls cannot be written where another one is.");
    this.name = "BlockTakenError";
  }
}

interface Block {
  readonly id: bigint;
  readonly hour: number;
  readonly text: readonly Uint8Array[];
  readonly bytes: number;
  readonly records: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

interface PlannedBlock {
  readonly id: bigint;
  /** The block to which the records are added. */
  readonly onto: Block | null;
  readonly records: readonly KeptRecord[];
}

/** The writer of blocks of one connection. It is a class because it remembers the last block. */
export class BlockWriter {
  /** The last block, while there is room in it. Only one transaction at a time has it. */
  #open: Block | null = null;

  /** Gives each record of a transaction a block. The blocks are written when it is known which records are kept. */
  plan(records: readonly KeptRecord[]) {
    const open = this.#open;
    this.#open = null;
    const planned = plannedBlocks(records, open);
    let last = open;
    return {
      write: async (db: Db) => {
        for (const { onto, id, records: all } of planned) {
          const kept = all.filter(({ isKept }) => isKept);
          if (kept.length === 0) continue;
          const block = blockOf(id, onto, kept);
          if (onto === null) await insertBlock(db, block);
          const isWhole = onto === null || (await replaceBlock(db, block, onto, blockOf(id, null, kept)));
          last = isWhole ? block : null;
        }
      },
      /** To be called when the transaction is committed. */
      committed: () => {
        if (last !== null && last.records < MOST_RECORDS && last.bytes < MOST_BYTES)
          // A copy, which does not hold the memory of the whole batch.
          this.#open = { ...last, text: [Buffer.concat(last.text)] };
      },
    };
  }
}

function plannedBlocks(records: readonly KeptRecord[], open: Block | null): readonly PlannedBlock[] {
  const planned: PlannedBlock[] = [];
  let free = open;
  for (const [hour, together] of Map.groupBy(records, ({ timeMs }) => Math.floor(timeMs / HOUR_MS)))
    for (const part of partsOf(together)) {
      const onto = free !== null && free.hour === hour && part.length < FEW ? free : null;
      if (onto !== null) free = null;
      const id = onto?.id ?? newBlockId(part);
      for (const record of part) record.blockId = id;
      planned.push({ onto, id, records: part });
    }
  return planned;
}

function* partsOf(records: readonly KeptRecord[]): Iterable<readonly KeptRecord[]> {
  let part: KeptRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    if (part.length > 0 && (part.length >= MOST_RECORDS || bytes + record.detail.length > MOST_BYTES)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(record);
    bytes += record.detail.length;
  }
  if (part.length > 0) yield part;
}

const newBlockId = (records: readonly KeptRecord[]): bigint =>
  firstKeyAt(Math.max(...records.map(({ timeMs }) => timeMs))) | BigInt(Math.floor(Math.random() * RANDOM_IDS));

const NEW_LINE = Uint8Array.of(LINE);

function blockOf(id: bigint, onto: Block | null, records: readonly KeptRecord[]): Block {
  const times = records.map(({ timeMs }) => timeMs);
  return {
    id,
    hour: Math.floor(times[0]! / HOUR_MS),
    text: [...(onto?.text ?? []), ...records.flatMap(({ detail }) => [NEW_LINE, detail])],
    bytes: (onto?.bytes ?? 0) + records.reduce((sum, { detail }) => sum + detail.length + 1, 0),
    records: (onto?.records ?? 0) + records.length,
    firstMs: Math.min(onto?.firstMs ?? times[0]!, ...times),
    lastMs: Math.max(onto?.lastMs ?? 0, ...times),
  };
}

const rowOf = ({ id, text, records, firstMs, lastMs }: Block) => ({
  id,
  first_ms: firstMs,
  last_ms: lastMs,
  records,
  body: Bun.zstdCompressSync(Buffer.concat(text), { level: LEVEL }),
});

async function insertBlock(db: Db, block: Block): Promise<void> {
  const { id, first_ms, last_ms, records, body } = rowOf(block);
  const { numAffectedRows } =
    await sql`insert into call_block (id, first_ms, last_ms, records, body) values (${id}, ${BigInt(first_ms)}, ${BigInt(last_ms)}, ${BigInt(records)}, ${body}) on conflict (id) do nothing`.execute(
      db,
    );
  if (numAffectedRows !== 1n) throw new BlockTakenError();
}

/** Returns false when the block is no longer what it was: records are then added to what is there. */
async function replaceBlock(db: Db, block: Block, earlier: Block, added: Block): Promise<boolean> {
  if (await isUpdated(db, block, earlier.records)) return true;
  const stored = await db.selectFrom("call_block").selectAll().where("id", "=", block.id).executeTakeFirst();
  if (stored === undefined) {
    await insertBlock(db, added);
    return false;
  }
  const records = Number(stored.records);
  const whole: Block = {
    ...added,
    text: [textOfBlock(stored.body), ...added.text],
    records: records + added.records,
    firstMs: Math.min(Number(stored.first_ms), added.firstMs),
    lastMs: Math.max(Number(stored.last_ms), added.lastMs),
  };
  if (!(await isUpdated(db, whole, records)))
    throw new StoreError("busy", "A block of calls is written by another process.");
  return false;
}

async function isUpdated(db: Db, block: Block, recordsBefore: number): Promise<boolean> {
  const { id, first_ms, last_ms, records, body } = rowOf(block);
  const { numAffectedRows } =
    await sql`update call_block set first_ms = ${BigInt(first_ms)}, last_ms = ${BigInt(last_ms)}, records = ${BigInt(records)}, body = ${body} where id = ${id} and records = ${BigInt(recordsBefore)}`.execute(
      db,
    );
  return numAffectedRows === 1n;
}

/** The records of a block, each behind a line break. */
export const textOfBlock = (body: Uint8Array): Buffer =>
  Buffer.from(Bun.zstdDecompressSync(body as Uint8Array<ArrayBuffer>));

/** The JSON of a call's record in the text of a block; `null` when the block does not have it. */
export function recordIn(text: Buffer, traceId: string): string | null {
  // A call that was settled later has its last record behind the earlier ones.
  const at = text.lastIndexOf(`\n{"traceId":${JSON.stringify(traceId)}`);
  if (at >= 0) return text.toString("utf8", at + 1, endOfLine(text, at + 1));
  return recordsIn(text).findLast((record) => traceIdOf(record) === traceId) ?? null;
}

/** The JSON of several calls' records in the text of a block by their trace ids; a call that it does not have is absent. */
export function someRecordsIn(text: Buffer, traceIds: ReadonlySet<string>): ReadonlyMap<string, string> {
  // A call that was settled later has its last record behind the earlier ones, which it replaces here.
  return new Map(
    recordsIn(text).flatMap((record) => {
      const traceId = traceIdOf(record);
      return traceIds.has(traceId) ? [[traceId, record] as const] : [];
    }),
  );
}

function endOfLine(text: Buffer, from: number): number {
  const end = text.indexOf(LINE, from);
  return end < 0 ? text.length : end;
}

const recordsIn = (text: Buffer): readonly string[] => text.toString("utf8").split("\n").slice(1);

const BLOCKS_AT_ONCE = 100;

/** Removes records of calls that began earlier, at most some thousand, and returns how many. */
export async function pruneBlocks(db: Db, beforeMs: number, most: number): Promise<number> {
  const hourEndMs = Math.floor(beforeMs / HOUR_MS) * HOUR_MS + HOUR_MS;
  const old = await db
    .selectFrom("call_block")
    .select(["id", "last_ms", "records"])
    .where("id", "<", keyBoundAt(hourEndMs))
    .where("first_ms", "<", BigInt(Math.ceil(beforeMs)))
    .orderBy("id")
    .limit(sql.lit(BLOCKS_AT_ONCE))
    .execute();
  let removed = 0;
  for (const { id, last_ms: lastMs, records } of old) {
    if (removed >= most) break;
    if (lastMs >= BigInt(Math.ceil(beforeMs))) {
      removed += await shortenBlock(db, id, beforeMs);
      continue;
    }
    await db.deleteFrom("call_block").where("id", "=", id).execute();
    removed += Number(records);
  }
  return removed;
}

/** Removes the records of earlier calls from a block that also has later ones. */
async function shortenBlock(db: Db, id: bigint, beforeMs: number): Promise<number> {
  const block = await db.selectFrom("call_block").select(["body", "records"]).where("id", "=", id).executeTakeFirst();
  if (block === undefined) return 0; // Another gateway, for which it was old as a whole, has removed it.
  const { body, records } = block;
  const text = recordsIn(textOfBlock(body));
  const left = text.filter((record) => startOf(record) >= beforeMs);
  const lines = left.map((record) => `\n${record}`).join("");
  await sql`update call_block set first_ms = ${BigInt(Math.ceil(beforeMs))}, records = ${BigInt(left.length)}, body = ${Bun.zstdCompressSync(Buffer.from(lines), { level: LEVEL })} where id = ${id} and records = ${records}`.execute(
    db,
  );
  return text.length - left.length;
}
