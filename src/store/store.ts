// The port to what is kept: identities, configured resources, audit log, versions. Drivers: sqlite.ts, postgres.ts. All pass test/contract/store.suite.ts.
// Serving never asks the store: it compiles what the reads for the snapshot give, and again when revision() has moved.
import type { Actor, AuditNote, FirstIdentities, Identities } from "./records.ts";
import type { Contents } from "./contents.ts";
import type { Reader } from "./reader.ts";
import type { Changed, ChangeOptions, Writer } from "./writer.ts";

/**
 * `unusable`: the database cannot be opened, read or written; the message names it and the cure. `busy`: another process, or this one, did not let go of
 * the database in time. `exists`: the id or name is taken. `unknown`: something that is referred to is not there. `stale`: it has another version than was
 * expected. `conflict`: what is there does not allow the change. `invalid`: what was given cannot be kept or understood. `sealed`: a secret cannot be opened or
 * sealed with the master keys that are there; the message says which, without any of them.
 */
export type StoreErrorKind = "unusable" | "sealed" | "busy" | "exists" | "unknown" | "stale" | "conflict" | "invalid";

export class StoreError extends Error {
  readonly kind: StoreErrorKind;
  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StoreError";
    this.kind = kind;
  }
}

export interface Resealed {
  /** Rows that are under another key now. */
  readonly resealed: number;
  /** What no key opens, a sentence each; it stays as it is. */
  readonly unopened: readonly string[];
}

/** Every method but isNew(), migrate() and close() expects a migrated schema, is one transaction, and throws StoreError. */
export interface Store extends Reader {
  /** Whether no gateway has made its tables there yet. */
  isNew(): Promise<boolean>;
  /** Brings the schema up to date; safe when several processes do it at once. Refuses a database that a newer version has migrated. */
  migrate(): Promise<void>;

  /**
   * An opaque text that differs after any process has committed a change; cheap enough to ask many times a second. Ask before reading: a change in
   * between is then read again, and never missed.
   */
  revision(): Promise<string>;
  /** Calls back soon after a process has committed a change, where the database can tell, and now and then without one. What it tells can be lost: poll as well. Gives what ends it. */
  watch(onChange: () => void): () => void;
  readIdentities(): Promise<Identities>;
  /** All of it in pages, or what has changed since `known` was read. */
  readContents(known?: Contents | null): Promise<Contents>;

  /**
   * The one way to change something: `work` runs in one transaction that nobody else writes in. What it throws is rethrown, and nothing has happened.
   * It must use the writer alone: the store itself would wait for it. A change that changes nothing leaves no trace.
   */
  change<T>(actor: Actor, work: (writer: Writer) => Promise<T>, options?: ChangeOptions): Promise<Changed<T>>;
  /** For what was refused or only looked at: a row of the audit log alone. */
  note(actor: Actor, note: AuditNote): Promise<void>;

  /** Removes rows of the audit log that are older, some of them; null: none. Gives how many went. */
  pruneAudit(before: { readonly doneMs: number | null; readonly refusedMs: number | null }): Promise<number>;
  /** Removes events that happened before and that no gateway has asked for, some of them. Gives whether deliveries to webhooks wait. */
  forgetUnheardEvents(beforeMs: number): Promise<boolean>;

  /** Seals everything again under the newest master key. */
  reseal(): Promise<Resealed>;

  /**
   * Creates all of it when there is no tenant yet; the token alone, where the project is the only one and no project token was ever made. Tells whether it
   * created anything. Of several processes that try at once, one does.
   */
  createFirst(first: FirstIdentities): Promise<boolean>;

  /** Safe to call twice. */
  close(): Promise<void>;
}
