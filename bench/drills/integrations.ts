// `npm run drill:integrations`: the real gateway under load with all integrations, whose receivers are healthy, dead
// for ten minutes, slow, or answer with garbage. Prints what calls saw, what they cost, memory over time, and what
// became of each record; exits with code 1 when a promise was broken. `--short` takes seconds, `--minutes` sets how
// long receivers are dead, `--rate` the calls per second; `--only` selects moods.
import { parseArgs } from "node:util";
import {
  callsAtRate,
  memoryMb,
  type Mood,
  startWorld,
  type Told,
  toldOf,
  used,
  type World,
} from "../integrations-world.ts";
import { quantile } from "../load/load.ts";

const { values: flags } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    minutes: { type: "string", default: "10" },
    rate: { type: "string" },
    only: { type: "string" },
  },
});

const RATE = Number(flags.rate ?? (flags.short ? 100 : 300));
/** How long every mood except `dead` lasts. */
const SECONDS = flags.short ? 2 : 60;
const DEAD_SECONDS = flags.short ? 2 : Number(flags.minutes) * 60;
const WARM_UP_SECONDS = flags.short ? 0.5 : 10;
/** In the short form a dead receiver's queue holds fewer than its calls, and every other one more. */
const queueOf = (mood: Mood) => (flags.short ? { queueCalls: mood === "dead" ? 50 : 5000 } : {});
const SETTLE_MS = 15_000;
/** Allowed beyond the growth of a process without integrations in the same time. */
const GROWTH_MB = flags.short ? 120 : 60;
/** The gateway, its receivers and its clients share one machine; a difference above this cannot be jitter. */
const ADDED_P99_MS = 50;
const MOODS: readonly Mood[] = ["none", "healthy", "dead", "slow", "lying"];

interface Seen {
  readonly mood: Mood;
  readonly calls: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly servingMicros: number;
  readonly processMicros: number;
  readonly memoryMb: readonly number[];
  readonly told: ReadonlyMap<string, Told>;
  readonly warmUpCalls: number;
}

async function run(mood: Mood): Promise<Seen> {
  await using world = await startWorld(mood, queueOf(mood));
  const { gateway } = world;
  const warmUp = await callsAtRate(gateway, RATE, WARM_UP_SECONDS);
  const memory: number[] = [memoryMb(gateway)];
  const before = used(gateway);
  const seen = await callsAtRate(gateway, RATE, mood === "dead" ? DEAD_SECONDS : SECONDS, () =>
    memory.push(memoryMb(gateway)),
  );
  const after = used(gateway);
  const calls = seen.tookMs.length;
  const told = await settled(world, mood, calls + warmUp.tookMs.length);
  memory.push(memoryMb(gateway));
  return {
    mood,
    calls,
    failed: seen.failed + warmUp.failed,
    warmUpCalls: warmUp.tookMs.length,
    p50Ms: quantile(seen.tookMs, 0.5),
    p99Ms: quantile(seen.tookMs, 0.99),
    servingMicros: ((after.serving - before.serving) * 1e6) / calls,
    processMicros: ((after.process - before.process) * 1e6) / calls,
    memoryMb: memory,
    told,
  };
}

/** A module is notified of the beginning and of the end of each call. */
const expectedOf = (name: string, calls: number): number => (name === "module" ? 2 * calls : calls);
const accounted = ({ delivered, shed, queued }: Told): number => delivered + shed + queued;

/**
 * Waits until every record is accounted for exactly once and, with healthy receivers, until none is queued. Returns the
 * figures of that moment, or those after the longest wait. Figures are read one after the other, so that a record which
 * is delivered meanwhile may be in none of them for that reading.
 */
async function settled({ gateway, names }: World, mood: Mood, calls: number): Promise<Seen["told"]> {
  const startedMs = performance.now();
  for (;;) {
    const told = await toldOf(gateway, names);
    const isSettled = [...told].every(
      ([name, each]) => accounted(each) === expectedOf(name, calls) && (mood !== "healthy" || each.queued === 0),
    );
    if (isSettled || performance.now() - startedMs > SETTLE_MS) return told;
    await Bun.sleep(200);
  }
}

/** Returns one sentence for each broken promise. */
function judge(seen: Seen, none: Seen): readonly string[] {
  const all = seen.calls + seen.warmUpCalls;
  const broken: string[] = [];
  if (seen.failed > 0) broken.push(`${seen.failed} calls failed`);
  // the short form runs among tests, on machines that do other work at the same time
  if (!flags.short && seen.p99Ms > none.p99Ms * 2 + ADDED_P99_MS)
    broken.push(`p99 rose from ${none.p99Ms.toFixed(1)} to ${seen.p99Ms.toFixed(1)} ms`);
  for (const [name, told] of seen.told) {
    if (accounted(told) !== expectedOf(name, all))
      broken.push(`${name}: of ${expectedOf(name, all)} records ${accounted(told)} are accounted for`);
    if (seen.mood === "healthy" && (told.shed > 0 || told.queued > 0))
      broken.push(`${name}: ${told.shed} shed and ${told.queued} waiting with a receiver that takes everything`);
    if (seen.mood === "dead" && told.shed === 0) broken.push(`${name}: nothing was shed with a dead receiver`);
  }
  const grown = growthMb(seen.memoryMb) - growthMb(none.memoryMb);
  if (grown > GROWTH_MB) broken.push(`memory grew by ${grown.toFixed(0)} MB more than without integrations`);
  return broken;
}

/** Measured from the end of the first third, when the queues are full, to the end. */
function growthMb(memory: readonly number[]): number {
  const begin = memory.slice(0, Math.ceil(memory.length / 3));
  return Math.max(...memory.slice(Math.floor((memory.length * 2) / 3))) - Math.max(...begin);
}

function print(seen: Seen, none: Seen, broken: readonly string[]): void {
  const words = seen.mood === "none" ? "no integration" : `all integrations, receivers ${seen.mood}`;
  process.stdout.write(`\n${words}: ${seen.calls} calls at ${RATE}/s, ${seen.failed} failed\n`);
  process.stdout.write(`  calls: p50 ${seen.p50Ms.toFixed(2)} ms, p99 ${seen.p99Ms.toFixed(2)} ms\n`);
  process.stdout.write(
    `  CPU a call: serving thread ${seen.servingMicros.toFixed(1)} µs (${signed(seen.servingMicros - none.servingMicros)}), process ${seen.processMicros.toFixed(1)} µs (${signed(seen.processMicros - none.processMicros)})\n`,
  );
  const every = Math.max(1, Math.floor(seen.memoryMb.length / 12));
  process.stdout.write(
    `  memory over time, MB: ${seen.memoryMb
      .filter((_, index) => index % every === 0)
      .map((mb) => mb.toFixed(0))
      .join(" ")}\n`,
  );
  for (const [name, told] of seen.told)
    process.stdout.write(
      `  ${name.padEnd(10)} delivered ${told.delivered}, shed ${told.shed}, waiting ${told.queued}, failures ${told.failures}, retries ${told.retries}, threads begun again ${told.restarts}\n`,
    );
  process.stdout.write(broken.length === 0 ? "  kept\n" : broken.map((each) => `  BROKEN: ${each}\n`).join(""));
}

const signed = (micros: number): string => `${micros < 0 ? "" : "+"}${micros.toFixed(1)}`;

async function main(): Promise<number> {
  const chosen = MOODS.filter(
    (mood) => mood === "none" || flags.only === undefined || flags.only.split(",").includes(mood),
  );
  // the short form compares no times, so that its moods can run side by side
  const together = flags.short ? await Promise.all(chosen.map(run)) : null;
  let none: Seen | null = null;
  let all = 0;
  for (const [index, mood] of chosen.entries()) {
    const seen = together?.[index] ?? (await run(mood));
    none ??= seen;
    const broken = judge(seen, none);
    all += broken.length;
    print(seen, none, broken);
  }
  process.stdout.write(`\n${chosen.length} moods, ${all} broken promises\n`);
  return all === 0 ? 0 : 1;
}

process.exit(await main());
