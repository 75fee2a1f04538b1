// The table of drains, and what makes it.
import type { Kysely } from "kysely";
import { integer, type RowOf, text, textOrEmpty, textOrNull } from "../database/columns.ts";
import { runStatements } from "../database/run-statements.ts";

/** What the table keeps of Drain. */
export const DRAIN = {
  tenant_id: text,
  provider: text,
  /** Empty for all models of the provider. */
  model: textOrEmpty,
  until_ms: integer,
  note: textOrNull,
  begun_by: text,
  begun_at_ms: integer,
};

export interface DrainSchema {
  readonly provider_drains: RowOf<typeof DRAIN>;
}

export const createDrains = (db: Kysely<unknown>): Promise<void> =>
  runStatements(
    db,
    `create table provider_drains (
      tenant_id text not null references tenants (id) on delete cascade,
      provider text not null, model text not null, until_ms bigint not null, note text,
      begun_by text not null, begun_at_ms bigint not null,
      constraint provider_drains_key primary key (tenant_id, provider, model)
    )`,
  );
