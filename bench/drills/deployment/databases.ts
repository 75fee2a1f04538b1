// The databases of the drill of the reference deployment: PostgreSQL with a standby that is written to at the same time, and
// Redis or Valkey with a replica and three sentinels.
// https://www.postgresql.org/docs/current/warm-standby.html, https://valkey.io/topics/sentinel/
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresPrograms, statement } from "../../../test/harness/servers/postgres-server.ts";
import { endWithThisProcess } from "../../../test/harness/processes/server-end.ts";
import { until } from "../../../test/harness/time/until.ts";
import type { Machine } from "../machines.ts";

const POSTGRES_PORT = 5432;
const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;
const SETTINGS = [
  "fsync=off",
  "full_page_writes=off",
  "wal_level=replica",
  "max_wal_senders=5",
  "max_connections=200",
  "jit=off",
];

export interface PostgresPair {
  readonly port: number;
  /** The address of the database `gateway` at this host. */
  url(host: string): string;
  killPrimary(): Promise<void>;
  /** Makes the standby the primary server, and resolves when it takes writes. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPostgresPair(primary: Machine, standby: Machine): Promise<PostgresPair> {
  const programs = postgresPrograms()!;
  const isRoot = process.getuid?.() === 0;
  const asUser = (command: readonly string[]): readonly string[] =>
    isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", ...command] : command;
  // Of its own, because its user may not enter folders of root.
  const folder = mkdtempSync(join(tmpdir(), "dragoman-postgres-"));
  if (isRoot) await run(["chown", "postgres", folder]);
  const url = (host: string, database = "gateway"): string =>
    `postgresql://dragoman@${host}:${POSTGRES_PORT}/${database}`;
  const start = async (machine: Machine): Promise<Bun.Subprocess> => {
    const options = [`listen_addresses=${machine.address}`, `port=${POSTGRES_PORT}`, "unix_socket_directories="];
    const child = Bun.spawn(
      [
        ...machine.on(
          asUser([
            join(programs, "postgres"),
            "-D",
            join(folder, machine.name),
            ...[...options, ...SETTINGS].flatMap((one) => ["-c", one]),
          ]),
        ),
      ],
      { cwd: folder, stdout: "ignore", stderr: Bun.file(join(folder, `${machine.name}.log`)) },
    );
    endWithThisProcess({ pid: child.pid, mark: folder, signal: "QUIT", folder });
    await until(() => answers(url(machine.address, "postgres")), `PostgreSQL answers on ${machine.name}`);
    return child;
  };
  const first = join(folder, primary.name);
  const trust = ["-U", "dragoman", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"];
  await run(asUser([join(programs, "initdb"), "-D", first, ...trust]), folder);
  appendFileSync(join(first, "pg_hba.conf"), "host all all 0.0.0.0/0 trust\nhost replication all 0.0.0.0/0 trust\n");
  const servers = [await start(primary)];
  await statement(url(primary.address, "postgres"), "create database gateway");
  const from = ["-h", primary.address, "-p", String(POSTGRES_PORT), "-U", "dragoman"];
  await run(
    asUser([
      join(programs, "pg_basebackup"),
      ...from,
      "-D",
      join(folder, standby.name),
      "-R",
      "-X",
      "stream",
      "-c",
      "fast",
    ]),
    folder,
  );
  servers.push(await start(standby));
  // From here on a transaction is confirmed only when the standby has it.
  await statement(url(primary.address), "alter system set synchronous_standby_names = '*'");
  await statement(url(primary.address), "select pg_reload_conf()");
  return {
    port: POSTGRES_PORT,
    url,
    killPrimary: async () => await end(servers[0]!, "SIGQUIT"),
    async promote() {
      await statement(url(standby.address), "select pg_promote(true, 60)");
    },
    async stop() {
      await Promise.all(servers.map((server) => end(server, "SIGQUIT")));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface SentinelGroup {
  readonly port: number;
  /** The address of the primary server, as the sentinels say. */
  primary(): Promise<string | null>;
  killPrimary(): Promise<void>;
  stop(): Promise<void>;
}

/** The first two machines have servers, all three sentinels, of which two have to agree. */
export async function startSentinelGroup(
  folder: string,
  program: string,
  machines: readonly Machine[],
): Promise<SentinelGroup> {
  const [first, second] = machines as readonly [Machine, Machine, Machine];
  const spawn = (machine: Machine, words: readonly string[], mark: string): Bun.Subprocess => {
    const place = join(folder, `${machine.name}-${mark}`);
    mkdirSync(place, { recursive: true });
    const child = Bun.spawn([...machine.on([program, ...words, "--dir", place])], {
      stdout: "ignore",
      stderr: "ignore",
    });
    endWithThisProcess({ pid: child.pid, mark: machine.address, signal: "KILL", folder });
    return child;
  };
  const server = (machine: Machine, ...more: readonly string[]): Bun.Subprocess =>
    spawn(
      machine,
      [
        "--port",
        String(REDIS_PORT),
        "--bind",
        machine.address,
        "--protected-mode",
        "no",
        "--save",
        "",
        "--appendonly",
        "yes",
        ...more,
      ],
      "data",
    );
  const children = [server(first), server(second, "--replicaof", first.address, String(REDIS_PORT))];
  for (const machine of machines) {
    mkdirSync(join(folder, machine.name), { recursive: true });
    const file = join(folder, machine.name, "sentinel.conf");
    writeFileSync(
      file,
      `port ${SENTINEL_PORT}\nbind ${machine.address}\nprotected-mode no\nsentinel monitor limits ${first.address} ${REDIS_PORT} 2\nsentinel down-after-milliseconds limits 2000\nsentinel failover-timeout limits 10000\n`,
    );
    children.push(spawn(machine, [file, "--sentinel"], "sentinel"));
  }
  const ask = async (...words: readonly string[]): Promise<string> => {
    const child = Bun.spawn(["redis-cli", "-h", machines[2]!.address, "-p", String(SENTINEL_PORT), ...words], {
      stdout: "pipe",
      stderr: "ignore",
    });
    return await child.stdout.text();
  };
  await until(
    async () =>
      /num-other-sentinels\n2\n[^]*/.test(await ask("sentinel", "master", "limits")) &&
      /num-slaves\n1\n/.test(await ask("sentinel", "master", "limits")),
    "the sentinels know each other and the replica",
  );
  return {
    port: REDIS_PORT,
    primary: async () => (await ask("sentinel", "get-master-addr-by-name", "limits")).split("\n")[0] || null,
    killPrimary: async () => await end(children[0]!, "SIGKILL"),
    stop: async () => void (await Promise.all(children.map((child) => end(child, "SIGKILL")))),
  };
}

async function end(child: Bun.Subprocess, signal: "SIGQUIT" | "SIGKILL"): Promise<void> {
  child.kill(signal);
  await child.exited;
}

async function run(command: readonly string[], cwd?: string): Promise<void> {
  const child = Bun.spawn([...command], { ...(cwd !== undefined && { cwd }), stdout: "ignore", stderr: "pipe" });
  const [code, said] = await Promise.all([child.exited, child.stderr.text()]);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${said}`);
}

const answers = (url: string): Promise<boolean> =>
  statement(url, "select 1").then(
    () => true,
    () => false,
  );
