// `npm run drill:deployment`: the reference deployment (docs/reference-deployment.md) under load. Gateways with workers on
// machines of their own, PostgreSQL with a standby, Redis or Valkey with sentinels and a load balancer are killed, cut off
// and upgraded one after the other. In the end every answer that a caller saw has to be in the database exactly once. The
// table says what callers saw of each failure, and for how long. `--short` has two gateways and fewer scenes, `--only <words>` the scenes with these words. Exits with
// code 1 when a call was lost.
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { postgresPrograms, statement } from "../../../test/harness/servers/postgres-server.ts";
import { until } from "../../../test/harness/time/until.ts";
import { faultsOf, tellFaults } from "../clients.ts";
import { type DeploymentLoad, type Seen, startDeploymentLoad } from "./clients.ts";
import { type Deployment, missingPrograms, openDeployment, untilReady } from "./world.ts";
import { type KeptRow, keptRows, SELECT, type StoredRow } from "../ledger-rows.ts";
import { makeNextVersion, NEXT_VERSION } from "./next-version.ts";

const { values: flags } = parseArgs({
  options: { short: { type: "boolean", default: false }, only: { type: "string", default: "" } },
});
const GATEWAYS = flags.short ? 2 : 3;
const WORKERS = flags.short ? 1 : 2;
/** The short form shares its machine with tests. */
const LOAD = flags.short ? { workers: 4, paceMs: 60 } : { workers: 8, paceMs: 40 };
const CALM_MS = flags.short ? 500 : 2000;
/** How long somebody takes to start again what was killed. */
const RESTARTED_AFTER_MS = 2000;
const CUT_OFF_MS = 8000;
/** How often the room that a gateway releases on its full disk is taken. */
const REFILL_MS = 1000;
/** A primary server that was silent for so long is replaced. */
const SILENT_MS = 2000;

const say = (words: string): void => void process.stdout.write(`${words}\n`);
const seconds = (ms: number): string => (ms / 1000).toFixed(1);

interface Scene {
  readonly name: string;
  readonly isShort: boolean;
  /** Why it cannot be played here, or `null`. */
  readonly impossible?: (deployment: Deployment) => string | null;
  /** Resolves when everything is whole again. */
  readonly play: (deployment: Deployment) => Promise<void>;
}

interface Played extends Seen {
  readonly name: string;
  readonly tookMs: number;
  readonly firstCall: number;
}

const storedCalls = async (url: string): Promise<number> =>
  Number((await statement(url, "select count(*) as count from call"))[0]!["count"]);

/** Waits until rows of calls reach the database that gateways are led to. */
async function untilRowsArrive({ databaseUrl }: Deployment): Promise<void> {
  let first: number | null = null;
  await until(async () => {
    const count = await storedCalls(databaseUrl).catch(() => null);
    if (count === null) return false;
    first ??= count;
    return count > first;
  }, "rows of calls reach the database");
}

const SCENES: readonly Scene[] = [
  { name: "nothing fails", isShort: true, play: () => Bun.sleep(5 * CALM_MS) },
  {
    name: "a gateway is killed with its workers, and started again after 2 s",
    isShort: true,
    async play(deployment) {
      await deployment.stop(0, "SIGKILL");
      await Bun.sleep(RESTARTED_AFTER_MS);
      await deployment.start(0);
      await untilReady(deployment, 0);
    },
  },
  {
    name: "a gateway's machine is cut off for 8 s",
    isShort: false,
    impossible: ({ network }) => (network.isReal ? null : "network namespaces need root"),
    async play(deployment) {
      const { machines } = deployment;
      machines[1]!.setLink("down");
      await Bun.sleep(CUT_OFF_MS);
      machines[1]!.setLink("up");
      await untilReady(deployment, 1);
    },
  },
  {
    name: "the load balancer is killed, and started again after 2 s",
    isShort: false,
    async play({ balancer }) {
      await balancer.kill();
      await Bun.sleep(RESTARTED_AFTER_MS);
      await balancer.start();
    },
  },
  {
    name: "the proxy of the database is killed, and started again after 2 s",
    isShort: false,
    async play(deployment) {
      await deployment.databaseProxy.kill();
      await Bun.sleep(RESTARTED_AFTER_MS);
      await deployment.databaseProxy.start();
      await untilRowsArrive(deployment);
    },
  },
  {
    name: "the primary PostgreSQL is killed, and the standby is promoted after 2 s",
    isShort: true,
    async play(deployment) {
      await deployment.postgres.killPrimary();
      await Bun.sleep(SILENT_MS);
      await deployment.failOver();
      await untilRowsArrive(deployment);
    },
  },
  {
    name: "the primary server of the limit store is killed, and its sentinels promote the replica",
    isShort: false,
    async play(deployment) {
      const { limits } = deployment;
      const before = await limits.primary();
      const reached = deployment.output().split(REACHED_AGAIN).length;
      await limits.killPrimary();
      await until(async () => (await limits.primary()) !== before, "the sentinels promote the replica");
      await until(
        () => deployment.output().split(REACHED_AGAIN).length >= reached + GATEWAYS,
        "each gateway reaches the limit store again",
      );
    },
  },
  {
    name: "the disk of a gateway is full for 8 s",
    isShort: false,
    impossible: ({ hasSmallDisk }) => (hasSmallDisk ? null : "a small disk needs root"),
    async play(deployment) {
      const last = GATEWAYS - 1;
      const filling = join(deployment.dataFolders[last]!, "filling");
      const fill = (): void => {
        const command = ["dd", "if=/dev/zero", `of=${filling}`, "bs=64k", "oflag=append", "conv=notrunc"];
        Bun.spawnSync(command, { stderr: "ignore" });
      };
      fill();
      // segments of the ledger that have reached the database are removed, and their room is taken too
      const refill = setInterval(fill, REFILL_MS);
      await untilReady(deployment, last, false);
      await Bun.sleep(CUT_OFF_MS);
      clearInterval(refill);
      rmSync(filling);
      await untilReady(deployment, last);
    },
  },
];
/** What a gateway writes when the limit store answers again. */
const REACHED_AGAIN = "the limit store can be reached again";

/** Gateways are replaced one after the other by a version that changes the schema in two steps. */
function upgrade(next: readonly string[], faults: string[]): readonly Scene[] {
  return [
    {
      name: "each gateway is replaced by the next version, which adds to the schema; one former gateway is started again in between",
      isShort: true,
      async play(deployment) {
        for (const index of deployment.machines.keys()) {
          if (index === 1) {
            // On the schema to which the next version has added.
            await deployment.stop(1, "SIGTERM");
            await deployment.start(1);
            await untilReady(deployment, 1);
          }
          const code = await deployment.stop(index, "SIGTERM");
          if (code !== 0) faults.push(`gateway ${index + 1} ended with ${code}`);
          await deployment.start(index, next);
          await untilReady(deployment, index);
        }
      },
    },
    {
      name: "the next version contracts the schema, a minute after the last former gateway",
      isShort: false,
      async play(deployment) {
        await until(
          async () => (await statement(deployment.databaseUrl, "select name from schema_contraction")).length > 0,
          "the schema is contracted",
        );
        const refusal = await deployment.refusalOfAnother(0);
        if (refusal?.includes(`only Dragoman ${NEXT_VERSION} and newer can use`) !== true)
          faults.push(`a gateway of the former version was not refused: ${refusal}`);
      },
    },
  ];
}

async function played(scene: Scene, deployment: Deployment, load: DeploymentLoad): Promise<Played | null> {
  const why = scene.impossible?.(deployment) ?? null;
  if (why !== null) {
    say(`skipped: ${scene.name}: ${why}`);
    return null;
  }
  const firstCall = load.clients.asked;
  const startedMs = performance.now();
  await scene.play(deployment);
  const tookMs = performance.now() - startedMs;
  await Bun.sleep(CALM_MS);
  const seen = load.since(startedMs);
  say(`${scene.name}: ${seen.calls} calls, ${seen.failed} failed, whole again after ${seconds(tookMs)} s`);
  const refusal = load.clients.refused.find((told) => Number.parseInt(told) >= firstCall);
  if (refusal !== undefined) say(`  for example ${refusal}`);
  return { name: scene.name, tookMs, firstCall, ...seen };
}

/** Every row of every gateway: shipped, or still in its ledger. */
async function allRows({ databaseUrl, dataFolders }: Deployment): Promise<readonly KeptRow[]> {
  const stored = (await statement(databaseUrl, SELECT)) as unknown as readonly StoredRow[];
  const inLedgers = dataFolders.flatMap((folder) => (existsSync(folder) ? keptRows(folder, []) : []));
  const rows = new Map(
    [...inLedgers, ...keptRows(join(dataFolders[0]!, "none"), stored)].map((row) => [row.traceId, row]),
  );
  return [...rows.values()];
}

function printTable(scenes: readonly Played[], rows: readonly KeptRow[], load: DeploymentLoad): void {
  const kept = new Set(rows.map(({ call }) => call));
  const lost = [...load.clients.seen.keys()].filter((call) => !kept.has(call));
  const ends = [...scenes.slice(1).map(({ firstCall }) => firstCall), Number.POSITIVE_INFINITY];
  const cells = scenes.map(({ name, calls, failed, silentMs, slowestMs, tookMs, firstCall }, index) => [
    name,
    String(calls),
    String(failed),
    String(lost.filter((call) => call >= firstCall && call < ends[index]!).length),
    seconds(silentMs),
    seconds(slowestMs),
    seconds(tookMs),
  ]);
  const head = [
    "what happens",
    "calls",
    "errors for callers",
    "calls lost",
    "longest time without an answer (s)",
    "slowest call (s)",
    "whole again after (s)",
  ];
  const line = (of: readonly string[]): string => `| ${of.join(" | ")} |`;
  say(["", line(head), line(head.map((_, at) => (at === 0 ? "---" : "---:"))), ...cells.map(line)].join("\n"));
}

async function judge(
  deployment: Deployment,
  load: DeploymentLoad,
  scenes: readonly Played[],
): Promise<readonly string[]> {
  await load.end();
  const { clients } = load;
  await until(
    async () => (await storedCalls(deployment.databaseUrl)) >= clients.seen.size,
    "every row is in the database",
  );
  const faults: string[] = [];
  for (const index of deployment.machines.keys()) {
    const code = await deployment.stop(index, "SIGTERM");
    if (code !== 0) faults.push(`gateway ${index + 1} ended with ${code}`);
  }
  const rows = await allRows(deployment);
  printTable(scenes, rows, load);
  say(
    `\n${clients.asked} calls: ${clients.seen.size} answered to the last byte, ${clients.cut.size} cut, ${clients.refused.length} refused; the database has ${rows.length} rows`,
  );
  // What callers saw as an error is counted in the table: it is no call that was lost.
  return [...faults, ...faultsOf(rows, { ...clients, refused: [] }, deployment.upstream)];
}

async function main(): Promise<number> {
  const missing = [...missingPrograms(), ...(postgresPrograms() === null ? ["postgresql"] : [])];
  if (missing.length > 0) {
    if (process.env["DRAGOMAN_CI"] === "1")
      throw new Error(`CI may not skip its tests, and lacks ${missing.join(" and ")}`);
    say(`skipped: not installed: ${missing.join(", ")} (apt install haproxy redis-server postgresql)`);
    return 0;
  }
  const deployment = await openDeployment(GATEWAYS, WORKERS);
  try {
    const load = startDeploymentLoad(deployment.balancer.url, deployment.token, LOAD);
    const faults: string[] = [];
    const next = makeNextVersion(join(deployment.folder, "next"));
    const scenes: Played[] = [];
    for (const scene of [...SCENES, ...upgrade(next, faults)]) {
      if ((flags.short && !scene.isShort) || !scene.name.includes(flags.only)) continue;
      const one = await played(scene, deployment, load);
      if (one !== null) scenes.push(one);
    }
    return tellFaults([...faults, ...(await judge(deployment, load, scenes))]);
  } finally {
    await deployment.dispose();
  }
}

process.exit(await main());
