// The table of drafts, and what makes it.
import type { Kysely } from "kysely";
import type { ConfiguredKind } from "../../core/configured/configured.ts";
import { integer, type RowOf, text, textOrNull, word } from "../columns.ts";
import { belongsTo, createUniqueInPlace } from "../database/place-tables.ts";

/** What the table keeps of StoredDraft, whose text is encrypted. */
export const DRAFT = {
  tenant_id: text,
  project_id: textOrNull,
  owner: text,
  kind: word<ConfiguredKind>(),
  name: text,
  text,
  base: textOrNull,
  saved_at_ms: integer,
};

export interface DraftSchema {
  readonly drafts: RowOf<typeof DRAFT>;
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
