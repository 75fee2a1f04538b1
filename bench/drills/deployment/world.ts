// What the drill of the reference deployment runs: gateways with workers on machines of their own, PostgreSQL with a
// standby, Redis or Valkey with sentinels, the proxies that follow whichever of them is primary, and a load balancer in
// front. The provider that keeps books, the proxies and the clients are on the machine of the drill.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  cleanEnvironment,
  type GatewayProcess,
  startGateway,
} from "../../../test/harness/processes/gateway-process.ts";
import { gatewayCommand } from "../../../test/harness/processes/gateway-program.ts";
import { findServer } from "../../../test/harness/servers/redis-server.ts";
import { untilFound } from "../../../test/harness/time/until.ts";
import { type PostgresPair, type SentinelGroup, startPostgresPair, startSentinelGroup } from "./databases.ts";
import { type BookkeepingUpstream, startBookkeepingUpstream } from "../ledger/upstream.ts";
import { type FollowingProxy, startFollowingProxy } from "./following-proxy.ts";
import { type LoadBalancer, startLoadBalancer } from "./load-balancer.ts";
import { type Machine, type Network, openNetwork } from "../machines.ts";

const GATEWAY_PORT = 4100;
const BALANCER_PORT = 8080;
const FOLLOWED_EVERY_MS = 250;
/** Room for a ledger and its reserve, which a scene can fill. */
const SMALL_DISK = "64m";

export interface Deployment {
  readonly network: Network;
  readonly machines: readonly Machine[];
  readonly gateways: readonly (GatewayProcess | null)[];
  readonly dataFolders: readonly string[];
  /** The last gateway's data folder is a small disk of its own. */
  readonly hasSmallDisk: boolean;
  readonly postgres: PostgresPair;
  readonly databaseProxy: FollowingProxy;
  readonly limits: SentinelGroup;
  readonly balancer: LoadBalancer;
  readonly upstream: BookkeepingUpstream;
  readonly token: string;
  readonly folder: string;
  /** The address of the database by way of its proxy. */
  readonly databaseUrl: string;
  /** Makes the standby the primary server, and leads the gateways to it. */
  failOver(): Promise<void>;
  start(index: number, command?: readonly string[]): Promise<void>;
  stop(index: number, signal: "SIGTERM" | "SIGKILL"): Promise<number>;
  /** Starts a gateway of this version beside that of the machine, and returns what it says when it does not start. */
  refusalOfAnother(index: number): Promise<string | null>;
  output(): string;
  dispose(): Promise<void>;
}

/** The names of programs that are not installed. */
export function missingPrograms(): readonly string[] {
  return [
    ...(redisProgram() === null ? ["redis-server or valkey-server"] : []),
    ...(Bun.which("haproxy") === null ? ["haproxy"] : []),
  ];
}

const redisProgram = (): string | null => findServer("valkey-server") ?? findServer("redis-server");

export async function openDeployment(gateways: number, workers: number): Promise<Deployment> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-deployment-"));
  const names = Array.from({ length: gateways }, (_, index) => `g${index + 1}`);
  const network = openNetwork([...names, "db1", "db2", "lim1", "lim2", "lim3"]);
  const [db1, db2, ...limitMachines] = network.machines.slice(gateways) as [Machine, Machine, ...Machine[]];
  const machines = network.machines.slice(0, gateways);
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), () => network.dispose()];
  const dispose = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const upstream = startBookkeepingUpstream(network.address);
    undo.push(() => upstream.stop());
    const postgres = await startPostgresPair(db1, db2);
    undo.push(() => postgres.stop());
    const limits = await startSentinelGroup(join(folder, "limits"), redisProgram()!, limitMachines);
    undo.push(() => limits.stop());
    const databaseProxy = await startFollowingProxy(
      { address: network.address, port: postgres.port },
      { address: db1.address, port: postgres.port },
    );
    undo.push(() => databaseProxy.kill());
    const limitProxy = await startFollowingProxy(
      { address: network.address, port: limits.port },
      { address: limitMachines[0]!.address, port: limits.port },
    );
    undo.push(() => limitProxy.kill());
    const following = setInterval(() => {
      void limits.primary().then((address) => address !== null && limitProxy.follow({ address, port: limits.port }));
    }, FOLLOWED_EVERY_MS);
    undo.push(() => clearInterval(following));
    const databaseUrl = postgres.url(network.address);
    const processes = openGateways({
      network,
      machines,
      upstream,
      databaseUrl,
      limitPort: limits.port,
      folder,
      workers,
    });
    undo.push(() => processes.dispose());
    for (const index of machines.keys()) await processes.start(index);
    const token = processes.gateways[0]!.firstToken!;
    const places = machines.map(({ address }) => ({ address, port: GATEWAY_PORT }));
    const balancer = await startLoadBalancer(
      join(folder, "balancer"),
      { address: network.address, port: BALANCER_PORT },
      places,
    );
    undo.push(() => balancer.kill());
    return {
      ...processes,
      network,
      machines,
      postgres,
      databaseProxy,
      limits,
      balancer,
      upstream,
      token,
      folder,
      databaseUrl,
      async failOver() {
        await postgres.promote();
        databaseProxy.follow({ address: db2.address, port: postgres.port });
      },
      dispose,
    };
  } catch (fault) {
    await dispose();
    throw fault;
  }
}

interface GatewaysOptions {
  readonly network: Network;
  readonly machines: readonly Machine[];
  readonly upstream: BookkeepingUpstream;
  readonly databaseUrl: string;
  readonly limitPort: number;
  readonly folder: string;
  readonly workers: number;
}

type Gateways = Pick<
  Deployment,
  "gateways" | "dataFolders" | "hasSmallDisk" | "start" | "stop" | "refusalOfAnother" | "output" | "dispose"
>;

function openGateways({
  network,
  machines,
  upstream,
  databaseUrl,
  limitPort,
  folder,
  workers,
}: GatewaysOptions): Gateways {
  const environment = {
    DATABASE_URL: databaseUrl,
    DRAGOMAN_LIMIT_STORE_URL: `redis://${network.address}:${limitPort}`,
    DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  };
  const config = `
providers:
  books: { type: custom, base_url: "http://${network.address}:${upstream.port}/v1" }
routes:
  main: { targets: ["books:m"] }
limits:
  all: { metric: requests, window: minute, limit: 1000000 }
budgets:
  all: { tokens: 1000000000, window: total }
`;
  const dataFolders = machines.map(({ name }) => join(folder, "gateways", name));
  for (const dataFolder of dataFolders) mkdirSync(dataFolder, { recursive: true });
  const smallDisk = dataFolders.at(-1)!;
  const hasSmallDisk =
    network.isReal &&
    Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${SMALL_DISK},mode=700`, "tmpfs", smallDisk]).exitCode === 0;
  const gateways: (GatewayProcess | null)[] = machines.map(() => null);
  const said: string[] = [];
  const launch = (
    index: number,
    port: number,
    command: readonly string[],
    dataFolder: string,
  ): Promise<GatewayProcess> => {
    const machine = machines[index]!;
    return startGateway({
      config,
      environment: cleanEnvironment(environment),
      dataFolder,
      command: machine.on(command),
      flags: ["--host", machine.address, "--port", String(port), "--workers", String(workers)],
    });
  };
  const stop = async (index: number, signal: "SIGTERM" | "SIGKILL"): Promise<number> => {
    const gateway = gateways[index] ?? null;
    gateways[index] = null;
    if (gateway === null) return 0;
    const code = await gateway.stop(signal);
    said.push(gateway.output());
    rmSync(gateway.folder, { recursive: true, force: true });
    return code;
  };
  return {
    gateways,
    dataFolders,
    hasSmallDisk,
    stop,
    async start(index, command = gatewayCommand) {
      gateways[index] = await launch(index, GATEWAY_PORT, command, dataFolders[index]!);
    },
    refusalOfAnother: (index) =>
      launch(index, GATEWAY_PORT + 1, gatewayCommand, join(folder, "another")).then(
        async (gateway) => {
          await gateway.stop();
          return null;
        },
        (fault: unknown) => (fault as Error).message,
      ),
    output: () => [...said, ...gateways.map((gateway) => gateway?.output() ?? "")].join("\n"),
    async dispose() {
      await Promise.all(gateways.map((_, index) => stop(index, "SIGKILL")));
      if (hasSmallDisk) Bun.spawnSync(["umount", "-l", smallDisk]);
    },
  };
}

/** Waits until the gateway of this machine is ready, as the load balancer sees it. */
export async function untilReady({ machines }: Deployment, index: number, isReady = true): Promise<void> {
  const url = `http://${machines[index]!.address}:${GATEWAY_PORT}/readyz`;
  await untilFound(
    async () => {
      const status = await fetch(url, { signal: AbortSignal.timeout(1000) }).then(
        (answer) => answer.status,
        () => 0,
      );
      return (status === 200) === isReady ? true : null;
    },
    `machine ${index + 1} is ${isReady ? "" : "not "}ready`,
  );
}
