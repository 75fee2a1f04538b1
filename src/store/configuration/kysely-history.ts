// The versions of the configuration, and what one transaction adds to them and to the audit log (kysely-audit.ts), over
// any database that Kysely supports. The state of a resource after some version is the state before its first later
// change, so nothing has to be stored twice.
import { type Kysely, type Selectable, type SelectQueryBuilder, sql } from "kysely";
import type { Actor, AuditNote, ConfigurationScope, HistoryScope, VersionSummary } from "../records.ts";
import { inParts } from "../database/in-parts.ts";
import { CHANGE_LENGTH, type ListKey, onPage, pageOf, readFirst, rowsWithRoom } from "../database/pages.ts";
import { addToChains } from "../audit/kysely-audit.ts";
import { MOST_OF_CHANGES, type Reader } from "../reader.ts";
import { actorColumns, actorOf } from "../database/row-values.ts";
import { actionOf, changeOf, type ResourceStep, resourceOf, stepOf, type StoredResource } from "./resource-rows.ts";
import { maskedDocument } from "./secret-fields.ts";
import { fromInteger, keptIn, rowOf, storable, toInteger } from "../database/columns.ts";
import { type Schema, VERSION } from "../schema.ts";
import { StoreError } from "../store-error.ts";

type Db = Kysely<Schema>;

/** Rows of one insert, because databases limit the values of a statement. */
const ROWS_AT_ONCE = 200;
/** States that are read at once, each of which may have a million characters. */
const STATES_AT_ONCE = 20;

const VERSIONS: ListKey = { list: "versions", columns: [["number", "integer"]], newestFirst: true };

/** The versions, as the port to stored data has them. */
export function versionReader(
  db: Db,
): Pick<Reader, "versionAt" | "listVersions" | "findVersion" | "listObjectVersions" | "diffVersions"> {
  return {
    async versionAt(ms) {
      const row = await db
        .selectFrom("versions")
        .select((one) => one.fn.max("number").as("number"))
        .where("at_ms", "<=", toInteger(ms))
        .executeTakeFirst();
      return fromInteger(row?.number ?? 0n);
    },
    async listVersions(page, scope) {
      let query = db.selectFrom("versions").selectAll().$call(onPage(page, VERSIONS));
      if (scope !== undefined)
        query = query.where("number", "in", inScope(db.selectFrom("version_changes").select("version"), scope));
      const rows = await query.execute();
      const counts = await changesOf(
        db,
        rows.map(({ number }) => number),
        scope,
      );
      return pageOf(rows, page, VERSIONS, (row) => ({ ...versionOf(row), changes: counts.get(row.number) ?? 0 }));
    },
    async findVersion(number, scope) {
      if (!Number.isSafeInteger(number)) return null;
      const row = await db
        .selectFrom("versions")
        .selectAll()
        .where("number", "=", toInteger(number))
        .executeTakeFirst();
      if (row === undefined) return null;
      await requireFewCharacters(changesBetween(db, number - 1, number, scope), MOST_OF_CHANGES);
      const steps = await stepsBetween(db, number - 1, number, scope);
      return steps.length === 0 && scope !== undefined ? null : { ...versionOf(row), changes: steps.map(changeOf) };
    },
    async listObjectVersions(resourceId, scope, most) {
      const newest = inScope(db.selectFrom("version_changes"), { ...scope, resourceId })
        .orderBy("version", "desc")
        .orderBy("ordinal", "desc");
      const room = rowsWithRoom(await newest.select(CHANGE_LENGTH.as("characters")).limit(sql.lit(most)).execute());
      if (room === 0) return [];
      const rows = await newest.selectAll().limit(sql.lit(room)).execute();
      const numbers = rows.map(({ version }) => version);
      const heads = await db.selectFrom("versions").selectAll().where("number", "in", numbers).execute();
      const headOf = new Map(heads.map((row) => [row.number, versionOf(row)]));
      return rows.map((row) => ({ ...headOf.get(row.version)!, changes: [changeOf(stepOf(row))] }));
    },
    async diffVersions(from, to, scope, mostCharacters) {
      const [low, high] = from <= to ? [from, to] : [to, from];
      const whole = await netSteps(db, low, high, scope, mostCharacters);
      return whole
        .map((step) => (from <= to ? step : { before: step.after, after: step.before }))
        .filter(({ before, after }) => content(before) !== content(after))
        .map(changeOf);
    },
  };
}

const versionOf = (row: Selectable<Schema["versions"]>): Omit<VersionSummary, "changes"> => ({
  ...keptIn(VERSION, row),
  actor: actorOf(row),
});

async function changesOf(
  db: Db,
  versions: readonly bigint[],
  scope: ConfigurationScope | undefined,
): Promise<ReadonlyMap<bigint, number>> {
  if (versions.length === 0) return new Map();
  const query = db
    .selectFrom("version_changes")
    .select((row) => ["version", row.fn.countAll<bigint>().as("changes")] as const)
    .where("version", "in", [...versions])
    .groupBy("version");
  const rows = await (scope === undefined ? query : inScope(query, scope)).execute();
  return new Map(rows.map(({ version, changes }) => [version, Number(changes)]));
}

/** Of changes, in their order. A version has fewer changes than this. */
const CHANGES_OF_VERSION = 1_048_576n;
const PLACE = sql<bigint>`version * ${sql.lit(Number(CHANGES_OF_VERSION))} + ordinal`;

/**
 * One step for each resource that is there after `low` or after `high`, in the order of their first changes. Only the first
 * and the last state of a resource are read, because those between may have any number of characters together.
 */
async function netSteps(
  db: Db,
  low: number,
  high: number,
  scope?: HistoryScope,
  mostCharacters = Number.POSITIVE_INFINITY,
): Promise<readonly ResourceStep[]> {
  const between = changesBetween(db, low, high, scope);
  const ends = await between
    .select((row) => [row.fn.min<bigint>(PLACE).as("first"), row.fn.max<bigint>(PLACE).as("last")] as const)
    .groupBy("resource_id")
    .execute();
  const steps: ResourceStep[] = [];
  let left = mostCharacters;
  const take = (characters: number): void => {
    left -= characters;
    if (left < 0) throw tooLong(mostCharacters);
  };
  const inOrder = ends.toSorted((one, other) => (one.first < other.first ? -1 : 1));
  for (const some of inParts(inOrder, STATES_AT_ONCE)) {
    const firsts = some.map(({ first }) => first);
    const lasts = some.map(({ last }) => last);
    const before = await statesAt(db, "value_before", firsts, take);
    const after = await statesAt(db, "value_after", lasts, take);
    for (const { first, last } of some) {
      const step = { before: before.get(first) ?? null, after: after.get(last) ?? null };
      if (step.before !== null || step.after !== null) steps.push(step);
    }
  }
  return steps;
}

/** Throws StoreError `invalid`. */
async function requireFewCharacters(changes: ReturnType<typeof changesBetween>, most: number): Promise<void> {
  const row = await changes.select((one) => one.fn.sum<bigint>(CHANGE_LENGTH).as("characters")).executeTakeFirst();
  if (Number(row?.characters ?? 0n) > most) throw tooLong(most);
}

const tooLong = (most: number): StoreError =>
  new StoreError(
    "invalid",
    `These changes have more than ${most.toLocaleString("en-US")} characters. Compare versions that are nearer to each other, or read the versions of single objects.`,
  );

async function statesAt(
  db: Db,
  side: "value_before" | "value_after",
  places: readonly bigint[],
  take: (characters: number) => void,
): Promise<ReadonlyMap<bigint, StoredResource>> {
  const rows = await db
    .selectFrom("version_changes")
    .select(["version", "ordinal", side])
    .where((row) =>
      row.or(
        places.map((place) =>
          row.and({
            version: place / CHANGES_OF_VERSION,
            ordinal: place % CHANGES_OF_VERSION,
          }),
        ),
      ),
    )
    .where(side, "is not", null)
    .execute();
  take(rows.reduce((sum, row) => sum + row[side]!.length, 0));
  return new Map(
    rows.map((row) => [row.version * CHANGES_OF_VERSION + row.ordinal, JSON.parse(row[side]!) as StoredResource]),
  );
}

/**
 * Returns what is compared between two states of a resource. A secret is represented by its handle, which does not change
 * when the secret is encrypted under a new master key.
 */
function content(resource: StoredResource | null): string {
  return resource === null ? "" : JSON.stringify([resource.name, maskedDocument(resource.kind, resource.document)]);
}

/** The steps after `low`, up to and including `high`, in order. */
async function stepsBetween(db: Db, low: number, high: number, scope?: HistoryScope): Promise<readonly ResourceStep[]> {
  const between = changesBetween(db, low, high, scope).selectAll().orderBy("version").orderBy("ordinal");
  return (await between.execute()).map(stepOf);
}

function changesBetween(db: Db, low: number, high: number, scope?: HistoryScope) {
  if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high))
    throw new StoreError("invalid", "A version must be a whole number.");
  const query = db
    .selectFrom("version_changes")
    .where("version", ">", toInteger(low))
    .where("version", "<=", toInteger(high));
  return scope === undefined ? query : inScope(query, scope);
}

function inScope<Output>(
  query: SelectQueryBuilder<Schema, "version_changes", Output>,
  { tenantId, projectId, resourceId }: HistoryScope,
): SelectQueryBuilder<Schema, "version_changes", Output> {
  const ofTenant = query.where("tenant_id", "=", tenantId);
  const ofPlace = projectId === null ? ofTenant : ofTenant.where("project_id", "=", projectId);
  return resourceId === undefined ? ofPlace : ofPlace.where("resource_id", "=", resourceId);
}

/** The steps that restore the state after version `to`. Resources of projects that no longer exist are left out. */
export async function planRollBack(tx: Db, scope: HistoryScope, to: number): Promise<readonly ResourceStep[]> {
  if (!Number.isSafeInteger(to) || to < 0) throw new StoreError("invalid", "A version must be a whole number.");
  if (
    to > 0 &&
    (await tx.selectFrom("versions").select("number").where("number", "=", toInteger(to)).executeTakeFirst()) ===
      undefined
  )
    throw new StoreError("unknown", `There is no version ${to}.`);
  const later = await netSteps(tx, to, Number.MAX_SAFE_INTEGER, scope);
  const projects = new Set(
    (await tx.selectFrom("projects").select("id").where("tenant_id", "=", scope.tenantId).execute()).map(
      ({ id }) => id,
    ),
  );
  const steps: ResourceStep[] = [];
  for (const { before: was, after: becomes } of later) {
    const { id } = (was ?? becomes)!;
    const is = await readFirst(tx.selectFrom("resources").selectAll().where("id", "=", id), resourceOf);
    const gone = was !== null && was.projectId !== null && !projects.has(was.projectId);
    if (!gone && content(is) !== content(was)) steps.push({ before: is, after: was });
  }
  return steps;
}

export interface AuditEntry extends AuditNote {
  readonly isChange: boolean;
}

/** What one transaction has done, as it is recorded in that transaction. */
export interface History {
  readonly actor: Actor;
  readonly atMs: number;
  /** The revision that the transaction has made; `null` when it changed nothing that has a revision. */
  readonly revision: bigint | null;
  readonly entries: readonly AuditEntry[];
  readonly steps: readonly ResourceStep[];
  readonly rolledBackTo: number | null;
  /** Why the change was made; `null` when it was not said. */
  readonly remark: string | null;
}

/** Records what changed nothing that has a revision. */
export async function writeNote(tx: Db, actor: Actor, atMs: number, note: AuditNote): Promise<void> {
  const entries = [{ ...note, isChange: false }];
  await writeAudit(tx, { actor, atMs, revision: null, entries, remark: null }, null);
}

/** Returns the version that was made, or `null`. */
export async function writeHistory(tx: Db, history: History): Promise<number | null> {
  const version = history.steps.length === 0 ? null : await writeVersion(tx, history);
  await writeAudit(tx, history, version);
  return version;
}

async function writeVersion(tx: Db, { actor, atMs, steps, rolledBackTo, remark }: History): Promise<number> {
  const newest = await tx
    .selectFrom("versions")
    .select((row) => row.fn.max("number").as("number"))
    .executeTakeFirst();
  const number = fromInteger(newest?.number ?? 0n) + 1;
  await tx
    .insertInto("versions")
    .values({ ...rowOf(VERSION, { number, atMs, rolledBackTo, note: remark }), ...actorColumns(actor) })
    .execute();
  const rows = steps.map((step, index) => {
    const { before, after } = step;
    const { kind, id, name, tenantId, projectId } = (after ?? before)!;
    const [value_before, value_after] = [before, after].map((value) => (value === null ? null : JSON.stringify(value)));
    return {
      version: toInteger(number),
      ordinal: BigInt(index),
      action: actionOf(step),
      kind,
      resource_id: id,
      name,
      tenant_id: tenantId,
      project_id: projectId,
      value_before: value_before!,
      value_after: value_after!,
    };
  });
  for (const some of inParts(rows, ROWS_AT_ONCE)) await tx.insertInto("version_changes").values(some).execute();
  return number;
}

async function writeAudit(
  tx: Db,
  { actor, atMs, revision, entries, remark }: Omit<History, "steps" | "rolledBackTo">,
  version: number | null,
): Promise<void> {
  const rows = entries.map((entry) => ({
    // Sorts by time, and by order within one process.
    id: Bun.randomUUIDv7("hex", atMs),
    at_ms: toInteger(atMs),
    ...actorColumns(actor),
    via: actor.via ?? null,
    session_id: actor.sessionId ?? null,
    action: entry.action,
    outcome: entry.outcome,
    kind: entry.kind,
    target_id: storableOrNull(entry.targetId),
    target_name: storableOrNull(entry.targetName),
    tenant_id: entry.tenantId,
    project_id: entry.projectId ?? null,
    value_before: entry.before == null ? null : JSON.stringify(entry.before),
    value_after: entry.after == null ? null : JSON.stringify(entry.after),
    note: storableOrNull(entry.note ?? (entry.isChange ? remark : null)),
    version: entry.isChange && version !== null ? toInteger(version) : null,
    revision: entry.isChange ? revision : null,
  }));
  await addToChains(tx, rows);
}

/** What was refused may name anything. */
const storableOrNull = (text: string | null | undefined): string | null => (text == null ? null : storable(text));
