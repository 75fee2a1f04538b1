// What can be read from the store, outside of a change and within one. Lists come in pages by a stable key, never by
// offsets; nothing read here contains a secret.
import type { ConfiguredKind } from "../core/configured/configured.ts";
import type { Membership, Project, Role } from "../core/identity.ts";
import type { ChainHead, ChainLink } from "./audit/audit-chain.ts";
import type { ClaimFilter, StoredClaim } from "./identity/claims.ts";
import type { Delivery, DeliveryFilter } from "./events/events.ts";
import type { SessionFilter, StoredSession } from "./identity/sessions.ts";
import type {
  AuditRow,
  AuditWay,
  Change,
  ConfigurationScope,
  HistoryScope,
  KeptAnswer,
  Kept,
  Resource,
  StoredTenant,
  StoredToken,
  StoredUser,
  Version,
  VersionSummary,
} from "./records.ts";
import type { SavedView, ViewOwner } from "./configuration/views.ts";

export interface PageRequest {
  /** 1 to 1,000. */
  readonly limit: number;
  /**
   * The `nextCursor` of the previous page; `null` or omitted for the first page. A cursor of another list is StoreError
   * `invalid`.
   */
  readonly cursor?: string | null;
}

export interface Page<T> {
  readonly data: readonly T[];
  readonly nextCursor: string | null;
}

/** Members that are left out do not restrict the result. `search` matches a part of the id or the name, ignoring case. */
type Asked<Member extends string> = { readonly [Name in Member]?: string };

export type TenantFilter = Asked<"id" | "search">;
export type ProjectFilter = Asked<"tenantId" | "id" | "search">;
export type UserFilter = Asked<"tenantId" | "id" | "email" | "search"> & { readonly isOperator?: boolean };
export interface MembershipFilter extends Asked<"tenantId" | "userId"> {
  /** `null` selects memberships in whole tenants. */
  readonly projectId?: string | null;
  readonly role?: Role;
}
export interface TokenFilter extends Asked<"tenantId" | "projectId" | "userId" | "search"> {
  readonly kind?: "project" | "personal";
  readonly state?: "live" | "expired" | "revoked";
}
export interface ResourceFilter extends Asked<"tenantId" | "name" | "search"> {
  readonly kind?: ConfiguredKind;
  /** `null` selects resources of whole tenants. */
  readonly projectId?: string | null;
  readonly setBy?: Role;
}
export interface AuditFilter extends Asked<
  "tenantId" | "projectId" | "tokenId" | "userId" | "action" | "kind" | "targetId" | "sessionId"
> {
  readonly outcome?: "done" | "refused";
  readonly via?: AuditWay;
  readonly version?: number;
  /** Inclusive. */
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
}

/** The chains of the audit log: audit-chain.ts says what they are and how they are named. */
export interface ChainReader {
  /** `null` when nothing was written yet. */
  auditHead(chain: string): Promise<ChainHead | null>;
  /** The names of all chains, in order. */
  auditChains(): Promise<readonly string[]>;
  /** The links after a number, in order, at most `limit`. */
  auditLinks(chain: string, after: number, limit: number): Promise<readonly ChainLink[]>;
  /** The first link at this time or later, or the last one before it; `null` when there is none. */
  auditLinkAt(chain: string, ms: number, side: "first_from" | "last_before"): Promise<ChainHead | null>;
  /** Whether rows about changes after this time were removed because of their age. */
  isAuditRemovedSince(chain: string, ms: number): Promise<boolean>;
}

/** The most characters of changes that are read for one request, because they are held as a whole. */
export const MOST_OF_CHANGES = 16 * 1024 * 1024;

/** The find methods resolve to `null` when there is no such entry. */
export interface Reader extends ChainReader {
  findTenant(id: string): Promise<Kept<StoredTenant> | null>;
  findProject(id: string): Promise<Kept<Project> | null>;
  findUser(id: string): Promise<Kept<StoredUser> | null>;
  findUserByLogin(tenantId: string, issuer: string, subject: string): Promise<Kept<StoredUser> | null>;
  findMembership(userId: string, projectId: string | null): Promise<Kept<Membership> | null>;
  /** With the hashes of its secrets. */
  findToken(id: string): Promise<Kept<StoredToken> | null>;
  findResource(kind: ConfiguredKind, id: string): Promise<Resource | null>;
  findResourceByName(kind: ConfiguredKind, scope: ConfigurationScope, name: string): Promise<Resource | null>;

  /** Ordered by id. */
  listTenants(page: PageRequest, filter?: TenantFilter): Promise<Page<Kept<StoredTenant>>>;
  listProjects(page: PageRequest, filter?: ProjectFilter): Promise<Page<Kept<Project>>>;
  listUsers(page: PageRequest, filter?: UserFilter): Promise<Page<Kept<StoredUser>>>;
  /** Ordered by user and project. */
  listMemberships(page: PageRequest, filter?: MembershipFilter): Promise<Page<Kept<Membership>>>;
  /** The newest first. */
  listTokens(page: PageRequest, filter?: TokenFilter): Promise<Page<Kept<StoredToken>>>;
  /** Whether the project has at least so many live tokens, or the user where there is no project. */
  hasLiveTokens(of: Pick<StoredToken, "tenantId" | "projectId" | "userId">, count: number): Promise<boolean>;
  /** Ordered by kind, name and id. */
  listResources(page: PageRequest, filter?: ResourceFilter): Promise<Page<Resource>>;

  /** Whatever its state. */
  findClaim(codeHash: string): Promise<StoredClaim | null>;
  /** The newest first. */
  listClaims(page: PageRequest, filter: ClaimFilter): Promise<Page<StoredClaim>>;
  /** The newest first. */
  listViews(
    page: PageRequest,
    filter: { readonly owner: ViewOwner; readonly screen?: string | undefined },
  ): Promise<Page<SavedView>>;
  /** With which screens begin for a person, and in the projects of the tenant. */
  listDefaultViews(tenantId: string, userId: string): Promise<readonly SavedView[]>;
  listSessions(page: PageRequest, filter?: SessionFilter): Promise<Page<StoredSession>>;

  /** The newest first. */
  listAudit(page: PageRequest, filter?: AuditFilter): Promise<Page<AuditRow>>;
  /** The newest version that was made at this time or before; 0 when there was none. */
  versionAt(ms: number): Promise<number>;
  /** Versions that changed something in the scope, the newest first. */
  listVersions(page: PageRequest, scope?: ConfigurationScope): Promise<Page<VersionSummary>>;
  /**
   * Only what the version changed in the scope; `null` also when it changed nothing there. Throws StoreError `invalid` for
   * one that has changed too much to be read as a whole.
   */
  findVersion(number: number, scope?: ConfigurationScope): Promise<Version | null>;
  /** Versions that changed one resource, the newest first, each with that change alone. */
  listObjectVersions(resourceId: string, scope: ConfigurationScope, most: number): Promise<readonly Version[]>;
  /**
   * The changes that lead from one version to the other, one for each resource; 0 is the state before the first
   * version. Throws StoreError `invalid` where they have more characters than the most.
   */
  diffVersions(from: number, to: number, scope?: HistoryScope, mostCharacters?: number): Promise<readonly Change[]>;

  /** Deliveries of events to webhooks, the newest first. */
  listDeliveries(page: PageRequest, filter?: DeliveryFilter): Promise<Page<Delivery>>;
  findDelivery(id: string): Promise<Delivery | null>;

  /** The stored answer to a request that was made within the last 24 h. */
  findAnswer(tokenId: string, key: string): Promise<KeptAnswer | null>;
}

const PAGE = 1000;

/** Reads a whole list, page by page. The next page is read when the rows of the one before it have been taken. Throws what `read` throws. */
export async function* everyRow<Row>(read: (page: PageRequest) => Promise<Page<Row>>): AsyncGenerator<Row, void, void> {
  let cursor: string | null = null;
  do {
    const page: Page<Row> = await read({ limit: PAGE, cursor });
    yield* page.data;
    cursor = page.nextCursor;
  } while (cursor !== null);
}
