// What every driver of limits does: all accounts are reserved or none, admission is exact under concurrency, unused
// units come back, and no reservation ends twice. Time stands still here, or advances so little that no window ends;
// each driver has its own tests of time.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  type Account,
  isShortage,
  type LimitStore,
  type Need,
  type Reservation,
  type Shortage,
} from "../../src/admission/limit-store.ts";
import type { LimitRule } from "../../src/core/configured/limit.ts";

export function ruleOf(parts: Partial<LimitRule>): LimitRule {
  return {
    id: "l",
    name: "l",
    kind: "limit",
    tenantId: "t",
    projectId: null,
    scope: {},
    unit: "requests",
    window: "minute",
    limit: 10,
    mode: "enforce",
    onStoreFailure: "closed",
    assumeOutputTokens: 4096,
    unpriced: "deny",
    thresholds: [],
    ...parts,
  };
}
export const accountOf = (parts: Partial<LimitRule>, value = ""): Account => ({ rule: ruleOf(parts), value });
export const needOf = (account: Account, units = 1, force = false): Need => ({ account, units, force });

export async function reserved(store: LimitStore, ...needs: readonly Need[]): Promise<Reservation> {
  const result = await store.reserve(needs);
  if (isShortage(result))
    throw new Error(`refused: ${result.need.account.rule.id} has ${result.status.remaining} left`);
  return result;
}
export async function refused(store: LimitStore, ...needs: readonly Need[]): Promise<Shortage> {
  const result = await store.reserve(needs);
  if (!isShortage(result)) throw new Error("was admitted");
  return result;
}

/** `open` gives a store that has counted nothing. */
export function limitStoreSuite(name: string, open: () => LimitStore | Promise<LimitStore>): void {
  describe(`limits in ${name}`, () => {
    let store: LimitStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(async () => {
      expect(store.open()).toBe(0);
      await store.close();
    });
    const used = async (account: Account): Promise<number> => (await store.status(account)).used;

    test.each([
      ["requests", "minute"],
      ["requests", "day"],
      ["tokens", "hour"],
      ["concurrency", null],
    ] as const)("[d4.2] of two hundred at once against room for ten %s, ten are admitted", async (unit, window) => {
      const account = accountOf({ id: `at-once-${unit}-${window}`, unit, window });
      const results = await Promise.all(Array.from({ length: 200 }, async () => store.reserve([needOf(account)])));
      const admitted = results.filter((result): result is Reservation => !isShortage(result));
      expect([admitted.length, await used(account)]).toEqual([10, 10]);
      for (const each of admitted) each.settle([1]);
    });

    test("[d4.1] several accounts: all are reserved or none", async () => {
      const [wide, narrow] = [accountOf({ id: "wide", limit: 100 }), accountOf({ id: "narrow", limit: 1 })];
      const first = await reserved(store, needOf(wide), needOf(narrow));
      expect((await refused(store, needOf(wide), needOf(narrow))).need.account.rule.id).toBe("narrow");
      expect((await refused(store, needOf(narrow), needOf(wide))).need.account.rule.id).toBe("narrow");
      expect([await used(wide), await used(narrow)]).toEqual([1, 1]);
      first.settle([1, 1]);
    });

    test("[d4.2] unused units are released, and usage beyond the reservation is charged", async () => {
      const account = accountOf({ id: "tokens", unit: "tokens", limit: 100 });
      const one = await reserved(store, needOf(account, 80));
      await refused(store, needOf(account, 21));
      one.settle([30]);
      const two = await reserved(store, needOf(account, 70));
      two.settle([90]);
      expect(await used(account)).toBe(120);
      const { remaining } = await store.status(account);
      expect(remaining).toBe(0);
      await refused(store, needOf(account, 1));
    });

    test("ending a reservation again changes nothing", async () => {
      const account = accountOf({ id: "twice", unit: "tokens", limit: 100 });
      const one = await reserved(store, needOf(account, 50));
      one.settle([20]);
      one.settle([0]);
      one.release();
      const two = await reserved(store, needOf(account, 50));
      two.release();
      two.settle([50]);
      expect([await used(account), store.open()]).toEqual([20, 0]);
    });

    test("the parts of a reservation end one by one; it is open until the last", async () => {
      const [call, attempt] = [
        accountOf({ id: "call", unit: "tokens", limit: 100 }),
        accountOf({ id: "attempt", unit: "tokens", limit: 100 }),
      ];
      const both = await reserved(store, needOf(call, 50), needOf(attempt, 60));
      both.settle([null, 10]);
      expect([await used(call), await used(attempt), store.open()]).toEqual([50, 10, 1]);
      both.settle([40, 99]);
      expect([await used(call), await used(attempt), store.open()]).toEqual([40, 10, 0]);
    });

    test("[d4.2] concurrency is free as soon as it is released, whatever is settled", async () => {
      const account = accountOf({ id: "places", unit: "concurrency", window: null, limit: 2 });
      const [one, two] = [await reserved(store, needOf(account)), await reserved(store, needOf(account))];
      const shortage = await refused(store, needOf(account));
      expect(shortage.fitsAtMs).not.toBeNull();
      one.settle([1]);
      const three = await reserved(store, needOf(account));
      two.release();
      three.settle([0]);
      expect(await used(account)).toBe(0);
    });

    test("[d4.6] a forced reservation is charged and never refused; it reports that it would have been refused", async () => {
      const [audit, enforced] = [
        accountOf({ id: "audit", limit: 1, mode: "audit" }),
        accountOf({ id: "enforced", limit: 5 }),
      ];
      const first = await reserved(store, needOf(audit, 1, true), needOf(enforced));
      const second = await reserved(store, needOf(enforced), needOf(audit, 1, true));
      expect([first.overdrawn, second.overdrawn, await used(audit)]).toEqual([[], [1], 2]);
      first.settle([1, 1]);
      second.settle([1, 1]);
    });

    test("[d4.3] a reservation above the whole limit never fits, and one above the rest of a total budget fits at no known time", async () => {
      const limit = accountOf({ id: "small", limit: 5 });
      expect(await refused(store, needOf(limit, 6))).toMatchObject({
        exceedsLimit: true,
        fitsAtMs: null,
        unavailable: false,
      });
      const total = accountOf({ id: "total", kind: "budget", unit: "nano_usd", window: "total", limit: 5 });
      const all = await reserved(store, needOf(total, 5));
      expect(await refused(store, needOf(total, 1))).toMatchObject({ exceedsLimit: false, fitsAtMs: null });
      all.settle([5]);
    });

    test("a reservation of nothing always has room", async () => {
      const full = accountOf({ id: "full", kind: "budget", unit: "nano_usd", window: "month", limit: 5 });
      (await reserved(store, needOf(full, 5))).settle([9]);
      (await reserved(store, needOf(full, 0))).settle([0]);
      expect(await used(full)).toBe(9);
    });

    test("[d4.3] of several short accounts the one where the reservation fits last is reported", async () => {
      const [minute, day] = [
        accountOf({ id: "minute", window: "minute", limit: 1 }),
        accountOf({ id: "day", window: "day", limit: 1 }),
      ];
      const all = await reserved(store, needOf(day), needOf(minute));
      expect((await refused(store, needOf(minute), needOf(day))).need.account.rule.id).toBe("day");
      expect((await refused(store, needOf(day), needOf(minute))).need.account.rule.id).toBe("day");
      all.settle([1, 1]);
    });

    test("[d4.1] values of one rule, and rules of two tenants, are counted apart", async () => {
      const [ann, bob] = [
        accountOf({ id: "per-user", limit: 1, scope: { user: "*" } }, "ann"),
        accountOf({ id: "per-user", limit: 1, scope: { user: "*" } }, "bob"),
      ];
      const other = accountOf({ id: "per-user", limit: 1, scope: { user: "*" }, tenantId: "other" }, "ann");
      for (const account of [ann, bob, other]) (await reserved(store, needOf(account))).settle([1]);
      for (const account of [ann, bob, other]) await refused(store, needOf(account));
    });

    test("statuses before and after are those of the reservation", async () => {
      const account = accountOf({ id: "standing", limit: 10 });
      const one = await reserved(store, needOf(account, 3));
      expect([one.before[0]!.used, one.after[0]!.used, one.after[0]!.remaining, one.after[0]!.limit]).toEqual([
        0, 3, 7, 10,
      ]);
      expect(one.after[0]!.resetsAtMs).not.toBeNull();
      one.settle([3]);
    });

    test("[d4.1] a rule whose window changes counts from 0, calls that run are settled where they began, and the former window counts on when it comes back", async () => {
      const [before, after] = (["day", "month"] as const).map((window) =>
        accountOf({ id: "changed", kind: "budget", unit: "tokens", window, limit: 100 }),
      ) as [Account, Account];
      const running = await reserved(store, needOf(before, 60));
      expect(await used(after)).toBe(0);
      const next = await reserved(store, needOf(after, 30));
      running.settle([20]);
      next.settle([30]);
      expect([await used(after), await used(before)]).toEqual([30, 20]);
    });

    test("[d4.6] an event is reported to the first who asks in a window", async () => {
      const account = accountOf({ id: "marked", kind: "budget", unit: "nano_usd", window: "day" });
      const asked = [
        await store.first(account, "80"),
        await store.first(account, "80"),
        await store.first(account, "100"),
        await store.first(accountOf({ id: "other", kind: "budget", unit: "nano_usd", window: "day" }), "80"),
      ];
      expect(asked).toEqual([true, false, true, true]);
    });
  });
}
