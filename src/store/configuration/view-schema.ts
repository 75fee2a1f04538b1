// The table of saved views, and what makes it.
import type { Kysely } from "kysely";
import { flag, integer, type RowOf, text, textOrNull } from "../database/columns.ts";
import { belongsTo } from "../database/place-tables.ts";
import { runStatements } from "../database/run-statements.ts";

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

export const createViews = (db: Kysely<unknown>): Promise<void> =>
  runStatements(
    db,
    `create table console_views (
      id text primary key, tenant_id text not null references tenants (id) on delete cascade,
      project_id text, user_id text, screen text not null, name text not null, query text not null,
      is_default bigint not null, created_by text not null, created_at_ms bigint not null,
      ${belongsTo("project", "console_views")}
    )`,
    "create index console_views_by_owner on console_views (tenant_id, project_id, user_id, screen, name)",
  );
