// The table of drafts, and what makes it.
import type { Kysely } from "kysely";
import type { ConfiguredKind } from "../../core/configured/configured.ts";
import { integer, type RowOf, text, textOrNull, word } from "../database/columns.ts";
import { belongsTo, uniqueInPlace } from "../database/place-tables.ts";
import { runStatements } from "../database/run-statements.ts";

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

export const createDrafts = (db: Kysely<unknown>): Promise<void> =>
  runStatements(
    db,
    `create table drafts (
      tenant_id text not null references tenants (id) on delete cascade, project_id text,
      owner text not null, kind text not null, name text not null, text text not null, base text,
      saved_at_ms bigint not null,
      ${belongsTo("project", "drafts")}
    )`,
    ...uniqueInPlace("drafts", ["tenant_id", "project_id", "owner", "kind", "name"]),
  );
