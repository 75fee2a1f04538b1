// The identities of callers: tenants, projects, roles, access tokens and what a token may do (promise 2).

export const ROLES = ["viewer", "developer", "maintainer", "admin", "owner"] as const;
export type Role = (typeof ROLES)[number];

export const PERMISSIONS = ["byo_endpoint", "custom_price", "debug", "read_content", "vendor_objects", "ops"] as const;
export type Permission = (typeof PERMISSIONS)[number];

/**
 * A token with this permission may read `/metrics` and `/readyz?verbose` and may do nothing else, whatever its role.
 */
export const OPS: Permission = "ops";

/** Returns true when `role` is `needed` or a higher role. */
export function roleAtLeast(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** Returns the highest of the roles, or `null` if there are none. */
export function highestRole(roles: readonly Role[]): Role | null {
  return roles.reduce<Role | null>((best, role) => (best === null || roleAtLeast(role, best) ? role : best), null);
}

export interface Tenant {
  readonly id: string;
  readonly name: string;
}
export interface Project {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  /** In milliseconds since 1970; `null` for the first one of a gateway. Tells it from a former one of the same id. */
  readonly createdAtMs?: number | null;
}
export interface User {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  /** As that of a project. */
  readonly createdAtMs?: number | null;
  /** The company login that identifies this user. */
  readonly login?: Login | null;
  /** Whether the user may administer the whole gateway, and so access every tenant. */
  readonly isOperator?: boolean;
}

/** When a project and a user were created: after a removal, others may have their ids. `null` where that is not known. */
export interface Created {
  readonly projectMs: number | null;
  readonly userMs: number | null;
}

export function createdOf(
  place: { readonly projectId: string | null; readonly userId: string | null },
  known: { readonly projects: ReadonlyMap<string, Project>; readonly users: ReadonlyMap<string, User> },
): Created {
  return {
    projectMs: known.projects.get(place.projectId ?? "")?.createdAtMs ?? null,
    userMs: known.users.get(place.userId ?? "")?.createdAtMs ?? null,
  };
}
/** The issuer of a login and the issuer's identifier of the person (OpenID Connect Core 2: `iss` and `sub`). */
export interface Login {
  readonly issuer: string;
  readonly subject: string;
}
/** A user's role in one project, or in the whole tenant when `projectId` is null. */
export interface Membership {
  readonly userId: string;
  readonly tenantId: string;
  readonly projectId: string | null;
  readonly role: Role;
}

/** An access token as it is stored: it has the SHA-256 of the token text, never the text itself. */
export interface AccessToken {
  readonly id: string;
  readonly kind: "project" | "personal";
  readonly name: string;
  readonly tenantId: string;
  /** Set for project tokens. */
  readonly projectId: string | null;
  /** Set for personal tokens. */
  readonly userId: string | null;
  /**
   * The highest role that a project token grants. `null` for a personal token, because the memberships of its user
   * decide.
   */
  readonly role: Role | null;
  readonly permissions: readonly Permission[];
  /** Globs over `provider:model`; empty when the token is not restricted to models. */
  readonly models: readonly string[];
  /** Globs over names of routes; empty when the token is not restricted to routes. */
  readonly routes: readonly string[];
  /** Globs over names of tools, as models see them; empty when the token is not restricted to tools. */
  readonly tools: readonly string[];
  /** Addresses and CIDR ranges from which the token may be used; empty when it may be used from everywhere. */
  readonly ipRanges: readonly string[];
  /** The identity that the issuer of a company login states. */
  readonly login?: Login;
  /** Set when the claims of a login make its user an operator. */
  readonly isOperator?: boolean;
  /** Roles that the claims of a company login grant, in addition to those that the store has for the user. */
  readonly granted?: readonly Membership[];
  /** SHA-256 of each valid token text. A rotation adds one; each expires by itself. */
  readonly secrets: readonly TokenSecret[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly revokedAtMs: number | null;
}

/** Who makes something with the token: the id of its user, or `token:` and its own id where it belongs to none. */
export const makerOf = ({ userId, id }: Pick<AccessToken, "userId" | "id">): string => userId ?? `token:${id}`;

/**
 * What the id of a token begins with that stands for a user who has come by a login link: the id of the user follows.
 * Ids of other tokens have no colons.
 */
export const LINKED = "console:";

/** A token that may do everything that its role allows, from everywhere. */
export const UNRESTRICTED: Pick<AccessToken, "models" | "routes" | "tools" | "ipRanges"> = {
  models: [],
  routes: [],
  tools: [],
  ipRanges: [],
};

export interface TokenSecret {
  /** 32 bytes. */
  readonly sha256: Uint8Array;
  /** When this secret expires; `null` when it expires with the token. */
  readonly retiresAtMs: number | null;
}

/** The authenticated caller of one request. */
export interface Principal {
  readonly tokenId: string;
  readonly tokenKind: "project" | "personal";
  readonly tenantId: string;
  readonly projectId: string;
  readonly userId: string | null;
  readonly role: Role;
  readonly permissions: ReadonlySet<Permission>;
  /** `null` when the token has no restrictions. */
  readonly restrictions: TokenRestrictions | null;
  /** Whether the caller may use the tool of this name; absent when the token is not restricted to tools. */
  readonly permitsTool?: (name: string) => boolean;
}

/** What a token may call, where it is restricted to models, to routes or to both (promises 2.4 and 3.4). */
export interface TokenRestrictions {
  /** Whether a request may name this route. */
  permitsRoute(name: string): boolean;
  /** Whether the token may call any configured target of this route through the route. */
  permitsWholeRoute(name: string): boolean;
  /** Whether the token may call this model (`provider:model`) by its own name. */
  permitsModel(name: string): boolean;
}
