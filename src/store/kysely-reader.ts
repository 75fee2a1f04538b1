// The reads of the port over any database that Kysely supports, outside of a change and within one. Text from clients
// is always a parameter, never SQL.
import { type Kysely, type Selectable, sql } from "kysely";
import type { ConfiguredKind } from "../core/configured/configured.ts";
import type { Kept, Resource, StoredToken } from "./records.ts";
import type { Clock } from "../core/clock.ts";
import { DecryptionError, type SecretCipher } from "../config/secret-cipher.ts";
import { answerPlace, KEPT_ANSWER_MS } from "./configuration/kept-answers.ts";
import { findDelivery, listDeliveries } from "./events/event-rows.ts";
import { auditReader } from "./audit/kysely-audit.ts";
import { versionReader } from "./configuration/kysely-history.ts";
import { viewReader } from "./configuration/kysely-views.ts";
import { listSessions } from "./identity/kysely-sessions.ts";
import {
  byId,
  byNewest,
  containing,
  exactly,
  having,
  type ListKey,
  onPage,
  pageOf,
  readFirst,
  readPage,
  readPageOfLong,
} from "./database/pages.ts";
import type { Reader } from "./reader.ts";
import { membershipOf, projectOf, tenantOf, tokenOf, userOf } from "./database/row-values.ts";
import { maskedResource, resourceOf, type StoredResource } from "./configuration/resource-rows.ts";
import { fromInteger, keptIn, toInteger } from "./database/columns.ts";
import type { Schema } from "./schema.ts";
import { StoreError } from "./store-error.ts";
import { CLAIM } from "./identity/claims.ts";

export type Db = Kysely<Schema>;

export interface ReaderContext {
  readonly clock: Pick<Clock, "now">;
  readonly cipher: SecretCipher | null;
}

export function kyselyReader(db: Db, { clock, cipher }: ReaderContext): Reader {
  return {
    ...auditReader(db),
    ...versionReader(db),
    ...viewReader(db),
    findTenant: (id) => readFirst(db.selectFrom("tenants").selectAll().where("id", "=", id), tenantOf),
    findProject: (id) => readFirst(db.selectFrom("projects").selectAll().where("id", "=", id), projectOf),
    findUser: (id) => readFirst(db.selectFrom("users").selectAll().where("id", "=", id), userOf),
    findUserByLogin(tenantId, issuer, subject) {
      const ofLogin = exactly<Schema["users"]>({ tenant_id: tenantId, issuer, subject });
      return readFirst(db.selectFrom("users").selectAll().where(ofLogin), userOf);
    },
    findMembership(userId, projectId) {
      const ofUser = exactly<Schema["memberships"]>({ user_id: userId, project_id: projectId });
      return readFirst(db.selectFrom("memberships").selectAll().where(ofUser), membershipOf);
    },
    listDeliveries: (page, filter = {}) => listDeliveries(db, page, filter),
    findDelivery: (id) => findDelivery(db, id),
    findToken: (id) => findToken(db, id),
    findResource: (kind, id) => readFirst(resourceWith(db, kind, id), maskedOf),
    findResourceByName(kind, { tenantId, projectId }, name) {
      const named = exactly<Schema["resources"]>({ kind, tenant_id: tenantId, project_id: projectId, name });
      return readFirst(db.selectFrom("resources").selectAll().where(named), maskedOf);
    },
    findClaim: (codeHash) =>
      readFirst(db.selectFrom("token_claims").selectAll().where("code_hash", "=", codeHash), (row) =>
        keptIn(CLAIM, row),
      ),
    listClaims(page, { tenantId, projectId }) {
      const inPlace = having<Schema["token_claims"]>({ tenant_id: tenantId, project_id: projectId });
      return readPage(db.selectFrom("token_claims").selectAll().where(inPlace), page, CLAIMS, (row) =>
        keptIn(CLAIM, row),
      );
    },
    listSessions: (page, filter = {}) => listSessions(db, page, filter),
    listTenants(page, { id, search } = {}) {
      const of = having<Schema["tenants"]>({ id });
      const query = db.selectFrom("tenants").selectAll().where(of).where(containing(NAMED, search));
      return readPage(query, page, TENANTS, tenantOf);
    },
    listProjects(page, { tenantId, id, search } = {}) {
      const of = having<Schema["projects"]>({ tenant_id: tenantId, id });
      const query = db.selectFrom("projects").selectAll().where(of).where(containing(NAMED, search));
      return readPage(query, page, PROJECTS, projectOf);
    },
    listUsers(page, { tenantId, id, email, isOperator, search } = {}) {
      const operator = isOperator === undefined ? undefined : isOperator ? 1n : 0n;
      const of = having<Schema["users"]>({ tenant_id: tenantId, id, email, is_operator: operator });
      const query = db
        .selectFrom("users")
        .selectAll()
        .where(of)
        .where(containing([...NAMED, "email"], search));
      return readPage(query, page, USERS, userOf);
    },
    listMemberships(page, { tenantId, userId, projectId, role } = {}) {
      const of = having<Schema["memberships"]>({ tenant_id: tenantId, user_id: userId, project_id: projectId, role });
      return readPage(db.selectFrom("memberships").selectAll().where(of), page, MEMBERSHIPS, membershipOf);
    },
    async listTokens(page, { tenantId, projectId, userId, kind, state, search } = {}) {
      const nowMs = clock.now();
      let query = db
        .selectFrom("access_tokens")
        .selectAll()
        .where(having<Schema["access_tokens"]>({ tenant_id: tenantId, project_id: projectId, user_id: userId, kind }))
        .where(containing(NAMED, search))
        .$call(onPage(page, TOKENS));
      if (state !== undefined) query = query.where("revoked_at_ms", state === "revoked" ? "is not" : "is", null);
      if (state === "live") query = query.where("expires_at_ms", ">", toInteger(nowMs));
      if (state === "expired") query = query.where("expires_at_ms", "<=", toInteger(nowMs));
      const rows = await query.execute();
      const secrets = await secretsOf(
        db,
        rows.map(({ id }) => id),
      );
      return pageOf(rows, page, TOKENS, (row) => tokenOf(row, secrets.get(row.id) ?? []));
    },
    async hasLiveTokens({ tenantId, projectId, userId }, count) {
      const last = await db
        .selectFrom("access_tokens")
        .select("id")
        .where("tenant_id", "=", tenantId)
        .where(projectId === null ? "user_id" : "project_id", "=", projectId ?? userId)
        .where("revoked_at_ms", "is", null)
        .where("expires_at_ms", ">", toInteger(clock.now()))
        .limit(1)
        .offset(count - 1)
        .executeTakeFirst();
      return last !== undefined;
    },
    listResources(page, { kind, tenantId, projectId, name, setBy, search } = {}) {
      const at = { kind, tenant_id: tenantId, project_id: projectId, name, set_by: setBy };
      const of = having<Schema["resources"]>(at);
      const query = db.selectFrom("resources").selectAll().where(of).where(containing(NAMED, search));
      return readPageOfLong(query, page, RESOURCES, maskedOf, sql<bigint>`length(document)`);
    },
    async findAnswer(tokenId, key) {
      const query = db
        .selectFrom("kept_answers")
        .selectAll()
        .where("token_id", "=", tokenId)
        .where("answer_key", "=", key)
        .where("at_ms", ">", toInteger(clock.now() - KEPT_ANSWER_MS));
      return await readFirst(query, (row) => ({
        tokenId,
        key,
        requestHash: row.request_hash,
        status: fromInteger(row.status),
        body: cipher === null ? row.body : openedAnswer(cipher, row.body, tokenId, key),
      }));
    },
  };
}

export async function findToken(db: Db, id: string): Promise<Kept<StoredToken> | null> {
  const row = await db.selectFrom("access_tokens").selectAll().where("id", "=", id).executeTakeFirst();
  if (row === undefined) return null;
  return tokenOf(
    row,
    await db.selectFrom("token_secrets").selectAll().where("token_id", "=", id).orderBy("sha256").execute(),
  );
}

const resourceWith = (db: Db, kind: ConfiguredKind, id: string) =>
  db.selectFrom("resources").selectAll().where("id", "=", id).where("kind", "=", kind);

const maskedOf = (row: Selectable<Schema["resources"]>): Resource => maskedResource(resourceOf(row));

/** With its secrets encrypted. */
export function findStoredResource(db: Db, kind: ConfiguredKind, id: string): Promise<StoredResource | null> {
  return readFirst(resourceWith(db, kind, id), resourceOf);
}

const TENANTS = byId("tenants");
const PROJECTS = byId("projects");
const USERS = byId("users");
const MEMBERSHIPS: ListKey = {
  list: "memberships",
  columns: [
    ["user_id", "text"],
    ["project_id", "text or null"],
  ],
  newestFirst: false,
};
const TOKENS = byNewest("tokens", "created_at_ms");
const CLAIMS = byNewest("claims", "created_at_ms");
const RESOURCES: ListKey = {
  list: "resources",
  columns: [
    ["kind", "text"],
    ["name", "text or null"],
    ["id", "text"],
  ],
  newestFirst: false,
};
const NAMED = ["id", "name"];

/** The secrets of these tokens, by the id of the token. */
export async function secretsOf(
  db: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly Selectable<Schema["token_secrets"]>[]>> {
  if (ids.length === 0) return new Map();
  return Map.groupBy(
    await db
      .selectFrom("token_secrets")
      .selectAll()
      .where("token_id", "in", [...ids])
      .orderBy("sha256")
      .execute(),
    (secret) => secret.token_id,
  );
}

function openedAnswer(cipher: SecretCipher, body: string, tokenId: string, key: string): string {
  try {
    return cipher.decrypt(body, answerPlace(tokenId, key));
  } catch (error) {
    if (error instanceof DecryptionError)
      throw new StoreError(
        "encryption",
        `The stored response for this idempotency key cannot be decrypted: ${error.message}. Check whether the change was made, and use another key.`,
        error,
      );
    throw error;
  }
}
