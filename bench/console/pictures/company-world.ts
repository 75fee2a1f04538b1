// The gateway's parts with the made company behind them, on a socket: its people, its configuration, its calls, and how full its limits are.
import { isShortage } from "../../../src/admission/limit-store.ts";
import { periodAt } from "../../../src/admission/windows.ts";
import type { LimitRule } from "../../../src/core/configured/limit.ts";
import type { CallRecord } from "../../../src/core/record/record.ts";
import type { TargetStatus } from "../../../src/observe/metrics/metrics.ts";
import { rowOf } from "../../../src/store/journal/journal-row.ts";
import { openServedWorld, type ServedWorld } from "../../../test/harness/console/world.ts";
import { turnedClock } from "../../../test/harness/time/turned-clock.ts";
import { BEGINNING_MS, HOUR_MS, NOW_MS, TENANT } from "./company.ts";
import { companyCalls } from "./company-calls.ts";
import { type Identities, type MadeIds, makeConfiguration, makePeople, makeTraces } from "./company-store.ts";
import { playedAnswer } from "./played-answer.ts";
import { contentsKept, remarkableCalls } from "./remarkable-calls.ts";
import { toolServersOfCompany } from "./company-tools.ts";

export interface CompanyWorld extends ServedWorld {
  readonly ids: MadeIds;
  readonly callers: Identities["callers"];
}

/** Keys that open nothing: nothing is called. */
const KEYS = { OPENAI_API_KEY: "sk-made-up", ANTHROPIC_API_KEY: "sk-made-up", MISTRAL_API_KEY: "made-up" };
const BATCH = 2000;

export async function openCompanyWorld({ file }: { readonly file: string }): Promise<CompanyWorld> {
  const clock = turnedClock(BEGINNING_MS);
  let identities: Identities | null = null;
  const world = await openServedWorld({
    clock,
    file,
    variables: KEYS,
    people: async (store) => (identities = await makePeople(store, clock)).texts,
    targets: () => Promise.resolve(TARGETS),
    consoleCall: playedAnswer,
    toolServers: toolServersOfCompany,
  });
  const { callers } = identities!;
  const ids = await makeConfiguration(world.store, clock);
  await makeTraces(world.store, clock);
  clock.turnTo(NOW_MS);
  await world.source.reload();
  const made = { snapshot: world.source.current(), callers };
  const calls = [...companyCalls(made), ...remarkableCalls(made, ids)];
  for (let at = 0; at < calls.length; at += BATCH)
    await world.calls.ingest(calls.slice(at, at + BATCH).map((call) => rowOf(Buffer.from(JSON.stringify(call)), true)));
  await world.contents.keep(contentsKept());
  await fillLimits(world, calls);
  return { ...world, ids, callers };
}

/** What the gateway knows of its targets. */
const TARGETS: readonly TargetStatus[] = (
  [
    ["anthropic:claude-sonnet-4-5", "closed", 6, 640, null],
    ["openai:gpt-5-mini", "closed", 4, 490, null],
    ["openai:gpt-5-nano", "closed", 2, 305, null],
    ["openai:gpt-5", "closed", 0, 2480, null],
    ["mistral:mistral-small-latest", "closed", 3, 420, null],
    ["house-gpu:qwen3-32b", "open", 0, null, 7400],
    ["house-gpu:qwen3-8b", "open", 0, 210, 3100],
  ] as const
).map(([target, state, inFlight, firstContentMs, openForMs]) => ({
  target,
  owner: target.startsWith("house-gpu:") ? "kestrel" : null,
  state,
  inFlight,
  waiting: 0,
  firstContentMs,
  openForMs,
}));

const WINDOW_MS = { second: 1000, minute: 60_000, hour: HOUR_MS, day: 24 * HOUR_MS } as const;
const RUNNING = 7;

/** Counts on the limits what the calls have used. */
async function fillLimits(world: ServedWorld, calls: readonly CallRecord[]): Promise<void> {
  for (const rule of world.source.current().limitRules.rulesIn(TENANT)) {
    if (rule.unit === "concurrency") {
      await charge(world, rule, "", RUNNING, false);
      continue;
    }
    const fromMs = beginningOf(rule);
    const sums = new Map<string, number>();
    for (const call of calls) {
      if (call.startedAtMs < fromMs || (rule.projectId !== null && call.projectId !== rule.projectId)) continue;
      const value = rule.scope.user === "*" ? call.endUser : "";
      if (value !== null) sums.set(value, (sums.get(value) ?? 0) + unitsOf(rule, call));
    }
    for (const [value, units] of sums) await charge(world, rule, value, units, true);
  }
}

async function charge({ limits }: ServedWorld, rule: LimitRule, value: string, units: number, ends: boolean) {
  const reserved = await limits.reserve([{ account: { rule, value }, units, force: true }]);
  if (!isShortage(reserved) && ends) reserved.settle([units]);
}

function beginningOf({ kind, window }: LimitRule): number {
  if (window === null || window === "total") return 0;
  return kind === "budget" ? periodAt(window, NOW_MS)[0] : NOW_MS - WINDOW_MS[window as "day"];
}

function unitsOf({ unit }: LimitRule, { cost, usage }: CallRecord): number {
  if (unit === "nano_usd") return cost?.nanoUsd ?? 0;
  return unit === "tokens" ? (usage?.total_tokens ?? 0) : 1;
}
