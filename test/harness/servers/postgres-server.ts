// A real PostgreSQL of the machine for a test: a cluster of its own in a temporary folder, on a free port of the loopback, run by an ordinary user because
// it refuses root, and stopped by its process id. https://www.postgresql.org/docs/current/app-initdb.html
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { endWithThisProcess } from "../processes/server-end.ts";
import { freePort } from "../processes/free-port.ts";

export interface PostgresDatabases {
  /** Of its first database, which is empty: `postgresql://...`. */
  readonly url: string;
  /** The address of a new database: empty, or a copy of the one at `like`, to which nothing may be connected. */
  newDatabase(like?: string): Promise<string>;
  /** Removes the databases, and the server where it is of this process alone. */
  dispose(): Promise<void>;
}

export interface PostgresServer extends PostgresDatabases {
  /** Ends it as an administrator does: connections are cut, nothing is lost. It comes back with start(). */
  stop(): Promise<void>;
  /** All processes of it at once, as when the power goes. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Connections stay open and nothing answers, until thaw(). */
  freeze(): void;
  thaw(): void;
}

type Rows = readonly Readonly<Record<string, unknown>>[];

const USER = "dragoman";
const UP_WITHIN_MS = 100_000;

/** Nothing has to outlive the machine, and queries over few rows are not worth compiling. */
const SETTINGS = [
  "listen_addresses=127.0.0.1",
  "max_connections=200",
  "fsync=off",
  "full_page_writes=off",
  "wal_level=minimal",
  "max_wal_senders=0",
  "autovacuum=off",
  "jit=off",
];

/** The variable that names the server of a run of tests to its processes. */
export const POSTGRES_VARIABLE = "DRAGOMAN_TEST_POSTGRES";

/** The variable that says over which database the suites of all databases run: `SQLite` or `PostgreSQL`, and both where it is absent. */
export const DATABASES_VARIABLE = "DRAGOMAN_TEST_DATABASES";

/** Databases on the server of this run, or on one of its own where a file runs by itself; null, with a line that says so, where there is none. For a test that stops, kills or freezes the server: `startPostgres`. */
export async function postgresDatabases(): Promise<PostgresDatabases | null> {
  if (process.env[DATABASES_VARIABLE] === "SQLite") {
    console.log("skipped: PostgreSQL, over which npm run test:all runs this file");
    return null;
  }
  const shared = process.env[POSTGRES_VARIABLE];
  if (shared === undefined) return await startPostgres();
  const { newDatabase, dropAll } = await databasesAt(shared, `test_${process.pid}_${crypto.randomUUID().slice(0, 8)}`);
  return { url: shared, newDatabase, dispose: dropAll };
}

/** In a folder below `parent`. Null, with a line that says so, where PostgreSQL is not installed; an error there in CI. */
export async function startPostgres(parent = tmpdir()): Promise<PostgresServer | null> {
  const programs = postgresPrograms();
  if (programs === null) {
    if (process.env["DRAGOMAN_CI"] === "1")
      throw new Error("PostgreSQL is not installed, and CI may not skip its tests");
    console.log("skipped: PostgreSQL is not installed (apt install postgresql)");
    return null;
  }
  const folder = mkdtempSync(join(parent, "dragoman-postgres-"));
  if (process.getuid?.() === 0) await run(["chown", "postgres", folder]);
  const data = join(folder, "data");
  await run(
    asOrdinaryUser([
      join(programs, "initdb"),
      "-D",
      data,
      "-U",
      USER,
      "-A",
      "trust",
      "-E",
      "UTF8",
      "--locale=C.UTF-8",
      "--no-sync",
    ]),
    folder,
  );
  const port = freePort();
  const url = (database: string): string => `postgresql://${USER}@127.0.0.1:${port}/${database}`;
  const options = [`port=${port}`, `unix_socket_directories=${folder}`, ...SETTINGS].flatMap((one) => ["-c", one]);
  let server: Bun.Subprocess | null = null;

  const start = async (): Promise<void> => {
    server = Bun.spawn(asOrdinaryUser([join(programs, "postgres"), "-D", data, ...options]), {
      cwd: folder,
      stdout: "ignore",
      stderr: Bun.file(join(folder, "log")),
    });
    endWithThisProcess({ pid: server.pid, mark: folder, signal: "QUIT", folder });
    const endsMs = performance.now() + UP_WITHIN_MS;
    while (!(await answers(url("postgres")))) {
      if (performance.now() > endsMs || server.exitCode !== null)
        throw new Error(`PostgreSQL did not come up: ${await Bun.file(join(folder, "log")).text()}`);
      await Bun.sleep(30);
    }
  };
  // its own signals: INT is a fast shutdown, QUIT an immediate one without a checkpoint
  const end = async (signal: "SIGINT" | "SIGQUIT"): Promise<void> => {
    const ending = server;
    if (ending === null) return;
    server = null;
    ending.kill("SIGCONT");
    ending.kill(signal);
    await ending.exited;
  };
  // postgres is one process per connection: each has to stop
  const signalAll = (signal: "SIGSTOP" | "SIGCONT"): void => {
    if (server === null) return;
    const pids = [server.pid, ...childrenOf(server.pid)];
    for (const pid of signal === "SIGSTOP" ? pids : pids.toReversed()) signalOne(pid, signal);
  };
  await start();
  const { newDatabase } = await databasesAt(url("postgres"), "test");
  return {
    url: url("postgres"),
    newDatabase,
    stop: () => end("SIGINT"),
    kill: () => end("SIGQUIT"),
    start,
    freeze: () => signalAll("SIGSTOP"),
    thaw: () => signalAll("SIGCONT"),
    async dispose() {
      signalAll("SIGCONT");
      await end("SIGQUIT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function databasesAt(
  url: string,
  prefix: string,
): Promise<Pick<PostgresDatabases, "newDatabase"> & { readonly dropAll: () => Promise<void> }> {
  // cheaper than the way through the write-ahead log, and the only way before version 15
  const [version] = await statement(url, "select current_setting('server_version_num')::int as number");
  const copying = Number(version!["number"]) >= 150_000 ? " strategy file_copy" : "";
  const names: string[] = [];
  return {
    async newDatabase(like) {
      const name = `${prefix}_${names.length + 1}`;
      names.push(name);
      const template = like === undefined ? "" : ` template ${new URL(like).pathname.slice(1)}${copying}`;
      await statement(url, `create database ${name}${template}`);
      const made = new URL(url);
      made.pathname = name;
      return made.href;
    },
    async dropAll() {
      for (const name of names.splice(0)) await statement(url, `drop database if exists ${name} with (force)`);
    },
  };
}

/** One statement on a connection of its own. */
export async function statement(url: string, sql: string): Promise<Rows> {
  const { read, close } = connection(url);
  try {
    return await read(sql);
  } finally {
    await close();
  }
}

/** A connection that is opened with its first statement. */
export function connection(url: string): {
  readonly read: (sql: string) => Promise<Rows>;
  readonly close: () => Promise<void>;
} {
  let client: Promise<Client> | null = null;
  const open = async (): Promise<Client> => {
    const opening = new Client({ connectionString: url });
    await opening.connect();
    return opening;
  };
  return {
    read: async (sql) => (await (await (client ??= open())).query(sql)).rows as Rows,
    close: async () => await (await client)?.end(),
  };
}

/** The newest that is installed; Debian keeps them out of the path. */
export function postgresPrograms(): string | null {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(debian, version, "bin")),
    ...(process.env["PATH"] ?? "").split(":"),
  ];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres"))) ?? null;
}

function asOrdinaryUser(command: readonly string[]): string[] {
  return process.getuid?.() === 0
    ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", ...command]
    : [...command];
}

async function run(command: readonly string[], cwd?: string): Promise<void> {
  const child = Bun.spawn([...command], { ...(cwd !== undefined && { cwd }), stdout: "ignore", stderr: "pipe" });
  const [code, said] = await Promise.all([child.exited, child.stderr.text()]);
  if (code !== 0) throw new Error(`${command[0]} ended with ${code}: ${said}`);
}

/** A worker may have ended since it was listed. */
function signalOne(pid: number, signal: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function childrenOf(pid: number): readonly number[] {
  const { stdout } = Bun.spawnSync(["ps", "-o", "pid=", "--ppid", String(pid)]);
  return stdout.toString().split(/\s+/).filter(Boolean).map(Number);
}

async function answers(url: string): Promise<boolean> {
  return statement(url, "select 1").then(
    () => true,
    () => false,
  );
}
