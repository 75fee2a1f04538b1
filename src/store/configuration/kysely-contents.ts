// Reads what a snapshot is compiled from: everything in pages, between which the process continues with its calls, and
// later only what has changed according to the audit log. No transaction stays open during a long read: what changes
// meanwhile is read again, until nothing has changed.
import type { Selectable, Transaction } from "kysely";
import type { SecretCipher } from "../../config/secret-cipher.ts";
import { CONFIGURED_KINDS, type ConfiguredKind } from "../../core/configured/configured.ts";
import type { Drain } from "../../core/configured/drain.ts";
import type { Contents, OpenedResource } from "./contents.ts";
import { DRAIN_KIND, readDrains } from "./kysely-drains.ts";
import { type Db, secretsOf } from "../kysely-reader.ts";
import { WATCHED } from "../migrations.ts";
import type { Identities } from "../records.ts";
import { plainMembershipOf, plainProjectOf, plainTenantOf, plainTokenOf, plainUserOf } from "../database/row-values.ts";
import { inParts } from "../database/in-parts.ts";
import { inOneView } from "../database/transactions.ts";
import { resourceOf } from "./resource-rows.ts";
import type { Schema } from "../schema.ts";
import { openedDocument } from "./secret-fields.ts";
import { StoreError } from "../store-error.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import { messageOf } from "../../core/thrown.ts";
import { isJsonObject } from "../../core/json.ts";

type Tx = Transaction<Schema>;
type Table = "tenants" | "projects" | "users" | "access_tokens" | "resources";

/** Rows that are converted in one go: about 2 ms. */
const PAGE = 500;
/** For more changes than this, reading everything is faster. */
const MOST_CHANGES = 5_000;
const IDS_AT_ONCE = 500;

interface Row {
  readonly id: string;
}

/** By id; memberships by user, with all memberships of one user together. */
interface ContentsById {
  readonly tenants: Map<string, Identities["tenants"][number]>;
  readonly projects: Map<string, Identities["projects"][number]>;
  readonly users: Map<string, Identities["users"][number]>;
  readonly memberships: Map<string, Identities["memberships"]>;
  readonly tokens: Map<string, Identities["tokens"][number]>;
  readonly resources: ReadonlyMap<ConfiguredKind, Map<string, OpenedResource>>;
  readonly drains: readonly Drain[];
  readonly unreadable: Unreadable;
}

type Unreadable = Map<string, string>;

/**
 * Skips rows that cannot be read, one by one: damaged rows, and rows that were written by a newer version or edited by
 * hand.
 */
function readable<R, T>(
  unreadable: Unreadable,
  rows: readonly R[],
  nameOf: (row: R) => string,
  valueOf: (row: R) => T,
): readonly T[] {
  return rows.flatMap((row) => {
    try {
      return [valueOf(row)];
    } catch (thrown) {
      unreadable.set(nameOf(row), messageOf(thrown));
      return [];
    }
  });
}

type TokenRow = Selectable<Schema["access_tokens"]>;
type ResourceRow = Selectable<Schema["resources"]>;
type MembershipRow = Selectable<Schema["memberships"]>;

/** What is read of a table: the kind of its rows in the audit log, and their values. */
interface Reading<R extends Row, T extends Row> {
  readonly table: Table;
  readonly kind: string;
  readonly valuesOf: (rows: readonly R[]) => Promise<readonly T[]>;
}

function readingsOf(db: Db, unreadable: Unreadable, cipher: SecretCipher | null) {
  const plain = <R extends Row, T extends Row>(table: Table, kind: string, valueOf: (row: R) => T): Reading<R, T> => ({
    table,
    kind,
    valuesOf: async (rows) => readable(unreadable, rows, named(kind), valueOf),
  });
  const tokens: Reading<TokenRow, Identities["tokens"][number]> = {
    table: "access_tokens",
    kind: "token",
    valuesOf: (rows) => tokensOf(db, unreadable, rows),
  };
  /** Of every kind of resource, if none is given. */
  const resources = (kind = ""): Reading<ResourceRow, OpenedResource> => ({
    table: "resources",
    kind,
    valuesOf: async (rows) => resourcesOf(unreadable, rows, cipher),
  });
  return {
    tenants: plain("tenants", "tenant", plainTenantOf),
    projects: plain("projects", "project", plainProjectOf),
    users: plain("users", "user", plainUserOf),
    tokens,
    resources,
  };
}

const named =
  (kind: string) =>
  ({ id }: Row): string =>
    `${kind} ${id}`;
const memberships = (unreadable: Unreadable, rows: readonly MembershipRow[]) =>
  readable(unreadable, rows, (row) => `membership ${row.user_id}/${row.project_id ?? ""}`, plainMembershipOf);
const resourcesOf = (unreadable: Unreadable, rows: readonly ResourceRow[], cipher: SecretCipher | null) =>
  readable(
    unreadable,
    rows,
    (row) => `${row.kind} ${row.id}`,
    (row) => openedResource(row, cipher),
  );

export async function readContents(db: Db, cipher: SecretCipher | null, known: Contents | null): Promise<Contents> {
  if (known !== null) {
    const next = await changedSince(db, cipher, known);
    if (next !== null) return next;
  }
  for (let attempt = 0; attempt < 5; attempt++) {
    const revision = await counterOf(db);
    const contents = contentsOf(revision, await readAll(db, cipher), null);
    const next = await changedSince(db, cipher, contents);
    if (next !== null) return next;
  }
  throw new StoreError("busy", "The database changes faster than it can be read.");
}

async function counterOf(db: Db): Promise<bigint> {
  return (await db.selectFrom("revisions").select("counter").where("name", "=", WATCHED).executeTakeFirstOrThrow())
    .counter;
}

// Reading everything.

async function readAll(db: Db, cipher: SecretCipher | null): Promise<ContentsById> {
  const unreadable: Unreadable = new Map();
  const members = memberships(
    unreadable,
    await db.selectFrom("memberships").selectAll().orderBy("user_id").orderBy("project_id").execute(),
  );
  const readings = readingsOf(db, unreadable, cipher);
  const resources = await readPages(db, readings.resources());
  return {
    tenants: await readPages(db, readings.tenants),
    projects: await readPages(db, readings.projects),
    users: await readPages(db, readings.users),
    memberships: Map.groupBy(members, ({ userId }) => userId),
    tokens: await readPages(db, readings.tokens),
    resources: byKind(resources.values()),
    drains: await readDrains(db),
    unreadable,
  };
}

async function readPages<R extends Row, T extends Row>(
  db: Db,
  { table, valuesOf }: Reading<R, T>,
): Promise<Map<string, T>> {
  const all = new Map<string, T>();
  for (let last = ""; ;) {
    const rows = (await db
      .selectFrom(table)
      .selectAll()
      .where("id", ">", last)
      .orderBy("id")
      .limit(PAGE)
      .execute()) as unknown as readonly R[];
    for (const value of await valuesOf(rows)) all.set(value.id, value);
    if (rows.length < PAGE) return all;
    last = rows.at(-1)!.id;
    // SQLite answers synchronously, which would leave no time for other work.
    await yieldToLoop();
  }
}

async function tokensOf(db: Db, unreadable: Unreadable, rows: readonly TokenRow[]): Promise<Identities["tokens"]> {
  const secrets = await secretsOf(
    db,
    rows.map(({ id }) => id),
  );
  return readable(unreadable, rows, named("token"), (row) => plainTokenOf(row, secrets.get(row.id) ?? []));
}

function openedResource(row: ResourceRow, cipher: SecretCipher | null): OpenedResource {
  const fault = isJsonObject(row.document) ? null : "its document is not a JSON object";
  const resource = resourceOf(fault === null ? row : { ...row, document: "{}" });
  return fault === null
    ? { ...resource, ...openedDocument({ kind: resource.kind, id: resource.id, cipher }, resource.document) }
    : { ...resource, fault };
}

function byKind(resources: Iterable<OpenedResource>): ReadonlyMap<ConfiguredKind, Map<string, OpenedResource>> {
  const kinds = new Map(CONFIGURED_KINDS.map((kind) => [kind, new Map<string, OpenedResource>()]));
  for (const resource of resources) kinds.get(resource.kind)!.set(resource.id, resource);
  return kinds;
}

// Reading what has changed.

/** `null` when the audit log does not list everything that has happened since. */
function changedSince(db: Db, cipher: SecretCipher | null, known: Contents): Promise<Contents | null> {
  return inOneView(db, async (tx) => {
    const now = await counterOf(tx);
    const since = BigInt(known.revision);
    if (now === since) return known;
    if (now < since) return null;
    const rows = await tx
      .selectFrom("audit_log")
      .select(["kind", "target_id", "revision"])
      .where("revision", ">", since)
      .orderBy("revision")
      .limit(MOST_CHANGES + 1)
      .execute();
    const revisions = new Set(rows.map(({ revision }) => revision));
    if (rows.length > MOST_CHANGES || BigInt(revisions.size) !== now - since) return null;
    return contentsOf(now, await updatedContents(tx, cipher, known, changedIds(rows)), known);
  });
}

type ChangedIds = ReadonlyMap<string, ReadonlySet<string>>;

function changedIds(rows: readonly { readonly kind: string; readonly target_id: string | null }[]): ChangedIds {
  const ids = new Map<string, Set<string>>();
  for (const { kind, target_id: id } of rows) ids.getOrInsertComputed(kind, () => new Set()).add(id ?? "");
  return ids;
}

async function updatedContents(
  tx: Tx,
  cipher: SecretCipher | null,
  { identities, resources, drains, unreadable: before }: Contents,
  ids: ChangedIds,
): Promise<ContentsById> {
  const unreadable: Unreadable = new Map([...before].filter(([name]) => !isChanged(ids, name)));
  const members = Map.groupBy(identities.memberships, ({ userId }) => userId) as Map<string, Identities["memberships"]>;
  const changed = new Set([...(ids.get("membership") ?? [])].map((id) => id.slice(0, id.lastIndexOf("/"))));
  const again = await readById(changed, (some) =>
    tx
      .selectFrom("memberships")
      .selectAll()
      .where("user_id", "in", some)
      .orderBy("user_id")
      .orderBy("project_id")
      .execute(),
  );
  for (const userId of changed) members.delete(userId);
  for (const [userId, own] of Map.groupBy(memberships(unreadable, again), (membership) => membership.userId))
    members.set(userId, own);
  const readings = readingsOf(tx, unreadable, cipher);
  const kinds = new Map<ConfiguredKind, Map<string, OpenedResource>>();
  for (const kind of CONFIGURED_KINDS)
    kinds.set(kind, await refreshed(tx, readings.resources(kind), resources[kind], ids));
  return {
    tenants: await refreshed(tx, readings.tenants, identities.tenants, ids),
    projects: await refreshed(tx, readings.projects, identities.projects, ids),
    users: await refreshed(tx, readings.users, identities.users, ids),
    memberships: members,
    tokens: await refreshed(tx, readings.tokens, identities.tokens, ids),
    resources: kinds,
    // A tenant that is removed takes its drains along.
    drains: ids.has(DRAIN_KIND) || ids.has("tenant") ? await readDrains(tx) : drains,
    unreadable,
  };
}

/** `name` has the form of the keys of Contents.unreadable. */
function isChanged(ids: ChangedIds, name: string): boolean {
  const at = name.indexOf(" ");
  return ids.get(name.slice(0, at))?.has(name.slice(at + 1)) === true;
}

async function readById<T>(
  ids: ReadonlySet<string>,
  read: (some: readonly string[]) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (const some of inParts([...ids], IDS_AT_ONCE)) found.push(...(await read(some)));
  return found;
}

/** The values that were known, with those of the ids that have changed read again. */
async function refreshed<R extends Row, T extends Row>(
  tx: Tx,
  { table, kind, valuesOf }: Reading<R, T>,
  known: readonly T[],
  changes: ChangedIds,
): Promise<Map<string, T>> {
  const shelf = new Map(known.map((value) => [value.id, value]));
  const ids = changes.get(kind);
  if (ids === undefined) return shelf;
  for (const id of ids) shelf.delete(id);
  const rows = await readById(ids, async (some) => {
    const found = tx.selectFrom(table).selectAll().where("id", "in", some);
    return (await found.execute()) as unknown as readonly R[];
  });
  for (const value of await valuesOf(rows)) shelf.set(value.id, value);
  return shelf;
}

// Unchanged values stay the same objects.

function inOrder<T extends Row>(values: readonly T[]): readonly T[] {
  const isInOrder = values.every(({ id }, index) => index === 0 || values[index - 1]!.id < id);
  return isInOrder ? values : values.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function contentsOf(revision: bigint, shelves: ContentsById, known: Contents | null): Contents {
  const list = <T>(values: Iterable<T>, before: readonly T[] | undefined): readonly T[] => {
    const now = [...values];
    return before !== undefined && before.length === now.length && now.every((value, index) => value === before[index])
      ? before
      : now;
  };
  const ordered = <T extends Row>(shelf: ReadonlyMap<string, T>, before: readonly T[] | undefined): readonly T[] =>
    list(inOrder([...shelf.values()]), before);
  const { identities } = known ?? {};
  const kinds = CONFIGURED_KINDS.map(
    (kind) => [kind, ordered(shelves.resources.get(kind)!, known?.resources[kind])] as const,
  );
  return {
    revision: revision.toString(),
    identities: {
      tenants: ordered(shelves.tenants, identities?.tenants),
      projects: ordered(shelves.projects, identities?.projects),
      users: ordered(shelves.users, identities?.users),
      memberships: list([...shelves.memberships.values()].flat(), identities?.memberships),
      tokens: ordered(shelves.tokens, identities?.tokens),
    },
    resources: Object.fromEntries(kinds) as unknown as Contents["resources"],
    drains: shelves.drains,
    unreadable: shelves.unreadable,
  };
}
