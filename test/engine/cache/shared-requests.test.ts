// What is charged of requests that equal calls share, over random providers, routes and clients that leave, through the
// whole gateway in simulated time (promises 4.2 and 13.5): each request that a provider has taken is charged once, to one
// of the calls that waited for it. The ledger's sums, the budget, /metrics and OTLP say the same of all of them.
// DRAGOMAN_TEST_SEED repeats a run.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DIRECT_ROUTE } from "../../../src/core/configured/route.ts";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { openMetrics } from "../../../src/observe/metrics/metrics.ts";
import { countCall, INSTRUMENTS } from "../../../src/observe/integrations/otlp/call-metrics.ts";
import { MetricSums } from "../../../src/observe/integrations/otlp/metric.ts";
import { openSqliteCalls } from "../../../src/store/calls/sqlite-calls.ts";
import { furnishedFiles } from "../../contract/store/call-places.ts";
import { ASK, cachedGateway } from "../../harness/cached.ts";
import { type Fault, faultyUpstream, type Served, status } from "../../harness/faults.ts";
import { limitSet } from "../../harness/limited.ts";
import { routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { printedSeed } from "../../harness/time/chance.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { turnTime, type TurnedTime } from "../../harness/time/turned-time.ts";
import { usageTotals } from "../../harness/usage-totals.ts";

const seed = printedSeed("shared requests");
const RUNS = drawCount(200, 5_000);
/** What the provider says of each prompt, and what the gateway estimates of this one; a nano-dollar each. */
const PROMPT_TOKENS = 5;
const MESSAGES = [{ role: "user", content: "Hi" }];
const PRICED = {
  id: "m",
  name: null,
  contextLength: null,
  maxCompletionTokens: null,
  pricing: { prompt: "0.000000001", completion: "0" },
};

/** Odd, and all other times even, so that a client never leaves just when a refusal comes. */
const delayMs = fc.constantFrom(0, 7, 41, 123);
const faults: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("ok" as const), delayMs, gapMs: fc.constantFrom(0, 10) }) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(400, 401, 429, 503), delayMs)
      .map(([code, waitMs]): Fault => ({ ...status(code), delayMs: waitMs }) as Fault),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("cut" as const, "falls_silent" as const, "error_event" as const),
      words: fc.integer({ min: 1, max: 2 }),
      delayMs,
      gapMs: fc.constantFrom(0, 10),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("refused" as const, "garbage" as const), delayMs }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("stall" as const, "silence" as const) }) },
);
const caller = fc.record({
  startMs: fc.constantFrom(0, 0, 4, 30, 100),
  route: fc.constantFrom("plain", "hasty", "hedged"),
  numRetries: fc.constantFrom(0, 0, 1),
  timeoutMs: fc.constantFrom(60, 1_000, 10_000),
  leavesAfterMs: fc.option(
    fc.integer({ min: 0, max: 75 }).map((half) => 2 * half),
    { freq: 2 },
  ),
  pauseMs: fc.constantFrom(0, 0, 30),
});
const worlds = fc.record({
  stream: fc.boolean(),
  script: fc.array(faults, { minLength: 1, maxLength: 4 }),
  callers: fc.array(caller, { minLength: 1, maxLength: 4 }),
});
type World = typeof worlds extends fc.Arbitrary<infer One> ? One : never;

/** Whether the provider has taken the request, which is then paid for: one that ended before its refusal came, too. */
function isTaken({ fault, startedMs, endedMs }: Served): boolean {
  if (fault.kind === "refused") return false;
  return fault.kind !== "status" || endedMs! - startedMs < (fault.delayMs ?? 0) - 0.5;
}

async function run({ stream, script, callers }: World, time: TurnedTime) {
  const upstream = faultyUpstream({ scripts: { one: script }, nowMs: () => time.nowMs() });
  const timeouts = { connectMs: 60, firstByteMs: 150, betweenChunksMs: 90 };
  const routes = [
    routeOf(DIRECT_ROUTE, []),
    routeOf("plain", ["one:m"], { timeouts }),
    routeOf("hasty", ["one:m"], { timeouts: { ...timeouts, firstTokenMs: 50 }, retryTimeouts: true }),
    routeOf("hedged", ["one:m"], { timeouts, hedge: { after: 20, maxExtra: 1 } }),
  ];
  const gateway = cachedGateway({
    upstream,
    clock: time.clock,
    providers: [
      {
        ...providerSettings({
          id: "one",
          family: "custom",
          baseUrl: "http://one.test/v1",
          credentials: [storedKey("key-of-one")],
        }),
        models: [PRICED],
      },
    ],
    snapshot: {
      routes: new Map(routes.map((route) => [route.name, route])),
      limitRules: limitSet({ budgets: { money: { usd: 1, window: "total" } } }),
    },
  });
  const call = async ({
    startMs,
    route,
    numRetries,
    timeoutMs,
    leavesAfterMs,
    pauseMs,
  }: World["callers"][number]): Promise<void> => {
    if (startMs > 0) await new Promise((resume) => setTimeout(resume, startMs));
    const leaving = new AbortController();
    const open: { cancel(): Promise<void> }[] = [];
    const leave = (): void => {
      leaving.abort();
      for (const reader of open) void reader.cancel();
    };
    const timer = leavesAfterMs === null ? null : setTimeout(leave, leavesAfterMs);
    const response = await gateway.chat(
      {
        ...ASK,
        model: undefined,
        route,
        messages: MESSAGES,
        max_tokens: 20,
        stream,
        num_retries: numRetries,
        timeout: timeoutMs / 1000,
      },
      { signal: leaving.signal },
    );
    if (leaving.signal.aborted) {
      await response.body?.cancel();
      return;
    }
    const reading = response.body!.getReader();
    open.push(reading);
    for (let isOver = false; !isOver;) {
      if (pauseMs > 0) await new Promise((resume) => setTimeout(resume, pauseMs));
      isOver = (await reading.read()).done;
    }
    if (timer !== null) clearTimeout(timer);
  };
  await time.until(Promise.all(callers.map(call)));
  await time.drain(20_000);
  return { gateway, served: upstream.served };
}

/** What the ledger, /metrics and OTLP say of the calls: how many, their tokens where that is told, and their cost. */
async function sumsOf(records: readonly CallRecord[]) {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-sums-"));
  const calls = openSqliteCalls({ file: await furnishedFiles(folder)() });
  await calls.ingest(records.map((record) => ({ record, settled: true })));
  const ledger = await usageTotals(calls);
  await calls.close();
  rmSync(folder, { recursive: true, force: true });
  const metrics = openMetrics();
  const otlp = new MetricSums("delta", 0);
  for (const record of records) {
    metrics.publish(record);
    countCall(record, otlp);
  }
  const lines = (await metrics.text()).split("\n");
  const counted = (name: string, label = ""): number =>
    lines
      .filter((line) => line.startsWith(`${name}{`) && line.includes(label))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  const { points } = otlp.collect(0);
  const exported = (name: keyof typeof INSTRUMENTS): number =>
    points
      .get(INSTRUMENTS[name])!
      .values()
      .reduce((sum, point) => sum + point.sum, 0);
  return {
    ledger: {
      calls: Number(ledger.calls),
      failed: Number(ledger.errors),
      prompt: Number(ledger.promptTokens),
      completion: Number(ledger.completionTokens),
      cost: Number(ledger.costNanoUsd),
    },
    metrics: {
      calls: counted("dragoman_calls_total"),
      failed: counted("dragoman_errors_total"),
      prompt: counted("dragoman_tokens_total", 'kind="prompt"'),
      completion: counted("dragoman_tokens_total", 'kind="completion"'),
      cost: counted("dragoman_cost_nano_usd_total"),
    },
    otlp: { calls: exported("calls"), cost: exported("cost") },
  };
}

test("[d4.2] [d13.5] each request that a provider has taken is charged once, whoever shares it, tries again or leaves", async () => {
  let shared = 0;
  const recorded: CallRecord[] = [];
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const time = turnTime();
      try {
        const { gateway, served } = await run(world, time);
        const { records } = gateway;
        expect(records).toHaveLength(world.callers.length);
        const taken = served.filter(isTaken).length;
        const charged = records.reduce((sum, { cost }) => sum + (cost?.nanoUsd ?? 0), 0);
        expect(charged).toBe(taken * PROMPT_TOKENS);
        const settled = records.reduce(
          (sum, { limits }) => sum + limits.reduce((all, one) => all + (one.settled ?? 0), 0),
          0,
        );
        expect(settled).toBe(charged);
        expect(gateway.context.limits.open()).toBe(0);
        expect(gateway.cache.figures().flights).toBe(0);
        recorded.push(...records);
        if (served.length < world.callers.length) shared += 1;
      } finally {
        time.stop();
      }
    }),
    { seed, numRuns: RUNS },
  );
  expect(shared).toBeGreaterThan(RUNS / 10);
  const { ledger, metrics, otlp } = await sumsOf(recorded);
  expect(ledger.cost).toBe(recorded.reduce((sum, { cost }) => sum + (cost?.nanoUsd ?? 0), 0));
  expect(metrics).toEqual(ledger);
  expect(otlp).toEqual({ calls: ledger.calls, cost: ledger.cost });
});
