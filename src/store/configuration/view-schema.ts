// The table of saved views, and what makes it.
import type { Kysely } from "kysely";
import { flag, integer, type RowOf, text, textOrNull } from "../columns.ts";
import { belongsTo } from "../database/place-tables.ts";

/** What the table keeps of SavedView and of its owner. */
export const VIEW = {
  id: text,
  tenant_id: text,
  project_id: textOrNull,
  user_id: textOrNull,
  screen: text,
  name: text,
  query: text,
  is_default: flag,
  created_by: text,
  created_at_ms: integer,
};

export interface ViewSchema {
  readonly console_views: RowOf<typeof VIEW>;
}

export async function createViews(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("console_views")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("tenant_id", "text", (column) => column.notNull().references("tenants.id").onDelete("cascade"))
    .addColumn("project_id", "text")
    .addColumn("user_id", "text")
    .addColumn("screen", "text", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("query", "text", (column) => column.notNull())
    .addColumn("is_default", "bigint", (column) => column.notNull())
    .addColumn("created_by", "text", (column) => column.notNull())
    .addColumn("created_at_ms", "bigint", (column) => column.notNull())
    .$call(belongsTo("project", "console_views"))
    .execute();
  await db.schema
    .createIndex("console_views_by_owner")
    .on("console_views")
    .columns(["tenant_id", "project_id", "user_id", "screen", "name"])
    .execute();
}
