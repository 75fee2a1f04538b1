// What `GET /console/api/me` says of somebody who is logged in: who it is, until when, and what the person may do where. The page shows what it is told
// here and works out no right by itself.
import { ADMIN_OPERATIONS, type OperationScope } from "../../auth/admin-operations.ts";
import { RECENT_LOGIN_MS } from "../../auth/logins/console-sessions.ts";
import { adminCaller, type AdminCaller, roleAt } from "../../auth/grants.ts";
import { type AccessToken, makerOf, type Permission, type Role, ROLES, roleAtLeast } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import { reportingZone, type Snapshot } from "../../core/snapshot.ts";
import type { ConsoleContext, ConsoleStore } from "./console-context.ts";
import type { OpenSession } from "./sessions.ts";

/** Operators reach every place, and the page asks the admin API for those that are not listed. */
const MAX_PLACES = 500;

export async function describeMe(
  open: OpenSession,
  snapshot: Snapshot,
  { store, clock }: Pick<ConsoleContext, "store" | "clock">,
  logins: JsonObject,
): Promise<JsonObject> {
  const { session, token, idleEndsAtMs } = open;
  const caller = adminCaller(token, snapshot);
  const { places, areMore } = await placesOf(caller, snapshot, store);
  const user = token.userId === null ? null : await store.findUser(token.userId);
  const roles = ROLES.filter((role) => places.some((place) => place.role === role));
  const verbs = (reach: OperationScope, role: Role): readonly string[] =>
    allowedOperations(reach, role, token.permissions);
  return {
    user:
      token.userId === null ? null : { id: token.userId, name: user?.name ?? token.name, email: user?.email ?? null },
    token: session.tokenId === null ? null : { id: token.id, kind: token.kind, name: token.name },
    tenant_id: token.tenantId,
    project_id: token.projectId,
    operator: caller.isOperator,
    permissions: token.permissions,
    places,
    more_places: areMore,
    can: {
      own: verbs("own", "owner"),
      operator: caller.isOperator ? verbs("operator", "owner") : [],
      tenant: Object.fromEntries(roles.map((role) => [role, verbs("tenant", role)])),
      project: Object.fromEntries(roles.map((role) => [role, verbs("project", role)])),
    },
    session: {
      id: session.id,
      login: session.way,
      started_at: iso(session.startedAtMs),
      ends_at: iso(session.endsAtMs),
      idle_ends_at: iso(Math.min(idleEndsAtMs, session.endsAtMs)),
      recent_until: iso(session.startedAtMs + RECENT_LOGIN_MS),
    },
    timezone: reportingZone(null, snapshot),
    default_views: await defaultViews(token, places, store),
    logins,
    now: iso(clock.now()),
  };
}

/** With what screens begin, of the person and of the projects that the person may see. */
async function defaultViews(
  token: AccessToken,
  places: readonly Place[],
  store: ConsoleStore,
): Promise<readonly JsonObject[]> {
  const views = await store.listDefaultViews(token.tenantId, makerOf(token));
  const seen = new Set(places.map(({ project_id: project }) => project));
  return views.flatMap(({ owner, screen, query }) =>
    owner.projectId === null || seen.has(owner.projectId) ? [{ project_id: owner.projectId, screen, query }] : [],
  );
}

interface Place extends JsonObject {
  readonly tenant_id: string;
  readonly project_id: string | null;
  readonly name: string;
  readonly role: Role;
  /** Of the reports of its tenant. */
  readonly timezone: string;
}

async function placesOf(
  caller: AdminCaller,
  snapshot: Snapshot,
  store: ConsoleStore,
): Promise<{ readonly places: readonly Place[]; readonly areMore: boolean }> {
  const own = await store.findTenant(caller.token.tenantId);
  const others = caller.isOperator ? await store.listTenants({ limit: MAX_PLACES }) : { data: [], nextCursor: null };
  const tenants = [...(own === null ? [] : [own]), ...others.data.filter(({ id }) => id !== own?.id)];
  const all = [
    ...tenants.map(({ id, name }) => ({ tenant_id: id, project_id: null, name })),
    ...[...snapshot.projects.values()].map(({ id, tenantId, name }) => ({
      tenant_id: tenantId,
      project_id: id,
      name,
    })),
  ];
  const places = all.flatMap((place) => {
    const role = roleAt(caller, { tenantId: place.tenant_id, projectId: place.project_id });
    return role === null ? [] : [{ ...place, role, timezone: reportingZone(place.tenant_id, snapshot) }];
  });
  return {
    places: places.slice(0, MAX_PLACES),
    areMore: places.length > MAX_PLACES || others.nextCursor !== null,
  };
}

function allowedOperations(reach: OperationScope, role: Role, permissions: readonly Permission[]): readonly string[] {
  return [...ADMIN_OPERATIONS].flatMap(([id, needed]) =>
    needed.reach === reach &&
    roleAtLeast(role, needed.role) &&
    (needed.permission === undefined || permissions.includes(needed.permission))
      ? [id]
      : [],
  );
}

const iso = (ms: number): string => new Date(ms).toISOString();
