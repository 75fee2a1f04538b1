// What the store keeps: identities, configured resources, the audit log, versions of the configuration, and answers to
// repeated requests.
import type { ConfiguredKind } from "../core/configured/configured.ts";
import type { AccessToken, Membership, Project, Role, Tenant, User } from "../core/identity.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { ChainHead } from "./audit/audit-chain.ts";
import type { MembersOf, TENANT_FIELDS, USER_FIELDS } from "./database/identity-fields.ts";

/** A row with the values from which its ETag is made. Times are `null` where the row is older than these columns. */
export type Kept<T> = T & {
  readonly version: number;
  readonly createdAtMs: number | null;
  readonly updatedAtMs: number | null;
};

export type StoredTenant = Pick<Tenant, "id"> & MembersOf<typeof TENANT_FIELDS>;
export type StoredUser = Pick<User, "id" | "tenantId"> & MembersOf<typeof USER_FIELDS>;

export interface StoredToken extends AccessToken {
  /** For how long the token was made; a rotation renews it for the same time. The end of its maker may come first. */
  readonly lifetimeMs: number;
  /** Id of the user who made it, or `token:` and the id of the token that made it. `null` for the command line. */
  readonly createdBy?: string | null;
}

/** All identities as one commit left them; each list is ordered by id. */
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
  /** `null` when the first start of a server is to make it. */
  readonly token: StoredToken | null;
}

/**
 * A resource to create. The document has the form that the admin API accepts and the configuration file holds, in
 * snake_case; settings of a scope have the kind `setting` and the name `settings`.
 */
export interface NewResource {
  readonly kind: ConfiguredKind;
  /** Generated if omitted: a prefix such as `lim_` with random letters. */
  readonly id?: string;
  readonly tenantId: string;
  readonly projectId: string | null;
  /** Unique among the kind in its tenant or project; `null` where the kind has no names. */
  readonly name: string | null;
  readonly document: JsonObject;
  /** By default the acting role; the command line acts as owner. */
  readonly setBy?: Role;
  /** By default whether the actor is an operator. */
  readonly byOperator?: boolean;
}

export interface Resource {
  readonly kind: ConfiguredKind;
  /** Unique among all resources. */
  readonly id: string;
  readonly tenantId: string;
  readonly projectId: string | null;
  readonly name: string | null;
  /** Secrets are masked: `*** ` and a handle. Such a text in a change stands for the stored secret. */
  readonly document: JsonObject;
  readonly setBy: Role;
  /** Whether an operator wrote it last. */
  readonly byOperator?: boolean;
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** How a change was asked for: on a page of the console, with the command line, or by another client of the API. */
export const AUDIT_WAYS = ["console", "cli", "api"] as const;
export type AuditWay = (typeof AUDIT_WAYS)[number];

/** The identity that makes a change. All members are `null` for the gateway itself, and for the command line on the machine of the database. */
export interface Actor {
  readonly tokenId: string | null;
  readonly userId: string | null;
  /** In the scope of the change. */
  readonly role: Role | null;
  /** Not stored in the audit log. */
  readonly isOperator?: boolean;
  readonly tenantId: string | null;
  /** The address of the client. */
  readonly address: string | null;
  readonly via?: AuditWay | null;
  /** Of the console. */
  readonly sessionId?: string | null;
}

export const LOCAL_ACTOR: Actor = {
  tokenId: null,
  userId: null,
  role: null,
  isOperator: true,
  tenantId: null,
  address: null,
};

/** The command line on the machine of the database. */
export const COMMAND_LINE: Actor = { ...LOCAL_ACTOR, via: "cli" };

export const IDENTITY_KINDS = ["tenant", "project", "user", "membership", "token"] as const;
export type KeptKind = (typeof IDENTITY_KINDS)[number] | ConfiguredKind;

/** What happened to one entry. Secrets are masked, hashes left out. */
export interface Change {
  readonly action: "create" | "change" | "remove";
  readonly kind: KeptKind;
  /** For a membership, `<user>/<project>`, or `<user>/` in the whole tenant. */
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
  /** One of KeptKind, or another word for what has no row. */
  readonly kind: string;
  readonly targetId: string | null;
  readonly targetName: string | null;
  readonly tenantId: string | null;
  readonly projectId: string | null;
  readonly before: Json;
  readonly after: Json;
  /** Why it was refused, or another remark. Never contains a secret. */
  readonly note: string | null;
  /** The version of the configuration that the change made. */
  readonly version: number | null;
  /** Where it stands in the chain of its tenant (audit/audit-chain.ts). */
  readonly link: ChainHead;
}

/** A row for what changed nothing, such as a refused attempt or a login. */
export type AuditNote = Pick<AuditRow, "action" | "outcome" | "kind" | "tenantId"> &
  Partial<Pick<AuditRow, "targetId" | "targetName" | "projectId" | "before" | "after" | "note">>;

/** A state of the configuration, made by a transaction that changed resources. */
export interface VersionSummary {
  readonly number: number;
  readonly atMs: number;
  readonly actor: Actor;
  /** Set when it was made by rolling back to another version. */
  readonly rolledBackTo: number | null;
  /** Why it was made; `null` when that was not said. */
  readonly note: string | null;
  readonly changes: number;
}

export interface Version extends Omit<VersionSummary, "changes"> {
  readonly changes: readonly Change[];
}

/** One tenant with its projects, or one project. */
export interface ConfigurationScope {
  readonly tenantId: string;
  readonly projectId: string | null;
}

/** Changes of one scope, or of a single resource in it. */
export interface HistoryScope extends ConfigurationScope {
  readonly resourceId?: string;
}

/** The answer to a request with an idempotency key. */
export interface KeptAnswer {
  readonly tokenId: string;
  readonly key: string;
  /** Hex SHA-256 of method, path and body. */
  readonly requestHash: string;
  readonly status: number;
  /** Stored encrypted, because it may show a new token. */
  readonly body: string;
}
