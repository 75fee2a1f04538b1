// Writes configured resources, over any database that Kysely supports: their secrets are encrypted and their steps are
// kept for versions. Also rolls back to a version.
import type { ConfiguredKind } from "../../core/configured/configured.ts";
import { sql } from "kysely";
import { planRollBack } from "./kysely-history.ts";
import { type Db, findStoredResource } from "../kysely-reader.ts";
import {
  MOST_STORED,
  requireInTenant,
  requireRoom,
  requireTenant,
  requireTexts,
  record,
  refuseUsedId,
  requireFound,
  type Work,
} from "../kysely-work.ts";
import type { Change, HistoryScope, NewResource } from "../records.ts";
import {
  changeOf,
  maskedResource,
  type ResourceStep,
  resourceColumns,
  resourceOf,
  type StoredResource,
} from "./resource-rows.ts";
import { encryptedDocument } from "./secret-fields.ts";
import { exactly } from "../database/pages.ts";
import type { Schema } from "../schema.ts";
import { StoreError } from "../store-error.ts";
import type { Writer } from "../writer.ts";

const ID_PREFIX: Readonly<Record<ConfiguredKind, string>> = {
  provider: "prv",
  route: "rte",
  policy: "pol",
  limit: "lim",
  budget: "bud",
  price: "prc",
  tool_server: "tsv",
  webhook: "whk",
  setting: "set",
};

function newResourceId(kind: ConfiguredKind): string {
  return `${ID_PREFIX[kind]}_${crypto.getRandomValues(new Uint8Array(10)).toHex()}`;
}

function recordStep(work: Work, step: ResourceStep): void {
  const { action: _, ...what } = changeOf(step);
  const renamed =
    step.before !== null && step.after !== null && step.before.name !== step.after.name
      ? `Its name was ${JSON.stringify(step.before.name)}.`
      : null;
  record(work, what, renamed);
  work.steps.push(step);
}

export function resourceWrites(
  work: Work,
): Pick<Writer, "createResource" | "changeResource" | "removeResource" | "rollBack"> {
  const { tx, nowMs, cipher, actor } = work;
  return {
    async createResource(resource) {
      const { kind, id = newResourceId(kind), tenantId, projectId, name } = resource;
      requireTexts(name);
      await requireTenant(tx, tenantId);
      if (projectId !== null) await requireInTenant(tx, "projects", projectId, tenantId);
      await refuseUsedId(tx, "resources", id);
      await refuseUsedName(work, { ...resource, id });
      const document = encryptedDocument({ kind, id, cipher }, resource.document, null);
      const after: StoredResource = {
        kind,
        id,
        tenantId,
        projectId,
        name,
        document,
        setBy: resource.setBy ?? actor.role ?? "owner",
        byOperator: resource.byOperator ?? actor.isOperator === true,
        version: 1,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      };
      await tx.insertInto("resources").values(resourceColumns(after)).execute();
      await requireRoomInTenant(work, tenantId, [{ before: null, after }]);
      recordStep(work, { before: null, after });
      return maskedResource(after);
    },
    async changeResource(kind, id, change) {
      const before = requireFound(await findStoredResource(tx, kind, id), kind, id);
      const { name, document } = change(maskedResource(before));
      requireTexts(name);
      if (name !== before.name) await refuseUsedName(work, { ...before, name });
      const encrypted = encryptedDocument({ kind, id, cipher }, document, before.document);
      const after: StoredResource = {
        ...before,
        name,
        document: encrypted,
        ...(actor.role !== null && { setBy: actor.role, byOperator: actor.isOperator === true }),
        version: before.version + 1,
        updatedAtMs: nowMs,
      };
      await tx.updateTable("resources").set(resourceColumns(after)).where("id", "=", id).execute();
      await requireRoomInTenant(work, after.tenantId, [{ before, after }]);
      recordStep(work, { before, after });
      return maskedResource(after);
    },
    async removeResource(kind, id) {
      const before = requireFound(await findStoredResource(tx, kind, id), kind, id);
      await tx.deleteFrom("resources").where("id", "=", id).execute();
      recordStep(work, { before, after: null });
    },
    rollBack: (scope, to) => rollBack(work, scope, to),
  };
}

/** Called when the resources of a tenant are written. What has become fewer and shorter is accepted in any case. */
async function requireRoomInTenant(
  { tx, actor }: Work,
  tenantId: string,
  steps: readonly ResourceStep[],
): Promise<void> {
  const added = new Map<ConfiguredKind, number>();
  let grownBy = 0;
  for (const { before, after } of steps) {
    const { kind } = (after ?? before)!;
    added.set(kind, (added.get(kind) ?? 0) + Number(after !== null) - Number(before !== null));
    grownBy += lengthOf(after) - lengthOf(before);
  }
  const grown = [...added].flatMap(([kind, more]) => (more > 0 ? [kind] : []));
  if (actor.isOperator === true || (grown.length === 0 && grownBy <= 0)) return;
  const all = await tx
    .selectFrom("resources")
    .select(["kind", sql<bigint>`count(*)`.as("count"), sql<bigint>`sum(length(document))`.as("characters")])
    .where("tenant_id", "=", tenantId)
    .groupBy("kind")
    .execute();
  for (const kind of grown) {
    const count = Number(all.find((one) => one.kind === kind)?.count ?? 0n);
    requireRoom(count, MOST_STORED.ofKind, `resources of the kind ${kind}`);
  }
  const characters = all.reduce((sum, one) => sum + Number(one.characters), 0);
  if (grownBy > 0) requireRoom(characters, MOST_STORED.characters, "characters of configuration");
  if (steps.some(({ before, after }) => before === null && after?.kind === "route"))
    await requireFewInherited(tx, tenantId);
}

const lengthOf = (one: StoredResource | null): number => (one === null ? 0 : JSON.stringify(one.document).length);

async function requireFewInherited(tx: Db, tenantId: string): Promise<void> {
  const places = await tx
    .selectFrom("resources")
    .select(["project_id", sql<bigint>`count(*)`.as("count")])
    .where("tenant_id", "=", tenantId)
    .where("kind", "=", "route")
    .groupBy("project_id")
    .execute();
  const ofTenant = Number(places.find((place) => place.project_id === null)?.count ?? 0n);
  const projects = places.filter((place) => place.project_id !== null).length;
  requireRoom(
    ofTenant * projects,
    MOST_STORED.inheritedRoutes,
    "routes that projects with routes of their own inherit, counted in each of these projects",
  );
}

async function refuseUsedName(
  { tx }: Work,
  { kind, id, tenantId, projectId, name }: NewResource & { readonly id: string },
): Promise<void> {
  if (name === null) return;
  const other = await tx
    .selectFrom("resources")
    .select("id")
    .where(exactly<Schema["resources"]>({ kind, tenant_id: tenantId, project_id: projectId, name }))
    .where("id", "!=", id)
    .executeTakeFirst();
  if (other !== undefined)
    throw new StoreError("exists", `Another ${kind.replace("_", " ")} already has the name ${JSON.stringify(name)}.`);
}

export async function removeResourcesOf(work: Work, tenantId: string, projectId: string | null): Promise<void> {
  const rows = await work.tx
    .selectFrom("resources")
    .selectAll()
    .where(exactly<Schema["resources"]>({ tenant_id: tenantId, project_id: projectId }))
    .execute();
  for (const row of rows) {
    await work.tx.deleteFrom("resources").where("id", "=", row.id).execute();
    recordStep(work, { before: resourceOf(row), after: null });
  }
}

async function rollBack(work: Work, scope: HistoryScope, to: number): Promise<readonly Change[]> {
  const { tx, nowMs } = work;
  if (work.steps.length > 0)
    throw new StoreError("conflict", "Restoring a version cannot be combined with other changes.");
  const steps = (await planRollBack(tx, scope, to)).map(({ before, after }): ResourceStep => ({
    before,
    after: after && { ...after, version: Math.max(before?.version ?? 0, after.version) + 1, updatedAtMs: nowMs },
  }));
  // All of them are removed first, because two may have exchanged names.
  for (const { before } of steps)
    if (before !== null) await tx.deleteFrom("resources").where("id", "=", before.id).execute();
  for (const step of steps) {
    if (step.after !== null) {
      await refuseUsedName(work, step.after);
      await tx.insertInto("resources").values(resourceColumns(step.after)).execute();
    }
    recordStep(work, step);
  }
  await requireRoomInTenant(work, scope.tenantId, steps);
  work.rolledBackTo = to;
  return steps.map(changeOf);
}
