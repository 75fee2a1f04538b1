// Reads of saved views over any database that Kysely supports, and the conversion of their rows.
import type { Kysely } from "kysely";
import { exactly, having, type ListKey, readPage } from "../database/pages.ts";
import type { Reader } from "../reader.ts";
import { keptIn, rowOf } from "../database/columns.ts";
import type { Schema } from "../schema.ts";
import { VIEW } from "./view-schema.ts";
import type { SavedView, ViewOwner } from "./views.ts";

type Row = Schema["console_views"];

const BY_NAME: ListKey = {
  list: "views",
  columns: [
    ["screen", "text"],
    ["name", "text"],
    ["id", "text"],
  ],
  newestFirst: false,
};
export const ownedBy = ({ tenantId, projectId, userId }: ViewOwner) =>
  exactly<Row>({ tenant_id: tenantId, project_id: projectId, user_id: userId });

/** A tenant with more projects than this begins some of them without a view. */
const MOST_DEFAULTS = 500;

export function viewReader(db: Kysely<Schema>): Pick<Reader, "listViews" | "listDefaultViews"> {
  return {
    listViews(page, { owner, screen }) {
      const query = db.selectFrom("console_views").selectAll().where(ownedBy(owner)).where(having<Row>({ screen }));
      return readPage(query, page, BY_NAME, viewOf);
    },
    async listDefaultViews(tenantId, userId) {
      const rows = await db
        .selectFrom("console_views")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("is_default", "=", 1n)
        .where((of) => of.or([of("user_id", "=", userId), of("project_id", "is not", null)]))
        .orderBy("id")
        .limit(MOST_DEFAULTS)
        .execute();
      return rows.map(viewOf);
    },
  };
}

export const viewRow = (view: SavedView): Row => rowOf(VIEW, { ...view, ...view.owner });

export function viewOf(row: Row): SavedView {
  const { tenantId, projectId, userId, ...view } = keptIn(VIEW, row);
  return { ...view, owner: { tenantId, projectId, userId } as ViewOwner };
}
