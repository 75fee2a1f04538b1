// What becomes of access after a restore. A token that was revoked, narrowed or removed since the backup stays so where a
// newer database is known, and what any gateway knows as revoked is revoked; sessions and links end in any case.
import { type Kysely, sql } from "kysely";
import type { Database } from "../database/database.ts";
import { fromRole, keptIn } from "../database/columns.ts";
import { moveMarks } from "../database/move-marks.ts";
import { WATCHED } from "../migrations.ts";
import { COMMAND_LINE } from "../records.ts";
import { CHANGEABLE_OF_TOKEN, type Schema, TOKEN_SECRET } from "../schema.ts";
import type { Writer } from "../writer.ts";

type Db = Kysely<Schema>;
const { permissions, models, routes, tools, ip_ranges, expires_at_ms } = CHANGEABLE_OF_TOKEN;
/** What can be changed of a token's rights and end. */
const RIGHTS = { permissions, models, routes, tools, ip_ranges, expires_at_ms };
const RIGHT_COLUMNS = Object.keys(RIGHTS) as readonly (keyof typeof RIGHTS)[];
const TOKEN_COLUMNS = ["id", "name", ...RIGHT_COLUMNS, "revoked_at_ms"] as const;
type TokenRow = Pick<Schema["access_tokens"], (typeof TOKEN_COLUMNS)[number]>;
type SecretRow = Schema["token_secrets"];
type MemberRow = Pick<Schema["memberships"], "tenant_id" | "user_id" | "project_id" | "role">;

/** What a database says about who may call. */
export type KnownAccess = Awaited<ReturnType<typeof knownAccess>>;

export type AccessReport = Awaited<ReturnType<typeof applyKnownAccess>>;

/** `name` begins a sentence. `lastChange` is that of the backup (BackupSummary). */
export async function knownAccess(db: Db, name: string, lastChange: string | null) {
  const { rows } = await sql<{
    readonly counter: bigint;
  }>`select counter from revisions where name = ${WATCHED}`.execute(db);
  const found =
    lastChange === null
      ? null
      : await sql`select 1 from audit_log where hash = ${lastChange} union all select 1 from audit_removed where hash = ${lastChange}`.execute(
          db,
        );
  const users = await db.selectFrom("users").select(["id", "is_operator", "issuer", "subject"]).execute();
  return {
    name,
    revision: rows[0]?.counter ?? 0n,
    /** Whether its audit log has, or had until its retention ended, the last change that the backup has. */
    hasLastChange: found === null || found.rows.length > 0,
    /** Whether it was moved away, so that another database may know more. */
    isLeft: (await moveMarks(db)).some(({ role, state }) => role === "from" && state === "moved"),
    tokens: await tokensIn(db),
    secrets: await db.selectFrom("token_secrets").selectAll().execute(),
    members: await db.selectFrom("memberships").select(["tenant_id", "user_id", "project_id", "role"]).execute(),
    users: new Map(users.map((user) => [user.id, user])),
  };
}

async function tokensIn(db: Db): Promise<ReadonlyMap<string, TokenRow>> {
  const tokens = await db.selectFrom("access_tokens").select(TOKEN_COLUMNS).execute();
  return new Map(tokens.map((token) => [token.id, token]));
}

export interface ApplyOptions {
  readonly known: readonly KnownAccess[];
  /** Of the backup: a restore that was killed may have changed some access already, which the database counts. */
  readonly revision: bigint;
  readonly revokesAll: boolean;
  readonly nowMs: number;
}

export async function applyKnownAccess(
  { db, store, name }: Database,
  { known, revision, revokesAll, nowMs }: ApplyOptions,
) {
  const restored = await knownAccess(db, name, null);
  const newer = known
    .filter((one) => one.revision >= revision && one.hasLastChange)
    .toSorted((one, other) => (one.revision < other.revision ? 1 : -1));
  await endSessions(db);
  const newest = newer[0];
  const changed = newest === undefined ? 0 : await takeOver(store, restored, newest);
  // a token that had expired by the backup may have been given a later end since, and have been revoked after that
  const tokens = newest === undefined ? restored.tokens : await tokensIn(db);
  const valid = [...tokens.values()].filter(
    ({ id, expires_at_ms: endsMs }) =>
      (restored.tokens.get(id)?.revoked_at_ms ?? null) === null && endsMs > BigInt(nowMs),
  );
  const isRevoked = ({ id, revoked_at_ms: revokedAtMs }: TokenRow): boolean =>
    revokesAll ||
    revokedAtMs !== null ||
    known.some((one) => (one.tokens.get(id)?.revoked_at_ms ?? null) !== null) ||
    (newest !== undefined && !newest.tokens.has(id));
  const revoked = valid.filter(isRevoked).map(({ id }) => id);
  if (revoked.length > 0)
    await store.change(COMMAND_LINE, async (writer) => {
      for (const id of revoked)
        if ((tokens.get(id)!.revoked_at_ms ?? null) === null)
          await writer.changeToken(id, (token) => ({ ...token, revokedAtMs: token.revokedAtMs ?? nowMs }));
    });
  const isGone = new Set(revoked);
  return {
    /** The databases of those that were known which are newer than the backup. */
    newer: newer.map((one) => one.name),
    /** Ids of tokens that would be valid, by the backup or what is known since, and are revoked now. */
    revoked,
    /** How many tokens have now what the newest database says of their rights, secrets or end. */
    changed,
    /** Tokens that are valid although no database is known that is newer than the backup and in use. */
    uncertain: newer.every(({ isLeft }) => isLeft)
      ? valid.filter(({ id }) => !isGone.has(id)).map(({ id, name: tokenName }) => ({ id, name: tokenName }))
      : [],
  };
}

/** Whoever logged out since the backup, or used a link that works once, did so for good. */
async function endSessions(db: Db): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom("console_sessions").execute();
    await tx.deleteFrom("console_codes").execute();
    await tx.deleteFrom("token_claims").where("redeemed_at_ms", "is", null).execute();
  });
}

/**
 * Gives tokens, memberships and users the rights, secrets and logins that the newest database knows, as changes that the
 * audit log has. A user who loses the last role by it loses the personal tokens. Returns of how many tokens.
 */
async function takeOver(store: Database["store"], restored: KnownAccess, newest: KnownAccess): Promise<number> {
  const withSecrets = changedSecrets(restored, newest);
  const changed = new Set(withSecrets);
  for (const token of restored.tokens.values()) {
    const now = newest.tokens.get(token.id);
    if (now !== undefined && RIGHT_COLUMNS.some((column) => now[column] !== token[column])) changed.add(token.id);
  }
  const secretsOf = Map.groupBy(newest.secrets, ({ token_id: id }) => id);
  await store.change(COMMAND_LINE, async (writer) => {
    for (const id of changed) {
      const rights = keptIn(RIGHTS, newest.tokens.get(id)!);
      const secrets = (secretsOf.get(id) ?? []).map((row) => keptIn(TOKEN_SECRET, row));
      await writer.changeToken(id, (token) => ({ ...token, ...rights, ...(withSecrets.has(id) && { secrets }) }));
    }
    await takeOverMembers(writer, restored, newest);
    await takeOverUsers(writer, restored, newest);
  });
  return changed.size;
}

const secretKey = ({ token_id: id, sha256, retires_at_ms: retiresMs }: SecretRow): string =>
  `${id} ${sha256} ${retiresMs ?? ""}`;

/** The ids of the tokens in both whose secrets differ. */
function changedSecrets(restored: KnownAccess, newest: KnownAccess): ReadonlySet<string> {
  const had = new Set(restored.secrets.map(secretKey));
  const has = new Set(newest.secrets.map(secretKey));
  return new Set(
    [
      ...restored.secrets.filter((secret) => !has.has(secretKey(secret))),
      ...newest.secrets.filter((secret) => !had.has(secretKey(secret))),
    ]
      .map(({ token_id: id }) => id)
      .filter((id) => restored.tokens.has(id) && newest.tokens.has(id)),
  );
}

/** An operator right and a company login that the newest database does not know any more are taken away. */
async function takeOverUsers(writer: Writer, restored: KnownAccess, newest: KnownAccess): Promise<void> {
  for (const { id, is_operator: wasOperator, issuer, subject } of restored.users.values()) {
    const now = newest.users.get(id);
    const lost = {
      ...(wasOperator === 1n && now?.is_operator !== 1n && { isOperator: false }),
      ...(issuer !== null && (now?.issuer !== issuer || now.subject !== subject) && { login: null }),
    };
    if (Object.keys(lost).length > 0) await writer.changeUser(id, (user) => ({ ...user, ...lost }));
  }
}

/** A membership that the newest database has alone is not taken over. */
async function takeOverMembers(writer: Writer, restored: KnownAccess, newest: KnownAccess): Promise<void> {
  const place = ({ user_id: userId, project_id: projectId }: MemberRow): string => `${userId} ${projectId ?? ""}`;
  const roles = new Map(newest.members.map((member) => [place(member), member.role]));
  for (const member of restored.members) {
    const { tenant_id: tenantId, user_id: userId, project_id: projectId } = member;
    const role = roles.get(place(member));
    if (role === undefined) await writer.removeMembership(userId, projectId);
    else if (role !== member.role) await writer.putMembership({ tenantId, userId, projectId, role: fromRole(role) });
  }
}
