// `npm run bench:governance`: the cost of policies, limits and the ledger for a call in the real process; the same
// beside 10,000 tokens, 1,000 policies and 1,000 limits of other projects; the same with limits leased from Redis; and
// how soon a revoked token is refused. Prints Markdown; --write puts it into README.md beside this file, and --quick
// only shows that everything works. It takes some three minutes.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { figuresTable } from "../docs/generators/markdown.ts";
import { createToken, revokeToken } from "../src/auth/tokens/token-admin.ts";
import { openDatabase } from "../src/store/open-database.ts";
import { LOCAL_ACTOR } from "../src/store/records.ts";
import { findServer, startRedis } from "../test/harness/servers/redis-server.ts";
import { chatBody } from "./load/answers.ts";
import { startGateway } from "./subjects/gateway.ts";
import { GOVERNED } from "./subjects/governed.ts";
import { httpRequest, quantile, runLoad } from "./load/load.ts";
import { startMock } from "./load/mock.ts";
import { bindToCore, chooseCores, missingTools, threadSeconds } from "./subjects/process-stats.ts";
import { type SeededData, seeded } from "./load/seeded-data.ts";
import { atMost, targetTable } from "./targets.ts";
import { startServer, type Subject, underBun } from "./subjects/subject.ts";

const README = join(import.meta.dir, "README.md");
const BEGIN = "<!-- governance: written by npm run bench:governance -- --write -->";
const END = "<!-- end of governance -->";
const OTHERS: SeededData = { tokens: 10_000, tenants: 1_000, policies: 1_000, limits: 1_000 };
const CONNECTIONS = 32;
interface Pace {
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmUpMs: number;
  readonly revocationMs: number;
  readonly others: SeededData;
}
/** Process clocks advance in steps of 10 ms, so that shorter rounds would be meaningless. */
const FULL: Pace = { rounds: 6, roundMs: 1500, warmUpMs: 6000, revocationMs: 1500, others: OTHERS };
const QUICK: Pace = {
  rounds: 1,
  roundMs: 40,
  warmUpMs: 20,
  revocationMs: 200,
  others: { tokens: 200, tenants: 20, policies: 20, limits: 20 },
};

const VARIANTS = ["nothing", "governed", "crowded", "leased"] as const;
type Variant = (typeof VARIANTS)[number];
const LABELS: Readonly<Record<Variant, string>> = {
  nothing: "nothing configured",
  governed: "three policies, five limits",
  crowded: "the same beside 10,000 tokens, 1,000 policies and 1,000 limits of other projects",
  leased: "three policies, five limits, borrowed from Redis",
};
const KINDS = ["plain", "stream"] as const;

const { values: flags, positionals } = parseArgs({
  options: { quick: { type: "boolean", default: false }, write: { type: "boolean", default: false } },
  allowPositionals: true,
});
if (positionals[0] === "serve-mock") process.stdout.write(`port ${startMock().port}\n`);
else await main(flags.quick ? QUICK : FULL);

async function main(pace: Pace): Promise<void> {
  const missing = missingTools();
  if (missing !== null) {
    process.stderr.write(`bench: ${missing}\n`);
    process.exit(1);
  }
  const folder = mkdtempSync(join(tmpdir(), "dragoman-governance-"));
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const text = await measured(folder, pace, stops);
    process.stdout.write(`${text}\n`);
    if (flags.write) writeFileSync(README, placed(readFileSync(README, "utf8"), text));
  } finally {
    for (const stop of stops.toReversed()) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Running {
  readonly variant: Variant;
  readonly subject: Subject;
  readonly startedCpuMs: number;
  /** Microseconds per call in each round, by kind: of the serving thread, and of all threads. */
  readonly micros: Readonly<Record<(typeof KINDS)[number], { readonly serving: number[]; readonly all: number[] }>>;
}

async function measured(folder: string, pace: Pace, stops: (() => Promise<unknown>)[]): Promise<string> {
  const cores = chooseCores();
  bindToCore(process.pid, cores.load);
  const mock = await startServer(underBun(import.meta.path, "serve-mock"), cores.load);
  stops.push(mock.stop);
  const redis = findServer("redis-server") === null ? null : await startRedis({ flags: ["--appendonly", "no"] });
  if (redis === null) process.stderr.write("bench: redis-server is not installed: the row with leases is left out\n");
  else stops.push(() => redis.stop());

  const all: Running[] = [];
  for (const variant of VARIANTS) {
    if (variant === "leased" && redis === null) continue;
    const data = join(folder, `${variant}-data`);
    const token = await seeded(data, variant === "crowded" ? pace.others : {});
    const configuration = `${variant === "nothing" ? "" : GOVERNED}${variant === "leased" ? `limit_store: { driver: valkey, url: "${redis!.url}" }\n` : ""}`;
    const subject = await startGateway(join(folder, variant), mock.port, cores.subject, {
      configuration,
      data: { folder: data, token },
    });
    stops.push(subject.stop);
    const { serving, others } = threadSeconds(subject.pids[0]!);
    all.push({
      variant,
      subject,
      startedCpuMs: (serving + others) * 1000,
      micros: { plain: { serving: [], all: [] }, stream: { serving: [], all: [] } },
    });
  }
  // the variants take turns, so that other work of the machine affects all of them
  for (const running of all) for (const kind of KINDS) await round(running, kind, pace.warmUpMs, false);
  for (let index = 0; index < pace.rounds; index++)
    for (const kind of KINDS) for (const running of all) await round(running, kind, pace.roundMs, true);
  const crowded = all.find(({ variant }) => variant === "crowded")!;
  const revoked = await revocation(crowded.subject, join(folder, "crowded-data"), pace.revocationMs);
  return report(all, revoked);
}

async function round(
  { subject, micros }: Running,
  kind: (typeof KINDS)[number],
  durationMs: number,
  counts: boolean,
): Promise<void> {
  const { path, model, token } = subject.target(`openai-${kind}`);
  const request = httpRequest(subject.port, path, chatBody(model, kind === "stream"), token);
  subject.tidy();
  const before = threadSeconds(subject.pids[0]!);
  const { requests } = await runLoad({ port: subject.port, request }, { connections: CONNECTIONS, durationMs });
  const after = threadSeconds(subject.pids[0]!);
  if (!counts) return;
  const serving = ((after.serving - before.serving) / requests) * 1e6;
  micros[kind].serving.push(serving);
  micros[kind].all.push(serving + ((after.others - before.others) / requests) * 1e6);
}

interface Revocation {
  readonly seenAfterMs: number;
  /**
   * The longest of another caller's successive calls during the revocation; `usualLongestMs` is the longest before it.
   */
  readonly longestMs: number;
  readonly usualLongestMs: number;
}

/** Revokes a token as the command line does, while another token calls without a pause for `durationMs`. */
async function revocation(subject: Subject, dataFolder: string, durationMs: number): Promise<Revocation> {
  const { path, model, token } = subject.target("openai-plain");
  const call = () =>
    runLoad(
      { port: subject.port, request: httpRequest(subject.port, path, chatBody(model, false), token) },
      { connections: 1, durationMs },
    );
  const { store } = await openDatabase({ dataFolder, databaseUrl: null, environment: new Map() });
  try {
    const { result: issued } = await store.change(LOCAL_ACTOR, (writer) =>
      createToken(writer, { name: "victim", projectId: "default" }, Date.now()),
    );
    const statusOf = async (): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${subject.port}/api/v1/models`, {
        headers: { authorization: `Bearer ${issued.text}` },
      });
      await answer.body?.cancel();
      return answer.status;
    };
    while ((await statusOf()) !== 200) await Bun.sleep(20);
    const usual = await call();
    const load = call();
    await Bun.sleep(100);
    const revokedMs = performance.now();
    await store.change(LOCAL_ACTOR, (writer) => revokeToken(writer, issued.id, Date.now()));
    while ((await statusOf()) !== 401) await Bun.sleep(5);
    const seenAfterMs = performance.now() - revokedMs;
    return { seenAfterMs, longestMs: quantile((await load).totalMs, 1), usualLongestMs: quantile(usual.totalMs, 1) };
  } finally {
    await store.close();
  }
}

function report(all: readonly Running[], { seenAfterMs, longestMs, usualLongestMs }: Revocation): string {
  const least = (values: readonly number[]): number => Math.min(...values);
  const nothing = all[0]!;
  const cells = ({ micros }: Running, kind: (typeof KINDS)[number]): readonly string[] => {
    const serving = least(micros[kind].serving);
    return [
      serving.toFixed(1),
      (serving - least(nothing.micros[kind].serving)).toFixed(1),
      least(micros[kind].all).toFixed(1),
    ];
  };
  const added = (variant: Variant): number | null => {
    const running = all.find((each) => each.variant === variant);
    return running === undefined ? null : least(running.micros.plain.all) - least(nothing.micros.plain.all);
  };
  const rows = all.map((running) => [
    LABELS[running.variant],
    ...cells(running, "plain"),
    ...cells(running, "stream"),
    running.startedCpuMs.toFixed(0),
  ]);
  return [
    `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, Linux ${release()}, Bun ${Bun.version}${flags.quick ? ", --quick: the figures mean nothing" : ""}. CPU µs a call, the least of ${all[0]!.micros.plain.all.length} rounds taken in turns.`,
    "",
    figuresTable(
      [
        "",
        "plain: the serving thread",
        "more than nothing",
        "with the threads that sync and ship",
        "stream of 200 events: the serving thread",
        "more than nothing",
        "with the others",
        "CPU ms to start",
      ],
      rows,
    ),
    "",
    targetTable(
      [
        atMost(
          "CPU of all threads that three policies and five limits add to a plain call",
          10,
          "µs",
          added("governed"),
        ),
        atMost("the same, with the limits leased from Redis", 20, "µs", added("leased")),
      ],
      !flags.quick,
    ),
    "",
    `A token that is revoked beside all of them is refused after ${seenAfterMs.toFixed(0)} ms; meanwhile the longest call of another one took ${longestMs.toFixed(1)} ms, before ${usualLongestMs.toFixed(1)} ms.`,
  ].join("\n");
}

function placed(readme: string, text: string): string {
  const from = readme.indexOf(BEGIN);
  const to = readme.indexOf(END);
  if (from < 0 || to < from) throw new Error(`${README} has no place for the table`);
  return `${readme.slice(0, from + BEGIN.length)}\n\n${text}\n\n${readme.slice(to)}`;
}
