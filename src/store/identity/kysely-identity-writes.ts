// Writes of tenants, projects, users and memberships, over any database that Kysely supports. A removal
// also removes what depends on it, row by row, so that each has its entry in the audit log.
import type { Insertable } from "kysely";
import { LINKED, type Membership, type Project } from "../../core/identity.ts";
import { kyselyReader } from "../kysely-reader.ts";
import { removeResourcesOf } from "../configuration/kysely-resource-writes.ts";
import {
  changed,
  MOST_STORED,
  requireInTenant,
  requireRoomFor,
  rowsOfTenant,
  requireTenant,
  requireTexts,
  createdAt,
  record,
  refuseUsedId,
  requireFound,
  type Work,
} from "../kysely-work.ts";
import type { ConfigurationScope, Kept, StoredTenant, StoredUser } from "../records.ts";
import {
  auditedOf,
  columnsOf,
  type Fields,
  PROJECT_FIELDS,
  TENANT_FIELDS,
  USER_FIELDS,
} from "../database/identity-fields.ts";
import { rowOf } from "../database/columns.ts";
import { exactly } from "../database/pages.ts";
import { auditedMembership } from "../database/row-values.ts";
import type { Reader } from "../reader.ts";
import { MEMBERSHIP, type Schema } from "../schema.ts";
import { StoreError } from "../store-error.ts";
import type { Writer } from "../writer.ts";
import { revokeClaimsOf } from "./kysely-claim-writes.ts";
import { tokenWrites, changeToken } from "./kysely-token-writes.ts";
import { removeViewsOf } from "../configuration/kysely-view-writes.ts";

interface Thing<T> {
  readonly kind: "tenant" | "project" | "user";
  readonly table: "tenants" | "projects" | "users";
  readonly fields: Fields;
  readonly find: (id: string) => Promise<Kept<T> | null>;
  /** Where it is, as the audit log says. */
  readonly placeOf: (thing: T) => ConfigurationScope;
  /** Throws where the state is in conflict with another thing. */
  readonly check?: (state: T) => Promise<void>;
  /** Removes what is in it and what depends on it. */
  readonly removeDependents: (thing: T) => Promise<void>;
}

/** The writes of a thing, the same for tenants, projects and users. */
function writesOf<T extends { readonly id: string; readonly name: string }>(
  work: Work,
  { kind, table, fields, find, placeOf, check, removeDependents }: Thing<T>,
) {
  const { tx, nowMs } = work;
  const recorded = (thing: T, before: T | null, after: T | null): void =>
    record(work, {
      kind,
      id: thing.id,
      name: (after ?? before)!.name,
      ...placeOf(thing),
      before: before && auditedOf(fields, before),
      after: after && auditedOf(fields, after),
    });
  const columns = async (state: T) => {
    const made = columnsOf(fields, state);
    requireTexts(...Object.values(made).filter((value) => typeof value === "string"));
    await check?.(state);
    return made;
  };
  return {
    create: async (thing: T): Promise<Kept<T>> => {
      const { tenantId } = placeOf(thing);
      if (kind !== "tenant") await requireTenant(tx, tenantId);
      await refuseUsedId(tx, table, thing.id);
      const ids = kind === "tenant" ? { id: thing.id } : { id: thing.id, tenant_id: tenantId };
      const row = { ...ids, ...(await columns(thing)), ...createdAt(nowMs) };
      await tx
        .insertInto(table)
        .values(row as Insertable<Schema[typeof table]>)
        .execute();
      recorded(thing, null, thing);
      return (await find(thing.id))!;
    },
    change: async (id: string, change: (thing: Kept<T>) => T): Promise<Kept<T>> => {
      const before = requireFound(await find(id), kind, id);
      const after = { ...change(before), id };
      await tx
        .updateTable(table)
        .set({ ...(await columns(after)), ...changed(before, nowMs) })
        .where("id", "=", id)
        .execute();
      recorded(before, before, after);
      return (await find(id))!;
    },
    remove: async (id: string): Promise<void> => {
      const thing = requireFound(await find(id), kind, id);
      await removeDependents(thing);
      await tx.deleteFrom(table).where("id", "=", id).execute();
      recorded(thing, thing, null);
    },
  };
}

const readerOf = ({ tx, nowMs }: Work): Reader => kyselyReader(tx, { clock: { now: () => nowMs }, cipher: null });

export function tenantWrites(work: Work): Pick<Writer, "createTenant" | "changeTenant" | "removeTenant"> {
  const { tx } = work;
  const { create, change, remove } = writesOf<StoredTenant>(work, {
    kind: "tenant",
    table: "tenants",
    fields: TENANT_FIELDS,
    find: (id) => readerOf(work).findTenant(id),
    placeOf: ({ id }) => ({ tenantId: id, projectId: null }),
    async removeDependents({ id }) {
      if ((await tx.selectFrom("tenants").select("id").where("id", "!=", id).limit(1).executeTakeFirst()) === undefined)
        throw new StoreError("conflict", "The last tenant cannot be removed.");
      for (const project of await tx.selectFrom("projects").select("id").where("tenant_id", "=", id).execute())
        await projectWrites(work).removeProject(project.id);
      for (const user of await tx.selectFrom("users").select("id").where("tenant_id", "=", id).execute())
        await userWrites(work).removeUser(user.id);
      await removeResourcesOf(work, id, null);
      // Encrypted credentials must not outlive their tenant, nor become available to another tenant of the same name.
      await tx.deleteFrom("version_changes").where("tenant_id", "=", id).execute();
      await tx.deleteFrom("call_content").where("tenant_id", "=", id).execute();
      await tx.deleteFrom("content_key").where("tenant_id", "=", id).execute();
      work.steps.splice(
        0,
        work.steps.length,
        ...work.steps.filter((step) => (step.after ?? step.before)!.tenantId !== id),
      );
    },
  });
  return { createTenant: create, changeTenant: change, removeTenant: remove };
}

export function projectWrites(work: Work): Pick<Writer, "createProject" | "changeProject" | "removeProject"> {
  const { tx } = work;
  const { create, change, remove } = writesOf<Project>(work, {
    kind: "project",
    table: "projects",
    fields: PROJECT_FIELDS,
    find: (id) => readerOf(work).findProject(id),
    async check({ id, tenantId }) {
      if ((await readerOf(work).findProject(id)) !== null) return;
      await requireRoomFor(work, rowsOfTenant(work, "projects", tenantId), MOST_STORED.projects, "projects");
      // The people of a former project of this id may have been others: nothing of its versions can be read or come back.
      await tx.deleteFrom("version_changes").where("tenant_id", "=", tenantId).where("project_id", "=", id).execute();
    },
    placeOf: ({ id, tenantId }) => ({ tenantId, projectId: id }),
    async removeDependents({ id, tenantId }) {
      for (const { user_id: userId } of await tx
        .selectFrom("memberships")
        .select("user_id")
        .where("project_id", "=", id)
        .execute())
        await removeMembership(work, userId, id);
      for (const token of await tx.selectFrom("access_tokens").select("id").where("project_id", "=", id).execute())
        await tokenWrites(work).removeToken(token.id);
      await removeResourcesOf(work, tenantId, id);
      // Another project of the same name may have other members.
      await tx.deleteFrom("call_content").where("tenant_id", "=", tenantId).where("project_id", "=", id).execute();
    },
  });
  return { createProject: create, changeProject: change, removeProject: remove };
}

export function userWrites(work: Work): Pick<Writer, "createUser" | "changeUser" | "removeUser"> {
  const { tx } = work;
  const reader = readerOf(work);
  const { create, change, remove } = writesOf<StoredUser>(work, {
    kind: "user",
    table: "users",
    fields: USER_FIELDS,
    find: (id) => reader.findUser(id),
    placeOf: ({ tenantId }) => ({ tenantId, projectId: null }),
    async check({ id, tenantId, login }) {
      const other = login == null ? null : await reader.findUserByLogin(tenantId, login.issuer, login.subject);
      if (other !== null && other.id !== id)
        throw new StoreError("exists", "Another user of the tenant already has this login.");
      if ((await reader.findUser(id)) === null)
        await requireRoomFor(work, rowsOfTenant(work, "users", tenantId), MOST_STORED.users, "users");
    },
    async removeDependents({ id, tenantId }) {
      // a session may have its rights from elsewhere: from the claims of a company login
      for (const table of ["console_sessions", "console_codes"] as const)
        await tx.deleteFrom(table).where("tenant_id", "=", tenantId).where("user_id", "=", id).execute();
      for (const token of await tx.selectFrom("access_tokens").select("id").where("user_id", "=", id).execute())
        await tokenWrites(work).removeToken(token.id);
      for (const { project_id: projectId } of await tx
        .selectFrom("memberships")
        .select("project_id")
        .where("user_id", "=", id)
        .execute())
        await removeMembership(work, id, projectId);
      await revokeClaimsOf(work, { id, tenantId });
      await removeViewsOf(work, tenantId, id);
      // Another user may take the id later, and must not see what was typed here, nor get an answer to an earlier request.
      // A person with a company login of another tenant may have it now.
      await tx.deleteFrom("drafts").where("tenant_id", "=", tenantId).where("owner", "=", id).execute();
      await tx.deleteFrom("kept_answers").where("token_id", "=", `${LINKED}${id}`).execute();
    },
  });
  return { createUser: create, changeUser: change, removeUser: remove };
}

const ofUser = (userId: string, projectId: string | null) =>
  exactly<Schema["memberships"]>({ user_id: userId, project_id: projectId });

function recordMembership(
  work: Work,
  membership: Membership,
  before: Membership | null,
  after: Membership | null,
): void {
  const { userId, tenantId, projectId } = membership;
  record(work, {
    kind: "membership",
    id: `${userId}/${projectId ?? ""}`,
    name: null,
    tenantId,
    projectId,
    before: before && auditedMembership(before),
    after: after && auditedMembership(after),
  });
}

export async function putMembership(work: Work, membership: Membership): Promise<Kept<Membership>> {
  const { tx, nowMs } = work;
  const { userId, tenantId, projectId, role } = membership;
  await requireInTenant(tx, "users", userId, tenantId);
  if (projectId !== null) await requireInTenant(tx, "projects", projectId, tenantId);
  const reader = readerOf(work);
  const before = await reader.findMembership(userId, projectId);
  if (before === null) {
    await requireRoomFor(work, rowsOfTenant(work, "memberships", tenantId), MOST_STORED.memberships, "roles of users");
    await tx
      .insertInto("memberships")
      .values({ ...rowOf(MEMBERSHIP, membership), ...createdAt(nowMs) })
      .execute();
  } else
    await tx
      .updateTable("memberships")
      .set({ role, ...changed(before, nowMs) })
      .where(ofUser(userId, projectId))
      .execute();
  recordMembership(work, membership, before, membership);
  return (await reader.findMembership(userId, projectId))!;
}

export async function removeMembership(work: Work, userId: string, projectId: string | null): Promise<void> {
  const { tx, nowMs } = work;
  const membership = requireFound(await readerOf(work).findMembership(userId, projectId), "membership of", userId);
  await tx.deleteFrom("memberships").where(ofUser(userId, projectId)).execute();
  recordMembership(work, membership, membership, null);
  if (
    (await tx.selectFrom("memberships").select("role").where("user_id", "=", userId).limit(1).executeTakeFirst()) !==
    undefined
  )
    return;
  const live = await tx
    .selectFrom("access_tokens")
    .select("id")
    .where("user_id", "=", userId)
    .where("revoked_at_ms", "is", null)
    .execute();
  for (const { id } of live)
    await changeToken(
      work,
      id,
      (token) => ({ ...token, revokedAtMs: nowMs }),
      "The user's last membership was removed in the meantime.",
    );
  await revokeClaimsOf(work, { id: userId, tenantId: membership.tenantId });
}
