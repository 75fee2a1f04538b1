// `npm run bench:steady`: what a call costs in the steady state, with a load and a provider that cost so little that
// they do not limit the rate: wrk and nginx. nginx as a proxy of the same calls is the unit; both proxies run on one
// core with all their threads, and take turns. Prints Markdown; --write puts it into README.md beside this file,
// --minutes N shows in addition N minutes of plain calls at full rate, beside a second gateway that has few, --only selects rows by their answers, --against
// <folder> measures the gateway of another checkout in turns with this one, and --quick only shows that everything works.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { figuresTable, withGeneratedPart } from "../docs/generators/markdown.ts";
import { CACHED_ANSWER, CACHED_STREAM, ROUTED_ANSWER } from "./load/answers.ts";
import { frontPath, requestText } from "./subjects/fronts.ts";
import { startGateway } from "./subjects/gateway.ts";
import { nginxProgram, nginxVersion, startNginx, startNginxProvider } from "./subjects/nginx.ts";
import {
  bindToCore,
  chooseCores,
  type Cores,
  coreTime,
  cpuSeconds,
  idleShare,
  missingTools,
  residentMb,
  threadSeconds,
} from "./subjects/process-stats.ts";
import type { Subject } from "./subjects/subject.ts";
import { atMost, type Target, targetTable } from "./targets.ts";
import { runWrk, type WrkCall, wrkProgram } from "./load/wrk.ts";

const README = join(import.meta.dir, "README.md");
const PART = "steady";

interface Row {
  readonly label: string;
  /** Of the provider; it also selects the row with --only. */
  readonly answer: string;
  readonly kind: "plain" | "stream";
  /** At most so many times nginx's CPU; `null` where the goal is in µs. */
  readonly goal: number | null;
}

const ROWS: readonly Row[] = [
  { label: "plain, same shape", answer: "openai-plain", kind: "plain", goal: 4.5 },
  { label: "plain, same shape, by a route of three targets", answer: ROUTED_ANSWER, kind: "plain", goal: null },
  { label: "plain, from the response cache", answer: CACHED_ANSWER, kind: "plain", goal: 2 },
  { label: "plain, to Anthropic's form", answer: "anthropic-plain", kind: "plain", goal: 5.5 },
  { label: "stream, same shape", answer: "openai-stream", kind: "stream", goal: 8 },
  { label: "stream, from the response cache", answer: CACHED_STREAM, kind: "stream", goal: null },
  { label: "stream, to Anthropic's form", answer: "anthropic-stream", kind: "stream", goal: 10 },
];

interface Pace {
  readonly firstWarmUpS: number;
  readonly warmUpS: number;
  readonly rounds: number;
  readonly roundS: number;
  readonly aloneS: number;
  readonly restS: number;
}
const FULL: Pace = { firstWarmUpS: 60, warmUpS: 10, rounds: 3, roundS: 6, aloneS: 5, restS: 30 };
const QUICK: Pace = { firstWarmUpS: 1, warmUpS: 1, rounds: 1, roundS: 1, aloneS: 1, restS: 0 };
const CONNECTIONS = 32;
const MINUTE_S = 60;
/** For how long the gateway with few calls is loaded after each minute, and how much of that it only warms up. */
const CONTROL_S = 10;
const CONTROL_WARM_UP_S = 2;
/** When less of the load's core was idle, wrk or the provider may have been the limit. */
const LEAST_IDLE = 0.1;

interface Side {
  readonly cpuMicros: number;
  readonly mainMicros: number | null;
  readonly perSecond: number;
  readonly idle: number;
}
interface Alone {
  readonly p50Micros: number;
  readonly p99Micros: number;
}
interface Measured {
  readonly row: Row;
  readonly nginx: Side & Alone;
  readonly ours: Side & Alone;
  /** Of the gateway of the other checkout. */
  readonly theirs: (Side & Alone) | null;
}
interface Memory {
  readonly atRestMb: number;
  readonly loadedMb: number;
  readonly afterMb: number;
}
interface Minute extends Side {
  /** CPU of a call of the gateway with few calls. */
  readonly controlMicros: number;
  readonly residentMb: number;
}

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    minutes: { type: "string", default: "0" },
    only: { type: "string" },
    against: { type: "string" },
  },
});
await main(flags.quick ? QUICK : FULL, Number(flags.minutes));

async function main(pace: Pace, minutes: number): Promise<void> {
  const [nginx, wrk] = [nginxProgram(), wrkProgram()];
  const missing =
    missingTools() ?? (nginx === null ? "nginx is not installed" : wrk === null ? "wrk is not installed" : null);
  if (missing !== null) {
    process.stderr.write(`bench: ${missing}\n`);
    process.exit(1);
  }
  const folder = mkdtempSync(join(tmpdir(), "dragoman-steady-"));
  // nginx that is started by root reads its answers as another user.
  chmodSync(folder, 0o755);
  const running: Subject[] = [];
  try {
    const text = await measureAll({ folder, running, nginx: nginx!, wrk: wrk! }, pace, minutes);
    process.stdout.write(`${text}\n`);
    if (flags.write) writeFileSync(README, withGeneratedPart(readFileSync(README, "utf8"), PART, `\n${text}\n`));
  } finally {
    for (const each of running.toReversed()) await each.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Bench {
  readonly folder: string;
  /** Everything that was started. */
  readonly running: Subject[];
  readonly nginx: string;
  readonly wrk: string;
}

async function measureAll(bench: Bench, pace: Pace, minutes: number): Promise<string> {
  const cores = chooseCores();
  bindToCore(process.pid, cores.load);
  const start = async (starting: Promise<Subject>): Promise<Subject> => {
    const subject = await starting;
    bench.running.push(subject);
    return subject;
  };
  const wanted = flags.only?.split(",");
  const chosen = ROWS.filter(({ answer }) => wanted === undefined || wanted.includes(answer));
  const answers = ROWS.map(({ answer }) => answer);
  const { folder, nginx } = bench;
  const provider = await start(startNginxProvider(nginx, join(folder, "provider"), answers, cores.load));
  const proxy = await start(startNginx(nginx, join(folder, "proxy"), provider.port, cores.subject));
  const gateway = await start(startGateway(join(folder, "gateway"), provider.port, cores.subject));
  const other =
    flags.against === undefined
      ? null
      : await start(
          startGateway(join(folder, "other"), provider.port, cores.subject, { checkout: resolve(flags.against) }),
        );
  const pid = gateway.pids[0]!;
  await Bun.sleep(Math.min(2000, pace.restS * 1000));
  const atRestMb = residentMb(pid);
  const rows: Measured[] = [];
  for (const [index, row] of chosen.entries()) {
    tell(`${row.label} ...`);
    rows.push(
      await measureRow(bench, row, { proxy, gateway, other }, cores, {
        ...pace,
        ...(index === 0 && { warmUpS: pace.firstWarmUpS }),
      }),
    );
  }
  const loadedMb = residentMb(pid);
  await Bun.sleep(pace.restS * 1000);
  const memory: Memory = { atRestMb, loadedMb, afterMb: residentMb(pid) };
  const long: Minute[] = [];
  if (minutes > 0) {
    const control = await start(startGateway(join(folder, "control"), provider.port, cores.subject));
    await load(bench, control, callOf(ROWS[0]!, control), cores, pace.firstWarmUpS);
    for (let minute = 0; minute < minutes; minute++) {
      tell(`minute ${minute + 1} of ${minutes} ...`);
      long.push(await minuteOf(bench, gateway, control, cores));
    }
  }
  return report(nginx, rows, memory, long);
}

async function measureRow(
  bench: Bench,
  row: Row,
  { proxy, gateway, other }: { readonly proxy: Subject; readonly gateway: Subject; readonly other: Subject | null },
  cores: Cores,
  pace: Pace,
): Promise<Measured> {
  const sides = [proxy, gateway, ...(other === null ? [] : [other])].map((subject) => ({
    subject,
    call: callOf(row, subject),
    rounds: [] as Side[],
  }));
  for (const { subject, call } of sides)
    await load(bench, subject, call, cores, subject === proxy ? Math.min(2, pace.warmUpS) : pace.warmUpS);
  for (let round = 0; round < pace.rounds; round++)
    for (const { subject, call, rounds } of sides) rounds.push(await load(bench, subject, call, cores, pace.roundS));
  const results: (Side & Alone)[] = [];
  for (const { call, rounds } of sides) {
    const median = rounds.toSorted((one, another) => one.cpuMicros - another.cpuMicros)[rounds.length >> 1]!;
    const alone = { connections: 1, seconds: pace.aloneS, core: cores.load };
    results.push({ ...median, ...(await runWrk(bench.wrk, bench.folder, call, alone)) });
  }
  const [nginx, ours, theirs = null] = results;
  return { row, nginx: nginx!, ours: ours!, theirs };
}

function callOf({ answer, kind }: Row, subject: Subject): WrkCall {
  const { path, model, token } = subject.target(answer);
  return {
    port: subject.port,
    path: frontPath(path, "chat"),
    body: requestText("chat", model, kind === "stream"),
    token,
  };
}

async function load(bench: Bench, subject: Subject, call: WrkCall, cores: Cores, seconds: number): Promise<Side> {
  subject.tidy();
  const only = subject.pids.length === 1 ? subject.pids[0]! : null;
  const before = { cpu: cpuSeconds(subject.pids), main: mainSeconds(only), core: coreTime(cores.load) };
  const result = await runWrk(bench.wrk, bench.folder, call, { connections: CONNECTIONS, seconds, core: cores.load });
  return {
    cpuMicros: ((cpuSeconds(subject.pids) - before.cpu) / result.requests) * 1e6,
    mainMicros: only === null ? null : ((mainSeconds(only) - before.main) / result.requests) * 1e6,
    perSecond: result.requests / result.seconds,
    idle: idleShare(before.core, coreTime(cores.load)),
  };
}

function mainSeconds(pid: number | null): number {
  return pid === null ? 0 : threadSeconds(pid).serving;
}

/**
 * A gateway that has few calls follows for some seconds. A machine that others use as well is not equally fast in each
 * minute, but what comes of the number of calls that a gateway has answered shows as a difference between the two.
 */
async function minuteOf(bench: Bench, gateway: Subject, control: Subject, cores: Cores): Promise<Minute> {
  const minute = await load(bench, gateway, callOf(ROWS[0]!, gateway), cores, MINUTE_S);
  const megabytes = residentMb(gateway.pids[0]!);
  const call = callOf(ROWS[0]!, control);
  await load(bench, control, call, cores, CONTROL_WARM_UP_S);
  const { cpuMicros } = await load(bench, control, call, cores, CONTROL_S - CONTROL_WARM_UP_S);
  return { ...minute, residentMb: megabytes, controlMicros: cpuMicros };
}

function report(nginx: string, rows: readonly Measured[], memory: Memory, minutes: readonly Minute[]): string {
  const figure = (value: number, digits = 0): string =>
    value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const pair = ({ p50Micros, p99Micros }: Alone): string => `${figure(p50Micros)}, ${figure(p99Micros)}`;
  return [
    `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, Linux ${release()}, Bun ${Bun.version}, ${nginxVersion(nginx)} as proxy and provider, wrk with ${CONNECTIONS} connections.`,
    ...(flags.quick ? ["Quick run: it shows that the benchmark works, and its figures mean nothing."] : []),
    figuresTable(
      [
        "CPU µs a call, all threads",
        "nginx",
        "Dragoman",
        "times nginx",
        "its main thread",
        "calls/s",
        "alone p50, p99 µs: nginx",
        "Dragoman",
        "idle of the load's core",
        ...(flags.against === undefined ? [] : ["the other checkout", "alone"]),
      ],
      rows.map(({ row, nginx: unit, ours, theirs }) => [
        row.label,
        figure(unit.cpuMicros, 1),
        figure(ours.cpuMicros, 1),
        figure(ours.cpuMicros / unit.cpuMicros, 1),
        figure(ours.mainMicros ?? Number.NaN, 1),
        ours.idle < LEAST_IDLE ? "void" : figure(ours.perSecond),
        pair(unit),
        pair(ours),
        `${figure(ours.idle * 100)} %`,
        ...(theirs === null ? [] : [figure(theirs.cpuMicros, 1), pair(theirs)]),
      ]),
    ),
    targetTable(targetsOf(rows, memory), !flags.quick),
    ...(minutes.length === 0 ? [] : [minuteTable(minutes, figure)]),
  ].join("\n\n");
}

function targetsOf(rows: readonly Measured[], memory: Memory): readonly Target[] {
  const of = (wanted: string): Measured | undefined => rows.find(({ row }) => row.answer === wanted);
  const [plain, routed] = [of("openai-plain"), of(ROUTED_ANSWER)];
  const both = plain === undefined || routed === undefined ? null : routed.ours.cpuMicros - plain.ours.cpuMicros;
  return [
    ...rows.flatMap(({ row, nginx, ours }) =>
      row.goal === null
        ? []
        : [atMost(`${row.label}: times nginx's CPU`, row.goal, "times", ours.cpuMicros / nginx.cpuMicros)],
    ),
    atMost("a route of three targets adds", 3, "µs", both),
    atMost(
      "added at one connection, p99, plain",
      1000,
      "µs",
      plain === undefined ? null : plain.ours.p99Micros - plain.nginx.p99Micros,
    ),
    atMost("memory at rest", 100, "MB", memory.atRestMb),
    atMost("memory under load, after all rows", 150, "MB", memory.loadedMb),
    atMost(`memory ${FULL.restS} s later`, 150, "MB", memory.afterMb),
  ];
}

function minuteTable(minutes: readonly Minute[], figure: (value: number, digits?: number) => string): string {
  return figuresTable(
    [
      "plain calls at full rate, minute",
      "CPU µs a call",
      "main thread",
      "a second gateway, few calls",
      "quotient",
      "calls/s",
      "memory, MB",
    ],
    minutes.map(({ controlMicros, cpuMicros, mainMicros, perSecond, residentMb: megabytes }, index) => [
      String(index + 1),
      figure(cpuMicros, 1),
      figure(mainMicros ?? Number.NaN, 1),
      figure(controlMicros, 1),
      figure(cpuMicros / controlMicros, 2),
      figure(perSecond),
      figure(megabytes),
    ]),
  );
}

function tell(words: string): void {
  process.stderr.write(`bench: ${words}\n`);
}
