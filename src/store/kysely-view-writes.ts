// Writes of saved views, within a change of the store.
import type { Kysely } from "kysely";
import { ownedBy, viewOf, viewRow } from "./kysely-views.ts";
import { requireTexts, type Work } from "./kysely-work.ts";
import { StoreError } from "./store.ts";
import type { ViewSchema } from "./view-schema.ts";
import type { SavedView } from "./views.ts";
import type { Writer } from "./writer.ts";

type Db = Kysely<ViewSchema>;

/** Of one owner on one screen: a person reads them in one list. */
const MOST_VIEWS = 100;

/** Each adds a row to the audit log. */
export function viewWrites(work: Work): Pick<Writer, "createView" | "removeView"> {
  const db = work.tx as unknown as Db;
  return {
    async createView(view) {
      requireTexts(view.name + view.query);
      const others = await db
        .selectFrom("console_views")
        .select("name")
        .where(ownedBy(view.owner))
        .where("screen", "=", view.screen)
        .execute();
      if (others.some(({ name }) => name === view.name))
        throw new StoreError("exists", `There is already a view ${JSON.stringify(view.name)} on this screen.`);
      if (others.length >= MOST_VIEWS)
        throw new StoreError("conflict", `There are already ${MOST_VIEWS} views on this screen. Delete one first.`);
      if (view.isDefault)
        await db
          .updateTable("console_views")
          .set({ is_default: 0n })
          .where(ownedBy(view.owner))
          .where("screen", "=", view.screen)
          .execute();
      await db.insertInto("console_views").values(viewRow(view)).execute();
      noted(work, "create", view);
    },
    async removeView(id, owner) {
      const row = await db
        .deleteFrom("console_views")
        .where("id", "=", id)
        .where(ownedBy(owner))
        .returningAll()
        .executeTakeFirst();
      if (row !== undefined) noted(work, "remove", viewOf(row));
      return row !== undefined;
    },
  };
}

/** Those of a user who is removed. */
export async function removeViewsOf({ tx }: Work, userId: string): Promise<void> {
  await (tx as unknown as Db).deleteFrom("console_views").where("user_id", "=", userId).execute();
}

function noted(
  work: Work,
  action: "create" | "remove",
  { id, owner, screen, name, query, isDefault }: SavedView,
): void {
  const shown = { screen, query, is_default: isDefault };
  work.entries.push({
    action,
    outcome: "done",
    kind: "view",
    tenantId: owner.tenantId,
    projectId: owner.projectId,
    targetId: id,
    targetName: name,
    before: action === "create" ? null : shown,
    after: action === "create" ? shown : null,
    isChange: false,
  });
}
