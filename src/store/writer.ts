// What a change can do. All of it is one transaction under one lock: what was read in it holds until it is committed. Each row that changes is recorded
// in the audit log, and each transaction that changes resources makes a version, without anybody's doing.
import type { ConfiguredKind } from "../core/configured.ts";
import type { Membership, Project } from "../core/identity.ts";
import type { GatewayEvent } from "../core/event.ts";
import type { JsonObject } from "../core/json.ts";
import type {
  Actor,
  AuditNote,
  Change,
  ConfigurationScope,
  Kept,
  KeptAnswer,
  NewResource,
  Resource,
  StoredTenant,
  StoredToken,
  StoredUser,
} from "./records.ts";
import type { Recipient } from "./events.ts";
import type { Reader } from "./reader.ts";

/** The version that the thing has to have still, from an ETag; else StoreError `stale`. Undefined or null: any. */
export type ExpectedVersion = number | null | undefined;

/** `change` functions get what is there, say what it becomes, and may throw; ids and scopes stay what they are. StoreError `unknown`: no such thing. */
export interface Writer extends Reader {
  readonly actor: Actor;
  /** The time of the whole change. */
  readonly nowMs: number;

  createTenant(tenant: StoredTenant): Promise<Kept<StoredTenant>>;
  changeTenant(
    id: string,
    change: (tenant: Kept<StoredTenant>) => StoredTenant,
    expected?: ExpectedVersion,
  ): Promise<Kept<StoredTenant>>;
  /** With everything in it. The last tenant stays: StoreError `conflict`. */
  removeTenant(id: string, expected?: ExpectedVersion): Promise<void>;

  createProject(project: Project): Promise<Kept<Project>>;
  changeProject(
    id: string,
    change: (project: Kept<Project>) => Project,
    expected?: ExpectedVersion,
  ): Promise<Kept<Project>>;
  /** With its tokens, resources and memberships; users who have no other lose their personal tokens. */
  removeProject(id: string, expected?: ExpectedVersion): Promise<void>;

  createUser(user: StoredUser): Promise<Kept<StoredUser>>;
  changeUser(
    id: string,
    change: (user: Kept<StoredUser>) => StoredUser,
    expected?: ExpectedVersion,
  ): Promise<Kept<StoredUser>>;
  /** With memberships and personal tokens. */
  removeUser(id: string, expected?: ExpectedVersion): Promise<void>;

  /** Creates the membership or changes its role. The user and the project have to be of the membership's tenant. */
  putMembership(membership: Membership, expected?: ExpectedVersion): Promise<Kept<Membership>>;
  /** With a user's last membership the user's personal tokens are revoked for good (decisions 2.7). */
  removeMembership(userId: string, projectId: string | null, expected?: ExpectedVersion): Promise<void>;

  createToken(token: StoredToken): Promise<Kept<StoredToken>>;
  /** Writes everything but id, kind, scope, role and times of creation. */
  changeToken(
    id: string,
    change: (token: Kept<StoredToken>) => StoredToken,
    expected?: ExpectedVersion,
  ): Promise<Kept<StoredToken>>;
  removeToken(id: string, expected?: ExpectedVersion): Promise<void>;

  createResource(resource: NewResource): Promise<Resource>;
  /** A secret that comes back masked stays; not where the address beside it changes: StoreError `invalid` (decisions 2.9). */
  changeResource(
    kind: ConfiguredKind,
    id: string,
    change: (resource: Resource) => { readonly name: string | null; readonly document: JsonObject },
    expected?: ExpectedVersion,
  ): Promise<Resource>;
  removeResource(kind: ConfiguredKind, id: string, expected?: ExpectedVersion): Promise<void>;

  /**
   * Makes the resources of the scope what they were after version `to`, and says what that changed: throw in order to refuse it. Tokens, users, memberships
   * and resources of projects that are gone stay as they are.
   */
  rollBack(scope: ConfigurationScope, to: number): Promise<readonly Change[]>;

  /** Puts a delivery into the queue again, whatever became of it. */
  redeliver(deliveryId: string): Promise<void>;
  /** An event for one webhook alone. Gives the id of its delivery. */
  queueEvent(event: GatewayEvent, recipient: Recipient): Promise<string>;

  /** A row of the audit log beside those of the changes. */
  note(note: AuditNote): void;
  /** StoreError `exists`: there is one with this token and key, younger than 24 h. */
  keepAnswer(answer: KeptAnswer): Promise<void>;
}

export interface ChangeOptions {
  /** Does it all, gives the result, and takes it all back. */
  readonly dryRun?: boolean;
}

export interface Changed<T> {
  readonly result: T;
  readonly changes: readonly Change[];
  /** That the change has made. Null: no resource changed, or it was a dry run. */
  readonly version: number | null;
}
