// Limits of one process over time: sliding windows, calendar periods, changed clocks, many values, restarts. An
// observer that remembers every admission checks them. DRAGOMAN_TEST_SEED repeats a run.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { type Account, isShortage, type LimitStore, type Reservation } from "../../src/admission/limit-store.ts";
import { MemoryAccounts } from "../../src/admission/memory-accounts.ts";
import { openMemoryLimits } from "../../src/admission/memory.ts";
import { charge } from "../../src/admission/windows.ts";
import type { LimitRule } from "../../src/core/configured/limit.ts";
import {
  type CountStore,
  type JournalledCount,
  type KeptCount,
  openLimitCounts,
} from "../../src/store/journal/limit-counts.ts";
import { accountOf, needOf } from "../contract/limit-store.suite.ts";
import { printedSeed } from "../harness/time/chance.ts";
import { withIntervals } from "../harness/time/turned-time.ts";
import { type TurnedClock, turnedClock } from "./turned-clock.ts";

const seed = printedSeed("memory limits");
const folder = mkdtempSync(join(tmpdir(), "dragoman-limits-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

const W = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

function take(store: LimitStore, account: Account, units = 1): Reservation | null {
  const result = store.reserve([needOf(account, units)]);
  if (result instanceof Promise) throw new Error("waits");
  return isShortage(result) ? null : result;
}
/** When it says that the need fits; null: never. */
function fitsIn(store: LimitStore, clock: TurnedClock, account: Account, units = 1): number | null {
  const result = store.reserve([needOf(account, units)]);
  if (result instanceof Promise || !isShortage(result)) throw new Error("was admitted");
  return result.fitsAtMs === null ? null : Math.ceil(result.fitsAtMs - clock.now());
}
function used(store: LimitStore, account: Account): number {
  const standing = store.status(account);
  if (standing instanceof Promise) throw new Error("waits");
  return standing.used;
}

/** One step: time passes, a call reserves, a reservation ends. */
interface Step {
  readonly waitMs: number;
  readonly units: number;
  /** Ends the reservation that was made so many before, with this share of what it has; null: none. */
  readonly ends: { readonly back: number; readonly share: number } | null;
  readonly jumpMs: number;
  readonly sleepMs: number;
}

const steps = (windowMs: number): fc.Arbitrary<readonly Step[]> =>
  fc.array(
    fc.record({
      waitMs: fc.oneof(
        { weight: 4, arbitrary: fc.integer({ min: 0, max: Math.ceil(windowMs / 20) }) },
        fc.integer({ min: 0, max: windowMs * 2 }),
        fc.constantFrom(0, windowMs, windowMs - 1, windowMs + 1, Math.ceil(windowMs / 60)),
      ),
      units: fc.integer({ min: 1, max: 12 }),
      ends: fc.option(fc.record({ back: fc.integer({ min: 0, max: 5 }), share: fc.constantFrom(0, 0.5, 1, 1.5) })),
      jumpMs: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, fc.integer({ min: -2 * windowMs, max: 2 * windowMs })),
      sleepMs: fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: windowMs })),
    }),
    { minLength: 5, maxLength: 60 },
  );

interface Taken {
  readonly atMs: number;
  /** What it counts for the promise: the reservation, or what was really used when that was less. */
  units: number;
  reservation: Reservation | null;
  readonly of: number;
}

describe("windows that slide", () => {
  test.each(Object.keys(W) as (keyof typeof W)[])(
    "[d4.1 d4.2] no window of a %s holds more than the limit, wherever it starts, whatever the clocks do; and a caller that waits as long as it was asked to has room then",
    (window) => {
      const windowMs = W[window];
      const account = accountOf({ unit: "tokens", window, limit: 20 });
      fc.assert(
        fc.property(steps(windowMs), (all) => {
          const clock = turnedClock();
          const store = openMemoryLimits({ clock });
          const taken: Taken[] = [];
          for (const { waitMs, units, ends, jumpMs, sleepMs } of all) {
            clock.pass(waitMs);
            if (jumpMs !== 0) clock.set(clock.now() + jumpMs);
            if (sleepMs !== 0) clock.sleep(sleepMs);
            const ending =
              ends === null ? undefined : taken.filter((each) => each.reservation !== null).at(-1 - ends.back);
            if (ending !== undefined) {
              const real = Math.floor(ending.of * ends!.share);
              ending.reservation!.settle([real]);
              ending.reservation = null;
              ending.units = Math.min(real, ending.of);
            }
            const atMs = clock.monotonic();
            const result = store.reserve([needOf(account, units)]);
            if (result instanceof Promise) throw new Error("waits");
            if (!isShortage(result)) {
              taken.push({ atMs, units, of: units, reservation: result });
              // the window that ends with this admission: every other has been judged, or is judged with a later one
              const inside = taken
                .filter((each) => each.atMs > atMs - windowMs)
                .reduce((sum, each) => sum + each.units, 0);
              if (inside > 20) throw new Error(`${inside} within a ${window}`);
            } else if (result.fitsAtMs !== null) {
              const waits = Math.ceil(result.fitsAtMs - clock.now());
              // a sixtieth late at most, counted from the newest that could be in the way
              if (waits <= 0 || waits > windowMs + Math.ceil(windowMs / 60)) throw new Error(`waits ${waits} ms`);
              clock.pass(waits);
              const again = take(store, account, units);
              if (again === null) throw new Error(`told to wait ${waits} ms, and refused then`);
              taken.push({ atMs: clock.monotonic(), units, of: units, reservation: again });
            }
          }
          for (const each of taken) each.reservation?.release();
          return store.open() === 0;
        }),
        { seed, numRuns: 400 },
      );
    },
  );

  test("[d4.2] admission is tight: a refused reservation would not fit into the window and its oldest part", () => {
    const account = accountOf({ unit: "tokens", window: "minute", limit: 20 });
    fc.assert(
      fc.property(steps(60_000), (all) => {
        const clock = turnedClock();
        const store = openMemoryLimits({ clock });
        const taken: { readonly atMs: number; readonly units: number }[] = [];
        for (const { waitMs, units } of all) {
          clock.pass(waitMs);
          const atMs = clock.monotonic();
          const isAdmitted = take(store, account, units) !== null;
          const near = taken
            .filter((each) => each.atMs > atMs - 60_000 - 1_000)
            .reduce((sum, each) => sum + each.units, 0);
          if (isAdmitted) taken.push({ atMs, units });
          else if (near + units <= 20) throw new Error(`${units} were refused beside ${near}`);
        }
        return true;
      }),
      { seed, numRuns: 300 },
    );
  });

  test("[d4.1] a burst at the end of one minute leaves nothing for the beginning of the next", () => {
    const clock = turnedClock(Date.UTC(2026, 0, 1, 0, 0, 59, 900));
    const store = openMemoryLimits({ clock });
    const account = accountOf({ limit: 10 });
    for (let index = 0; index < 10; index++) take(store, account);
    clock.pass(200);
    expect([take(store, account), fitsIn(store, clock, account)!]).toEqual([null, 59_900]);
    clock.pass(59_900);
    expect(take(store, account)).not.toBeNull();
  });

  test("a surplus is released to where it was reserved, and is not spent under a later date", () => {
    const clock = turnedClock();
    const store = openMemoryLimits({ clock });
    const account = accountOf({ unit: "tokens", limit: 10 });
    const early = take(store, account, 8)!;
    clock.pass(30_000);
    take(store, account, 2);
    early.settle([1]);
    expect([used(store, account), fitsIn(store, clock, account, 8)]).toEqual([3, 31_000]);
  });
});

describe("periods of the calendar", () => {
  const at = (text: string): number => Date.parse(`${text}Z`);
  const MARKED: Partial<LimitRule> = {
    kind: "budget",
    unit: "tokens",
    window: "day",
    limit: 100,
    scope: { user: "*" },
  };
  test.each([
    ["day", "2026-03-10T23:59:59.999", "2026-03-11T00:00:00.000"],
    ["week", "2026-03-15T23:59:59.999", "2026-03-16T00:00:00.000"],
    ["month", "2026-02-28T23:59:59.999", "2026-03-01T00:00:00.000"],
    ["month", "2028-02-29T23:59:59.999", "2028-03-01T00:00:00.000"],
    ["month", "2026-12-31T23:59:59.999", "2027-01-01T00:00:00.000"],
  ] as const)("[d4.1] a budget of a %s ends with %s in UTC; weeks start on Monday", (window, last, next) => {
    const clock = turnedClock(at(last));
    const store = openMemoryLimits({ clock });
    const account = accountOf({ kind: "budget", unit: "nano_usd", window, limit: 10 });
    take(store, account, 10);
    expect([take(store, account), fitsIn(store, clock, account), store.status(account)]).toEqual([
      null,
      1,
      { limit: 10, used: 10, remaining: 0, resetsAtMs: at(next), reserved: 10 },
    ]);
    clock.pass(1);
    expect(take(store, account, 10)).not.toBeNull();
  });

  test("[d4.2] what is reserved is told apart from what is used, until it is settled or its period is over", async () => {
    const clock = turnedClock(Date.UTC(2026, 0, 1, 12));
    const store: LimitStore = openMemoryLimits({ clock });
    const account = accountOf({ kind: "budget", unit: "nano_usd", window: "day", limit: 100 });
    const [first, second] = [take(store, account, 30)!, take(store, account, 20)!];
    const read = async (): Promise<readonly (number | null)[]> => {
      const { used: all, reserved } = await store.status(account);
      return [all, reserved];
    };
    expect(await read()).toEqual([50, 50]);
    first.settle([10]);
    expect(await read()).toEqual([30, 20]);
    clock.pass(13 * 3_600_000);
    expect(await read()).toEqual([0, 0]);
    second.settle([7]);
    expect(await read()).toEqual([0, 0]);
  });

  test("[d4.1] a budget in total never begins again", () => {
    const clock = turnedClock();
    const store = openMemoryLimits({ clock });
    const account = accountOf({ kind: "budget", unit: "tokens", window: "total", limit: 1 });
    take(store, account);
    clock.pass(400 * W.day);
    expect([take(store, account), fitsIn(store, clock, account)]).toEqual([null, null]);
  });

  test("a call that began in the old period is charged there, and its usage beyond the reservation in the new one", () => {
    const clock = turnedClock(at("2026-03-10T23:59:59"));
    const store = openMemoryLimits({ clock });
    const account = accountOf({ kind: "budget", unit: "tokens", window: "day", limit: 10 });
    const [under, over] = [take(store, account, 5)!, take(store, account, 5)!];
    clock.pass(2_000);
    under.settle([1]);
    over.settle([8]);
    expect(used(store, account)).toBe(3);
  });

  test.each<[string, (store: LimitStore, call: Reservation, tick: () => void) => unknown]>([
    ["the end of a call of the old one", (_store, call) => call.settle([90])],
    ["that its counts are kept", (_store, _call, tick) => tick()],
    ["another call", (store) => take(store, accountOf(MARKED, "ann"))],
    ["another value", (store) => take(store, accountOf(MARKED, "bob"))],
  ])("[d4.6] an event is reported again in the next period, also where that begins with %s", async (_, begin) => {
    const clock = turnedClock(at("2026-03-10T23:59:59"));
    const { opened: store, tick } = withIntervals(() => openMemoryLimits({ clock, countStore: keeperOf({}) }));
    const account = accountOf(MARKED, "ann");
    const call = take(store, account, 90)!;
    expect([await store.first(account, "80"), await store.first(account, "80")]).toEqual([true, false]);
    clock.pass(2_000);
    begin(store, call, tick);
    expect([await store.first(account, "80"), await store.first(account, "80")]).toEqual([true, false]);
  });

  test("[d4.6] an event is reported once in a period, also where nothing counts any more of its value and others come", async () => {
    const store = openMemoryLimits({ clock: turnedClock() });
    const account = accountOf(MARKED, "ann");
    const call = take(store, account, 90)!;
    expect(await store.first(account, "80")).toBe(true);
    call.settle([0]);
    for (let other = 0; other < 10; other++) take(store, accountOf(MARKED, `other ${other}`));
    expect(await store.first(account, "80")).toBe(false);
  });

  test("a clock that is set back opens no period again, and a clock that ran ahead opens none twice", () => {
    const clock = turnedClock(at("2026-03-10T12:00:00"));
    const store = openMemoryLimits({ clock });
    const account = accountOf({ kind: "budget", unit: "tokens", window: "day", limit: 10 });
    take(store, account, 10);
    clock.set(at("2026-03-09T12:00:00"));
    expect(take(store, account)).toBeNull();
    clock.set(at("2026-03-11T12:00:00"));
    expect(take(store, account, 10)).not.toBeNull();
    clock.set(at("2026-03-10T12:00:00"));
    expect(take(store, account)).toBeNull();
    clock.set(at("2026-03-11T13:00:00"));
    expect(take(store, account)).toBeNull();
  });
});

describe("unlimited numbers of values", () => {
  const userOf = (value: string): Account => accountOf({ limit: 1, scope: { user: "*" } }, value);
  test("a flood of new values shares one count; established values keep their own", () => {
    const store = openMemoryLimits({ clock: turnedClock(), maxValues: 100 });
    for (let index = 0; index < 100; index++) expect(take(store, userOf(`u${index}`))).not.toBeNull();
    expect(take(store, userOf("first beyond"))).not.toBeNull();
    for (let index = 0; index < 1_000; index++) expect(take(store, userOf(`flood${index}`))).toBeNull();
    for (let index = 0; index < 100; index++) expect(take(store, userOf(`u${index}`))).toBeNull();
  });
  test("all rules of a tenant have a bound together, which another tenant does not feel, and idle values of any rule make room", () => {
    const clock = turnedClock();
    const store = openMemoryLimits({ clock, maxValues: 10 });
    const uses = (rule: number, value: string, tenantId = "acme"): boolean => {
      const scope = { user: "*" };
      const one = take(store, accountOf({ id: `rule-${rule}`, tenantId, limit: 1, scope }, value));
      one?.settle([1]);
      return one !== null;
    };
    for (let rule = 0; rule < 10; rule++)
      for (let index = 0; index < 10; index++) expect(uses(rule, `u${index}`)).toBe(true);
    // further ones share the count of their rule
    expect([uses(10, "u0"), uses(10, "u1")]).toEqual([true, false]);
    expect([uses(10, "u0", "other"), uses(10, "u1", "other")]).toEqual([true, true]);
    clock.pass(2 * W.minute);
    for (let index = 0; index < 100; index++) uses(10, "u0");
    for (let index = 0; index < 10; index++) expect(uses(11, `v${index}`)).toBe(true);
  });
  test("values that have become idle make room", () => {
    const clock = turnedClock();
    const store = openMemoryLimits({ clock, maxValues: 100 });
    for (let index = 0; index < 101; index++) take(store, userOf(`u${index}`))!.settle([1]);
    clock.pass(2 * W.minute);
    for (let index = 0; index < 100; index++) expect(take(store, userOf(`v${index}`))).not.toBeNull();
  });
});

test("values that come and go do not accumulate", () => {
  const clock = turnedClock();
  const store = openMemoryLimits({ clock, maxValues: 1_000 });
  // ten new ones a second are six hundred in a window, and never a thousand
  for (let index = 0; index < 20_000; index++) {
    const one = take(store, accountOf({ limit: 1, scope: { user: "*" } }, `u${index}`));
    expect(one).not.toBeNull();
    one!.settle([1]);
    clock.pass(100);
    if (index > 0) expect(take(store, accountOf({ limit: 1, scope: { user: "*" } }, `u${index - 1}`))).toBeNull();
  }
});

test("limits that are removed do not accumulate, nor do the values that they have counted", () => {
  const clock = turnedClock();
  const accounts = new MemoryAccounts(1_000);
  const times = () => ({ slidingMs: clock.monotonic(), wallMs: clock.now() });
  const counted = (account: Account): void => {
    accounts.tidy(times());
    charge(accounts.entryOf(account, times()).count, 1);
  };
  const month = accountOf({ id: "month", kind: "budget", window: "month" });
  let most = 0;
  for (let limit = 0; limit < 500; limit++) {
    for (let value = 0; value < 10; value++)
      counted(accountOf({ id: `limit${limit}`, scope: { user: "*" } }, `u${value}`));
    counted(accountOf({ id: `all${limit}` }));
    counted(month);
    clock.pass(10_000);
    most = Math.max(most, accounts.all().length);
  }
  // Sixty or seventy of them are counted in a window.
  expect(most).toBeLessThan(300);
  expect(accounts.entryOf(month, times()).count.total).toBe(500);
});

test("a limit whose counts were removed because they counted nothing begins again, with one count", () => {
  const clock = turnedClock();
  const store = openMemoryLimits({ clock });
  const account = accountOf({ id: "idle", limit: 2 });
  take(store, account)!.settle([1]);
  clock.pass(2 * W.minute);
  for (let limit = 0; limit < 10; limit++) take(store, accountOf({ id: `limit${limit}` }));
  take(store, account);
  expect(used(store, accountOf({ id: "idle", limit: 2 }))).toBe(1);
  take(store, accountOf({ id: "idle", limit: 2 }));
  expect(take(store, account)).toBeNull();
});

/** A keeper that holds nothing and writes nowhere, but for what `over` says. */
function keeperOf(over: Partial<CountStore>): CountStore {
  const countStore: CountStore = {
    run: "run",
    isHeld: true,
    read: () => [],
    keptAtMs: () => 0,
    hold: () => true,
    write: () => {},
    beginBeside: () => countStore.read(),
    writeBeside: () => {},
    endedBeside: () => [],
    besideRuns: () => [],
    runningHolders: () => [],
    isHolderRunning: () => false,
    close: () => {},
  };
  return Object.defineProperties(countStore, Object.getOwnPropertyDescriptors(over));
}

describe("a restart", () => {
  const restarted = (
    rule: Partial<LimitRule>,
    how: { readonly between: (clock: TurnedClock) => void; readonly value?: string; readonly units?: number },
  ): readonly [number, number | null] => {
    const file = join(folder, `${++files}.sqlite`);
    const clock = turnedClock();
    const first = openMemoryLimits({ clock, countStore: openLimitCounts(file) });
    const account = accountOf(rule, how.value);
    take(first, account, how.units ?? 7)!.settle([how.units ?? 7]);
    void first.close();
    how.between(clock);
    const second = openMemoryLimits({ clock, countStore: openLimitCounts(file) });
    const left = used(second, account);
    const waits = left === 0 ? null : fitsIn(second, clock, account, rule.limit ?? 10);
    void second.close();
    return [left, waits];
  };

  test.each([
    ["money of the month", { kind: "budget", unit: "nano_usd", window: "month" }],
    ["money in total", { kind: "budget", unit: "nano_usd", window: "total" }],
    ["an hour's tokens", { unit: "tokens", window: "hour" }],
    ["a minute's requests", { unit: "requests", window: "minute" }],
    ["a user's day", { unit: "requests", window: "day", scope: { user: "*" } }],
  ] as const)("[d4.1] %s are not lost", (_, rule) => {
    expect(
      restarted(rule as Partial<LimitRule>, {
        between: (clock) => clock.pass(1_000),
        ...("scope" in rule && { value: "ann\nb" }),
      })[0],
    ).toBe(7);
  });
  test("usage that has left its window meanwhile is gone; the rest leaves when it would have", () => {
    expect(restarted({ window: "minute" }, { between: (clock) => clock.pass(62_000) })).toEqual([0, null]);
    const [left, waits] = restarted({ window: "minute" }, { between: (clock) => clock.pass(20_000) });
    expect([left, waits! >= 40_000, waits! <= 42_000]).toEqual([7, true, true]);
  });
  test("suspending the machine, and setting the clock back, let nothing leave early", () => {
    const slept = restarted({ window: "hour" }, { between: (clock) => clock.sleep(20_000) });
    expect([slept[0], slept[1]! >= W.hour - 20_000]).toEqual([7, true]);
    const setBack = restarted({ window: "hour" }, { between: (clock) => clock.set(clock.now() - 5 * W.day) });
    expect([setBack[0], setBack[1]! >= W.hour - W.minute, setBack[1]! <= W.hour + 2 * W.minute]).toEqual([
      7,
      true,
      true,
    ]);
  });
  test("a period that a clock opened too early is not opened twice by a restart", () => {
    expect(
      restarted(
        { kind: "budget", unit: "tokens", window: "day" },
        { between: (clock) => clock.set(clock.now() - W.day) },
      )[0],
    ).toBe(7);
  });
  test("a failed write is reported once, and repeated when it is possible", async () => {
    const clock = turnedClock();
    const account = accountOf({ kind: "budget", unit: "nano_usd", window: "month" });
    const written: string[] = [];
    const faults: unknown[] = [];
    let isFull = true;
    const countStore = keeperOf({
      write(rows) {
        if (isFull && rows.length > 0) throw new Error("the disk is full");
        for (const { state } of rows) written.push(state ?? "");
      },
    });
    const { opened: store, tick } = withIntervals(() =>
      openMemoryLimits({ clock, countStore, onFault: (fault) => faults.push(fault) }),
    );
    take(store, account, 3)!.settle([3]);
    for (let ticks = 0; ticks < 3; ticks++) tick();
    expect([faults.length, written]).toEqual([1, []]);
    isFull = false;
    void store.close();
    expect(written.length).toBe(1);
    expect(JSON.parse(written[0]!)).toMatchObject({ parts: [[Date.UTC(2026, 0, 1), 3]] });
  });
  test("an account of which no more is known than was stored is left unchanged, and one of another time is empty", () => {
    const [clock, month] = [turnedClock(), accountOf({ kind: "budget", unit: "nano_usd", window: "month" })];
    const { tenantId, id, unit, kind, window } = month.rule;
    const restored = (journalled: Partial<JournalledCount>): number => {
      const rows: KeptCount[] = [
        {
          rule: [tenantId, id, kind, unit, window].join("\n"),
          value: "",
          state: JSON.stringify({ stamp: (clock.now() - 5) * 1000, parts: [[Date.UTC(2026, 0, 1), 3]] }),
        },
      ];
      const countStore = keeperOf({ read: () => rows });
      const store = openMemoryLimits({
        clock,
        countStore,
        journalled: [
          { tenantId, id, unit, kind, window, value: "", stamp: clock.now() * 1000, total: 9, ...journalled },
        ],
      });
      const total = used(store, month);
      void store.close();
      return total;
    };
    expect([
      restored({}),
      restored({ stamp: (clock.now() - 5) * 1000 }),
      restored({ stamp: (clock.now() - W.day) * 1000 }),
      restored({ total: 0 }),
      restored({ value: "x" }),
      restored({ window: "day" }),
    ]).toEqual([9, 3, 3, 0, 3, 3]);
  });
  test.each([
    ["limit", "minute"],
    ["limit", "hour"],
    ["limit", "day"],
    ["budget", "day"],
    ["budget", "month"],
    ["budget", "total"],
  ] as const)(
    "[d4.2 d11.2] killed at any moment: what its rows contain beyond what was stored is counted (a %s of a %s)",
    (kind, window) => {
      const act = fc.record({
        waitMs: fc.integer({ min: 0, max: 5_000 }),
        units: fc.integer({ min: 1, max: 50 }),
        ends: fc.option(fc.integer({ min: 0, max: 80 })),
      });
      fc.assert(
        fc.property(fc.array(act, { minLength: 2, maxLength: 30 }), fc.nat(), (acts, chance) => {
          const clock = turnedClock(Date.UTC(2026, 1, 27, 12));
          const account = accountOf({ kind, window, unit: "tokens", limit: 1e9, scope: { user: "*" } }, "ann");
          const { tenantId, id, unit } = account.rule;
          let rows: KeptCount[] = [];
          const kept: (typeof rows)[] = [];
          const countStore = keeperOf({
            write: (some) => void (rows = some.length === 0 ? rows : [...some]),
          });
          const first = openMemoryLimits({ clock, countStore });
          const journal: JournalledCount[] = [];
          const write = (stamp: number): void =>
            void journal.push({ tenantId, id, unit, kind, window, value: "ann", stamp, total: used(first, account) });
          for (const { waitMs, units, ends } of acts) {
            clock.pass(waitMs);
            const one = take(first, account, units)!;
            write(one.stamp!);
            if (ends !== null) write(one.settle([ends])!.stamp!);
            // writes all that was counted since
            void first.close();
            kept.push(rows);
          }
          // what was kept is from some time before
          const at = chance % (kept.length + 1);
          const second = openMemoryLimits({
            clock,
            countStore: { ...countStore, read: () => (at === 0 ? [] : kept[at - 1]!) },
            journalled: [journal.reduce((last, each) => (each.stamp > last.stamp ? each : last))],
          });
          expect(used(second, account)).toBe(used(first, account));
          for (let part = 0; part < 70; part++) {
            clock.pass(window === "month" || window === "total" ? W.hour : W[window] / 60);
            expect(used(second, account)).toBeGreaterThanOrEqual(used(first, account));
          }
          if (kind === "limit") expect(used(second, account)).toBe(0);
          for (const store of [first, second]) void store.close();
        }),
        { seed, numRuns: 200 },
      );
    },
  );
  test("[d4.2 d11.2] before counts are kept, the ledger has to state the calls of which something was settled since", () => {
    const told: unknown[] = [];
    const { opened: store, tick } = withIntervals(() =>
      openMemoryLimits({
        clock: turnedClock(),
        countStore: keeperOf({ write: (rows) => void (rows.length > 0 && told.push("kept")) }),
        writeLedger: (calls) => void told.push([...calls]),
      }),
    );
    const account = accountOf({ kind: "budget", unit: "tokens", window: "total", limit: 1_000 });
    for (const call of ["one", "two"]) {
      const reservation = store.reserve([needOf(account, 10)], call) as Reservation;
      if (call === "one") reservation.settle([4]);
    }
    tick();
    tick();
    expect(told).toEqual([["one"], "kept", []]);
    void store.close();
  });
  test("[d4.2] a second process on one file overwrites nothing, begins with what was stored, and takes over when the first has ended", async () => {
    const file = join(folder, `${++files}.sqlite`);
    const clock = turnedClock();
    const [month, hour, user] = [
      accountOf({ id: "m", kind: "budget", unit: "nano_usd", window: "month", limit: 1_000 }),
      accountOf({ id: "h", unit: "tokens", window: "hour", limit: 1_000 }),
      accountOf({ id: "u", window: "day", scope: { user: "*" }, limit: 1_000 }, "ann"),
    ];
    const all = [month, hour, user];
    const timers: (() => void)[] = [];
    const open = (): LimitStore => {
      const { opened, tick } = withIntervals(() => openMemoryLimits({ clock, countStore: openLimitCounts(file) }));
      timers.push(tick);
      return opened;
    };
    const tick = (store: number): void => timers[store]!();
    const spend = (store: LimitStore, units: number, accounts = all): void =>
      accounts.forEach((account) => take(store, account, units)!.settle([units]));
    const first = open();
    spend(first, 5, [month, hour]);
    tick(0);
    const second = open();
    expect(all.map((account) => used(second, account))).toEqual([5, 5, 0]);
    spend(second, 10);
    spend(first, 100);
    tick(0);
    tick(1);
    // what the first has is what a third one reads
    const third = open();
    expect(all.map((account) => used(third, account))).toEqual([105, 105, 100]);
    void third.close();
    void first.close();
    tick(1);
    expect(all.map((account) => used(second, account))).toEqual([115, 115, 110]);
    void second.close();
    const last = open();
    expect(all.map((account) => used(last, account))).toEqual([115, 115, 110]);
    void last.close();
  });
  test.each(["first", "second"] as const)(
    "[d4.2] the counts of a process beside another one survive it, also when the %s ends first",
    (endsFirst) => {
      const file = join(folder, `${++files}.sqlite`);
      const clock = turnedClock();
      const [month, hour] = [
        accountOf({ id: "m", kind: "budget", unit: "nano_usd", window: "month", limit: 1_000 }),
        accountOf({ id: "h", unit: "tokens", window: "hour", limit: 1_000 }),
      ];
      const open = (): LimitStore => openMemoryLimits({ clock, countStore: openLimitCounts(file) });
      const spend = (store: LimitStore, units: number, account = month): void => {
        take(store, account, units)!.settle([units]);
      };
      const first = open();
      spend(first, 5);
      const second = open();
      spend(second, 10);
      spend(second, 20, hour);
      spend(first, 100);
      const third = open();
      spend(third, 300);
      for (const store of endsFirst === "first" ? [first, second, third] : [third, second, first]) void store.close();
      const last = open();
      expect([used(last, month), used(last, hour)]).toEqual([415, 20]);
      expect(readdirSync(folder).filter((name) => name.startsWith(`${files}.`) && name.endsWith(".lock"))).toEqual([
        `${files}.sqlite.lock`,
      ]);
      void last.close();
    },
  );
  describe("a process beside another one that has the counts", () => {
    const clock = turnedClock();
    const account = accountOf({ window: "day", unit: "tokens", limit: 1_000 });
    const kept = new Map<string, KeptCount>();
    let counting = "first";
    const open = (name: string, journalled: readonly JournalledCount[] = []) =>
      openMemoryLimits({
        clock,
        journalled,
        // nothing is written but when a test says so
        keepEveryMs: 60_000,
        countStore: keeperOf({
          read: () => [...kept.values()],
          get isHeld() {
            return counting === name;
          },
          hold: () => counting === name,
          write: (rows) => {
            for (const row of rows) {
              if (row.state === null) kept.delete(`${row.rule} ${row.value}`);
              else kept.set(`${row.rule} ${row.value}`, row);
            }
          },
        }),
      });
    beforeEach(() => {
      kept.clear();
      counting = "first";
      clock.pass(W.day * 2);
    });

    test("[d4.2] adds what both have counted, which is newer than the last row of the other, also where that one counted nothing more", () => {
      const first = open("first");
      const stream = take(first, account, 1)!;
      void first.close();
      const second = open("second");
      take(second, account, 1)!.settle([1]);
      clock.pass(5);
      const { tenantId, id, unit, kind, window } = account.rule;
      const row = { tenantId, id, unit, kind, window, value: "", stamp: stream.settle([1])!.stamp!, total: 1 };
      void first.close();
      clock.pass(5);
      counting = "second";
      void second.close();
      const last = open("second", [row]);
      expect(used(last, account)).toBe(2);
      void last.close();
    });
    test("[d4.2] writes what it takes over at once, with what it has counted itself", () => {
      const first = open("first");
      take(first, account, 1)!.settle([1]);
      void first.close();
      const second = open("second");
      take(second, account, 1)!.settle([1]);
      counting = "second";
      // as when rows of calls ask whether they may go
      second.kept();
      const afterKill = open("second");
      expect(used(afterKill, account)).toBe(2);
      for (const store of [second, afterKill]) void store.close();
    });
    test("[d4.2] releases what the other had reserved and did not use, also where nothing of that account is stored any more", () => {
      const first = open("first");
      const stream = take(first, account, 61)!;
      void first.close();
      const second = open("second");
      expect(used(second, account)).toBe(61);
      stream.settle([0]);
      void first.close();
      expect(kept.size).toBe(0);
      counting = "second";
      second.kept();
      expect(used(second, account)).toBe(0);
      void second.close();
    });
  });
  test("a file of another program is an error that says so", () => {
    const file = join(folder, `${++files}.sqlite`);
    writeFileSync(file, "no database, and long enough to be looked at as one".repeat(100));
    expect(() => openLimitCounts(file)).toThrow(
      /The counts of limits cannot be read from .*: .* Move .* and start again/,
    );
  });
  test("an event that was reported is not reported again", async () => {
    const file = join(folder, `${++files}.sqlite`);
    const clock = turnedClock();
    const account = accountOf({ kind: "budget", unit: "nano_usd", window: "month" });
    const first = openMemoryLimits({ clock, countStore: openLimitCounts(file) });
    expect(await first.first(account, "80")).toBe(true);
    void first.close();
    const second = openMemoryLimits({ clock, countStore: openLimitCounts(file) });
    expect([await second.first(account, "80"), await second.first(account, "100")]).toEqual([false, true]);
    clock.pass(32 * W.day);
    expect(await second.first(account, "80")).toBe(true);
    void second.close();
  });
});
