// The reservations of one call: later attempts add to them, concurrent attempts share them, and they end in any order,
// also with a slow store. DRAGOMAN_TEST_SEED repeats a run.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CallLimits } from "../../src/admission/call-limits.ts";
import type { AttemptReservation } from "../../src/admission/held-attempt.ts";
import type { Account, LimitStore, Need, Shortage } from "../../src/admission/limit-store.ts";
import { openMemoryLimits } from "../../src/admission/memory.ts";
import type { ReservationEstimate } from "../../src/admission/reservation-estimate.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { LimitOutcome } from "../../src/core/record/record.ts";
import { accountOf } from "../contract/limit-store.suite.ts";
import { printedSeed } from "../harness/time/chance.ts";
import { turnedClock } from "./turned-clock.ts";

const seed = printedSeed("call limits");
const estimateOf = (tokens: number): ReservationEstimate => ({ requests: 1, bound: () => tokens });
const seen = (tokens: number) => () => ({ tokens, nanoUsd: tokens });

const CALL = [
  accountOf({ id: "requests" }),
  accountOf({ id: "places", unit: "concurrency", window: null, limit: 1 }),
  accountOf({ id: "tokens", unit: "tokens", limit: 1_000 }),
];
const AT_UP0 = [
  accountOf({ id: "there", scope: { provider: "up0" }, limit: 100 }),
  accountOf({ id: "places there", unit: "concurrency", window: null, limit: 5, scope: { model: "up0:*" } }),
];

/** A call whose attempts are charged to the accounts that their target names. */
function callUnder(store: LimitStore, outcomes: LimitOutcome[]) {
  let at: readonly Account[] = [];
  const limits = new CallLimits({
    caller: { rules: [], degradeTo: [], ofEveryCall: CALL, accountsAt: () => at },
    user: null,
    store,
    clock: turnedClock(),
    onCharged: () => {},
    outcomes,
  });
  return {
    recorded: () => limits.recording()?.(),
    admitUnread: () => limits.admitUnread(),
    settle: () => limits.settle(),
    reserve(accounts: readonly Account[], estimate: ReservationEstimate) {
      at = accounts;
      return limits.reserve({ route: "direct", provider: "up0", model: "up0:m" }, estimate, false);
    },
  };
}

function openCall() {
  const store = openMemoryLimits({ clock: turnedClock() });
  const outcomes: LimitOutcome[] = [];
  const call = callUnder(store, outcomes);
  const begin = (accounts: readonly Account[], tokens: number): AttemptReservation => {
    const result = call.reserve(accounts, estimateOf(tokens));
    if (result instanceof Promise || result instanceof GatewayError) throw new Error("was not admitted at once");
    return result;
  };
  const used = (account: Account): number => {
    const status = store.status(account);
    if (status instanceof Promise) throw new Error("waits");
    return status.used;
  };
  return { store, outcomes, call, begin, used };
}

describe("one call", () => {
  test("[d4.1] is refused where more limits apply to it than can be counted, and reserves nothing", () => {
    const { call, begin, used } = openCall();
    const many = (count: number): readonly Account[] =>
      Array.from({ length: count }, (_, index) => accountOf({ id: `limit ${index}`, limit: 100 }));
    const refused = call.reserve(many(257), estimateOf(1));
    expect(refused).toBeInstanceOf(GatewayError);
    expect((refused as GatewayError).code).toBe("gateway_overloaded");
    expect((refused as GatewayError).message).toContain("257 limits and budgets apply to this call");
    expect(used(many(1)[0]!)).toBe(0);
    begin(many(256), 1);
    expect(used(many(1)[0]!)).toBe(1);
  });

  test("[d4.6] a budget that cannot be asked has reached no threshold, and one whose share is used up reports none", () => {
    const thresholds = [{ percent: 100, degradeTo: "up1:free" }];
    const account = accountOf({ id: "money", kind: "budget", unit: "nano_usd", window: "day", limit: 100, thresholds });
    const refusedWith = (shortage: Partial<Shortage>) => {
      const need: Need = { account, units: 1, force: false };
      const status = { limit: 100, used: 100, remaining: 0, resetsAtMs: null };
      const short: Shortage = { need, status, fitsAtMs: null, exceedsLimit: false, unavailable: false, ...shortage };
      const charged: Account[] = [];
      const limits = new CallLimits({
        caller: { rules: [account.rule], degradeTo: ["up1:free"], ofEveryCall: [], accountsAt: () => [account] },
        user: null,
        store: { reserve: () => short } as unknown as LimitStore,
        clock: turnedClock(),
        onCharged: (of) => void charged.push(of),
        outcomes: [],
      });
      const refusal = limits.reserve({ route: "direct", provider: "up0", model: "up0:m" }, estimateOf(1), false);
      return [(refusal as GatewayError).code, limits.isRedirectedTo("up1:free"), charged.length];
    };
    expect(refusedWith({})).toEqual(["insufficient_quota", true, 1]);
    expect(refusedWith({ unavailable: true })).toEqual(["limit_store_unavailable", false, 0]);
    expect(refusedWith({ isOfShare: true })).toEqual(["insufficient_quota", true, 0]);
  });

  test("[d4.6] what the call has reserved for a failed attempt sends its next one nowhere else", () => {
    const thresholds = [{ percent: 50, degradeTo: "up1:free" }];
    const account = accountOf({ id: "money", kind: "budget", unit: "nano_usd", window: "day", limit: 100, thresholds });
    const store = openMemoryLimits({ clock: turnedClock() });
    const open = () =>
      new CallLimits({
        caller: { rules: [account.rule], degradeTo: ["up1:free"], ofEveryCall: [], accountsAt: () => [account] },
        user: null,
        store,
        clock: turnedClock(),
        onCharged: () => {},
        outcomes: [],
      });
    const reserve = (limits: CallLimits, units: number) =>
      limits.reserve({ route: "direct", provider: "up0", model: "up0:m" }, estimateOf(units), false);
    const call = open();
    const failed = reserve(call, 55) as AttemptReservation;
    failed.settle();
    expect(reserve(call, 70)).not.toBeInstanceOf(GatewayError);
    expect((reserve(open(), 1) as GatewayError).message).toContain("up1:free");
    call.settle();
    expect(store.open()).toBe(0);
  });

  test("attempts one after the other: the call is one request and one unit of concurrency, each attempt one of its provider's", () => {
    const { store, call, begin, used } = openCall();
    for (const tokens of [30, 0, 20]) {
      const attempt = begin([...CALL, ...AT_UP0], 100);
      attempt.sent(seen(tokens));
      expect([used(CALL[1]!), used(AT_UP0[1]!)]).toEqual([1, 1]);
      attempt.settle();
      expect([used(CALL[1]!), used(AT_UP0[1]!)]).toEqual([1, 0]);
    }
    // 100, 30 more, none more: 50 are used and 100 may be
    expect(used(CALL[2]!)).toBe(130 + 0 + 0);
    call.settle();
    expect([...CALL, ...AT_UP0].map(used)).toEqual([1, 0, 50, 3, 0]);
    expect(store.open()).toBe(0);
  });
  test("attempts side by side need the sum of what they may use", () => {
    const { store, call, begin, used } = openCall();
    const [one, two] = [begin(CALL, 100), begin(CALL, 100)];
    expect(used(CALL[2]!)).toBe(200);
    two.sent(seen(40));
    one.sent(seen(7));
    one.settle();
    one.settle();
    call.settle();
    expect([CALL.map(used), store.open()]).toEqual([[1, 0, 47], 0]);
  });
  test("usage beyond the whole reservation is charged", () => {
    const { call, begin, outcomes, used } = openCall();
    for (const tokens of [120, 300]) {
      const attempt = begin(CALL, 100);
      attempt.sent(seen(tokens));
      attempt.settle();
    }
    call.settle();
    expect([used(CALL[2]!), outcomes.find(({ id }) => id === "tokens")]).toMatchObject([
      420,
      { reserved: 220, settled: 420, after: 420 },
    ]);
  });
  test("an attempt that was admitted and never sent used nothing, and no call is counted", () => {
    const { store, call, begin, used } = openCall();
    begin([...CALL, ...AT_UP0], 100).settle();
    call.settle();
    expect([[...CALL, ...AT_UP0].map(used), store.open()]).toEqual([[0, 0, 0, 0, 0], 0]);
  });
  test("[d4.2 d12.10] an attempt that fails before all of its upstream requests are sent gives the others back", () => {
    const { store, call, used } = openCall();
    const attempt = call.reserve([...CALL, ...AT_UP0], { requests: 12, bound: () => 100 }) as AttemptReservation;
    expect(used(AT_UP0[0]!)).toBe(12);
    for (let sent = 0; sent < 8; sent++) attempt.sent(seen(0));
    attempt.settle();
    call.settle();
    expect([[...CALL, ...AT_UP0].map(used), store.open()]).toEqual([[1, 0, 0, 8, 0], 0]);
  });
  test("[d5.8] a call that asks before its body is read holds its one place from then on, and nothing else", () => {
    const { store, call, begin, outcomes, used } = openCall();
    expect([call.admitUnread(), CALL.map(used)]).toEqual([null, [0, 1, 0]]);
    const other = callUnder(store, []);
    expect(other.admitUnread()).toMatchObject({ code: "rate_limit_exceeded", status: 429 });
    other.settle();
    const attempt = begin([...CALL, ...AT_UP0], 100);
    expect(CALL.map(used)).toEqual([1, 1, 100]);
    attempt.sent(seen(30));
    attempt.settle();
    call.settle();
    expect([CALL.map(used), store.open()]).toEqual([[1, 0, 30], 0]);
    expect(outcomes.map(({ id, reserved, settled }) => [id, reserved, settled])).toEqual([
      ["places", 1, 0],
      ["requests", 1, 1],
      ["tokens", 100, 30],
      ["there", 1, 1],
      ["places there", 1, 0],
    ]);
  });
  test("[d5.8] a call whose body never came has used nothing", () => {
    const { store, call, used } = openCall();
    expect(call.admitUnread()).toBeNull();
    call.settle();
    expect([CALL.map(used), store.open()]).toEqual([[0, 0, 0], 0]);
  });
  test("an attempt after a refusal reserves as if it were the first", () => {
    const { store, call, begin, used } = openCall();
    const full = accountOf({ id: "full", limit: 0, scope: { model: "up1:*" } });
    const refused = call.reserve([...CALL, full], estimateOf(100));
    expect([refused instanceof GatewayError, CALL.map(used)]).toEqual([true, [0, 0, 0]]);
    begin(CALL, 100).sent(seen(10));
    call.settle();
    expect([CALL.map(used), store.open()]).toEqual([[1, 0, 10], 0]);
  });
});

interface Act {
  readonly bound: number;
  readonly tokens: number;
  readonly isCalled: boolean;
  readonly beginsMs: number;
  readonly endsMs: number;
  readonly delayMs: number;
}

/** Answers after the delays, in order. */
function late(store: LimitStore, at: (ms: number, run: () => void) => void, delaysMs: readonly number[]): LimitStore {
  let next = 0;
  return {
    status: (account) => store.status(account),
    first: (account, mark) => store.first(account, mark),
    open: () => store.open(),
    close: () => store.close(),
    reserve: (needs) => {
      const delayMs = delaysMs[next++ % delaysMs.length]!;
      return delayMs === 0
        ? store.reserve(needs)
        : new Promise((answer) => at(delayMs, () => answer(store.reserve(needs))));
    },
  };
}

test("[d4.2] random attempts, side by side, with a slow store: the call is one request, nothing stays open, usage is charged", async () => {
  const act = fc.record({
    bound: fc.integer({ min: 0, max: 50 }),
    tokens: fc.integer({ min: 0, max: 80 }),
    isCalled: fc.boolean(),
    beginsMs: fc.integer({ min: 0, max: 20 }),
    endsMs: fc.integer({ min: 1, max: 30 }),
    delayMs: fc.constantFrom(0, 0, 1, 5, 15),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(act, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 0, max: 45 }),
      fc.integer({ min: 60, max: 400 }),
      fc.constantFrom(null, 0, 4),
      async (acts: readonly Act[], closesMs, limit, askedMs) => {
        const agenda: { readonly atMs: number; readonly run: () => void }[] = [];
        let nowMs = 0;
        const at = (ms: number, run: () => void): void => void agenda.push({ atMs: nowMs + ms, run });
        const memory = openMemoryLimits({ clock: turnedClock() });
        const accounts = [CALL[0]!, CALL[1]!, accountOf({ id: "tokens", unit: "tokens", limit }), ...AT_UP0];
        const delays = acts.map(({ delayMs }) => delayMs);
        if (askedMs !== null) delays.unshift(askedMs);
        const call = callUnder(late(memory, at, delays), []);
        let isOver = false;
        let charged = 0;
        let calls = 0;
        // a call with a long body asks once, before its attempts
        if (askedMs !== null) void call.admitUnread();
        for (const { bound, tokens, isCalled, beginsMs, endsMs } of acts) {
          at(beginsMs + (askedMs ?? 0), () => {
            if (isOver) return;
            const take = (result: Awaited<ReturnType<typeof call.reserve>>): void => {
              if (result instanceof GatewayError) return;
              if (isOver) throw new Error("was admitted after the end");
              if (isCalled) {
                result.sent(seen(tokens));
                charged += tokens;
                calls += 1;
              }
              at(endsMs, () => result.settle());
            };
            const result = call.reserve(accounts, estimateOf(bound));
            if (result instanceof Promise) void result.then(take);
            else take(result);
          });
        }
        at(closesMs, () => {
          isOver = true;
          call.settle();
        });
        while (agenda.length > 0) {
          agenda.sort((a, b) => a.atMs - b.atMs);
          const { atMs, run } = agenda.shift()!;
          nowMs = Math.max(nowMs, atMs);
          run();
          await new Promise<void>((resume) => setImmediate(resume));
        }
        const used = accounts
          .map((account) => memory.status(account))
          .map((status) => (status instanceof Promise ? -1 : status.used));
        expect([memory.open(), used]).toEqual([0, [calls > 0 ? 1 : 0, 0, charged, calls, 0]]);
      },
    ),
    { seed, numRuns: 1_000 },
  );
});
