// The table of drafts, and what makes it.
import { type Kysely, sql } from "kysely";

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
    .addForeignKeyConstraint("drafts_project", ["tenant_id", "project_id"], "projects", ["tenant_id", "id"], (key) =>
      key.onDelete("cascade"),
    )
    .execute();
  // Two indexes, because a unique index treats nulls as different from each other.
  await db.schema
    .createIndex("drafts_in_project")
    .unique()
    .on("drafts")
    .columns(["tenant_id", "project_id", "owner", "kind", "name"])
    .where(sql.ref("project_id"), "is not", null)
    .execute();
  await db.schema
    .createIndex("drafts_in_tenant")
    .unique()
    .on("drafts")
    .columns(["tenant_id", "owner", "kind", "name"])
    .where(sql.ref("project_id"), "is", null)
    .execute();
}
