// A real Redis or Valkey of its own on a free port of the loopback, in a folder that goes with it, stopped by its process id. Where there is none, a test
// says so and is skipped.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endWithThisProcess } from "../processes/server-end.ts";
import { freePort, isFree } from "../processes/free-port.ts";

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly folder: string;
  /** Stands still, as a machine that was paused does. */
  freeze(): void;
  thaw(): void;
  /** Ends it at once, and starts it on the same port: with what it wrote to disk, or empty. */
  restart(kept: boolean): Promise<void>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Null: this machine has none. */
export function findServer(name: "redis-server" | "valkey-server"): string | null {
  return Bun.which(name);
}

const STARTS_WITHIN_MS = 100_000;

export async function startRedis(
  options: { readonly binary?: string; readonly flags?: readonly string[]; readonly port?: number } = {},
): Promise<RedisServer> {
  const binary = options.binary ?? findServer("redis-server");
  if (binary === null) throw new Error("there is no redis-server on this machine");
  const folder = mkdtempSync(join(tmpdir(), "dragoman-redis-"));
  const port = options.port ?? freePort();
  const run = async (): Promise<Bun.Subprocess> => {
    const child = Bun.spawn(
      [
        binary,
        "--port",
        String(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        folder,
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
        ...(options.flags ?? []),
      ],
      { stdout: "ignore", stderr: "ignore" },
    );
    endWithThisProcess({ pid: child.pid, mark: `:${port}`, signal: "KILL", folder });
    const startedMs = performance.now();
    while (!(await answers(port))) {
      if (child.exitCode !== null || performance.now() - startedMs > STARTS_WITHIN_MS) {
        child.kill("SIGKILL");
        throw new Error(`${binary} did not start on port ${port}`);
      }
      await Bun.sleep(10);
    }
    return child;
  };
  let child = await run();
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid;
    },
    folder,
    freeze: () => child.kill("SIGSTOP"),
    thaw: () => child.kill("SIGCONT"),
    async restart(kept) {
      await kill();
      if (!kept)
        for (const name of ["appendonlydir", "dump.rdb"])
          if (existsSync(join(folder, name))) rmSync(join(folder, name), { recursive: true });
      child = await run();
    },
    kill,
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A connection that answers PING: while it reads its data it does not. */
async function answers(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const no = (): void => resolve(false);
    Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => void socket.write("PING\r\n"),
        data(socket, bytes) {
          resolve(bytes.toString().startsWith("+PONG"));
          socket.end();
        },
        error: no,
        close: no,
      },
    }).catch(no);
  });
}

/** A cluster of masters alone, each with its share of the slots. */
export async function startCluster(
  masters: number,
): Promise<{ readonly servers: readonly RedisServer[]; stop(): Promise<void> }> {
  const servers = await Promise.all(
    Array.from({ length: masters }, () =>
      startRedis({ port: clusterPort(), flags: ["--cluster-enabled", "yes", "--appendonly", "no"] }),
    ),
  );
  const stop = async (): Promise<void> => void (await Promise.all(servers.map((server) => server.stop())));
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
  const child = Bun.spawn(["redis-cli", "--cluster", "create", ...addresses, "--cluster-yes"], {
    stdout: "pipe",
    stderr: "pipe",
  });
  if ((await child.exited) !== 0) {
    await stop();
    throw new Error(`the cluster did not form: ${await new Response(child.stdout).text()}`);
  }
  return { servers, stop };
}

/** How far above its port the bus of a cluster listens. */
const BUS = 10_000;

function clusterPort(): number {
  for (;;) {
    const port = freePort();
    // the bus, too, is below the ports of outgoing connections
    if (port + BUS < 32_768 && isFree(port + BUS)) return port;
  }
}
