// What the drill of replicas runs: a real PostgreSQL, a real Redis, a provider that keeps books, and three gateways
// that share them. Each gateway keeps its data folder when it is started again.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  cleanEnvironment,
  type GatewayProcess,
  runCli,
  startGateway,
} from "../../../test/harness/processes/gateway-process.ts";
import type { PostgresServer } from "../../../test/harness/servers/postgres-server.ts";
import type { RedisServer } from "../../../test/harness/servers/redis-server.ts";
import { type BookkeepingUpstream, startBookkeepingUpstream } from "../ledger/upstream.ts";

const REPLICAS = 3;
const STARTS_WITHIN_TRIES = 5;

export interface World {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly upstream: BookkeepingUpstream;
  readonly databaseUrl: string;
  readonly dataFolders: readonly string[];
  /** `null` for a gateway that was killed. */
  readonly gateways: readonly (GatewayProcess | null)[];
  readonly projectToken: string;
  readonly ownerToken: string;
  /** Returns the output of all gateways so far. */
  output(): string;
  kill(index: number): Promise<void>;
  start(index: number): Promise<void>;
  /** Sends SIGTERM to all gateways, and returns their exit codes. */
  end(): Promise<readonly number[]>;
  dispose(): Promise<void>;
}

export async function openWorld(
  postgres: PostgresServer,
  redis: RedisServer,
  configOf: (upstream: string) => string,
): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-drill-"));
  const upstream = startBookkeepingUpstream();
  const databaseUrl = await postgres.newDatabase();
  const environment = {
    DATABASE_URL: databaseUrl,
    DRAGOMAN_LIMIT_STORE_URL: redis.url,
    DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  };
  const config = configOf(`http://127.0.0.1:${upstream.port}/v1`);
  const dataFolders = Array.from({ length: REPLICAS }, (_, index) => join(folder, String(index)));
  const gateways: (GatewayProcess | null)[] = dataFolders.map(() => null);
  const said: string[] = [];
  const forget = (gateway: GatewayProcess): void => {
    said.push(gateway.output());
    rmSync(gateway.folder, { recursive: true, force: true });
  };
  const launch = (index: number): Promise<GatewayProcess> =>
    startGateway({ config, environment, dataFolder: dataFolders[index]! });
  const start = async (index: number): Promise<void> => {
    for (let tries = 1; gateways[index] === null; tries++)
      gateways[index] = await launch(index).catch((fault: unknown) => {
        if (tries === STARTS_WITHIN_TRIES) throw fault;
        return null;
      });
  };
  const kill = async (index: number): Promise<void> => {
    const gateway = gateways[index] ?? null;
    gateways[index] = null;
    if (gateway === null) return;
    await gateway.stop("SIGKILL");
    forget(gateway);
  };
  const dispose = async (): Promise<void> => {
    await Promise.all(gateways.map((_, index) => kill(index)));
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    // all start at once on an empty database
    await Promise.all(gateways.map((_, index) => start(index)));
    const firsts = gateways.flatMap((gateway) => gateway?.firstToken ?? []);
    if (firsts.length !== 1)
      throw new Error(`${firsts.length} of three gateways that started at once showed the first token`);
    const made = await runCli(
      ["token", "create", "--personal", "--role", "owner", "--json", "--data", dataFolders[0]!],
      cleanEnvironment(environment),
    );
    if (made.code !== 0) throw new Error(made.stderr);
    return {
      postgres,
      redis,
      upstream,
      databaseUrl,
      dataFolders,
      gateways,
      kill,
      start,
      dispose,
      projectToken: firsts[0]!,
      ownerToken: (JSON.parse(made.stdout) as { readonly token: string }).token,
      output: () => [...said, ...gateways.map((gateway) => gateway?.output() ?? "")].join("\n"),
      end: () =>
        Promise.all(
          gateways.map(async (gateway, index) => {
            gateways[index] = null;
            const code = (await gateway?.stop("SIGTERM")) ?? 0;
            if (gateway !== null) forget(gateway);
            return code;
          }),
        ),
    };
  } catch (fault) {
    await dispose();
    throw fault;
  }
}
