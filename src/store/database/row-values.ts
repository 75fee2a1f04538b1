// Converts between rows and values of identities and of those who make changes, the same for every database. Those of resources are
// in configuration/resource-rows.ts.
import type { Selectable } from "kysely";
import type { Membership, Project, User } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import { membersOf, PROJECT_FIELDS, TENANT_FIELDS, USER_FIELDS } from "./identity-fields.ts";
import type { Actor, Kept, StoredTenant, StoredToken, StoredUser } from "../records.ts";
import { fromInteger, fromIntegerOrNull, fromRole, keptIn, type RowOf } from "./columns.ts";
import { KEPT, MEMBERSHIP, type Schema, TOKEN, TOKEN_SECRET } from "../schema.ts";

type Row<Table extends keyof Schema> = Selectable<Schema[Table]>;

const kept = (row: RowOf<typeof KEPT>) => keptIn(KEPT, row);

export const plainTenantOf = (row: Row<"tenants">): StoredTenant => ({ id: row.id, ...membersOf(TENANT_FIELDS, row) });
export const tenantOf = (row: Row<"tenants">): Kept<StoredTenant> => ({ ...plainTenantOf(row), ...kept(row) });

export const plainProjectOf = (row: Row<"projects">): Project => ({
  id: row.id,
  tenantId: row.tenant_id,
  ...membersOf(PROJECT_FIELDS, row),
  createdAtMs: fromIntegerOrNull(row.created_at_ms),
});
export const projectOf = (row: Row<"projects">): Kept<Project> => ({ ...plainProjectOf(row), ...kept(row) });

const storedUserOf = (row: Row<"users">): StoredUser => ({
  id: row.id,
  tenantId: row.tenant_id,
  ...membersOf(USER_FIELDS, row),
});
export const userOf = (row: Row<"users">): Kept<StoredUser> => ({ ...storedUserOf(row), ...kept(row) });
/** What calls read of a user. */
export function plainUserOf(row: Row<"users">): User {
  const { id, tenantId, name, isOperator, login } = storedUserOf(row);
  const createdAtMs = fromIntegerOrNull(row.created_at_ms);
  return {
    id,
    tenantId,
    name,
    createdAtMs,
    ...(isOperator === true && { isOperator }),
    ...(login != null && { login }),
  };
}

export const plainMembershipOf = (row: Row<"memberships">): Membership => keptIn(MEMBERSHIP, row);
export const membershipOf = (row: Row<"memberships">): Kept<Membership> => ({
  ...plainMembershipOf(row),
  ...kept(row),
});

export function plainTokenOf(row: Row<"access_tokens">, secrets: readonly Row<"token_secrets">[]): StoredToken {
  return {
    ...keptIn(TOKEN, row),
    secrets: secrets.map((secret) => keptIn(TOKEN_SECRET, secret)),
    ...(row.created_by !== null && { createdBy: row.created_by }),
  };
}
export function tokenOf(row: Row<"access_tokens">, secrets: readonly Row<"token_secrets">[]): Kept<StoredToken> {
  return {
    ...plainTokenOf(row, secrets),
    version: fromInteger(row.version),
    createdAtMs: fromInteger(row.created_at_ms),
    updatedAtMs: fromIntegerOrNull(row.updated_at_ms),
  };
}

export function actorColumns(actor: Actor) {
  return {
    actor_token_id: actor.tokenId,
    actor_user_id: actor.userId,
    actor_role: actor.role,
    actor_tenant_id: actor.tenantId,
    actor_address: actor.address,
  };
}

export function actorOf(
  row: Pick<Row<"audit_log">, "actor_token_id" | "actor_user_id" | "actor_role" | "actor_tenant_id" | "actor_address">,
): Actor {
  return {
    tokenId: row.actor_token_id,
    userId: row.actor_user_id,
    role: row.actor_role === null ? null : fromRole(row.actor_role),
    tenantId: row.actor_tenant_id,
    address: row.actor_address,
  };
}

// As the audit log shows them: with the names of the admin API, without secrets and their hashes.

export const auditedMembership = ({ role }: Membership): JsonObject => ({ role });
/** `nowMs` decides which of its secrets are live. */
export function auditedToken(token: StoredToken, nowMs: number): JsonObject {
  const { kind, name, userId, role, permissions, models, routes, tools, ipRanges, secrets, expiresAtMs, revokedAtMs } =
    token;
  return {
    kind,
    name,
    user_id: userId,
    role,
    permissions,
    models,
    routes,
    tools,
    ip: ipRanges,
    live_secrets: secrets.filter(({ retiresAtMs }) => retiresAtMs === null || retiresAtMs > nowMs).length,
    expires_at: isoOf(expiresAtMs),
    revoked_at: revokedAtMs === null ? null : isoOf(revokedAtMs),
  };
}

function isoOf(ms: number): string {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? `${ms} ms` : time.toISOString();
}
