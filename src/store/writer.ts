// What a change can do. All of it is one transaction under one lock: what was read in it holds until it is committed.
// Each changed row is recorded in the audit log, and each transaction that changes resources makes a version, both
// automatically.
import type { ConfiguredKind } from "../core/configured/configured.ts";
import type { Drain } from "../core/configured/drain.ts";
import type { Membership, Project } from "../core/identity.ts";
import type { GatewayEvent } from "../core/record/event.ts";
import type { JsonObject } from "../core/json.ts";
import type {
  Actor,
  AuditNote,
  Change,
  HistoryScope,
  Kept,
  KeptAnswer,
  NewResource,
  Resource,
  StoredTenant,
  StoredToken,
  StoredUser,
} from "./records.ts";
import type { Recipient } from "./events/events.ts";
import type { Reader } from "./reader.ts";
import type { ClaimFilter, StoredClaim } from "./identity/claims.ts";
import type { SessionFilter } from "./identity/sessions.ts";
import type { SavedView, ViewChange, ViewOwner } from "./configuration/views.ts";

/**
 * `change` functions get the current state and return the new one, and may throw; ids and scopes cannot change.
 * StoreError `unknown` when there is no such entry.
 */
export interface Writer extends Reader {
  readonly actor: Actor;
  /** The time of the whole change. */
  readonly nowMs: number;

  createTenant(tenant: StoredTenant): Promise<Kept<StoredTenant>>;
  changeTenant(id: string, change: (tenant: Kept<StoredTenant>) => StoredTenant): Promise<Kept<StoredTenant>>;
  /** Removes everything in the tenant too. The last tenant cannot be removed: StoreError `conflict`. */
  removeTenant(id: string): Promise<void>;

  createProject(project: Project): Promise<Kept<Project>>;
  changeProject(id: string, change: (project: Kept<Project>) => Project): Promise<Kept<Project>>;
  /**
   * Removes its tokens, resources and memberships too; the personal tokens of users without another membership are
   * revoked.
   */
  removeProject(id: string): Promise<void>;

  createUser(user: StoredUser): Promise<Kept<StoredUser>>;
  changeUser(id: string, change: (user: Kept<StoredUser>) => StoredUser): Promise<Kept<StoredUser>>;
  /** Removes memberships and personal tokens too. */
  removeUser(id: string): Promise<void>;

  /** Creates the membership or changes its role. The user and the project have to belong to the membership's tenant. */
  putMembership(membership: Membership): Promise<Kept<Membership>>;
  /** With a user's last membership, the user's personal tokens are revoked permanently (promise 2.7). */
  removeMembership(userId: string, projectId: string | null): Promise<void>;

  createToken(token: StoredToken): Promise<Kept<StoredToken>>;
  /** Writes everything except id, kind, scope, role and times of creation. */
  changeToken(id: string, change: (token: Kept<StoredToken>) => StoredToken): Promise<Kept<StoredToken>>;
  removeToken(id: string): Promise<void>;

  createResource(resource: NewResource): Promise<Resource>;
  /**
   * A masked secret stays unchanged. If the address beside it changes, it is refused with StoreError `invalid` (promise
   * 2.9). What the gateway changes by itself keeps its author, who may change it afterwards.
   */
  changeResource(
    kind: ConfiguredKind,
    id: string,
    change: (resource: Resource) => { readonly name: string | null; readonly document: JsonObject },
  ): Promise<Resource>;
  removeResource(kind: ConfiguredKind, id: string): Promise<void>;

  /**
   * Restores the resources of the scope to their state after version `to`, and returns what changed; throw to refuse
   * it. Tokens, users, memberships and resources of projects that no longer exist stay as they are.
   */
  rollBack(scope: HistoryScope, to: number): Promise<readonly Change[]>;

  createClaim(claim: StoredClaim): Promise<void>;
  redeemedClaim(claim: StoredClaim, tokenId: string): Promise<void>;
  /** Returns whether there was such a claim that could still be redeemed or had expired. */
  revokeClaim(id: string, among: ClaimFilter): Promise<boolean>;

  /** StoreError `exists` when the owner has one of this name on the screen, `conflict` when it has too many. */
  createView(view: SavedView): Promise<void>;
  /** `change` gets the present state, and may throw. Returns null where the owner has none with this id. Faults as of `createView`. */
  changeView(id: string, owner: ViewOwner, change: (current: SavedView) => ViewChange): Promise<SavedView | null>;
  /** Returns what it was; `null` where the owner has none with this id. */
  removeView(id: string, owner: ViewOwner): Promise<SavedView | null>;

  /** Also removes an earlier drain of the same provider and model. */
  beginDrain(drain: Drain): Promise<void>;
  /** Returns whether there was such a drain. */
  endDrain(drain: Pick<Drain, "tenantId" | "provider" | "model">): Promise<boolean>;

  /** Returns whether there was such a session among those of the filter. */
  endSession(id: string, among: SessionFilter): Promise<boolean>;

  /** Puts a delivery into the queue again, whatever its state. */
  redeliver(deliveryId: string): Promise<void>;
  /** Queues an event for a single webhook. Returns the id of its delivery. */
  queueEvent(event: GatewayEvent, recipient: Recipient): Promise<string>;

  /** Says why the whole change is made, for its version and for the rows of its changes in the audit log. */
  annotate(remark: string): void;
  /** Adds a row to the audit log in addition to those of the changes. */
  note(note: AuditNote): void;
  /** StoreError `exists` when there is one with this token and key that is younger than 24 h. */
  keepAnswer(answer: KeptAnswer): Promise<void>;
}

export interface ChangeOptions {
  /** Runs the change, returns the result, and rolls everything back. */
  readonly dryRun?: boolean;
  /** What `revision()` returned: StoreError `moved` where anything was changed since then. */
  readonly basedOn?: string;
}

export interface Changed<T> {
  readonly result: T;
  readonly changes: readonly Change[];
  /** The version that the change made. `null` when no resource changed or it was a dry run. */
  readonly version: number | null;
}
