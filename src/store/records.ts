// What is kept, as it goes in and comes out: identities, configured resources, the audit log, versions of the configuration, answers to repeated requests.
import type { ConfiguredKind } from "../core/configured.ts";
import type { AccessToken, Login, Membership, Project, Role, Tenant, User } from "../core/identity.ts";
import type { Json, JsonObject } from "../core/json.ts";

/** A row with what its ETag is made of. Times are null where the row is older than their column. */
export type Kept<T> = T & {
  readonly version: number;
  readonly createdAtMs: number | null;
  readonly updatedAtMs: number | null;
};

/** The longest life that a tenant lets its access tokens have, in days; null: no cap (decisions 2.6). */
export interface TokenCaps {
  readonly personalDays: number | null;
  readonly projectDays: number | null;
}

export interface StoredTenant extends Tenant {
  /** Absent: no caps. */
  readonly tokenCaps?: TokenCaps;
}

export interface StoredUser extends User {
  readonly email?: string | null;
  /** No two users have the same. */
  readonly login?: Login | null;
}

export interface StoredToken extends AccessToken {
  /** The life that the token was made for; a rotation renews it for as long. */
  readonly lifetimeMs: number;
  /** Id of the user who made it, or `token:` and the id of the token that did. Null: the command line. */
  readonly createdBy?: string | null;
}

/** Everything about who may call, as one commit left it; each list is ordered by id. */
export interface Identities {
  readonly tenants: readonly StoredTenant[];
  readonly projects: readonly Project[];
  readonly users: readonly User[];
  readonly memberships: readonly Membership[];
  readonly tokens: readonly AccessToken[];
}

/** What the first start creates. */
export interface FirstIdentities {
  readonly tenant: Tenant;
  readonly project: Project;
  readonly user: User;
  readonly membership: Membership;
  /** Null: the first start of a server makes it. */
  readonly token: StoredToken | null;
}

/** What a resource is made of. The document is what the admin API takes and the file holds, in snake_case; settings of a scope are the kind `setting` with the name `settings`. */
export interface NewResource {
  readonly kind: ConfiguredKind;
  /** Made here where it is left out: `lim_` and so on with random letters. */
  readonly id?: string;
  readonly tenantId: string;
  readonly projectId: string | null;
  /** Unique among the kind in its tenant or project; null where the kind has no names. */
  readonly name: string | null;
  readonly document: JsonObject;
  /** The acting role, if left out; the command line's is owner. */
  readonly setBy?: Role;
  /** Whether the actor is an operator, if left out. */
  readonly byOperator?: boolean;
}

export interface Resource {
  readonly kind: ConfiguredKind;
  /** Unique among all resources. */
  readonly id: string;
  readonly tenantId: string;
  readonly projectId: string | null;
  readonly name: string | null;
  /** Secrets are masked: `*** ` and a handle. Such a text in a change stands for the secret that is kept. */
  readonly document: JsonObject;
  readonly setBy: Role;
  /** Whether an operator wrote it last. */
  readonly byOperator?: boolean;
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Who does something. All null: the command line on the machine of the database. */
export interface Actor {
  readonly tokenId: string | null;
  readonly userId: string | null;
  /** In the scope that the change is for. */
  readonly role: Role | null;
  /** Not kept in the audit log. */
  readonly isOperator?: boolean;
  readonly tenantId: string | null;
  /** Of the client. */
  readonly address: string | null;
}

export const LOCAL_ACTOR: Actor = {
  tokenId: null,
  userId: null,
  role: null,
  isOperator: true,
  tenantId: null,
  address: null,
};

export const IDENTITY_KINDS = ["tenant", "project", "user", "membership", "token"] as const;
export type KeptKind = (typeof IDENTITY_KINDS)[number] | ConfiguredKind;

/** What happened to one thing. Secrets are masked, hashes left out. */
export interface Change {
  readonly action: "create" | "change" | "remove";
  readonly kind: KeptKind;
  /** Of a membership: `<user>/<project>`, or `<user>/` in the whole tenant. */
  readonly id: string;
  readonly name: string | null;
  readonly tenantId: string;
  readonly projectId: string | null;
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
}

export interface AuditRow {
  readonly id: string;
  readonly atMs: number;
  readonly actor: Actor;
  /** `create`, `change`, `remove`, `rotate`, ..., or what was refused. */
  readonly action: string;
  readonly outcome: "done" | "refused";
  /** A kind of KeptKind, or another word for what has no row. */
  readonly kind: string;
  readonly targetId: string | null;
  readonly targetName: string | null;
  readonly tenantId: string | null;
  readonly projectId: string | null;
  readonly before: Json;
  readonly after: Json;
  /** Why it was refused, or what else there is to say. Never holds a secret. */
  readonly note: string | null;
  /** The version of the configuration that the change made. */
  readonly version: number | null;
}

/** A row for what changed nothing: a refused attempt, a login. */
export type AuditNote = Pick<AuditRow, "action" | "outcome" | "kind" | "tenantId"> &
  Partial<Pick<AuditRow, "targetId" | "targetName" | "projectId" | "before" | "after" | "note">>;

/** A state of the configuration: each transaction that changed resources made one. */
export interface VersionSummary {
  readonly number: number;
  readonly atMs: number;
  readonly actor: Actor;
  /** Set where it was made by going back to another one. */
  readonly rolledBackTo: number | null;
  readonly changes: number;
}

export interface Version extends Omit<VersionSummary, "changes"> {
  readonly changes: readonly Change[];
}

/** One tenant with its projects, or one project alone. */
export interface ConfigurationScope {
  readonly tenantId: string;
  readonly projectId: string | null;
}

/** What was answered to a request with an idempotency key. */
export interface KeptAnswer {
  readonly tokenId: string;
  readonly key: string;
  /** Hex SHA-256 of method, path and body. */
  readonly requestHash: string;
  readonly status: number;
  /** Kept sealed: it may show a new token. */
  readonly body: string;
}
