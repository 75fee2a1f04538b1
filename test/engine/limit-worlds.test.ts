// Properties of limits over random routes, faults, latencies and clients that leave, through the whole gateway in
// simulated time: nothing stays reserved, no limit is exceeded, and the records agree with the counts.
// DRAGOMAN_TEST_SEED repeats a run.
import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  type Account,
  isShortage,
  type LimitStore,
  type Reservation,
  type Shortage,
} from "../../src/admission/limit-store.ts";
import type { LimitRule, LimitSet } from "../../src/core/configured/limit.ts";
import type { CallRecord } from "../../src/core/record/record.ts";
import { limitSet } from "../harness/limited.ts";
import { turnTime } from "../harness/time/turned-time.ts";
import { printedSeed } from "../harness/time/chance.ts";
import { type Ran, run, worlds } from "./engine-worlds.ts";
import { drawCount } from "../harness/time/long-run.ts";

const seed = printedSeed("limits");
const RUNS = drawCount(400, 3_000);

const scope = fc.constantFrom(
  {},
  {},
  { user: "*" },
  { user: "user-0" },
  { route: "r" },
  { route: "second" },
  { provider: "up0" },
  { provider: "*" },
  { model: "*" },
  { model: "up1:m", user: "*" },
);
const limit = fc.oneof(
  fc.record({
    metric: fc.constant("requests"),
    window: fc.constant("day"),
    limit: fc.integer({ min: 0, max: 4 }),
    scope,
  }),
  fc.record({
    metric: fc.constant("tokens"),
    window: fc.constant("day"),
    limit: fc.integer({ min: 0, max: 120 }),
    scope,
  }),
  fc.record({ metric: fc.constant("concurrency"), limit: fc.integer({ min: 1, max: 2 }), scope }),
  fc.record({
    metric: fc.constant("requests"),
    window: fc.constant("day"),
    limit: fc.integer({ min: 0, max: 1 }),
    scope,
    mode: fc.constant("audit"),
  }),
);
const rules = fc
  .array(limit, { minLength: 1, maxLength: 6 })
  .map((all) => limitSet({ limits: Object.fromEntries(all.map((each, index) => [`l${index}`, each])) }));

/** A store that passes everything on, and notes the state of each account with each reservation. `waitMs`: it answers over a network; null: at once. */
function watched(store: LimitStore, over: string[], waitMs: number | null): LimitStore {
  const look = ({ needs, after }: Reservation): void => {
    for (const [
      index,
      {
        account: { rule },
        units,
        force,
      },
    ] of needs.entries())
      if (!force && units > 0 && after[index]!.used > rule.limit)
        over.push(`${rule.id}: ${after[index]!.used} of ${rule.limit}`);
  };
  return {
    status: (account) => store.status(account),
    first: (account, mark) => store.first(account, mark),
    open: () => store.open(),
    close: () => store.close(),
    reserve(needs) {
      const reserve = (): Reservation | Shortage => {
        const result = store.reserve(needs);
        if (result instanceof Promise) throw new Error("waits");
        if (!isShortage(result)) look(result);
        return result;
      };
      if (waitMs === null) return reserve();
      return new Promise((answer) => {
        setTimeout(() => {
          const result = reserve();
          // on the way back as long again
          setTimeout(() => answer(result), waitMs);
        }, waitMs);
      });
    },
  };
}

/** Whether a limit applies where the first attempt of a call went. `value` is what `*` of its scope stands for. */
function isAtFirst({ attempts, route }: CallRecord, where: LimitRule["scope"], value: string): boolean {
  const { provider, model } = attempts[0]!;
  const named = (glob: string | undefined): string | undefined => (glob === "*" ? value : glob);
  return (
    (where.route === undefined || where.route === route) &&
    (where.provider === undefined || named(where.provider) === provider) &&
    (where.model === undefined || named(where.model) === `${provider}:${model}`)
  );
}

/**
 * `unscoped`: ids of limits that bound all calls alike. Returns how many limits were settled with what the only attempt
 * of a call used.
 */
function judge({ outcomes, limits }: Ran, accounts: readonly Account[], unscoped: ReadonlySet<string>): number {
  if (limits.open() !== 0) throw new Error(`${limits.open()} reservations are open`);
  for (const { record } of outcomes) {
    const open = record?.limits.find(({ settled }) => settled === null);
    if (open !== undefined) throw new Error(`${open.id} is not settled in the record`);
  }
  for (const { record, attempts } of outcomes) {
    if (record === undefined) continue;
    // what reached an upstream that did not refuse it is used, and each attempt is charged once
    const charged = record.attempts.reduce((sum, { usage }) => sum + (usage?.total_tokens ?? 0), 0);
    const whole = record.limits.find(
      ({ id, unit, value, refused }) => unit === "tokens" && value === "" && refused === undefined && unscoped.has(id),
    );
    if (whole !== undefined && whole.settled !== charged)
      throw new Error(
        `${whole.id}: ${whole.settled} are settled, and the attempts used ${charged}: ${JSON.stringify(record.attempts)}`,
      );
    const unpaid = attempts.findIndex(
      ({ fault: { kind } }, index) => kind === "ok" && (record.attempts[index]?.usage?.prompt_tokens ?? 0) === 0,
    );
    if (unpaid >= 0)
      throw new Error(
        `attempt ${unpaid + 1} reached its upstream and is not charged: ${JSON.stringify(record.attempts[unpaid])}`,
      );
  }
  const scopes = new Map([...accounts].map(({ rule }) => [rule.id, rule.scope]));
  let settledOnce = 0;
  for (const { record } of outcomes) {
    if (record?.status !== 200 || record.attempts.length !== 1) continue;
    // a target whose breaker opened while its reservation was made has reserved, and was not attempted
    const own = record.limits.filter(
      ({ id, value, unit, reserved }) => unit === "tokens" && reserved > 0 && isAtFirst(record, scopes.get(id)!, value),
    );
    settledOnce += own.length;
    const wrong = own.find(({ settled }) => settled !== record.usage!.total_tokens);
    if (wrong !== undefined)
      throw new Error(`${wrong.id}: ${record.usage!.total_tokens} were used and ${wrong.settled} settled`);
  }
  for (const account of accounts) {
    const { rule, value } = account;
    const standing = limits.status(account);
    if (standing instanceof Promise) throw new Error("waits");
    const limitOutcomes = outcomes
      .flatMap(({ record }) => record?.limits ?? [])
      .filter((outcome) => outcome.id === rule.id && outcome.value === value);
    const settled = limitOutcomes.reduce((sum, outcome) => sum + (outcome.settled ?? 0), 0);
    if (settled !== standing.used)
      throw new Error(`${rule.id} of ${value}: ${standing.used} are counted, and the records say ${settled}`);
    if (rule.unit === "requests" && rule.mode === "enforce" && standing.used > rule.limit)
      throw new Error(`${rule.id}: ${standing.used} of ${rule.limit}`);
  }
  return settledOnce;
}

/** Accounts that calls have touched. */
function remembered(set: LimitSet, into: Map<string, Account>): LimitSet {
  return {
    ...set,
    forCaller(...caller) {
      const own = set.forCaller(...caller);
      if (own === null) return null;
      return {
        ...own,
        accountsAt(place, user) {
          const accounts = own.accountsAt(place, user);
          for (const account of accounts) into.set(`${account.rule.id}\n${account.value}`, account);
          return accounts;
        },
      };
    },
  };
}

test.each([
  ["at once", [null]],
  ["over a network", [1, 20, 90]],
] as const)(
  "[d4.2] whatever upstreams and clients do, no limit is exceeded, nothing stays reserved, and the records agree with the counts (the store answers %s)",
  async (_, waits) => {
    let refusals = 0;
    let settledOnce = 0;
    await fc.assert(
      fc.asyncProperty(worlds, rules, fc.constantFrom(...waits), async (world, set, waitMs) => {
        const time = turnTime();
        const over: string[] = [];
        const accounts = new Map<string, Account>();
        try {
          const ran = await run(world, time, remembered(set, accounts), (store) => watched(store, over, waitMs));
          const unscoped = new Set(
            [...accounts.values()]
              .filter(({ rule }) => Object.keys(rule.scope).length === 0)
              .map(({ rule: { id } }) => id),
          );
          settledOnce += judge(ran, [...accounts.values()], unscoped);
          expect(over).toEqual([]);
          refusals += ran.outcomes.filter(({ record }) => record?.code === "rate_limit_exceeded").length;
        } finally {
          time.stop();
        }
      }),
      { seed, numRuns: RUNS },
    );
    expect(refusals).toBeGreaterThan(RUNS / 10);
    expect(settledOnce).toBeGreaterThan(RUNS / 80);
  },
);
