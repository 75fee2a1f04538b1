// The table of drafts, and what makes it.
import type { Kysely } from "kysely";
import { belongsTo, createUniqueInPlace } from "../database/place-tables.ts";

export interface DraftSchema {
  readonly drafts: {
    readonly tenant_id: string;
    readonly project_id: string | null;
    readonly owner: string;
    readonly kind: string;
    readonly name: string;
    readonly text: string;
    readonly base: string | null;
    readonly saved_at_ms: bigint;
  };
}

export async function createDrafts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("drafts")
    .addColumn("tenant_id", "text", (column) => column.notNull().references("tenants.id").onDelete("cascade"))
    .addColumn("project_id", "text")
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("text", "text", (column) => column.notNull())
    .addColumn("base", "text")
    .addColumn("saved_at_ms", "bigint", (column) => column.notNull())
    .$call(belongsTo("project", "drafts"))
    .execute();
  await createUniqueInPlace(db, "drafts", ["tenant_id", "project_id", "owner", "kind", "name"]);
}
