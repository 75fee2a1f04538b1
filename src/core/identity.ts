// Who calls: tenants, projects, roles, access tokens and what a token may do (decisions 2).

export const ROLES = ["viewer", "developer", "maintainer", "admin", "owner"] as const;
export type Role = (typeof ROLES)[number];

export const PERMISSIONS = ["byo_endpoint", "custom_price", "debug", "read_content", "ops"] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** A token with this permission reads `/metrics` and `/readyz?verbose`, and may do nothing else, whatever its role. */
export const OPS: Permission = "ops";

/** True when `role` stands at least as high as `needed`. */
export function roleAtLeast(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

export interface Tenant {
  readonly id: string;
  readonly name: string;
}
export interface Project {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
}
export interface User {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  /** Whom a company's login knows as this user. */
  readonly login?: Login | null;
  /** Whether the user runs the gateway, and so reaches every tenant. */
  readonly isOperator?: boolean;
}
/** The issuer of a login and its own name for the person (OpenID Connect Core 2: `iss` and `sub`). */
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

/** An access token as stored: never its text, only its id and the SHA-256 of the text. */
export interface AccessToken {
  readonly id: string;
  readonly kind: "project" | "personal";
  readonly name: string;
  readonly tenantId: string;
  /** Set on project tokens. */
  readonly projectId: string | null;
  /** Set on personal tokens. */
  readonly userId: string | null;
  /** Role cap of a project token; null on a personal one, whose user's membership decides. */
  readonly role: Role | null;
  readonly permissions: readonly Permission[];
  /** Globs over `provider:model`; empty: not narrowed by models. */
  readonly models: readonly string[];
  /** Globs over names of routes; empty: not narrowed by routes. */
  readonly routes: readonly string[];
  /** Addresses and CIDR ranges from which the token may be used; empty: from everywhere. */
  readonly ipRanges: readonly string[];
  /** Of a company's login: whom its issuer means. */
  readonly login?: Login;
  /** Set where the claims of a login give the right of an operator. */
  readonly isOperator?: boolean;
  /** Roles that a login of the company's own gives, beside those that the store has for the user. */
  readonly granted?: readonly Membership[];
  /** SHA-256 of each live token text. A rotation adds one; each has its own end. */
  readonly secrets: readonly TokenSecret[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly revokedAtMs: number | null;
}
/** A token that may do all that its role allows, from everywhere. */
export const NOT_NARROWED: Pick<AccessToken, "models" | "routes" | "ipRanges"> = {
  models: [],
  routes: [],
  ipRanges: [],
};

export interface TokenSecret {
  /** 32 bytes. */
  readonly sha256: Uint8Array;
  /** When this secret stops working; null: with the token. */
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
  /** Null: not narrowed. */
  readonly narrowing: Narrowing | null;
}

/** What a token may call, where it is narrowed by models, by routes or by both (decisions 2.4, 3.4). */
export interface Narrowing {
  /** A route that it may name. */
  permitsRoute(name: string): boolean;
  /** A route whose configured targets it may call through the route, whatever they are. */
  coversRoute(name: string): boolean;
  /** A model that it may call by its own name, `provider:model`. */
  permitsModel(name: string): boolean;
}
