// The tables of the chains of the audit log (audit-chain.ts), and what makes them.
import { integer, integerOrNull, oneOf, type RowOf, text, textOrNull } from "../database/columns.ts";
import type { Kysely } from "kysely";
import { runStatements } from "../database/run-statements.ts";

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

export const createAuditChain = (db: Kysely<unknown>): Promise<void> =>
  runStatements(
    db,
    "create unique index audit_log_in_chain on audit_log (chain, sequence)",
    "create table audit_chains (chain text primary key, sequence bigint not null, hash text not null)",
    `create table audit_removed (
      chain text not null, sequence bigint not null, at_ms bigint not null, outcome text not null,
      content_hash text not null, hash text not null,
      constraint audit_removed_key primary key (chain, sequence)
    )`,
  );
