// A snapshot's identities for tests of auth: what authenticate and authorize read, and an opened store with a few users
// in it.
import type { AccessToken, Membership, Project } from "../../src/core/identity.ts";
import type { Snapshot } from "../../src/core/snapshot.ts";
import type { Identities } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { openSqliteDatabase } from "../../src/store/sqlite.ts";
import { writes } from "../harness/store-writes.ts";

export type IdentityMaps = Pick<Snapshot, "tokens" | "tokensByHash" | "projects" | "memberships">;

export function identityMaps(identities: Pick<Identities, "tokens" | "projects" | "memberships">): IdentityMaps {
  return {
    tokens: new Map(identities.tokens.map((token): [string, AccessToken] => [token.id, token])),
    tokensByHash: new Map(),
    projects: new Map(identities.projects.map((project): [string, Project] => [project.id, project])),
    memberships: Map.groupBy(identities.memberships, (membership): string => membership.userId) as ReadonlyMap<
      string,
      readonly Membership[]
    >,
  };
}

/** Tenant acme with the projects site and app, tenant beta with the project lab; ann is developer in site, bob has no role, zoe is admin of beta. */
export async function peopledStore(): Promise<Store> {
  const { store } = await openSqliteDatabase({ file: ":memory:" });
  await store.migrate();
  for (const id of ["acme", "beta"]) await writes(store).createTenant({ id, name: id });
  for (const [id, tenantId] of [
    ["site", "acme"],
    ["app", "acme"],
    ["lab", "beta"],
  ] as const)
    await writes(store).createProject({ id, tenantId, name: id });
  for (const [id, tenantId] of [
    ["ann", "acme"],
    ["bob", "acme"],
    ["zoe", "beta"],
  ] as const)
    await writes(store).createUser({ id, tenantId, name: id });
  await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: "site", role: "developer" });
  await writes(store).putMembership({ userId: "zoe", tenantId: "beta", projectId: null, role: "admin" });
  return store;
}

/** The GatewayError or Error that `attempt` throws. */
export async function thrownBy(
  attempt: () => unknown,
): Promise<Error & { readonly code?: string; readonly param?: string | null }> {
  try {
    await attempt();
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  throw new Error("It was expected to throw, and did not.");
}
