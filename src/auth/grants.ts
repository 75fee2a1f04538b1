// Who may administer what (decisions 2.3, 2.4, 2.11). Pure: the caller and the place in, an answer or a GatewayError out. What belongs to others is answered
// as if it were not there.
import { GatewayError } from "../core/errors.ts";
import {
  type AccessToken,
  type Membership,
  OPS,
  type Permission,
  type Role,
  ROLES,
  roleAtLeast,
} from "../core/identity.ts";
import type { Snapshot } from "../core/snapshot.ts";
import type { Requirement } from "./admin-operations.ts";
import { membershipsOf } from "./memberships.ts";

/** A tenant, or one project of it. */
export interface Place {
  readonly tenantId: string;
  readonly projectId: string | null;
}

export interface AdminCaller {
  readonly token: AccessToken;
  /** A personal token of a user who has the right of an operator, or a login whose claims give it. */
  readonly isOperator: boolean;
  /** In the token's tenant. */
  readonly memberships: readonly Membership[];
}

export function adminCaller(token: AccessToken, snapshot: Pick<Snapshot, "memberships" | "operators">): AdminCaller {
  return { token, isOperator: runsGateway(token, snapshot), memberships: membershipsOf(token, snapshot) };
}

/** Project tokens never are, whoever made them. */
export function runsGateway(
  { userId, tenantId, isOperator: byLogin }: AccessToken,
  { operators }: Pick<Snapshot, "operators">,
): boolean {
  return userId !== null && (byLogin === true || operators.get(userId) === tenantId);
}

/** Throws `insufficient_role` for a token that has the permission `ops`: it reads figures of the whole gateway, and does nothing else. */
export function demandMoreThanOps({ permissions }: Pick<AccessToken, "permissions">): void {
  if (permissions.includes(OPS))
    throw new GatewayError(
      "insufficient_role",
      "This access token has the permission ops, and reads /metrics and /readyz?verbose alone. Use another token here.",
    );
}

const operatorNeeded = (): GatewayError =>
  new GatewayError(
    "insufficient_role",
    "This belongs to the operators of the gateway: it needs the personal token of a user who is one. An operator makes another user one.",
  );

/** Throws `insufficient_role`. What belongs to an operator is changed by operators only: a secret, a login or a role of such a user is worth as much as the right. */
export function demandOperator({ isOperator: is }: Pick<AdminCaller, "isOperator">, param: string): void {
  if (!is)
    throw new GatewayError(
      "insufficient_role",
      "The right of an operator is given, taken away and touched by operators of the gateway only.",
      { param },
    );
}

/** Null: none. A role in the tenant holds in each of its projects; a role in a project holds there only. */
export function roleAt({ token, isOperator, memberships }: AdminCaller, { tenantId, projectId }: Place): Role | null {
  if (isOperator) return "owner";
  if (tenantId !== token.tenantId) return null;
  if (token.kind === "project")
    return projectId !== null && projectId === token.projectId
      ? lowerOf(token.role ?? "developer", "maintainer")
      : null;
  return highest(
    memberships
      .filter((membership) => membership.projectId === null || membership.projectId === projectId)
      .map(({ role }) => role),
  );
}

/** The role with which the caller acts. Throws `not_found` for what is not the caller's, and `insufficient_role`. */
export function demandRole(caller: AdminCaller, requirement: Requirement, place: Place | null): Role {
  if (place === null) {
    if (requirement.reach !== "operator" || caller.isOperator) return caller.isOperator ? "owner" : "viewer";
    throw operatorNeeded();
  }
  const role = roleAt(caller, place);
  if (role === null) {
    if (place.projectId !== null || place.tenantId !== caller.token.tenantId) throw nothingThere(placeText(place));
    throw new GatewayError(
      "insufficient_role",
      `This needs the role ${requirement.role} in the tenant, and this access token has none there: it belongs to a project.`,
    );
  }
  if (!roleAtLeast(role, requirement.role))
    throw new GatewayError("insufficient_role", `The role here is ${role}, and this needs ${requirement.role}.`);
  if (requirement.reach === "operator" && !caller.isOperator) throw operatorNeeded();
  if (requirement.permission !== undefined && !caller.token.permissions.includes(requirement.permission))
    throw new GatewayError(
      "permission_required",
      `This needs the permission ${requirement.permission}, which this access token does not have. An admin or owner gives it.`,
    );
  return role;
}

/** The same words for what does not exist and for what belongs to others. `what` names it as the request did: `the project nosuch`. */
export const nothingThere = (what: string): GatewayError =>
  new GatewayError("not_found", `This access token sees no ${what}.`);

export const placeText = ({ tenantId, projectId }: Place): string =>
  projectId === null ? `tenant ${tenantId}` : `project ${projectId}`;

/** Nobody gives a role above their own, nor takes one away. Throws `insufficient_role`. */
export function demandRoleWithin(own: Role, given: Role, param: string): void {
  if (!roleAtLeast(own, given))
    throw new GatewayError(
      "insufficient_role",
      `The role here is ${own}, and nobody gives or takes the role ${given}, which is above it.`,
      { param },
    );
}

/** Permissions are given by admin or owner only, and `ops` by operators; handing out a secret of a token that has some gives them too. Throws `insufficient_role`. */
export function demandPermissionsWithin(
  { caller, role: own }: { readonly caller: AdminCaller; readonly role: Role },
  given: readonly Permission[],
  param: string,
): void {
  if (given.includes(OPS) && !caller.isOperator)
    throw new GatewayError(
      "insufficient_role",
      "The permission ops shows figures of every tenant, and is given by operators of the gateway only.",
      { param },
    );
  if (given.length > 0 && !roleAtLeast(own, "admin"))
    throw new GatewayError(
      "insufficient_role",
      `The role here is ${own}, and permissions (${given.join(", ")}) are given by admin or owner only.`,
      { param },
    );
}

/** What stands in the file, and what a higher role has set, is read-only. Throws `read_only`. */
export function demandWritable(
  own: Role,
  thing: { readonly origin: "file" | "store"; readonly setBy: Role | null },
): void {
  if (thing.origin === "file")
    throw new GatewayError(
      "read_only",
      "This stands in the configuration file, which wins over the database: change it there.",
    );
  if (thing.setBy !== null && !roleAtLeast(own, thing.setBy))
    throw new GatewayError(
      "read_only",
      `This was set by the role ${thing.setBy}, and the role here is ${own}: it is read-only below ${thing.setBy}.`,
    );
}

function highest(roles: readonly Role[]): Role | null {
  return roles.reduce<Role | null>((best, role) => (best === null || roleAtLeast(role, best) ? role : best), null);
}

function lowerOf(a: Role, b: Role): Role {
  return ROLES.indexOf(a) <= ROLES.indexOf(b) ? a : b;
}
