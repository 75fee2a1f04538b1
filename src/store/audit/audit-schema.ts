// The tables of the chains of the audit log (audit-chain.ts), and what makes them.
import { integer, integerOrNull, oneOf, text, textOrNull } from "../columns.ts";
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

export interface AuditChainSchema {
  /** The newest link of each chain. The row is also the lock under which the chain is written. */
  readonly audit_chains: { readonly chain: string; readonly sequence: bigint; readonly hash: string };
  /** What is left of rows that were removed because of their age. */
  readonly audit_removed: {
    readonly chain: string;
    readonly sequence: bigint;
    readonly at_ms: bigint;
    readonly outcome: string;
    readonly content_hash: string;
    readonly hash: string;
  };
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
