// `node bin/run.mjs bench/limits.ts`: what five limits that apply cost a call in one process, in CPU time: reserving and settling alone, and the whole handler
// with and without them, over the sandbox. A few seconds; the figures mean something on a machine that does nothing else.
import { compileLimits } from "../src/admission/compile-limits.ts";
import { LimitedCall } from "../src/admission/limited-call.ts";
import { openMemoryLimits } from "../src/admission/memory.ts";
import { budgetSchema, limitSchema } from "../src/admission/settings.ts";
import { GatewayError } from "../src/core/errors.ts";
import { systemClock } from "../src/core/clock.ts";
import type { Configured } from "../src/core/configured.ts";
import { type LimitSet, NO_LIMITS } from "../src/core/limit.ts";
import { stubGateway } from "../test/harness/in-process.ts";

const ROUNDS = 5;
const ALONE = 200_000;
const CALLS = 8_000;

const configured = <T>(name: string, projectId: string, document: T): Configured<T> => ({ id: name, name, tenantId: "default", projectId, origin: "store", setBy: null, version: 1, document });
const MANY = 1_000_000_000;

/** Five that apply, and as many of other projects as the second figure says. */
function limits(others: number): LimitSet {
  const own = [
    { metric: "requests", window: "minute", limit: MANY },
    { metric: "tokens", window: "hour", limit: MANY, scope: { user: "*" } },
    { metric: "tokens", window: "day", limit: MANY, scope: { token: "*" } },
    { metric: "concurrency", limit: 1_000, scope: { model: "sandbox:*" } },
  ].map((each, index) => configured(`limit${index}`, "default", limitSchema.parse(each)));
  const foreign = Array.from({ length: others }, (_, index) => configured(`other${index}`, `project${index}`, limitSchema.parse({ metric: "requests", window: "minute", limit: 1 })));
  return compileLimits({ limits: [...foreign, ...own], budgets: [configured("budget", "default", budgetSchema.parse({ tokens: MANY, window: "month", thresholds: [80, 100] }))] });
}

/** Microseconds of CPU time for each, the best of some rounds: everything else only adds. */
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
  const demand = { requests: 1, bound: () => 4_102 };
  const place = { route: "direct", provider: "sandbox", model: "sandbox:echo" };
  const used = { tokens: 20, nanoUsd: 20_000 };
  return microseconds(ALONE, (times) => {
    for (let index = 0; index < times; index++) {
      const call = new LimitedCall({ caller, user: `user${index % 100}`, store, onCharged: () => {}, touches: [] });
      const admitted = call.admit(place, demand, false, () => systemClock.now());
      if (admitted instanceof Promise || admitted instanceof GatewayError) throw new Error("was not admitted at once");
      admitted.called(() => used);
      admitted.end();
      call.close();
      call.headers(systemClock.now());
    }
  });
}

async function whole(limitRules: LimitSet): Promise<number> {
  return microseconds(CALLS, async (times) => {
    const gateway = stubGateway({ clock: systemClock, snapshot: { limitRules } });
    // the copy that tests keep of each record is no part of a call
    Object.assign(gateway.context, { observer: { publish: () => {} } });
    for (let index = 0; index < times; index++) await (await gateway.chat({ model: "sandbox:echo", user: `user${index % 100}`, messages: [{ role: "user", content: "Hello" }] })).text();
  });
}

await whole(limits(0));
const five = limits(0);
const rows = [
  ["reserve, settle and headers of five limits", await alone(five)],
  ["a whole call through the handler, no limit", await whole(NO_LIMITS)],
  ["a whole call, five limits", await whole(five)],
  ["a whole call, five limits beside 1,000 of other projects", await whole(limits(1_000))],
] as const;
process.stdout.write(`${rows.map(([what, micros]) => `${micros.toFixed(2).padStart(8)} µs CPU  ${what}`).join("\n")}\n`);
