// One replica against the model of the store in virtual time: what it keeps in memory, and how it reports invalid
// figures.
import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { isShortage, type Need, type Reservation } from "../../src/admission/limit-store.ts";
import { AccountsOfRules } from "../../src/admission/valkey/accounts-of-rules.ts";
import { noJournal } from "../../src/admission/valkey/lease-journal.ts";
import { type MessageWithKeys, TIMINGS } from "../../src/admission/valkey/protocol.ts";
import { Replica, shapeOfRule } from "../../src/admission/valkey/replica.ts";
import { keysOf } from "../../src/admission/valkey/valkey.ts";
import { accountOf } from "../contract/limit-store.suite.ts";
import { openStoreModel } from "./simulation/store-model.ts";

function openWorld() {
  const store = openStoreModel();
  const sent: MessageWithKeys[] = [];
  const [replies, keys] = [[] as (() => void)[], keysOf(false)];
  let nowMs = 1_700_000_000_000;
  let sleptMs = 0;
  const replica = new Replica({
    replica: "r",
    timings: TIMINGS,
    journal: noJournal,
    keys,
    shapeOf: shapeOfRule,
    now: () => ({ monoMs: nowMs - sleptMs, wallMs: nowMs }),
    send(tag, message) {
      sent.push(message);
      replies.push(() => replica.receiveAnswer(tag, message.sequence, store.run(structuredClone(message), nowMs)));
    },
  });
  const settle = (): void => {
    while (replies.length > 0) replies.shift()!();
  };
  const pass = (ms: number): void => {
    for (const endsMs = nowMs + ms; nowMs < endsMs; nowMs += 25) {
      replica.tick();
      settle();
    }
  };
  const reserve = (...needs: readonly Need[]): Reservation => {
    let result = replica.reserve(needs, (later) => (result = later));
    settle();
    for (let n = 0; result === null && n < 400; n++) pass(25);
    if (result === null || isShortage(result)) throw new Error("refused");
    return result;
  };
  /** The process stands still; asleep, its monotonic clock does so too. */
  const stand = (ms: number, isAsleep: boolean): void => {
    nowMs += ms;
    if (isAsleep) sleptMs += ms;
  };
  return { replica, sent, pass, reserve, stand };
}

describe("a replica", () => {
  test("forgets the accounts of users that have gone, when their window has ended: memory does not grow with every user", () => {
    const { replica, pass, reserve } = openWorld();
    for (let user = 0; user < 300; user++)
      reserve({
        account: accountOf({ id: "each", scope: { user: "*" }, window: "minute" }, `u${user}`),
        units: 1,
        force: false,
      }).settle([1]);
    const stays = accountOf({ id: "each-day", kind: "budget", window: "day", limit: 50 }, "u1");
    reserve({ account: stays, units: 1, force: false }).settle([1]);
    expect(replica.counts().accounts).toBe(301);
    pass(150_000);
    // what would have to be stated in a new epoch is kept
    expect(replica.counts().accounts).toBe(1);
  });

  test("forgets limits that are not used any more, and begins again with one account where they are", () => {
    const accounts = new AccountsOfRules({
      timings: TIMINGS,
      journal: noJournal,
      keys: keysOf(false),
      shapeOf: shapeOfRule,
    });
    const now = { monoMs: 0, wallMs: 0, ranMs: 0 };
    const mapsNow = (): number => {
      Bun.gc(true);
      return heapStats().objectTypeCounts["Map"] ?? 0;
    };
    const before = mapsNow();
    const [former, current] = [accountOf({ id: "used" }), accountOf({ id: "used" })];
    accounts.channelOfRule(former.rule);
    for (let limit = 0; limit < 5_000; limit++) accounts.channelOfRule(accountOf({ id: `removed${limit}` }).rule);
    accounts.sweep(now);
    expect(mapsNow() - before).toBeLessThan(1_000);
    expect(accounts.accountOf(current, 1, now)).toBe(accounts.accountOf(former, 1, now));
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1e300, -5, 0.5])(
    "a figure of %p does no damage: the store receives whole and exact numbers",
    (units) => {
      const { sent, reserve } = openWorld();
      const account = accountOf({ id: "odd", unit: "tokens", limit: 100 });
      reserve({ account, units: 1, force: false }).settle([units]);
      reserve({ account, units, force: true }).release();
      const numbers = sent.flatMap(({ operations }) => operations.flatMap((operation) => operation.slice(1)));
      expect(numbers.length).toBeGreaterThan(3);
      expect(numbers.filter((each) => !Number.isSafeInteger(each))).toEqual([]);
    },
  );

  test("[d4.2] a call has the limit of its own rule, also where the limit was changed and changed back since", () => {
    const { sent, reserve } = openWorld();
    const [lower, higher] = [100, 200].map((limit) => accountOf({ id: "changed", unit: "tokens", limit }));
    const limits = [lower!, higher!, lower!].map((account) => {
      reserve({ account, units: 1, force: false });
      return sent.at(-1)!.accounts[0]![0];
    });
    expect(limits).toEqual([100, 200, 100]);
  });

  test("[d4.2 d13.2] what is charged for an earlier worker leaves a call the limit of its rule, also in one message", () => {
    const { replica, sent, pass } = openWorld();
    const account = accountOf({ id: "both", unit: "tokens", limit: 100 });
    const unknown = { ...accountOf({ id: "both", unit: "tokens", limit: 0 }), isWithoutLimit: true } as const;
    const refused: boolean[] = [];
    for (const need of [
      { account, units: 60, force: false },
      { account: unknown, units: 20, force: true },
    ])
      replica.reserve([need], (result) => refused.push(isShortage(result)));
    for (let n = 0; refused.length < 2 && n < 400; n++) pass(25);
    expect(refused).toEqual([false, false]);
    expect(new Set(sent.flatMap(({ accounts }) => accounts.map(([limit]) => limit)))).toEqual(new Set([100]));
  });

  test("many calls with many limits each go in messages of a bounded size", () => {
    const { replica, sent, pass } = openWorld();
    const wide = (call: number): readonly Need[] =>
      Array.from({ length: 50 }, (_, index) => ({
        account: accountOf({ id: `l${index}` }, `call ${call}`),
        units: 1,
        force: false,
      }));
    let admitted = 0;
    for (let call = 0; call < 60; call++)
      replica.reserve(wide(call), (result) => (admitted += isShortage(result) ? 0 : 1));
    pass(5000);
    expect(admitted).toBe(60);
    expect(Math.max(...sent.map(({ accounts }) => accounts.length))).toBeLessThan(300);
  });

  test.each([
    ["asleep", 2500, true, false],
    ["asleep", 4000, true, true],
    ["without CPU", 2500, false, false],
    ["without CPU", 4000, false, true],
  ] as const)(
    "[d4.2] %s for %p ms: its calls go on unless the store says that their slots were free meanwhile",
    (_, ms, isAsleep, isLost) => {
      const { pass, reserve, stand } = openWorld();
      const slot = reserve({
        account: accountOf({ id: "places", unit: "concurrency", window: null, onStoreFailure: "closed" }),
        units: 1,
        force: false,
      });
      let wasLost = false;
      slot.whenLost!(() => (wasLost = true));
      pass(3000);
      expect(wasLost).toBe(false);
      stand(ms, isAsleep);
      pass(3000);
      expect(wasLost).toBe(isLost);
      slot.release();
    },
  );

  test("takes slots for the calls of the next moment at once: calls that come and go do not each ask the store", () => {
    const { sent, pass, reserve } = openWorld();
    const account = accountOf({ id: "places", unit: "concurrency", window: null, limit: 10_000 });
    const running: Reservation[] = [];
    let calls = 0;
    // twenty calls begin and end in every 25 ms, from none to twenty at once
    const run = (ms: number): void => {
      for (let passed = 0; passed < ms; passed += 25) {
        for (; running.length < 20; calls++) running.push(reserve({ account, units: 1, force: false }));
        pass(25);
        for (const each of running.splice(0)) each.settle([1]);
      }
    };
    pass(3000);
    run(1000);
    const before = sent.length;
    calls = 0;
    run(2000);
    expect(calls).toBe(1600);
    // one report in 100 ms says that the slots are still held
    expect(sent.length - before).toBeLessThan(30);
  });

  test("[d4.2] slots stay its own under one limit while it talks with the store about nothing but another", () => {
    const { pass, reserve } = openWorld();
    const slot = reserve({
      account: accountOf({ id: "places", unit: "concurrency", window: null, onStoreFailure: "closed" }),
      units: 1,
      force: false,
    });
    let wasLost = false;
    slot.whenLost!(() => (wasLost = true));
    for (let n = 0; n < 100; n++) {
      reserve({ account: accountOf({ id: "others", limit: 1000 }), units: 1, force: false }).settle([1]);
      pass(50);
    }
    expect(wasLost).toBe(false);
    slot.release();
  });
});
