// Writes of tenants, projects, users and memberships, over any database that Kysely supports. A removal
// also removes what depends on it, row by row, so that each has its entry in the audit log.
import { sql } from "kysely";
import type { Membership, Project } from "../../core/identity.ts";
import { kyselyReader } from "../kysely-reader.ts";
import { removeResourcesOf } from "../configuration/kysely-resource-writes.ts";
import {
  changed,
  requireInTenant,
  requireTenant,
  requireTexts,
  requireVersion,
  createdAt,
  record,
  refuseUsedId,
  requireFound,
  type Work,
} from "../kysely-work.ts";
import type { Kept, StoredTenant, StoredUser } from "../records.ts";
import {
  auditedMembership,
  auditedProject,
  auditedTenant,
  auditedUser,
  capColumns,
  NO_CAPS,
} from "../database/row-values.ts";
import { StoreError } from "../store.ts";
import type { ExpectedVersion, Writer } from "../writer.ts";
import { tokenWrites, changeToken } from "./kysely-token-writes.ts";
import { removeViewsOf } from "../configuration/kysely-view-writes.ts";

// Tenants.

export function tenantWrites(work: Work): Pick<Writer, "createTenant" | "changeTenant" | "removeTenant"> {
  const { tx, nowMs } = work;
  const reader = kyselyReader(tx, { clock: { now: () => nowMs }, cipher: null });
  const recorded = (id: string, before: StoredTenant | null, after: StoredTenant | null): void =>
    record(work, {
      kind: "tenant",
      id,
      name: (after ?? before)!.name,
      tenantId: id,
      projectId: null,
      before: before && auditedTenant(before),
      after: after && auditedTenant(after),
    });
  return {
    async createTenant(tenant) {
      requireTexts(tenant.name);
      await refuseUsedId(tx, "tenants", tenant.id);
      await tx
        .insertInto("tenants")
        .values({ id: tenant.id, name: tenant.name, ...capColumns(tenant.tokenCaps ?? NO_CAPS), ...createdAt(nowMs) })
        .execute();
      recorded(tenant.id, null, tenant);
      return (await reader.findTenant(tenant.id))!;
    },
    async changeTenant(id, change, expected) {
      const before = requireFound(await reader.findTenant(id), "tenant", id);
      requireVersion("tenant", before.version, expected);
      const after = change(before);
      requireTexts(after.name);
      await tx
        .updateTable("tenants")
        .set({ name: after.name, ...capColumns(after.tokenCaps ?? NO_CAPS), ...changed(before, nowMs) })
        .where("id", "=", id)
        .execute();
      recorded(id, before, after);
      return (await reader.findTenant(id))!;
    },
    async removeTenant(id, expected) {
      const tenant = requireFound(await reader.findTenant(id), "tenant", id);
      requireVersion("tenant", tenant.version, expected);
      if ((await tx.selectFrom("tenants").select("id").where("id", "!=", id).limit(1).executeTakeFirst()) === undefined)
        throw new StoreError("conflict", "The last tenant cannot be removed.");
      for (const project of await tx.selectFrom("projects").select("id").where("tenant_id", "=", id).execute())
        await projectWrites(work).removeProject(project.id);
      for (const user of await tx.selectFrom("users").select("id").where("tenant_id", "=", id).execute())
        await userWrites(work).removeUser(user.id);
      await removeResourcesOf(work, id, null);
      await tx.deleteFrom("tenants").where("id", "=", id).execute();
      // Encrypted credentials must not outlive their tenant, nor become available to another tenant of the same name.
      await tx.deleteFrom("version_changes").where("tenant_id", "=", id).execute();
      await sql`delete from call_content where tenant_id = ${id}`.execute(tx);
      await sql`delete from content_key where tenant_id = ${id}`.execute(tx);
      work.steps.splice(
        0,
        work.steps.length,
        ...work.steps.filter((step) => (step.after ?? step.before)!.tenantId !== id),
      );
      recorded(id, tenant, null);
    },
  };
}

// Projects.

export function projectWrites(work: Work): Pick<Writer, "createProject" | "changeProject" | "removeProject"> {
  const { tx, nowMs } = work;
  const reader = kyselyReader(tx, { clock: { now: () => nowMs }, cipher: null });
  const recorded = (project: Project, before: Project | null, after: Project | null): void =>
    record(work, {
      kind: "project",
      id: project.id,
      name: (after ?? before)!.name,
      tenantId: project.tenantId,
      projectId: project.id,
      before: before && auditedProject(before),
      after: after && auditedProject(after),
    });
  return {
    async createProject(project) {
      requireTexts(project.name);
      await requireTenant(tx, project.tenantId);
      await refuseUsedId(tx, "projects", project.id);
      await tx
        .insertInto("projects")
        .values({ id: project.id, tenant_id: project.tenantId, name: project.name, ...createdAt(nowMs) })
        .execute();
      recorded(project, null, project);
      return (await reader.findProject(project.id))!;
    },
    async changeProject(id, change, expected) {
      const before = requireFound(await reader.findProject(id), "project", id);
      requireVersion("project", before.version, expected);
      const after = change(before);
      requireTexts(after.name);
      await tx
        .updateTable("projects")
        .set({ name: after.name, ...changed(before, nowMs) })
        .where("id", "=", id)
        .execute();
      recorded(before, before, after);
      return (await reader.findProject(id))!;
    },
    async removeProject(id, expected) {
      const project = requireFound(await reader.findProject(id), "project", id);
      requireVersion("project", project.version, expected);
      for (const { user_id: userId } of await tx
        .selectFrom("memberships")
        .select("user_id")
        .where("project_id", "=", id)
        .execute())
        await removeMembership(work, userId, id);
      for (const token of await tx.selectFrom("access_tokens").select("id").where("project_id", "=", id).execute())
        await tokenWrites(work).removeToken(token.id);
      await removeResourcesOf(work, project.tenantId, id);
      await tx.deleteFrom("projects").where("id", "=", id).execute();
      // Another project of the same name may have other members.
      await sql`delete from call_content where tenant_id = ${project.tenantId} and project_id = ${id}`.execute(tx);
      recorded(project, project, null);
    },
  };
}

// Users and memberships.

export function userWrites(work: Work): Pick<Writer, "createUser" | "changeUser" | "removeUser"> {
  const { tx, nowMs } = work;
  const reader = kyselyReader(tx, { clock: { now: () => nowMs }, cipher: null });
  const recorded = (user: StoredUser, before: StoredUser | null, after: StoredUser | null): void =>
    record(work, {
      kind: "user",
      id: user.id,
      name: (after ?? before)!.name,
      tenantId: user.tenantId,
      projectId: null,
      before: before && auditedUser(before),
      after: after && auditedUser(after),
    });
  const columns = async (user: StoredUser) => {
    const { name, email = null, login = null } = user;
    requireTexts(name, email, login?.issuer, login?.subject);
    const other = login === null ? null : await reader.findUserByLogin(user.tenantId, login.issuer, login.subject);
    if (other !== null && other.id !== user.id)
      throw new StoreError("exists", "Another user of the tenant already has this login.");
    return {
      name,
      email,
      issuer: login?.issuer ?? null,
      subject: login?.subject ?? null,
      is_operator: user.isOperator === true ? 1n : 0n,
    };
  };
  return {
    async createUser(user) {
      await requireTenant(tx, user.tenantId);
      await refuseUsedId(tx, "users", user.id);
      await tx
        .insertInto("users")
        .values({ id: user.id, tenant_id: user.tenantId, ...(await columns(user)), ...createdAt(nowMs) })
        .execute();
      recorded(user, null, user);
      return (await reader.findUser(user.id))!;
    },
    async changeUser(id, change, expected) {
      const before = requireFound(await reader.findUser(id), "user", id);
      requireVersion("user", before.version, expected);
      const after = { ...change(before), id };
      await tx
        .updateTable("users")
        .set({ ...(await columns(after)), ...changed(before, nowMs) })
        .where("id", "=", id)
        .execute();
      recorded(before, before, after);
      return (await reader.findUser(id))!;
    },
    async removeUser(id, expected) {
      const user = requireFound(await reader.findUser(id), "user", id);
      requireVersion("user", user.version, expected);
      for (const token of await tx.selectFrom("access_tokens").select("id").where("user_id", "=", id).execute())
        await tokenWrites(work).removeToken(token.id);
      for (const { project_id: projectId } of await tx
        .selectFrom("memberships")
        .select("project_id")
        .where("user_id", "=", id)
        .execute())
        await removeMembership(work, id, projectId);
      await removeViewsOf(work, id);
      await tx.deleteFrom("users").where("id", "=", id).execute();
      recorded(user, user, null);
    },
  };
}

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

export async function putMembership(
  work: Work,
  membership: Membership,
  expected: ExpectedVersion,
): Promise<Kept<Membership>> {
  const { tx, nowMs } = work;
  const { userId, tenantId, projectId, role } = membership;
  await requireInTenant(tx, "users", userId, tenantId);
  if (projectId !== null) await requireInTenant(tx, "projects", projectId, tenantId);
  const reader = kyselyReader(tx, { clock: { now: () => nowMs }, cipher: null });
  const before = await reader.findMembership(userId, projectId);
  if (before === null && expected != null) throw new StoreError("stale", "The membership was removed in the meantime.");
  if (before !== null) requireVersion("membership", before.version, expected);
  if (before === null)
    await tx
      .insertInto("memberships")
      .values({ tenant_id: tenantId, user_id: userId, project_id: projectId, role, ...createdAt(nowMs) })
      .execute();
  else
    await tx
      .updateTable("memberships")
      .set({ role, ...changed(before, nowMs) })
      .where("user_id", "=", userId)
      .where("project_id", projectId === null ? "is" : "=", projectId)
      .execute();
  recordMembership(work, membership, before, membership);
  return (await reader.findMembership(userId, projectId))!;
}

export async function removeMembership(
  work: Work,
  userId: string,
  projectId: string | null,
  expected?: ExpectedVersion,
): Promise<void> {
  const { tx, nowMs } = work;
  const membership = requireFound(
    await kyselyReader(tx, { clock: { now: () => nowMs }, cipher: null }).findMembership(userId, projectId),
    "membership of",
    userId,
  );
  requireVersion("membership", membership.version, expected);
  await tx
    .deleteFrom("memberships")
    .where("user_id", "=", userId)
    .where("project_id", projectId === null ? "is" : "=", projectId)
    .execute();
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
      null,
      "The user's last membership was removed in the meantime.",
    );
}

// Access tokens.
