// The store over any database that Kysely supports: the only way to change something, and the reads from which
// snapshots are made. SQL of a particular database does not belong here.
import { counted } from "../core/text/counted.ts";
import type { Transaction } from "kysely";
import type { SecretCipher } from "../config/secret-cipher.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { HISTORY, isNew, migrate, WATCHED } from "./migrations.ts";
import { readContents } from "./configuration/kysely-contents.ts";
import { draftTable } from "./configuration/kysely-drafts.ts";
import { addEvents, removeUnaddressedEvents } from "./events/kysely-event-writes.ts";
import { movedAway, movedToSql } from "./database/move-marks.ts";
import { pruneAudit } from "./audit/kysely-audit.ts";
import { writeHistory, writeNote } from "./configuration/kysely-history.ts";
import { type Db, kyselyReader } from "./kysely-reader.ts";
import type { Written } from "./kysely-work.ts";
import { reencryptAll } from "./configuration/kysely-reencryption.ts";
import { openWriter } from "./kysely-writer.ts";
import { type Actor, COMMAND_LINE, type FirstIdentities, type Identities, LOCAL_ACTOR } from "./records.ts";
import { plainMembershipOf, plainProjectOf, plainTenantOf, plainTokenOf, plainUserOf } from "./database/row-values.ts";
import { sessionTable } from "./identity/kysely-sessions.ts";
import type { Schema } from "./schema.ts";
import { StoreError } from "./store-error.ts";
import type { Reencryption, Store } from "./store.ts";
import type { Changed, ChangeOptions, Writer } from "./writer.ts";
import type { SchemaReview } from "./database/contraction-schema.ts";
import { contract, oldestProgram, refusalOf } from "./database/contractions.ts";
import { isLost } from "./database/postgres-client.ts";
import { inOneView, beginWriting } from "./database/transactions.ts";

type Tx = Transaction<Schema>;

export interface KyselyStoreOptions {
  /** Begins a sentence in messages. */
  readonly databaseName: string;
  /** With `null`, documents with secrets can be neither stored nor decrypted. */
  readonly cipher: SecretCipher | null;
  readonly clock?: Clock;
  /** Announces to other processes, within the transaction, that the revision changes. */
  readonly announce?: (tx: Tx, revision: bigint) => Promise<void>;
  /** As in the port; by default changes are never reported. */
  readonly watch?: Store["watch"];
  /** Turns an error of the driver into the one that is thrown. */
  readonly explain?: (error: unknown) => unknown;
  readonly close: () => Promise<void>;
}

export function kyselyStore(db: Db, options: KyselyStoreOptions): Store {
  const { databaseName, cipher, clock = systemClock, close } = options;
  const change: Store["change"] = (actor, work, how = {}) => changing(db, options, actor, work, how);
  return {
    ...kyselyReader(db, { clock, cipher }),
    isNew: () => isNew(db),
    migrate: () => migrate(db, databaseName, { explain: options.explain }),
    reviewSchema: (oldestHeard) => reviewSchema(db, databaseName, oldestHeard),
    revision: () => revision(db, databaseName),
    watch: options.watch ?? (() => () => {}),
    readIdentities: () => inOneView(db, readIdentities),
    readContents: (known = null) => readContents(db, cipher, known),
    change,
    note: (actor, note) => beginWriting(db).execute((tx) => writeNote(tx, actor, clock.now(), note)),
    pruneAudit: (before) => pruneAudit(db, before),
    removeUnaddressedEvents: (beforeMs) => removeUnaddressedEvents(db, beforeMs),
    sessions: sessionTable(db),
    drafts: draftTable(db, cipher),
    reencrypt: () => reencryptWithNewestKey(db, options),
    // Checked before taking the lock too, so that an ordinary start does not wait for it.
    createFirst: async (first) =>
      (await mayBeFirst(db)) && (await change(LOCAL_ACTOR, (writer) => createFirst(writer, first))).result,
    close,
  };
}

async function reviewSchema(db: Db, databaseName: string, oldestHeard: number | null): Promise<SchemaReview> {
  const refusal = refusalOf(databaseName, await oldestProgram(db), HISTORY);
  if (refusal !== null || oldestHeard === null) return { contracted: [], refusal };
  return { contracted: await contract(db, HISTORY, oldestHeard), refusal: null };
}

/** Carries the result out of a transaction that is rolled back. */
class RolledBack extends Error {
  readonly changed: Changed<unknown>;
  constructor(changed: Changed<unknown>) {
    super("taken back");
    this.changed = changed;
  }
}

/**
 * One transaction of writes. It updates the revision first: that row is the lock that makes reading, deciding and
 * writing one step on every database.
 */
async function changing<T>(
  db: Db,
  { cipher, clock = systemClock, announce }: KyselyStoreOptions,
  actor: Actor,
  work: (writer: Writer) => Promise<T>,
  { dryRun = false, basedOn }: ChangeOptions,
): Promise<Changed<T>> {
  let isCommitting = false;
  try {
    return await beginWriting(db).execute(async (tx) => {
      const counter = await moveRevision(tx);
      if (basedOn !== undefined && (counter - 1n).toString() !== basedOn)
        throw new StoreError("moved", "The configuration was changed while this change was prepared. Try again.");
      const atMs = clock.now();
      const { writer, written } = openWriter(tx, { actor, nowMs: atMs, cipher });
      const result = await work(writer);
      const { entries, changes, steps, rolledBackTo, remark } = written;
      if (dryRun || !hasWritten(written)) throw new RolledBack({ result, changes, version: null });
      const version = await writeHistory(tx, { actor, atMs, revision: counter, entries, steps, rolledBackTo, remark });
      await addEvents(tx, changes, actor, atMs);
      // a saved view, for example, is nothing that gateways hold: none has to read again
      if (entries.some(({ isChange }) => isChange)) await announce?.(tx, counter);
      else await moveRevision(tx, -1n);
      isCommitting = true;
      return { result, changes, version };
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.changed as Changed<T>;
    if (isCommitting && isLost(error))
      throw new StoreError("uncertain", "The database was lost while it committed a change.", error);
    throw error;
  }
}

/** The revision changes as well, so that every gateway reads again and finds the new key. */
function reencryptWithNewestKey(
  db: Db,
  { cipher, clock = systemClock, announce }: KyselyStoreOptions,
): Promise<Reencryption> {
  if (cipher === null) throw new StoreError("encryption", "There is no master key.");
  return beginWriting(db).execute(async (tx) => {
    const counter = await moveRevision(tx);
    const done = await reencryptAll(tx, cipher);
    const note = `${counted(done.rows, "row is", "rows are")} encrypted with the newest key${done.unopened.length === 0 ? "" : `, ${done.unopened.length} could not be decrypted`}.`;
    const rotation = { action: "rotate", outcome: "done", kind: "master_key", tenantId: null, note } as const;
    await writeNote(tx, COMMAND_LINE, clock.now(), rotation);
    await announce?.(tx, counter);
    return done;
  });
}

async function moveRevision(tx: Tx, by = 1n): Promise<bigint> {
  const { counter } = await tx
    .updateTable("revisions")
    .set((row) => ({ counter: row("counter", "+", by) }))
    .where("name", "=", WATCHED)
    .returning("counter")
    .executeTakeFirstOrThrow();
  return counter;
}

const hasWritten = ({ entries, keptAnswers }: Written): boolean => entries.length > 0 || keptAnswers > 0;

/** A gateway that still uses a database that was moved would not learn of changes in the new one. */
async function revision(db: Db, databaseName: string): Promise<string> {
  const row = await db
    .selectFrom("revisions")
    .select(["counter", movedToSql.as("movedTo")])
    .where("name", "=", WATCHED)
    .executeTakeFirstOrThrow();
  if (row.movedTo !== null) throw movedAway(databaseName, row.movedTo);
  return row.counter.toString();
}

async function readIdentities(tx: Tx): Promise<Identities> {
  const tenants = await tx.selectFrom("tenants").selectAll().orderBy("id").execute();
  const projects = await tx.selectFrom("projects").selectAll().orderBy("id").execute();
  const users = await tx.selectFrom("users").selectAll().orderBy("id").execute();
  const memberships = await tx.selectFrom("memberships").selectAll().orderBy("user_id").orderBy("project_id").execute();
  const tokens = await tx.selectFrom("access_tokens").selectAll().orderBy("id").execute();
  const secrets = Map.groupBy(
    await tx.selectFrom("token_secrets").selectAll().orderBy("sha256").execute(),
    (secret) => secret.token_id,
  );
  return {
    tenants: tenants.map(plainTenantOf),
    projects: projects.map(plainProjectOf),
    users: users.map(plainUserOf),
    memberships: memberships.map(plainMembershipOf),
    tokens: tokens.map((row) => plainTokenOf(row, secrets.get(row.id) ?? [])),
  };
}

async function mayBeFirst(db: Db): Promise<boolean> {
  return (
    (await db.selectFrom("access_tokens").select("id").where("kind", "=", "project").limit(1).executeTakeFirst()) ===
    undefined
  );
}

async function createFirst(
  writer: Writer,
  { tenant, project, user, membership, token }: FirstIdentities,
): Promise<boolean> {
  const isEmpty = (await writer.listTenants({ limit: 1 })).data.length === 0;
  if (isEmpty) {
    await writer.createTenant(tenant);
    await writer.createProject(project);
    await writer.createUser(user);
    await writer.putMembership(membership);
  } else if (token === null || !(await lacksFirstToken(writer, project.id))) return false;
  if (token !== null) await writer.createToken(token);
  return true;
}

/**
 * Tokens are revoked, and removed only with their project. Where the project of the first start is the only one and has
 * no token, there never was one.
 */
async function lacksFirstToken(writer: Writer, projectId: string): Promise<boolean> {
  const { data: projects } = await writer.listProjects({ limit: 2 });
  return (
    projects.length === 1 &&
    projects[0]!.id === projectId &&
    (await writer.listTokens({ limit: 1 }, { kind: "project" })).data.length === 0
  );
}
