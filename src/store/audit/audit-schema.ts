// The tables of the chains of the audit log (audit-chain.ts), and what makes them.
import { integer, integerOrNull, oneOf, type RowOf, text, textOrNull } from "../columns.ts";
import type { Kysely } from "kysely";

/** What the table keeps of AuditRow under the same name. */
export const AUDITED = {
  id: text,
  at_ms: integer,
  action: text,
  outcome: oneOf(["done", "refused"], "done"),
  kind: text,
  target_id: textOrNull,
  target_name: textOrNull,
  tenant_id: textOrNull,
  project_id: textOrNull,
  note: textOrNull,
  version: integerOrNull,
};

/** What the tables keep of ChainHead. */
export const HEAD = { sequence: integer, hash: text };
/** What is kept of ChainLink when its row is removed. */
export const REMOVED = { sequence: integer, at_ms: integer, outcome: text, content_hash: text, hash: text };

export interface AuditChainSchema {
  /** The newest link of each chain. The row is also the lock under which the chain is written. */
  readonly audit_chains: RowOf<typeof HEAD> & { readonly chain: string };
  /** What is left of rows that were removed because of their age. */
  readonly audit_removed: RowOf<typeof REMOVED> & { readonly chain: string };
}

export async function createAuditChain(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex("audit_log_in_chain").unique().on("audit_log").columns(["chain", "sequence"]).execute();
  await db.schema
    .createTable("audit_chains")
    .addColumn("chain", "text", (column) => column.primaryKey())
    .addColumn("sequence", "bigint", (column) => column.notNull())
    .addColumn("hash", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("audit_removed")
    .addColumn("chain", "text", (column) => column.notNull())
    .addColumn("sequence", "bigint", (column) => column.notNull())
    .addColumn("at_ms", "bigint", (column) => column.notNull())
    .addColumn("outcome", "text", (column) => column.notNull())
    .addColumn("content_hash", "text", (column) => column.notNull())
    .addColumn("hash", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("audit_removed_key", ["chain", "sequence"])
    .execute();
}
