// Kysely over bun:sqlite with one connection, which its users take in turns. Follows https://kysely.dev/docs/dialects
// and https://www.sqlite.org/wal.html. SQLite's own busy timeout would block the whole process while it waits for
// another one, and forever when the holder of the lock is in the same process. It is therefore off, and this dialect
// retries busy statements. SQLite answers at once, and nothing else runs until it has: between the statements of a long
// change, such as the removal of a project with all that is in it, other work of the thread has its turns.
import type { Database, SQLQueryBindings } from "bun:sqlite";
import {
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type QueryResult,
} from "kysely";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import { StoreError } from "../store-error.ts";

/** How long one holder may keep the connection while others wait for it. */
const TURN_TIMEOUT_MS = 1_000;
const LONGEST_PAUSE_MS = 20;
/** How long statements may occupy the thread in one go. */
const SLICE_MS = 5;

export interface BunSqliteConnection {
  /** Opened with `safeIntegers` and with busy_timeout 0. */
  readonly database: Database;
  /** How long to wait for a lock of another process. */
  readonly busyTimeoutMs: number;
  /** Turns an error of SQLite into the one that is thrown. */
  explain(error: unknown): unknown;
}

export function bunSqliteDialect(connection: BunSqliteConnection): Dialect {
  return {
    createDriver: () => createDriver(connection),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => ADAPTER,
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

const ADAPTER: DialectAdapter = {
  supportsCreateIfNotExists: true,
  supportsTransactionalDdl: true,
  supportsReturning: true,
  supportsOutput: false,
  // With false, Kysely would put its own mutex in front of ours, and would wait for it forever.
  supportsMultipleConnections: true,
  // A migration runs inside `begin immediate`, which is the lock.
  acquireMigrationLock: async () => {},
  releaseMigrationLock: async () => {},
};

function createDriver(options: BunSqliteConnection): Driver {
  const turns = new ConnectionTurns();
  const { database } = options;
  return {
    init: async () => {},
    acquireConnection: async () => {
      await turns.take();
      return new HeldConnection(options, turns);
    },
    releaseConnection: async (held) => (held as HeldConnection).release(),
    // `immediate` takes the write lock at once: a transaction that reads first could otherwise fail when it writes.
    beginTransaction: async (held, settings) =>
      void (await (held as HeldConnection).run(() =>
        database.run(settings.accessMode === "read only" ? "begin" : "begin immediate"),
      )),
    commitTransaction: async (held) => void (await (held as HeldConnection).run(() => database.run("commit"))),
    // After some errors, such as a full disk, SQLite has already rolled back.
    rollbackTransaction: async () => void (database.inTransaction && database.run("rollback")),
    destroy: async () => database.close(),
  };
}

/**
 * The connection as used by one holder. While the holder waits for the lock of another process and has not begun a
 * transaction, others may use it, because statements that only read wait for no lock.
 */
class HeldConnection implements DatabaseConnection {
  readonly #options: BunSqliteConnection;
  readonly #turns: ConnectionTurns;
  #isHeld = true;

  constructor(options: BunSqliteConnection, turns: ConnectionTurns) {
    this.#options = options;
    this.#turns = turns;
  }

  run<T>(statement: () => T): Promise<T> {
    return whenFree(statement, this.#options, (ms) => this.#pause(ms));
  }

  release(): void {
    if (this.#isHeld) this.#turns.give();
  }

  async #pause(ms: number): Promise<void> {
    if (this.#options.database.inTransaction) {
      this.#turns.waitsForOthers = true;
      await Bun.sleep(ms);
      this.#turns.waitsForOthers = false;
      return;
    }
    this.#isHeld = false;
    this.#turns.give();
    await Bun.sleep(ms);
    await this.#turns.take();
    this.#isHeld = true;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const result = await this.run(() => this.#turns.measured(() => execute<R>(this.#options.database, query)));
    if (this.#turns.isLong()) await yieldToLoop();
    return result;
  }

  async *streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncGenerator<QueryResult<R>> {
    const statement = await this.run(() => this.#options.database.prepare<R, SQLQueryBindings[]>(query.sql));
    try {
      let rows: R[] = [];
      for (const row of statement.iterate(...bindings(query))) {
        rows.push(row);
        if (rows.length < chunkSize) continue;
        yield { rows };
        rows = [];
      }
      if (rows.length > 0) yield { rows };
    } finally {
      statement.finalize();
    }
  }
}

function execute<R>(database: Database, query: CompiledQuery): QueryResult<R> {
  const statement = database.prepare<R, SQLQueryBindings[]>(query.sql);
  try {
    if (statement.columnNames.length > 0) return { rows: statement.all(...bindings(query)) };
    const { changes, lastInsertRowid } = statement.run(...bindings(query));
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  } finally {
    statement.finalize();
  }
}

const bindings = (query: CompiledQuery): SQLQueryBindings[] => query.parameters as SQLQueryBindings[];

/** Runs a statement, and repeats it while another process holds the lock. A busy statement has changed nothing. */
export async function whenFree<T>(
  statement: () => T,
  { busyTimeoutMs, explain }: Omit<BunSqliteConnection, "database">,
  pause: (ms: number) => Promise<void> = Bun.sleep,
): Promise<T> {
  const startedAtMs = performance.now();
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return statement();
    } catch (error) {
      if (!isBusy(error) || performance.now() - startedAtMs > busyTimeoutMs) throw explain(error);
    }
    await pause(pauseMs * (0.5 + Math.random()));
  }
}

/** All extended codes of SQLITE_BUSY have its number in the low byte. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errno" in error && typeof error.errno === "number" && (error.errno & 0xff) === 5;
}

/** Decides which user has the connection. It is a class because it lives as long as the connection. */
class ConnectionTurns {
  /** The holder waits for another process, so it must not be timed out. */
  waitsForOthers = false;
  #isInUse = false;
  /** Grows with each turn and each statement, so that only a holder that does nothing is timed out. */
  #turn = 0;
  #workedMs = 0;
  /** Each begins the turn of one that waits. */
  readonly #waiting: (() => void)[] = [];

  take(): Promise<void> {
    if (!this.#isInUse) {
      this.#isInUse = true;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      let seenTurn = this.#turn;
      const timer = setInterval(() => {
        const moved = seenTurn !== this.#turn || this.waitsForOthers;
        seenTurn = this.#turn;
        if (moved) return;
        clearInterval(timer);
        this.#waiting.splice(this.#waiting.indexOf(start), 1);
        reject(
          new StoreError(
            "busy",
            `The database connection was not released for ${TURN_TIMEOUT_MS} ms. Inside a transaction all queries must use the transaction, and it must not wait for anything but the database.`,
          ),
        );
      }, TURN_TIMEOUT_MS);
      const start = (): void => {
        clearInterval(timer);
        resolve();
      };
      this.#waiting.push(start);
    });
  }

  measured<T>(statement: () => T): T {
    const beganAtMs = performance.now();
    try {
      return statement();
    } finally {
      this.#turn++;
      this.#workedMs += performance.now() - beganAtMs;
    }
  }

  /** Whether statements have occupied the thread for long since this was last so. */
  isLong(): boolean {
    if (this.#workedMs < SLICE_MS) return false;
    this.#workedMs = 0;
    return true;
  }

  give(): void {
    this.#turn++;
    const next = this.#waiting.shift();
    if (next === undefined) this.#isInUse = false;
    else next();
  }
}
