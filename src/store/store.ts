// The port to stored data: identities, configured resources, audit log, versions. The drivers sqlite.ts and postgres.ts
// both pass test/contract/store/store.suite.ts. Calls never use the store: a snapshot is compiled from what it returns, and
// again when revision() has changed.
import type { Actor, AuditNote, FirstIdentities, Identities } from "./records.ts";
import type { Contents } from "./configuration/contents.ts";
import type { Reader } from "./reader.ts";
import type { SchemaReview } from "./database/contraction-schema.ts";
import type { DraftTable } from "./configuration/kysely-drafts.ts";
import type { SessionTable } from "./identity/kysely-sessions.ts";
import type { Changed, ChangeOptions, Writer } from "./writer.ts";

export interface Reencryption {
  /** Rows that are now under another key. */
  readonly rows: number;
  /** What no key decrypts, with one sentence for each; it stays unchanged. */
  readonly unopened: readonly string[];
}

/**
 * Every method except isNew(), migrate() and close() requires a migrated schema, is one transaction, and throws
 * StoreError.
 */
export interface Store extends Reader {
  /** Whether no gateway has created its tables there yet. */
  isNew(): Promise<boolean>;
  /**
   * Makes the migrations that are missing; safe when several processes do it at once. Refuses a database that only newer
   * versions can use.
   */
  migrate(): Promise<void>;
  /**
   * Makes the contractions that leave gateways of the schema step `oldestHeard` able, none with `null`; safe when
   * several processes do it at once.
   */
  reviewSchema(oldestHeard: number | null): Promise<SchemaReview>;

  /**
   * An opaque text that differs after any process has committed a change, cheap enough to read many times a second.
   * Read it before reading the data: a change in between is then read again, and never missed.
   */
  revision(): Promise<string>;
  /**
   * Calls back soon after a process has committed a change, where the database can notify, and sometimes without a
   * change. Notifications can be lost: poll as well. Returns the function that ends the watch.
   */
  watch(onChange: () => void): () => void;
  readIdentities(): Promise<Identities>;
  /** Reads everything in pages, or only what has changed since `known` was read. */
  readContents(known?: Contents | null): Promise<Contents>;

  /**
   * The only way to change something: `work` runs in one transaction, and no other writes run meanwhile. If it throws,
   * the error is rethrown and nothing has changed. It must use only the writer: the store itself would wait for it. A
   * change that changes nothing leaves no trace.
   */
  change<T>(actor: Actor, work: (writer: Writer) => Promise<T>, options?: ChangeOptions): Promise<Changed<T>>;
  /** Adds a row to the audit log for something that was refused or only read. */
  note(actor: Actor, note: AuditNote): Promise<void>;

  /**
   * Removes some of the older rows of the audit log; `null` removes none of that kind. Returns how many were removed.
   */
  pruneAudit(before: { readonly doneMs: number | null; readonly refusedMs: number | null }): Promise<number>;
  /** Removes some of the earlier events that no gateway has processed. Returns whether others are left. */
  removeUnaddressedEvents(beforeMs: number): Promise<boolean>;

  /** Sessions of the web console, which are no part of what a snapshot is compiled from. */
  readonly sessions: SessionTable;
  readonly drafts: DraftTable;

  /** Re-encrypts everything under the newest master key. */
  reencrypt(): Promise<Reencryption>;

  /**
   * Creates everything when there is no tenant yet, or only the token when the project is the only one and never had a
   * project token. Returns whether it created anything. Of several processes that try at once, one succeeds.
   */
  createFirst(first: FirstIdentities): Promise<boolean>;

  /** Safe to call twice. */
  close(): Promise<void>;
}
