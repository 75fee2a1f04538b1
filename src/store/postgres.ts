// The store in PostgreSQL, for several replicas on one database. A committed change is announced by NOTIFY, and found
// by polling if a notification was lost. https://www.postgresql.org/docs/current/sql-notify.html,
// https://node-postgres.com/apis/pool
import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { isDatabaseUrl } from "../config/sections.ts";
import type { SecretCipher } from "../config/secret-cipher.ts";
import type { Clock } from "../core/clock.ts";
import { codeOf } from "../core/thrown.ts";
import type { Database } from "./database/database.ts";
import { kyselyStore } from "./kysely-store.ts";
import { HELD_CODE, heldError } from "./database/move-marks.ts";
import { endWhereLate, isUnreached, LATE, READ_ONLY } from "./database/postgres-client.ts";
import { followPostgres } from "./database/postgres-listener.ts";
import type { Schema } from "./schema.ts";
import { StoreError } from "./store-error.ts";

export interface PostgresOptions {
  /** `postgresql://user:password@host:port/database?sslmode=...`; never part of a message. */
  readonly url: string;
  /** If omitted, documents with secrets can be neither stored nor decrypted. */
  readonly cipher?: SecretCipher;
  readonly clock?: Clock;
  /** The most connections, 10 by default. One more connection listens. */
  readonly poolSize?: number;
  /** How long one statement may take, including waits for locks; 10,000 by default. */
  readonly statementTimeoutMs?: number;
  /** 5,000 by default. */
  readonly connectTimeoutMs?: number;
  /** As the server lists its connections; `dragoman` by default, which only gateways and their commands have. */
  readonly applicationName?: string;
}

/** The name of the connections of gateways. */
export const GATEWAYS = "dragoman";
/** The channel on which changes are announced. */
const CHANNEL = "dragoman_changes";
/**
 * A server that was demoted answers what only reads as before. After this time, connections leave it as soon as no
 * transaction uses them; the one that listens stays, because what it misses is found by polling.
 */
const LIFETIME_S = 300;
const INT8 = 20;
const NUMERIC = 1700;

/**
 * Opens no connection yet and does not change the schema: call migrate() first. Throws StoreError `unusable` for an
 * invalid address.
 */
export function openPostgresDatabase({
  url,
  cipher,
  clock,
  poolSize = 10,
  statementTimeoutMs = 10_000,
  connectTimeoutMs = 5_000,
  applicationName = GATEWAYS,
}: PostgresOptions): Database {
  const name = databaseName(url);
  const connection = {
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: statementTimeoutMs,
    // This timeout is a little longer than the server's, for a server that does not answer at all.
    query_timeout: statementTimeoutMs + 2_000,
    idle_in_transaction_session_timeout: 30_000,
    application_name: applicationName,
    types: { getTypeParser },
  };
  const pool = new pg.Pool({ ...connection, max: poolSize, maxLifetimeSeconds: LIFETIME_S });
  watchConnections(pool);
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  const listener = followPostgres(() => endWhereLate(new pg.Client(connection)), CHANNEL);
  let closed = false;
  const store = kyselyStore(db, {
    databaseName: name,
    explain: (error) => explained(error, name),
    cipher: cipher ?? null,
    ...(clock !== undefined && { clock }),
    announce: async (tx, revision) =>
      void (await sql`select pg_notify(${CHANNEL}, ${revision.toString()})`.execute(tx)),
    watch: (onChange) => listener.watch(onChange),
    close: async () => {
      if (closed) return;
      closed = true;
      await listener.close();
      await db.destroy();
    },
  });
  return { db, name, kind: "postgres", store: explaining(store, (error) => explained(error, name)) };
}

/**
 * A connection on which an answer was late is not used again, nor is one to a server that was demoted once its transaction
 * is over: the address may lead to its successor by now. A connection may also be lost while it is idle, or within
 * a transaction between two statements: no caller waits for these errors, so they are ignored, and the next statement
 * fails with the reason.
 */
function watchConnections(pool: pg.Pool): void {
  pool.on("error", () => {});
  const demoted = new WeakSet<pg.PoolClient>();
  pool.on("connect", (client) =>
    endWhereLate(client as pg.Client, () => void demoted.add(client)).on("error", () => {}),
  );
  pool.on("release", (_, client) => {
    if (demoted.has(client)) (client as pg.Client).end(() => {});
  });
}

/** Parses integers and sums of them as bigints; the driver parses everything else. */
function getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  if (format !== "binary" && oid === INT8) return BigInt;
  if (format !== "binary" && oid === NUMERIC) return (text) => (/^-?\d+$/.test(text) ? BigInt(text) : text);
  return (pg.types.getTypeParser as (oid: number, format?: string) => (value: string) => unknown)(oid, format);
}

/** The address without user, password and options. */
export function databaseName(url: string): string {
  if (!isDatabaseUrl(url))
    throw new StoreError(
      "unusable",
      "The address of the database is invalid: expected postgresql://user:password@host:port/database (DATABASE_URL, server.database_url).",
    );
  const { host, pathname } = new URL(url);
  return `The database ${host}${pathname}`;
}

/** Wraps an object so that its errors name the database and the cure. */
export function explainingPostgres<T extends object>(queries: T, url: string): T {
  const name = databaseName(url);
  return explaining(queries, (error) => explained(error, name));
}

/** The same object, whose errors pass through `explain`, and so do those of the objects in it. */
function explaining<T extends object>(store: T, explain: (error: unknown) => unknown): T {
  const wrapped = Object.entries(store).map(([name, method]: [string, unknown]) => {
    if (typeof method === "object" && method !== null) return [name, explaining(method, explain)] as const;
    if (typeof method !== "function" || name === "watch") return [name, method] as const;
    const called = async (...values: unknown[]): Promise<unknown> => {
      try {
        return await (method as (...all: unknown[]) => unknown)(...values);
      } catch (error) {
        throw explain(error);
      }
    };
    return [name, called] as const;
  });
  return Object.fromEntries(wrapped) as unknown as T;
}

const REFUSED = /^(28|3D)/;
/**
 * The error of the pool when all connections stay in use; a connection that cannot be made ends as "Connection
 * terminated".
 */
const POOL_IN_USE = "timeout exceeded when trying to connect";

function explained(error: unknown, name: string): unknown {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : "";
  const fault = (kind: "unusable" | "busy", what: string, cure: string): StoreError =>
    new StoreError(kind, `${name} ${what}. ${cure}`, error);
  if (code === HELD_CODE) return heldError(name, error);
  if (isUnreached(error))
    return fault(
      "unusable",
      `cannot be reached (${code || message.slice(0, 100)})`,
      "Start it, or correct its address (DATABASE_URL, server.database_url).",
    );
  if (message === POOL_IN_USE)
    return fault(
      "busy",
      "is overloaded: all connections of the gateway to it are in use",
      "Try again; reports over long times take longest. Look for a statement that blocks others (pg_stat_activity).",
    );
  if (REFUSED.test(code))
    return fault(
      "unusable",
      `refuses the login (${code})`,
      "Check user, password and name of the database in its address.",
    );
  if (code === "53300")
    return fault("unusable", "has no connection left (53300)", "Raise its max_connections, or run fewer replicas.");
  if (code === "53100" || code === "53200")
    return fault("unusable", `has no space left (${code})`, "Free space on its disk or in its memory.");
  if (code === "42501" || code === READ_ONLY)
    return fault(
      "unusable",
      `cannot be written (${code})`,
      "Give its user the rights, and use the address of the primary server, not of a standby.",
    );
  if (code === "57014" || code === "55P03" || code === "40001" || code === "40P01" || message === LATE)
    return fault(
      "busy",
      "did not answer in time",
      "Look for a statement that holds a lock for long (pg_stat_activity).",
    );
  if (code === "22021" || code === "22P05")
    return new StoreError("invalid", "A text contains a character that the database cannot store.", error);
  return error;
}
