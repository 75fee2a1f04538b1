// The table of drains, and what makes it.
import type { Kysely } from "kysely";

export interface DrainSchema {
  readonly provider_drains: {
    readonly tenant_id: string;
    readonly provider: string;
    /** Empty for all models of the provider. */
    readonly model: string;
    readonly until_ms: bigint;
    readonly note: string | null;
    readonly begun_by: string;
    readonly begun_at_ms: bigint;
  };
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
