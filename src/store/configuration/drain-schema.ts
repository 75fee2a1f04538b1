// The table of drains, and what makes it.
import type { Kysely } from "kysely";
import { integer, type RowOf, text, textOrEmpty, textOrNull } from "../columns.ts";

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

export async function createDrains(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("provider_drains")
    .addColumn("tenant_id", "text", (column) => column.notNull().references("tenants.id").onDelete("cascade"))
    .addColumn("provider", "text", (column) => column.notNull())
    .addColumn("model", "text", (column) => column.notNull())
    .addColumn("until_ms", "bigint", (column) => column.notNull())
    .addColumn("note", "text")
    .addColumn("begun_by", "text", (column) => column.notNull())
    .addColumn("begun_at_ms", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("provider_drains_key", ["tenant_id", "provider", "model"])
    .execute();
}
