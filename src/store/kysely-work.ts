// What the writes of one change share: its transaction, what was done in it so far, and the checks that are made under
// its lock.
import type { SelectQueryBuilder } from "kysely";
import type { SecretCipher } from "../config/secret-cipher.ts";
import type { AuditEntry } from "./configuration/kysely-history.ts";
import type { Db } from "./kysely-reader.ts";
import type { Actor, Change } from "./records.ts";
import { actionOf, type ResourceStep } from "./configuration/resource-rows.ts";
import { toInteger } from "./database/columns.ts";
import { StoreError } from "./store-error.ts";

export interface WriterContext {
  readonly actor: Actor;
  readonly nowMs: number;
  /** With `null`, documents with secrets are refused. */
  readonly cipher: SecretCipher | null;
}

/** What was done through the writer so far. */
export interface Written {
  readonly entries: AuditEntry[];
  readonly changes: Change[];
  readonly steps: ResourceStep[];
  rolledBackTo: number | null;
  remark: string | null;
  keptAnswers: number;
}

export interface Work extends WriterContext, Written {
  readonly tx: Db;
}

export function record(
  work: Work,
  { before, after, ...what }: Omit<Change, "action">,
  note: string | null = null,
): void {
  const action = actionOf({ before, after });
  work.changes.push({ action, ...what, before, after });
  work.entries.push({
    action,
    outcome: "done",
    kind: what.kind,
    targetId: what.id,
    targetName: what.name,
    tenantId: what.tenantId,
    projectId: what.projectId,
    before,
    after,
    note,
    isChange: true,
  });
}

// Checks of what has to exist, and of what must not.

const unknown = (what: string): StoreError => new StoreError("unknown", `There is no ${what}.`);

export function requireFound<T>(found: T | null, what: string, id: string): T {
  if (found === null) throw unknown(`${what} ${JSON.stringify(id)}`);
  return found;
}

/** Throws StoreError `invalid` for text with U+0000, which PostgreSQL cannot store and no name needs. */
export function requireTexts(...texts: readonly (string | null | undefined)[]): void {
  if (texts.some((text) => text?.includes("\0") === true))
    throw new StoreError("invalid", "A text contains the character U+0000, which databases cannot store.");
}

const SINGULAR = {
  tenants: "tenant",
  projects: "project",
  users: "user",
  access_tokens: "access token",
  resources: "resource",
} as const;

export async function refuseUsedId(tx: Db, table: keyof typeof SINGULAR, id: string): Promise<void> {
  requireTexts(id);
  const row = await tx.selectFrom(table).select("id").where("id", "=", id).executeTakeFirst();
  if (row !== undefined)
    throw new StoreError("exists", `Another ${SINGULAR[table]} already has the id ${JSON.stringify(id)}.`);
}

/**
 * What people other than operators may store in a tenant: every process that serves calls holds all of it, so that one
 * tenant must not take the memory of the others.
 */
export const MOST_STORED = {
  projects: 5_000,
  users: 50_000,
  /** Of all projects and users together; each of them has a bound of its own (`server.max_live_tokens`). */
  liveTokens: 200_000,
  /** Roles of users, in the tenant and in its projects. */
  memberships: 200_000,
  /** Links that give a token and can still be opened: all are gone through where a user is removed. */
  claims: 10_000,
  /** Saved views of the console, of all people and projects together: the names of screens are the caller's own. */
  views: 10_000,
  /** Drains that have not ended, which each call goes through. */
  drains: 1_000,
  ofKind: 5_000,
  /** Routes of the tenant, counted once for each project that has routes of its own: what such a project sees is judged anew at each change. */
  inheritedRoutes: 50_000,
  characters: 64 * 1024 * 1024,
} as const;

/** Throws StoreError `conflict`. `what` is what there are too many of, in the plural. */
export function requireRoom(found: number, most: number, what: string): void {
  if (found <= most) return;
  throw new StoreError(
    "conflict",
    `The tenant has ${most.toLocaleString("en-US")} ${what}, the most that it may have. Remove what is no longer used, or ask an operator, for whom this does not hold.`,
  );
}

/** The rows of a tenant, for `requireRoomFor`. */
export const rowsOfTenant = (
  { tx }: Work,
  table: "projects" | "users" | "memberships" | "provider_drains" | "console_views",
  tenantId: string,
) => tx.selectFrom(table).where("tenant_id", "=", tenantId);

/** The same for the rows that a query finds, with the one that is about to be added. */
export async function requireRoomFor<Of, Tables extends keyof Of>(
  { actor }: Work,
  rows: SelectQueryBuilder<Of, Tables, object>,
  most: number,
  what: string,
): Promise<void> {
  if (actor.isOperator === true) return;
  const { count } = await rows
    .select((row) => row.fn.countAll<bigint>().as("count"))
    .$castTo<{ readonly count: bigint }>()
    .executeTakeFirstOrThrow();
  requireRoom(Number(count) + 1, most, what);
}

export async function requireTenant(tx: Db, tenantId: string): Promise<void> {
  const row = await tx.selectFrom("tenants").select("id").where("id", "=", tenantId).executeTakeFirst();
  if (row === undefined) throw unknown(`tenant ${JSON.stringify(tenantId)}`);
}

export async function requireInTenant(
  tx: Db,
  table: "projects" | "users",
  id: string,
  tenantId: string,
): Promise<void> {
  const row = await tx
    .selectFrom(table)
    .select("id")
    .where("id", "=", id)
    .where("tenant_id", "=", tenantId)
    .executeTakeFirst();
  if (row === undefined)
    throw unknown(`${SINGULAR[table]} ${JSON.stringify(id)} in the tenant ${JSON.stringify(tenantId)}`);
}

export const createdAt = (nowMs: number) => ({ created_at_ms: toInteger(nowMs), updated_at_ms: toInteger(nowMs) });
export const changed = (row: { readonly version: number }, nowMs: number) => ({
  version: toInteger(row.version + 1),
  updated_at_ms: toInteger(nowMs),
});
