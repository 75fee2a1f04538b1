// Which callers may administer what (promises 2.3, 2.4 and 2.11). Pure: it takes the caller and the place, and returns
// or throws a GatewayError. What belongs to other tenants is answered as if it did not exist.
import type { Configured } from "../core/configured/configured.ts";
import { GatewayError } from "../core/errors.ts";
import {
  type AccessToken,
  highestRole,
  type Membership,
  OPS,
  type Permission,
  type Role,
  roleAtLeast,
} from "../core/identity.ts";
import { insufficientRole, invalidRequest, notFound } from "../core/refusals.ts";
import type { Snapshot } from "../core/snapshot.ts";
import type { Requirement } from "./admin-operations.ts";
import { membershipsOf } from "./memberships.ts";

const DAY_MS = 86_400_000;

/** A tenant, or one project of it. */
export interface TenantOrProject {
  readonly tenantId: string;
  readonly projectId: string | null;
}

/** The fields of a filter that finds what is in the tenant, or in the project. */
export const scopeOf = ({ tenantId, projectId }: TenantOrProject) => ({
  tenantId,
  ...(projectId !== null && { projectId }),
});

export interface AdminCaller {
  readonly token: AccessToken;
  /** True for the personal token of a user with the operator right, and for a login whose claims grant that right. */
  readonly isOperator: boolean;
  /** In the token's tenant. */
  readonly memberships: readonly Membership[];
}

export function adminCaller(token: AccessToken, snapshot: Pick<Snapshot, "memberships" | "operators">): AdminCaller {
  return { token, isOperator: runsGateway(token, snapshot), memberships: membershipsOf(token, snapshot) };
}

/** Project tokens never act as operators, whichever user created them. */
export function runsGateway(
  { userId, tenantId, isOperator: byLogin }: AccessToken,
  { operators }: Pick<Snapshot, "operators">,
): boolean {
  return userId !== null && (byLogin === true || operators.get(userId) === tenantId);
}

/**
 * Throws `insufficient_role` for a token with the permission `ops`, which may only read figures of the whole gateway.
 */
export function requireMoreThanOps({ permissions }: Pick<AccessToken, "permissions">): void {
  if (permissions.includes(OPS))
    throw insufficientRole(
      "This access token has the permission ops, which gives access to /metrics and /readyz?verbose only. Use another token here.",
    );
}

const operatorNeeded = (): GatewayError =>
  insufficientRole("This is for operators of the gateway only. Use the personal token of a user who is an operator.");

/**
 * Throws `insufficient_role`. Only operators may change what belongs to an operator: a secret, a login or a role of
 * such a user is as powerful as the operator right itself.
 */
export function requireOperator({ isOperator: is }: Pick<AdminCaller, "isOperator">, param: string): void {
  if (!is)
    throw insufficientRole(
      "Only operators of the gateway can make a user an operator or change users who are operators.",
      param,
    );
}

/**
 * `null` when the caller has no role. A role in the tenant holds in each of its projects; a role in a project holds
 * there only.
 */
export function roleAt(
  { token, isOperator, memberships }: AdminCaller,
  { tenantId, projectId }: TenantOrProject,
): Role | null {
  if (isOperator) return "owner";
  if (tenantId !== token.tenantId) return null;
  if (token.kind === "project")
    return projectId !== null && projectId === token.projectId ? roleOfProjectToken(token) : null;
  return roleOfMember(memberships, projectId);
}

/** The role of a project token in its project. */
export function roleOfProjectToken({ role }: AccessToken): Role {
  const given = role ?? "developer";
  return roleAtLeast(given, "maintainer") ? "maintainer" : given;
}

/** The higher of the roles in the tenant and in the project; `null` when there is neither. */
export function roleOfMember(memberships: readonly Membership[], projectId: string | null): Role | null {
  return highestRole(
    memberships
      .filter((membership) => membership.projectId === null || membership.projectId === projectId)
      .map(({ role }) => role),
  );
}

/**
 * The role with which the caller acts. Throws `insufficient_role`, or `not_found` for places that the caller cannot
 * see.
 */
export function requireRole(caller: AdminCaller, requirement: Requirement, place: TenantOrProject | null): Role {
  if (place === null) {
    if (requirement.reach !== "operator" || caller.isOperator) return caller.isOperator ? "owner" : "viewer";
    throw operatorNeeded();
  }
  const role = roleAt(caller, place);
  if (role === null) {
    if (place.projectId !== null || place.tenantId !== caller.token.tenantId) throw nothingThere(placeText(place));
    throw insufficientRole(
      `This needs the role ${requirement.role} in the tenant, where this access token has no role of its own: it has ${caller.token.kind === "project" ? "one in its project" : "those of its user in projects"} alone.`,
    );
  }
  if (!roleAtLeast(role, requirement.role))
    throw insufficientRole(`This needs the role ${requirement.role} or higher; the role here is ${role}.`);
  if (requirement.reach === "operator" && !caller.isOperator) throw operatorNeeded();
  if (requirement.permission !== undefined && !caller.token.permissions.includes(requirement.permission))
    throw new GatewayError(
      "permission_required",
      `This needs the permission ${requirement.permission}, which this access token does not have. An admin or owner can give it.`,
    );
  return role;
}

/**
 * The same message for what does not exist and for what belongs to other tenants. `what` names it as the request did:
 * `the project nosuch`.
 */
export const nothingThere = (what: string): GatewayError =>
  notFound(`There is no ${what}, or this access token has no access to it.`);

export const placeText = ({ tenantId, projectId }: Pick<Configured<unknown>, "tenantId" | "projectId">): string =>
  projectId === null ? `tenant ${tenantId}` : `project ${projectId}`;

/** A caller may neither grant nor remove a role above its own. Throws `insufficient_role`. */
export function requireRoleWithin(own: Role, given: Role, param: string): void {
  if (!roleAtLeast(own, given))
    throw insufficientRole(
      `The role here is ${own}, so the higher role ${given} cannot be given or taken away.`,
      param,
    );
}

/**
 * Only admins and owners grant permissions, and only operators grant `ops`. Issuing a secret of a token with
 * permissions counts as granting them. Throws `insufficient_role`.
 */
export function requirePermissionsWithin(
  { caller, role: own }: { readonly caller: AdminCaller; readonly role: Role },
  given: readonly Permission[],
): void {
  const param = "permissions";
  if (given.includes(OPS) && !caller.isOperator)
    throw insufficientRole(
      "Only operators of the gateway can give the permission ops, because it shows figures of all tenants.",
      param,
    );
  if (given.length > 0 && !roleAtLeast(own, "admin"))
    throw insufficientRole(
      `Only admins and owners can give permissions (${given.join(", ")}); the role here is ${own}.`,
      param,
    );
}

/** When a token that this caller makes ends at the latest (promise 2.13); `null` when a person makes it. */
export function endOfTokensMadeBy({ token }: Pick<AdminCaller, "token">): number | null {
  return token.kind === "project" ? token.expiresAtMs : null;
}

/** A lifetime that was asked for is given or refused, and never shortened. Throws `invalid_request`. */
export function requireLifetimeWithin(
  { caller, nowMs }: { readonly caller: AdminCaller; readonly nowMs: number },
  days: number | null | undefined,
): void {
  const endMs = endOfTokensMadeBy(caller);
  if (days == null || endMs === null || nowMs + days * DAY_MS <= endMs) return;
  throw invalidRequest(
    "expires_in_days",
    `expires_in_days: what is made with a project token ends no later than that token, at ${new Date(endMs).toISOString()}. Leave expires_in_days out for a token that ends then, or make a longer one with a personal token.`,
  );
}

/** The refusal to change what is in the configuration file. */
export const setInFile = (): GatewayError =>
  new GatewayError("read_only", "This is set in the configuration file, which takes precedence; change it there.");

/** What a higher role has set is read-only. Throws `read_only`. */
export function requireWritable(own: Role, { setBy }: { readonly setBy: Role | null }): void {
  if (setBy !== null && !roleAtLeast(own, setBy))
    throw new GatewayError(
      "read_only",
      `This was set by the role ${setBy}, so lower roles cannot change it; the role here is ${own}.`,
    );
}
