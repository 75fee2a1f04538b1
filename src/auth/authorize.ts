// Determines what a token may do with one request: its tenant, its project, its role there, and its special permissions
// (promises 2.1 to 2.4).

// Decides (who may call, and with what): Which project and role has a call, and which permissions does it need? By:
// `requireInference` before the body, `authorize` after it. Also: `engine/handle.ts` (`requestedScope`). Rule: The
// token's own, or the one that the body names, or else the header; another one than the token's is refused. Roles and memberships are read from the snapshot in
// every call, so a lost role ends within a second.
import { GatewayError } from "../core/errors.ts";
import { insufficientRole } from "../core/refusals.ts";
import {
  highestRole,
  roleAtLeast,
  type AccessToken,
  type Membership,
  type Permission,
  type Principal,
  type Role,
} from "../core/identity.ts";
import { memoizePerObject } from "../core/memoization.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { requireMoreThanOps, roleOfMember, roleOfProjectToken, runsGateway } from "./grants.ts";
import { membershipsOf } from "./memberships.ts";
import { restrictionsOf, toolRestrictionOf } from "./permitted-models.ts";

/**
 * What the request names and asks for. Body and headers are merged already, and the body takes precedence. `null` means
 * not named.
 */
export interface RequestedScope {
  readonly tenantId: string | null;
  readonly projectId: string | null;
  /** Each special permission with the first field that needs it. */
  readonly needs: ReadonlyMap<Permission, string>;
}

type Scopes = Pick<Snapshot, "projects" | "memberships">;

const LISTED_PROJECTS = 50;

/**
 * Throws GatewayError `insufficient_role`, `scope_mismatch`, `project_required` (its message lists the visible
 * projects) or `permission_required` (`param` is the field). A project that does not exist and one of another tenant
 * get the same answer.
 */
export function authorize(token: AccessToken, scope: RequestedScope, snapshot: Scopes): Principal {
  requireMoreThanOps(token);
  requireOwnTenant(token, scope.tenantId);
  const { projectId, role } =
    token.kind === "project" ? ownProject(token, scope, snapshot) : usersProject(token, scope, snapshot);
  requireDeveloper(role);
  const permissions = permissionsOf(token);
  requirePermissions(permissions, scope.needs);
  const permitsTool = toolRestrictionOf(token);
  return {
    tokenId: token.id,
    tokenKind: token.kind,
    tenantId: token.tenantId,
    projectId,
    userId: token.userId,
    role,
    permissions,
    restrictions: restrictionsOf(token),
    ...(permitsTool !== null && { permitsTool }),
  };
}

/**
 * The token as it is seen in the tenant and project that a request names, for lists of what can be called there, which
 * any role may read; as it is where none is named. Operators may read those of every tenant. Throws GatewayError
 * `scope_mismatch`.
 */
export function inNamedProject(
  token: AccessToken,
  { tenantId, projectId }: Omit<RequestedScope, "needs">,
  snapshot: Scopes & Pick<Snapshot, "operators">,
): AccessToken {
  const place = projectId === null ? tenantId : snapshot.projects.get(projectId)?.tenantId;
  const isElsewhere = place != null && place !== token.tenantId && (tenantId === null || tenantId === place);
  if (isElsewhere && runsGateway(token, snapshot)) return { ...token, tenantId: place, projectId };
  requireOwnTenant(token, tenantId);
  if (projectId === null) return token;
  const named = { projectId, tenantId, needs: NO_NEEDS };
  const found = token.kind === "project" ? ownProject(token, named, snapshot) : usersProject(token, named, snapshot);
  return { ...token, projectId: found.projectId };
}

const NO_NEEDS: RequestedScope["needs"] = new Map();

function requireOwnTenant(token: AccessToken, tenantId: string | null): void {
  if (tenantId !== null && tenantId !== token.tenantId)
    throw new GatewayError("scope_mismatch", "The access token does not belong to the tenant that the request names.", {
      param: "tenant_id",
    });
}

/**
 * Checks what the token forbids whatever the body says, so that the body need not be read (promise 5.8). `needs` are
 * the permissions that the headers ask for. Throws the errors listed above.
 */
export function requireInference(token: AccessToken, needs: RequestedScope["needs"], snapshot: Scopes): void {
  requireMoreThanOps(token);
  if (token.kind === "project") requireDeveloper(ownProject(token, { projectId: null }, snapshot).role);
  else requireAnyProject(token, snapshot);
  requirePermissions(permissionsOf(token), needs);
}

/** The project of each call of the token; `null` where a request may name one of several. */
export function projectOf(token: AccessToken, { projects, memberships }: Scopes): string | null {
  if (token.kind === "project") return token.projectId;
  const visible = visibleProjects(token, membershipsOf(token, { memberships }), projects);
  return visible.length === 1 ? visible[0]! : null;
}

function requireAnyProject(token: AccessToken, { projects, memberships }: Scopes): void {
  const reaching = membershipsOf(token, { memberships }).filter(
    ({ projectId }) => projectId === null || projects.get(projectId)?.tenantId === token.tenantId,
  );
  const highest = highestRole(reaching.map(({ role }) => role));
  if (highest === null) throw noProject();
  requireDeveloper(highest);
}

function requireDeveloper(role: Role): void {
  if (!roleAtLeast(role, "developer"))
    throw insufficientRole(`Calls of models need the role developer or higher; the role here is ${role}.`);
}

const permissionsOf = memoizePerObject((token: AccessToken): ReadonlySet<Permission> => new Set(token.permissions));

function requirePermissions(permissions: ReadonlySet<Permission>, needs: RequestedScope["needs"]): void {
  for (const [permission, field] of needs) {
    if (!permissions.has(permission))
      throw new GatewayError(
        "permission_required",
        `The field ${field} needs the permission ${permission}, which this access token does not have.`,
        { param: field },
      );
  }
}

interface ProjectRole {
  readonly projectId: string;
  readonly role: Role;
}

function ownProject(token: AccessToken, scope: Pick<RequestedScope, "projectId">, { projects }: Scopes): ProjectRole {
  const { projectId } = token;
  if (
    projectId === null ||
    projects.get(projectId)?.tenantId !== token.tenantId ||
    (scope.projectId !== null && scope.projectId !== projectId)
  )
    throw projectMismatch();
  return { projectId, role: roleOfProjectToken(token) };
}

function usersProject(token: AccessToken, scope: RequestedScope, { projects, memberships }: Scopes): ProjectRole {
  const own = membershipsOf(token, { memberships });
  const projectId = scope.projectId ?? onlyProject(token, own, projects);
  const role = projects.get(projectId)?.tenantId === token.tenantId ? roleOfMember(own, projectId) : null;
  if (role === null) throw projectMismatch();
  return { projectId, role };
}

const projectMismatch = (): GatewayError =>
  new GatewayError(
    "scope_mismatch",
    "The access token has no access to the project of the request. `project_id` may be left out if the token has access to exactly one project.",
    { param: "project_id" },
  );

const noProject = (): GatewayError =>
  new GatewayError("project_required", "The access token's user has no role in any project.", { param: "project_id" });

function onlyProject(token: AccessToken, own: readonly Membership[], projects: Scopes["projects"]): string {
  const visible = visibleProjects(token, own, projects);
  if (visible.length === 1) return visible[0]!;
  if (visible.length === 0) throw noProject();
  const listed = visible.toSorted().slice(0, LISTED_PROJECTS).join(", ");
  const more = visible.length > LISTED_PROJECTS ? ` and ${visible.length - LISTED_PROJECTS} more` : "";
  throw new GatewayError(
    "project_required",
    `The access token has access to ${visible.length} projects. Send \`project_id\`, one of: ${listed}${more}.`,
    { param: "project_id" },
  );
}

/** The ids of the projects of each tenant. */
const projectsByTenant = memoizePerObject((projects: Scopes["projects"]) => {
  const grouped = Map.groupBy(projects.values(), ({ tenantId }) => tenantId);
  return new Map([...grouped].map(([tenantId, own]) => [tenantId, own.map(({ id }) => id)]));
});

function visibleProjects(
  token: AccessToken,
  own: readonly Membership[],
  projects: Scopes["projects"],
): readonly string[] {
  if (own.some((membership) => membership.projectId === null))
    return projectsByTenant(projects).get(token.tenantId) ?? [];
  const named = new Set<string>();
  for (const { projectId } of own)
    if (projectId !== null && projects.get(projectId)?.tenantId === token.tenantId) named.add(projectId);
  return [...named];
}
