// What can be asked of the store, outside of a change and within one. Lists come in pages by a stable key, never by offsets; nothing read here holds a secret.
import type { ConfiguredKind } from "../core/configured.ts";
import type { Membership, Project, Role } from "../core/identity.ts";
import type { Delivery, DeliveryFilter } from "./events.ts";
import type {
  AuditRow,
  Change,
  ConfigurationScope,
  KeptAnswer,
  Kept,
  Resource,
  StoredTenant,
  StoredToken,
  StoredUser,
  Version,
  VersionSummary,
} from "./records.ts";

export interface PageRequest {
  /** 1 to 1,000. */
  readonly limit: number;
  /** `nextCursor` of the page before; null or left out: the first. One of another list is StoreError `invalid`. */
  readonly cursor?: string | null;
}

export interface Page<T> {
  readonly data: readonly T[];
  readonly nextCursor: string | null;
}

/** Everything that is left out lets all pass. `search` is a part of the id or the name, in any case of letters. */
export interface TenantFilter {
  readonly id?: string;
  readonly search?: string;
}
export interface ProjectFilter {
  readonly tenantId?: string;
  readonly id?: string;
  readonly search?: string;
}
export interface UserFilter {
  readonly tenantId?: string;
  readonly id?: string;
  readonly email?: string;
  readonly isOperator?: boolean;
  readonly search?: string;
}
export interface MembershipFilter {
  readonly tenantId?: string;
  readonly userId?: string;
  /** Null: those in whole tenants. */
  readonly projectId?: string | null;
  readonly role?: Role;
}
export interface TokenFilter {
  readonly tenantId?: string;
  readonly projectId?: string;
  readonly userId?: string;
  readonly kind?: "project" | "personal";
  readonly state?: "live" | "expired" | "revoked";
  readonly search?: string;
}
export interface ResourceFilter {
  readonly kind?: ConfiguredKind;
  readonly tenantId?: string;
  /** Null: those of whole tenants. */
  readonly projectId?: string | null;
  readonly name?: string;
  readonly setBy?: Role;
  readonly search?: string;
}
export interface AuditFilter {
  readonly tenantId?: string;
  readonly projectId?: string;
  readonly tokenId?: string;
  readonly userId?: string;
  readonly action?: string;
  readonly outcome?: "done" | "refused";
  readonly kind?: string;
  readonly targetId?: string;
  readonly version?: number;
  /** Inclusive. */
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
}

/** Null or undefined in an answer: there is no such thing. */
export interface Reader {
  findTenant(id: string): Promise<Kept<StoredTenant> | null>;
  findProject(id: string): Promise<Kept<Project> | null>;
  findUser(id: string): Promise<Kept<StoredUser> | null>;
  findUserByLogin(tenantId: string, issuer: string, subject: string): Promise<Kept<StoredUser> | null>;
  findMembership(userId: string, projectId: string | null): Promise<Kept<Membership> | null>;
  /** With the hashes of its secrets. */
  findToken(id: string): Promise<Kept<StoredToken> | null>;
  findResource(kind: ConfiguredKind, id: string): Promise<Resource | null>;
  findResourceByName(kind: ConfiguredKind, scope: ConfigurationScope, name: string): Promise<Resource | null>;

  /** By id. */
  listTenants(page: PageRequest, filter?: TenantFilter): Promise<Page<Kept<StoredTenant>>>;
  listProjects(page: PageRequest, filter?: ProjectFilter): Promise<Page<Kept<Project>>>;
  listUsers(page: PageRequest, filter?: UserFilter): Promise<Page<Kept<StoredUser>>>;
  /** By user and project. */
  listMemberships(page: PageRequest, filter?: MembershipFilter): Promise<Page<Kept<Membership>>>;
  /** The newest first. */
  listTokens(page: PageRequest, filter?: TokenFilter): Promise<Page<Kept<StoredToken>>>;
  /** By kind, name and id. */
  listResources(page: PageRequest, filter?: ResourceFilter): Promise<Page<Resource>>;

  /** The newest first. */
  listAudit(page: PageRequest, filter?: AuditFilter): Promise<Page<AuditRow>>;
  findAudit(id: string): Promise<AuditRow | null>;
  /** Versions that changed something in the scope, the newest first. */
  listVersions(page: PageRequest, scope?: ConfigurationScope): Promise<Page<VersionSummary>>;
  /** Only what it changed in the scope. Null also where it changed nothing there. */
  findVersion(number: number, scope?: ConfigurationScope): Promise<Version | null>;
  /** What leads from one version to the other, each resource once; 0 is before the first. */
  diffVersions(from: number, to: number, scope?: ConfigurationScope): Promise<readonly Change[]>;

  /** Deliveries of events to webhooks, the newest first. */
  listDeliveries(page: PageRequest, filter?: DeliveryFilter): Promise<Page<Delivery>>;
  findDelivery(id: string): Promise<Delivery | null>;

  /** The answer of a request that was made within the last 24 h. */
  findAnswer(tokenId: string, key: string): Promise<KeptAnswer | null>;
}
