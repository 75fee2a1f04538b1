// The store over any database that Kysely speaks to: the queries that all drivers share. No SQL of one database stands here.
import type { Kysely, Selectable, Transaction } from "kysely";
import { NOT_NARROWED, type Membership, type Project, type Tenant, type User } from "../core/identity.ts";
import { migrate, WATCHED } from "./migrations.ts";
import { fromHex, fromInteger, fromIntegerOrNull, fromPermissions, fromRole, toHex, toInteger, toIntegerOrNull, type Schema } from "./schema.ts";
import type { FirstIdentities, Identities, StoredTenant, StoredToken, TokenCaps } from "./records.ts";
import { StoreError, type Store } from "./store.ts";

type Db = Kysely<Schema>;
type Tx = Transaction<Schema>;
type IdentifiedTable = "tenants" | "projects" | "users" | "access_tokens";

/** `databaseName` begins a sentence in messages. */
export function kyselyStore(db: Db, databaseName: string, close: () => Promise<void>): Store {
  const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => writing(db, work);
  return {
    migrate: () => migrate(db, databaseName),
    revision: () => revision(db),
    readIdentities: () => db.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(readIdentities),

    // Asked before the lock too, so that an ordinary start does not move the revision.
    createFirst: async (first) => !(await hasTenant(db)) && write((tx) => createFirst(tx, first)),
    createTenant: (tenant) => write((tx) => createTenant(tx, tenant)),
    setTokenCaps: (tenantId, caps) => write((tx) => setTokenCaps(tx, tenantId, caps)),
    createProject: (project) => write((tx) => createProject(tx, project)),
    createUser: (user) => write((tx) => createUser(tx, user)),
    removeUser: (userId) => write(async (tx) => (await tx.deleteFrom("users").where("id", "=", userId).executeTakeFirst()).numDeletedRows > 0n),
    putMembership: (membership) => write((tx) => putMembership(tx, membership)),
    removeMembership: (userId, projectId, atMs) => write((tx) => removeMembership(tx, userId, projectId, atMs)),

    insertToken: (token) => write((tx) => insertToken(tx, token)),
    changeToken: (tokenId, change) => write((tx) => changeToken(tx, tokenId, change)),
    close,
  };
}

/**
 * One transaction of writes. It moves the revision first: that row is the lock under which reading, deciding and writing is one step on
 * every database, in whatever isolation its transactions run.
 */
function writing<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (tx) => {
    await tx
      .updateTable("revisions")
      .set((row) => ({ counter: row("counter", "+", 1n) }))
      .where("name", "=", WATCHED)
      .execute();
    return work(tx);
  });
}

async function revision(db: Db): Promise<string> {
  const row = await db.selectFrom("revisions").select("counter").where("name", "=", WATCHED).executeTakeFirstOrThrow();
  return row.counter.toString();
}

async function readIdentities(tx: Tx): Promise<Identities> {
  const tenants = await tx.selectFrom("tenants").selectAll().orderBy("id").execute();
  const projects = await tx.selectFrom("projects").selectAll().orderBy("id").execute();
  const users = await tx.selectFrom("users").selectAll().orderBy("id").execute();
  const memberships = await tx.selectFrom("memberships").selectAll().orderBy("user_id").orderBy("project_id").execute();
  const tokens = await tx.selectFrom("access_tokens").selectAll().orderBy("id").execute();
  const secrets = Map.groupBy(await tx.selectFrom("token_secrets").selectAll().orderBy("sha256").execute(), (secret) => secret.token_id);
  return {
    tenants: tenants.map(tenantOf),
    projects: projects.map((row): Project => ({ id: row.id, tenantId: row.tenant_id, name: row.name })),
    users: users.map((row): User => ({ id: row.id, tenantId: row.tenant_id, name: row.name })),
    memberships: memberships.map((row): Membership => ({ userId: row.user_id, tenantId: row.tenant_id, projectId: row.project_id, role: fromRole(row.role) })),
    tokens: tokens.map((row) => tokenOf(row, secrets.get(row.id) ?? [])),
  };
}

async function hasTenant(db: Db): Promise<boolean> {
  return (await db.selectFrom("tenants").select("id").limit(1).executeTakeFirst()) !== undefined;
}

async function createFirst(tx: Tx, first: FirstIdentities): Promise<boolean> {
  if (await hasTenant(tx)) return false;
  await createTenant(tx, first.tenant);
  await createProject(tx, first.project);
  await createUser(tx, first.user);
  await putMembership(tx, first.membership);
  await insertToken(tx, first.token);
  return true;
}

async function createTenant(tx: Tx, tenant: StoredTenant): Promise<void> {
  await refuseTaken(tx, "tenants", tenant.id);
  await tx
    .insertInto("tenants")
    .values({ id: tenant.id, name: tenant.name, ...capColumns(tenant.tokenCaps ?? NO_CAPS) })
    .execute();
}

async function setTokenCaps(tx: Tx, tenantId: string, caps: TokenCaps): Promise<void> {
  const { numUpdatedRows } = await tx.updateTable("tenants").set(capColumns(caps)).where("id", "=", tenantId).executeTakeFirst();
  if (numUpdatedRows === 0n) throw unknown(`tenant ${JSON.stringify(tenantId)}`);
}

async function createProject(tx: Tx, project: Project): Promise<void> {
  await demandTenant(tx, project.tenantId);
  await refuseTaken(tx, "projects", project.id);
  await tx.insertInto("projects").values({ id: project.id, tenant_id: project.tenantId, name: project.name }).execute();
}

async function createUser(tx: Tx, user: User): Promise<void> {
  await demandTenant(tx, user.tenantId);
  await refuseTaken(tx, "users", user.id);
  await tx.insertInto("users").values({ id: user.id, tenant_id: user.tenantId, name: user.name }).execute();
}

async function putMembership(tx: Tx, membership: Membership): Promise<void> {
  await demandInTenant(tx, "users", membership.userId, membership.tenantId);
  if (membership.projectId !== null) await demandInTenant(tx, "projects", membership.projectId, membership.tenantId);
  await deleteMembership(tx, membership.userId, membership.projectId);
  await tx.insertInto("memberships").values({ tenant_id: membership.tenantId, user_id: membership.userId, project_id: membership.projectId, role: membership.role }).execute();
}

async function deleteMembership(tx: Tx, userId: string, projectId: string | null): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom("memberships")
    .where("user_id", "=", userId)
    .where("project_id", projectId === null ? "is" : "=", projectId)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

async function removeMembership(tx: Tx, userId: string, projectId: string | null, atMs: number): Promise<boolean> {
  if (!(await deleteMembership(tx, userId, projectId))) return false;
  const left = await tx.selectFrom("memberships").select("role").where("user_id", "=", userId).limit(1).executeTakeFirst();
  if (left === undefined)
    await tx
      .updateTable("access_tokens")
      .set({ revoked_at_ms: toInteger(atMs) })
      .where("user_id", "=", userId)
      .where("revoked_at_ms", "is", null)
      .execute();
  return true;
}

async function insertToken(tx: Tx, token: StoredToken): Promise<void> {
  if (token.projectId !== null) await demandInTenant(tx, "projects", token.projectId, token.tenantId);
  if (token.userId !== null) await demandInTenant(tx, "users", token.userId, token.tenantId);
  await refuseTaken(tx, "access_tokens", token.id);
  await tx
    .insertInto("access_tokens")
    .values({
      id: token.id,
      kind: token.kind,
      tenant_id: token.tenantId,
      project_id: token.projectId,
      user_id: token.userId,
      role: token.role,
      created_at_ms: toInteger(token.createdAtMs),
      ...changeableColumns(token),
    })
    .execute();
  await insertSecrets(tx, token);
}

async function changeToken(tx: Tx, tokenId: string, change: (token: StoredToken) => StoredToken): Promise<StoredToken | null> {
  const row = await tx.selectFrom("access_tokens").selectAll().where("id", "=", tokenId).executeTakeFirst();
  if (row === undefined) return null;
  const secrets = await tx.selectFrom("token_secrets").selectAll().where("token_id", "=", tokenId).orderBy("sha256").execute();
  const changed = change(tokenOf(row, secrets));
  await tx.updateTable("access_tokens").set(changeableColumns(changed)).where("id", "=", tokenId).execute();
  await tx.deleteFrom("token_secrets").where("token_id", "=", tokenId).execute();
  await insertSecrets(tx, { ...changed, id: tokenId });
  return changed;
}

async function insertSecrets(tx: Tx, token: StoredToken): Promise<void> {
  if (token.secrets.length === 0) return;
  const rows = token.secrets.map((secret) => ({ token_id: token.id, sha256: toHex(secret.sha256), retires_at_ms: toIntegerOrNull(secret.retiresAtMs) }));
  await tx.insertInto("token_secrets").values(rows).execute();
}

// rows and values

const DAY_MS = 86_400_000;
const NO_CAPS: TokenCaps = { personalDays: null, projectDays: null };

function capColumns(caps: TokenCaps) {
  return {
    personal_token_max_ms: caps.personalDays === null ? null : toInteger(caps.personalDays * DAY_MS),
    project_token_max_ms: caps.projectDays === null ? null : toInteger(caps.projectDays * DAY_MS),
  };
}

function tenantOf(row: Selectable<Schema["tenants"]>): StoredTenant {
  const tenant: Tenant = { id: row.id, name: row.name };
  if (row.personal_token_max_ms === null && row.project_token_max_ms === null) return tenant;
  const days = (ms: bigint | null): number | null => (ms === null ? null : fromInteger(ms) / DAY_MS);
  return { ...tenant, tokenCaps: { personalDays: days(row.personal_token_max_ms), projectDays: days(row.project_token_max_ms) } };
}

function changeableColumns(token: StoredToken) {
  return {
    name: token.name,
    permissions: JSON.stringify(token.permissions),
    lifetime_ms: toInteger(token.lifetimeMs),
    expires_at_ms: toInteger(token.expiresAtMs),
    revoked_at_ms: toIntegerOrNull(token.revokedAtMs),
  };
}

function tokenOf(row: Selectable<Schema["access_tokens"]>, secrets: readonly Selectable<Schema["token_secrets"]>[]): StoredToken {
  return {
    id: row.id,
    kind: row.kind === "personal" ? "personal" : "project",
    name: row.name,
    tenantId: row.tenant_id,
    projectId: row.project_id,
    userId: row.user_id,
    role: row.role === null ? null : fromRole(row.role),
    permissions: fromPermissions(row.permissions),
    ...NOT_NARROWED,
    secrets: secrets.map((secret) => ({ sha256: fromHex(secret.sha256), retiresAtMs: fromIntegerOrNull(secret.retires_at_ms) })),
    createdAtMs: fromInteger(row.created_at_ms),
    expiresAtMs: fromInteger(row.expires_at_ms),
    revokedAtMs: fromIntegerOrNull(row.revoked_at_ms),
    lifetimeMs: fromInteger(row.lifetime_ms),
  };
}

// what has to be there, and what must not: asked under the lock, so that the answer holds until the commit

const SINGULAR: Readonly<Record<IdentifiedTable, string>> = { tenants: "tenant", projects: "project", users: "user", access_tokens: "access token" };
const unknown = (what: string): StoreError => new StoreError("unknown", `There is no ${what}.`);

async function refuseTaken(tx: Tx, table: IdentifiedTable, id: string): Promise<void> {
  const row = await tx.selectFrom(table).select("id").where("id", "=", id).executeTakeFirst();
  if (row !== undefined) throw new StoreError("exists", `The id ${JSON.stringify(id)} is taken by another ${SINGULAR[table]}.`);
}

async function demandTenant(tx: Tx, tenantId: string): Promise<void> {
  const row = await tx.selectFrom("tenants").select("id").where("id", "=", tenantId).executeTakeFirst();
  if (row === undefined) throw unknown(`tenant ${JSON.stringify(tenantId)}`);
}

async function demandInTenant(tx: Tx, table: "projects" | "users", id: string, tenantId: string): Promise<void> {
  const row = await tx.selectFrom(table).select("id").where("id", "=", id).where("tenant_id", "=", tenantId).executeTakeFirst();
  if (row === undefined) throw unknown(`${SINGULAR[table]} ${JSON.stringify(id)} in the tenant ${JSON.stringify(tenantId)}`);
}
