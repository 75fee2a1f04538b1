// Writes of saved views, within a change of the store.
import { readFirst } from "../database/pages.ts";
import { ownedBy, viewOf, viewRow } from "./kysely-views.ts";
import { MOST_STORED, requireRoomFor, requireTexts, rowsOfTenant, type Work } from "../kysely-work.ts";
import { StoreError } from "../store-error.ts";
import type { SavedView } from "./views.ts";
import type { Writer } from "../writer.ts";

/** Of one owner on one screen: a person reads them in one list. */
const MOST_VIEWS = 100;

/** Each adds a row to the audit log. */
export function viewWrites(work: Work): Pick<Writer, "createView" | "changeView" | "removeView"> {
  const { tx } = work;
  /** Throws where another view of the list has the name; makes the view the only one with which the screen begins, if it is one. */
  const makeRoom = async ({ id, owner, screen, name, query, isDefault }: SavedView): Promise<number> => {
    requireTexts(name + query);
    const others = await tx
      .selectFrom("console_views")
      .select("name")
      .where(ownedBy(owner))
      .where("screen", "=", screen)
      .where("id", "!=", id)
      .execute();
    if (others.some((other) => other.name === name))
      throw new StoreError("exists", `There is already a view ${JSON.stringify(name)} on this screen.`);
    if (isDefault)
      await tx
        .updateTable("console_views")
        .set({ is_default: 0n })
        .where(ownedBy(owner))
        .where("screen", "=", screen)
        .execute();
    return others.length;
  };
  return {
    async createView(view) {
      if ((await makeRoom(view)) >= MOST_VIEWS)
        throw new StoreError("conflict", `There are already ${MOST_VIEWS} views on this screen. Delete one first.`);
      const ofTenant = rowsOfTenant(work, "console_views", view.owner.tenantId);
      await requireRoomFor(work, ofTenant, MOST_STORED.views, "saved views");
      await tx.insertInto("console_views").values(viewRow(view)).execute();
      noted(work, "create", null, view);
    },
    async changeView(id, owner, change) {
      const found = tx.selectFrom("console_views").selectAll().where("id", "=", id).where(ownedBy(owner));
      const before = await readFirst(found, viewOf);
      if (before === null) return null;
      const after = { ...before, ...change(before) };
      await makeRoom(after);
      await tx.updateTable("console_views").set(viewRow(after)).where("id", "=", id).execute();
      noted(work, "update", before, after);
      return after;
    },
    async removeView(id, owner) {
      const removing = tx.deleteFrom("console_views").where("id", "=", id).where(ownedBy(owner)).returningAll();
      const removed = await readFirst(removing, viewOf);
      if (removed !== null) noted(work, "remove", removed, null);
      return removed;
    },
  };
}

/** Those of a user who is removed. */
export async function removeViewsOf({ tx }: Work, tenantId: string, userId: string): Promise<void> {
  await tx.deleteFrom("console_views").where("tenant_id", "=", tenantId).where("user_id", "=", userId).execute();
}

function noted(
  work: Work,
  action: "create" | "update" | "remove",
  before: SavedView | null,
  after: SavedView | null,
): void {
  const { id, owner, name } = (after ?? before)!;
  const shown = (view: SavedView | null) =>
    view && { screen: view.screen, name: view.name, query: view.query, is_default: view.isDefault };
  work.entries.push({
    action,
    outcome: "done",
    kind: "view",
    tenantId: owner.tenantId,
    projectId: owner.projectId,
    targetId: id,
    targetName: name,
    before: shown(before),
    after: shown(after),
    isChange: false,
  });
}
