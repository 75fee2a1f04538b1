// The port to what is kept: tenants, projects, users, memberships and access tokens. Drivers: sqlite.ts. All pass test/contract/store.suite.ts.
// Serving never asks the store: it compiles what readIdentities() gives into the snapshot, and again when revision() has moved.
import type { Membership, Project, User } from "../core/identity.ts";
import type { FirstIdentities, Identities, StoredTenant, StoredToken, TokenCaps } from "./records.ts";

/**
 * `unusable`: the database cannot be opened, read or written; the message names it and the cure. `exists`: the id is taken.
 * `unknown`: something that is referred to is not there. `busy`: another process, or this one, did not let go of the database in time.
 */
export type StoreErrorKind = "unusable" | "exists" | "unknown" | "busy";

export class StoreError extends Error {
  readonly kind: StoreErrorKind;
  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StoreError";
    this.kind = kind;
  }
}

/** Every method but migrate() and close() expects a migrated schema, is one transaction, and throws StoreError. */
export interface Store {
  /** Brings the schema up to date; safe when several processes do it at once. Refuses a database that a newer version has migrated. */
  migrate(): Promise<void>;

  /**
   * An opaque text that differs after any process has committed a change to what readIdentities() gives; cheap enough to ask many times a
   * second. Ask before reading: a change in between is then read again, and never missed.
   */
  revision(): Promise<string>;
  readIdentities(): Promise<Identities>;

  /** Creates all of it when there is no tenant yet, and tells whether it did. Of several processes that try at once, one does. */
  createFirst(first: FirstIdentities): Promise<boolean>;
  createTenant(tenant: StoredTenant): Promise<void>;
  setTokenCaps(tenantId: string, caps: TokenCaps): Promise<void>;
  createProject(project: Project): Promise<void>;
  createUser(user: User): Promise<void>;
  /** Takes the user's memberships and personal tokens along. False: there was no such user. */
  removeUser(userId: string): Promise<boolean>;
  /** Creates the membership or changes its role. The user and the project have to be of the membership's tenant. */
  putMembership(membership: Membership): Promise<void>;
  /** With a user's last membership the user's personal tokens are revoked for good (decisions 2.7). False: there was no such membership. */
  removeMembership(userId: string, projectId: string | null, atMs: number): Promise<boolean>;

  insertToken(token: StoredToken): Promise<void>;
  /**
   * Lets `change` say what the token becomes, and writes its name, permissions, secrets, lifetime, end and revocation. Nobody else changes the
   * token in between. Null: no such token. What `change` throws is rethrown, and nothing has happened.
   */
  changeToken(tokenId: string, change: (token: StoredToken) => StoredToken): Promise<StoredToken | null>;

  /** Safe to call twice. */
  close(): Promise<void>;
}
