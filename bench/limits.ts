// `node bin/run.mjs bench/limits.ts`: the cost of five limits for a call, in CPU time. It measures reserving and
// settling alone, in memory and leased from a Redis of its own where the machine has one, and the whole handler with
// and without limits, over the sandbox. It takes a few seconds; the figures are meaningful only on an idle machine.
import { compileLimits } from "../src/admission/compile-limits.ts";
import { CallLimits } from "../src/admission/call-limits.ts";
import { openMemoryLimits } from "../src/admission/memory.ts";
import { budgetSchema, limitSchema } from "../src/admission/settings.ts";
import { GatewayError } from "../src/core/errors.ts";
import { systemClock } from "../src/core/clock.ts";
import type { Configured } from "../src/core/configured/configured.ts";
import { type LimitSet, NO_LIMITS } from "../src/core/configured/limit.ts";
import { findServer, startRedis } from "../test/harness/servers/redis-server.ts";
import { openValkeyLimits } from "../src/admission/valkey/valkey.ts";
import { stubGateway } from "../test/harness/in-process.ts";

const ROUNDS = 5;
const ALONE = 200_000;
const CALLS = 8_000;

const configured = <T>(name: string, projectId: string, document: T): Configured<T> => ({
  id: name,
  name,
  tenantId: "default",
  projectId,
  origin: "store",
  setBy: null,
  version: 1,
  document,
});
const MANY = 1_000_000_000;

/** Five limits that apply, and `others` limits of other projects. */
function limits(others: number): LimitSet {
  const own = [
    { metric: "requests", window: "minute", limit: MANY },
    { metric: "tokens", window: "hour", limit: MANY, scope: { user: "*" } },
    { metric: "tokens", window: "day", limit: MANY, scope: { token: "*" } },
    { metric: "concurrency", limit: 1_000, scope: { model: "sandbox:*" } },
  ].map((each, index) => configured(`limit${index}`, "default", limitSchema.parse(each)));
  const foreign = Array.from({ length: others }, (_, index) =>
    configured(
      `other${index}`,
      `project${index}`,
      limitSchema.parse({ metric: "requests", window: "minute", limit: 1 }),
    ),
  );
  return compileLimits({
    limits: [...foreign, ...own],
    budgets: [
      configured("budget", "default", budgetSchema.parse({ tokens: MANY, window: "month", thresholds: [80, 100] })),
    ],
  });
}

/** Returns the CPU time per run in microseconds, of the best of some rounds, because other work only adds to it. */
async function microseconds(times: number, run: (times: number) => void | Promise<void>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    Bun.gc(true);
    const before = process.cpuUsage();
    await run(times);
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / times);
  }
  return best;
}

async function alone(set: LimitSet): Promise<number> {
  const store = openMemoryLimits({ clock: systemClock });
  const caller = set.forCaller("default", "default", "token");
  if (caller === null) throw new Error("nothing applies");
  const reservationEstimate = { requests: 1, bound: () => 4_102 };
  const place = { route: "direct", provider: "sandbox", model: "sandbox:echo" };
  const used = { tokens: 20, nanoUsd: 20_000 };
  return microseconds(ALONE, (times) => {
    for (let index = 0; index < times; index++) {
      const call = new CallLimits({
        caller,
        user: `user${index % 100}`,
        store,
        clock: systemClock,
        onCharged: () => {},
        outcomes: [],
      });
      const admitted = call.reserve(place, reservationEstimate, false);
      if (admitted instanceof Promise || admitted instanceof GatewayError) throw new Error("was not admitted at once");
      admitted.sent(() => used);
      admitted.settle();
      call.settle();
      call.headers();
    }
  });
}

/**
 * Calls arrive in groups, as sockets deliver them, and the process receives the limit store's messages between the
 * groups.
 */
const AT_ONCE = 50;

/**
 * Counts all work of the process: messages, timers, and the calls that had to ask the store. Also returns the share of
 * those calls.
 */
async function leased(set: LimitSet): Promise<{ readonly micros: number; readonly asked: number } | null> {
  if (findServer("redis-server") === null) return null;
  const redis = await startRedis({ flags: ["--appendonly", "no"] });
  const store = await openValkeyLimits({ url: redis.url, clusterNodes: null, clock: systemClock, folder: null });
  const caller = set.forCaller("default", "default", "token");
  if (caller === null) throw new Error("nothing applies");
  const reservationEstimate = { requests: 1, bound: () => 4_102 };
  const place = { route: "direct", provider: "sandbox", model: "sandbox:echo" };
  const used = { tokens: 20, nanoUsd: 20_000 };
  let asked = 0;
  let all = 0;
  const one = (index: number): void | Promise<void> => {
    const call = new CallLimits({
      caller,
      user: `user${index % 5}`,
      store,
      clock: systemClock,
      onCharged: () => {},
      outcomes: [],
    });
    const end = (admitted: Awaited<ReturnType<typeof call.reserve>>): void => {
      if (admitted instanceof GatewayError) throw admitted;
      admitted.sent(() => used);
      admitted.settle();
      call.settle();
      call.headers();
    };
    all += 1;
    const admitted = call.reserve(place, reservationEstimate, false);
    if (!(admitted instanceof Promise)) {
      end(admitted);
      return;
    }
    asked += 1;
    return admitted.then(end);
  };
  const run = async (times: number): Promise<void> => {
    for (let index = 0; index < times; index += AT_ONCE) {
      const waits: Promise<void>[] = [];
      for (let each = 0; each < AT_ONCE; each++) {
        const wait = one(index + each);
        if (wait !== undefined) waits.push(wait);
      }
      await Promise.all(waits);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await run(5_000);
  asked = all = 0;
  const micros = await microseconds(ALONE / 4, run);
  await store.close();
  await redis.stop();
  return { micros, asked: asked / all };
}

async function whole(limitRules: LimitSet): Promise<number> {
  return microseconds(CALLS, async (times) => {
    const gateway = stubGateway({ clock: systemClock, snapshot: { limitRules } });
    // the copy of each record that the test harness keeps is not part of a call
    Object.assign(gateway.context, { observer: { publish: () => {} } });
    for (let index = 0; index < times; index++)
      await (
        await gateway.chat({
          model: "sandbox:echo",
          user: `user${index % 100}`,
          messages: [{ role: "user", content: "Hello" }],
        })
      ).text();
  });
}

await whole(limits(0));
const five = limits(0);
const borrowed = await leased(five);
const rows = [
  ["reserve, settle and headers of five limits", await alone(five)],
  ...(borrowed === null
    ? []
    : [
        [
          `the same, borrowed from Redis; ${(borrowed.asked * 100).toFixed(2)} % of the calls asked it`,
          borrowed.micros,
        ] as const,
      ]),
  ["a whole call through the handler, no limit", await whole(NO_LIMITS)],
  ["a whole call, five limits", await whole(five)],
  ["a whole call, five limits beside 1,000 of other projects", await whole(limits(1_000))],
] as const;
process.stdout.write(
  `${rows.map(([what, micros]) => `${micros.toFixed(2).padStart(8)} µs CPU  ${what}`).join("\n")}\n`,
);
