// The audit log over any database that Kysely supports: its rows, the chain in which they stand (audit-chain.ts), and the
// removal of old ones. A chain is written under the lock of its head, so that several processes make one chain.
import { type Kysely, type Selectable, sql, type Transaction } from "kysely";
import type { JsonObject } from "../../core/json.ts";
import {
  CHAIN_START,
  type ChainedRow,
  type ChainHead,
  type ChainLink,
  chainOf,
  contentHashOf,
  contentOf,
  linkHash,
} from "./audit-chain.ts";
import { inParts } from "../database/in-parts.ts";
import { CHANGE_LENGTH, byNewest, during, having, readFirst, readPageOfLong, rowsWithRoom } from "../database/pages.ts";
import type { AuditFilter, ChainReader, Page, PageRequest, Reader } from "../reader.ts";
import { AUDIT_WAYS, type AuditRow } from "../records.ts";
import { actorOf } from "../database/row-values.ts";
import { fromInteger, keptIn, rowOf, toInteger } from "../database/columns.ts";
import { AUDITED, HEAD, REMOVED } from "./audit-schema.ts";
import type { Schema } from "../schema.ts";
import { beginWriting } from "../database/transactions.ts";

type Db = Kysely<Schema>;
type Row = Selectable<Schema["audit_log"]>;

const AUDIT = byNewest("audit", "at_ms");

async function listAudit(db: Db, page: PageRequest, filter: AuditFilter): Promise<Page<AuditRow>> {
  const equal = {
    tenant_id: filter.tenantId,
    project_id: filter.projectId,
    actor_token_id: filter.tokenId,
    actor_user_id: filter.userId,
    action: filter.action,
    outcome: filter.outcome,
    kind: filter.kind,
    target_id: filter.targetId,
    via: filter.via,
    session_id: filter.sessionId,
    version: filter.version === undefined ? undefined : toInteger(filter.version),
  } as const;
  const query = db.selectFrom("audit_log").selectAll().where(having<Row>(equal)).where(during("at_ms", filter));
  return await readPageOfLong(query, page, AUDIT, auditRowOf, CHANGE_LENGTH);
}

const parsed = (text: string | null) => (text === null ? null : (JSON.parse(text) as JsonObject));

function auditRowOf(row: Row): AuditRow {
  return {
    ...keptIn(AUDITED, row),
    actor: { ...actorOf(row), via: AUDIT_WAYS.find((way) => way === row.via) ?? null, sessionId: row.session_id },
    before: parsed(row.value_before),
    after: parsed(row.value_after),
    link: keptIn(HEAD, row),
  };
}

// Writing.

/** Rows of one insert, because databases limit the values of a statement. */
const ROWS_AT_ONCE = 200;

/** Adds the rows to the ends of their chains, in their order. It has to run in a transaction. */
export async function addToChains(tx: Db, rows: readonly ChainedRow[]): Promise<void> {
  const chained: Row[] = [];
  // Always in the same order, so that two transactions do not wait for each other.
  const chains = [...Map.groupBy(rows, ({ tenant_id: tenantId }) => chainOf(tenantId))];
  for (const [chain, own] of chains.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const links = linked(own, await lockedHead(tx, chain));
    chained.push(...links.map(({ row, ...head }) => ({ ...row, chain, ...rowOf(HEAD, head) })));
    await tx
      .updateTable("audit_chains")
      .set(rowOf(HEAD, links.at(-1)!))
      .where("chain", "=", chain)
      .execute();
  }
  for (const some of inParts(chained, ROWS_AT_ONCE)) await tx.insertInto("audit_log").values(some).execute();
}

async function lockedHead(tx: Db, chain: string): Promise<ChainHead> {
  const head = await tx
    .insertInto("audit_chains")
    .values({ chain, ...rowOf(HEAD, CHAIN_START) })
    // An update that changes nothing locks the row.
    .onConflict((conflict) => conflict.column("chain").doUpdateSet((row) => ({ hash: row.ref("audit_chains.hash") })))
    .returning(["sequence", "hash"])
    .executeTakeFirstOrThrow();
  return keptIn(HEAD, head);
}

type Linked = ChainHead & { readonly row: ChainedRow };

function linked(rows: readonly ChainedRow[], head: ChainHead): readonly Linked[] {
  let { sequence, hash } = head;
  return rows.map((row) => {
    sequence++;
    const { outcome } = row;
    const contentHash = contentHashOf(contentOf(row));
    hash = linkHash(hash, { sequence, atMs: fromInteger(row.at_ms), outcome, contentHash });
    return { row, sequence, hash };
  });
}

// Reading a chain.

export function auditReader(db: Db): ChainReader & Pick<Reader, "listAudit"> {
  return {
    listAudit: (page, filter = {}) => listAudit(db, page, filter),
    auditHead: (chain) =>
      readFirst(db.selectFrom("audit_chains").selectAll().where("chain", "=", chain), (row) => keptIn(HEAD, row)),
    auditChains: async () =>
      (await db.selectFrom("audit_chains").select("chain").orderBy("chain").execute()).map(({ chain }) => chain),
    auditLinks: (chain, after, limit) => auditLinks(db, chain, after, limit),
    auditLinkAt: (chain, ms, side) => auditLinkAt(db, chain, ms, side),
    async isAuditRemovedSince(chain, ms) {
      const row = await db
        .selectFrom("audit_removed")
        .select("sequence")
        .where("chain", "=", chain)
        .where("outcome", "=", "done")
        .where("at_ms", ">", toInteger(ms))
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },
  };
}

async function auditLinks(db: Db, chain: string, after: number, limit: number): Promise<readonly ChainLink[]> {
  const next = sql<boolean>`chain = ${chain} and sequence > ${toInteger(after)}`;
  const most = sql.lit(limit);
  const own = db.selectFrom("audit_log").where(next).orderBy("sequence");
  const room = rowsWithRoom(await own.select(CHANGE_LENGTH.as("characters")).limit(most).execute());
  const rows = await own.selectAll().limit(sql.lit(room)).execute();
  const end = room < limit ? rows.at(-1)?.sequence : undefined;
  // After the rows: what is removed in between is then read twice, and not missed.
  const gone = await db.selectFrom("audit_removed").selectAll().where(next).orderBy("sequence").limit(most).execute();
  const links = new Map([...gone.map(linkOfRemoved), ...rows.map(linkOfRow)].map((link) => [link.sequence, link]));
  const inOrder = [...links.values()].toSorted((a, b) => a.sequence - b.sequence).slice(0, limit);
  // behind the last row that was read there may be others
  return end === undefined || rows.length < room
    ? inOrder
    : inOrder.filter(({ sequence }) => sequence <= fromInteger(end));
}

function linkOfRow(row: Row): ChainLink {
  const content = contentOf(row);
  return {
    sequence: fromInteger(row.sequence),
    atMs: fromInteger(row.at_ms),
    outcome: row.outcome,
    contentHash: contentHashOf(content),
    hash: row.hash,
    content,
  };
}

const linkOfRemoved = (row: Selectable<Schema["audit_removed"]>): ChainLink => ({
  ...keptIn(REMOVED, row),
  content: null,
});

async function auditLinkAt(
  db: Db,
  chain: string,
  ms: number,
  side: "first_from" | "last_before",
): Promise<ChainHead | null> {
  const isFirst = side === "first_from";
  const links: ChainHead[] = [];
  // One after the other, because of what is removed in between, as in auditLinks().
  for (const table of ["audit_log", "audit_removed"] as const) {
    const row = await db
      .selectFrom(table)
      .select(["sequence", "hash"])
      .where("chain", "=", chain)
      .where("at_ms", isFirst ? ">=" : "<", toInteger(ms))
      .orderBy("sequence", isFirst ? "asc" : "desc")
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) links.push(keptIn(HEAD, row));
  }
  return links.toSorted((a, b) => (isFirst ? a.sequence - b.sequence : b.sequence - a.sequence))[0] ?? null;
}

// Removing.

/** The most rows to remove in one go: a long removal would block other writers. */
const PRUNED_AT_ONCE = 1000;

/** Of each row its place in the chain and the hash of its content stay, so that the chain can still be checked. */
export async function pruneAudit(
  db: Db,
  { doneMs, refusedMs }: { readonly doneMs: number | null; readonly refusedMs: number | null },
): Promise<number> {
  if (doneMs === null && refusedMs === null) return 0;
  return await beginWriting(db).execute(
    async (tx) => (await removeOld(tx, "done", doneMs)) + (await removeOld(tx, "refused", refusedMs)),
  );
}

async function removeOld(
  tx: Transaction<Schema>,
  outcome: AuditRow["outcome"],
  beforeMs: number | null,
): Promise<number> {
  if (beforeMs === null) return 0;
  const old = await tx
    .selectFrom("audit_log")
    .selectAll()
    .where("at_ms", "<", toInteger(beforeMs))
    .where("outcome", "=", outcome)
    .orderBy("at_ms")
    .limit(sql.lit(PRUNED_AT_ONCE))
    .execute();
  for (const some of inParts(old, ROWS_AT_ONCE)) {
    await tx
      .insertInto("audit_removed")
      .values(
        some.map((row) => ({
          chain: row.chain,
          sequence: row.sequence,
          at_ms: row.at_ms,
          outcome: row.outcome,
          content_hash: contentHashOf(contentOf(row)),
          hash: row.hash,
        })),
      )
      // Another gateway may have removed the same rows.
      .onConflict((conflict) => conflict.columns(["chain", "sequence"]).doNothing())
      .execute();
    await tx
      .deleteFrom("audit_log")
      .where(
        "id",
        "in",
        some.map(({ id }) => id),
      )
      .execute();
  }
  return old.length;
}
