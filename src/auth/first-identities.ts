// The identities that a first start makes: a tenant, a project, an owner, and a project token that is shown once.
import { UNRESTRICTED } from "../core/identity.ts";
import type { StoredToken } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { DEFAULT_LIFETIME_MS, newAccessToken, type ParsedToken } from "./tokens/access-token.ts";

const FIRST_TENANT = { id: "default", name: "Default" };
const FIRST_PROJECT = { id: "default", tenantId: FIRST_TENANT.id, name: "Default" };
/** The user whom the first start makes the owner. */
export const FIRST_USER = "owner";
const FIRST_IDENTITIES = {
  tenant: FIRST_TENANT,
  project: FIRST_PROJECT,
  user: { id: FIRST_USER, tenantId: FIRST_TENANT.id, name: "Owner", isOperator: true },
  membership: { userId: FIRST_USER, tenantId: FIRST_TENANT.id, projectId: null, role: "owner" },
} as const;

/**
 * The first start creates tenant and project `default`, user `owner`, and one project token, whose text is returned to
 * be shown once. With `given`, the operator has the text already, and there is nothing to show. Returns `null` when they
 * already exist; nothing is changed then.
 */
export function bootstrap(store: Store, nowMs: number): Promise<{ readonly token: string } | null>;
export function bootstrap(
  store: Store,
  nowMs: number,
  given: ParsedToken | null,
): Promise<{ readonly token: string | null } | null>;
export async function bootstrap(
  store: Store,
  nowMs: number,
  given: ParsedToken | null = null,
): Promise<{ readonly token: string | null } | null> {
  const made = newAccessToken("project");
  const { id, sha256 } = given ?? made;
  const lifetimeMs = DEFAULT_LIFETIME_MS.project;
  const token: StoredToken = {
    id,
    kind: "project",
    name: "first",
    tenantId: FIRST_TENANT.id,
    projectId: FIRST_PROJECT.id,
    userId: null,
    role: "developer",
    permissions: [],
    ...UNRESTRICTED,
    secrets: [{ sha256, retiresAtMs: null }],
    createdAtMs: nowMs,
    lifetimeMs,
    expiresAtMs: nowMs + lifetimeMs,
    revokedAtMs: null,
  };
  return (await store.createFirst({ ...FIRST_IDENTITIES, token }))
    ? { token: given === null ? made.text : null }
    : null;
}

/**
 * Creates what the first start creates except the project token, which the first start still makes and shows. Returns
 * false when a tenant already exists.
 */
export function makeOwner(store: Store): Promise<boolean> {
  return store.createFirst({ ...FIRST_IDENTITIES, token: null });
}
