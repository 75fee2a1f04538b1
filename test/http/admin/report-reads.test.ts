// How readings of calls are bounded: two at once, in turn, and sums once in two seconds for each query and scope.
import { expect, test } from "bun:test";
import { systemClock } from "../../../src/core/clock.ts";
import type { LimitRule } from "../../../src/core/configured/limit.ts";
import { objectVersionOperations } from "../../../src/http/admin/configured/object-versions.ts";
import { statesOf } from "../../../src/http/admin/health/limit-states.ts";
import { openReportReads } from "../../../src/http/admin/report-reads.ts";
import type { CallStore } from "../../../src/store/calls/calls.ts";
import { LOCAL_ACTOR, type Version } from "../../../src/store/records.ts";

type Waiting = { readonly name: string; end(value?: object): void; fail(): void };

function slowStore() {
  const begun: Waiting[] = [];
  const reading = (name: string) => (): Promise<never> =>
    new Promise((resolve, reject) => {
      begun.push({ name, end: (value = {}) => resolve(value as never), fail: () => reject(new Error("away")) });
    });
  const store = {
    searchCalls: reading("searchCalls"),
    findCall: reading("findCall"),
    usage: reading("usage"),
    histogram: reading("histogram"),
    facets: reading("facets"),
  } as unknown as CallStore;
  let nowMs = 1000;
  const clock = { ...systemClock, monotonic: () => nowMs, now: () => nowMs };
  return { begun, reads: openReportReads(store, clock), pass: (ms: number) => void (nowMs += ms) };
}
const settled = (): Promise<void> => Bun.sleep(0);
const BY_NOTHING = { by: [], order: "group" } as const;

test("[d9.3] two readings run at once, the others in the order in which they came, also after a fault", async () => {
  const { begun, reads } = slowStore();
  const all = Array.from({ length: 5 }, (_, index) => reads.findCall(String(index)).catch(() => "failed"));
  await settled();
  expect(begun).toHaveLength(2);
  begun[1]!.fail();
  await settled();
  expect(begun).toHaveLength(3);
  for (const index of [0, 2, 3, 4]) {
    begun[index]!.end();
    await settled();
  }
  expect(await Promise.all(all)).toEqual([{}, "failed", {}, {}, {}] as never);
});

test("more readings than anybody waits for are refused with 503 and a time to try again", async () => {
  const { begun, reads } = slowStore();
  const all = Array.from({ length: 102 }, (_, index) => reads.findCall(String(index)));
  expect(await reads.findCall("one more").catch((error: unknown) => error)).toMatchObject({
    code: "gateway_overloaded",
  });
  for (let index = 0; index < 102; index++) {
    begun[index]!.end();
    await settled();
  }
  await Promise.all(all);
});

test("[d5.1] tenants take turns, lists and single calls go before sums, and the readings of one refuse none of another", async () => {
  const { begun, reads } = slowStore();
  const of = (tenantId: string) => ({ order: "newest", explained: false, mirrored: false, tenantId }) as never;
  const sums = (tenantId: string, limit: number) => reads.usage({ limit }, { ...BY_NOTHING, tenantId });
  const order: string[] = [];
  const noted = async (name: string, reading: Promise<unknown>): Promise<void> => {
    await reading.then(
      () => order.push(name),
      () => order.push(`${name} refused`),
    );
  };
  const all = Array.from({ length: 102 }, (_, index) => noted(`acme ${index}`, sums("acme", index + 1)));
  all.push(noted("beta", sums("beta", 1)), noted("list of beta", reads.searchCalls({ limit: 1 }, of("beta"))));
  for (let index = 0; index < 102; index++) {
    await settled();
    begun[index]!.end();
  }
  await Promise.all(all);
  expect(order.slice(0, 7)).toEqual([
    "acme 101 refused",
    "acme 100 refused",
    "acme 0",
    "acme 1",
    "list of beta",
    "acme 2",
    "beta",
  ]);
  expect(order.filter((name) => name.endsWith("refused"))).toHaveLength(2);
});

test("[d14.3] the same sums are read once in two seconds, name the time of the reading, and are not shared by scopes", async () => {
  const { begun, reads, pass } = slowStore();
  const first = reads.usage({ limit: 1 }, { ...BY_NOTHING, tenantId: "acme" });
  pass(500);
  const second = reads.usage({ limit: 1 }, { ...BY_NOTHING, tenantId: "acme" });
  const other = reads.usage({ limit: 1 }, { ...BY_NOTHING, tenantId: "beta" });
  await settled();
  expect(begun.map(({ name }) => name)).toEqual(["usage", "usage"]);
  for (const one of begun) one.end({ data: [] });
  expect([(await first).asOfMs, (await second).asOfMs, (await other).asOfMs]).toEqual([1000, 1000, 1500]);
  pass(1600);
  const later = reads.usage({ limit: 1 }, { ...BY_NOTHING, tenantId: "acme" });
  await settled();
  begun[2]!.end({ data: [] });
  expect((await later).asOfMs).toBe(3100);
});

test("a reading that failed is tried again", async () => {
  const { begun, reads } = slowStore();
  const query = { filter: {}, edges: [0, 1] };
  const first = reads.histogram(query).catch((error: unknown) => (error as Error).message);
  await settled();
  begun[0]!.fail();
  expect(await first).toBe("away");
  const second = reads.histogram(query);
  await settled();
  begun[1]!.end({ buckets: [] });
  expect(await second).toMatchObject({ buckets: [] });
});

test("a list does not wait for sums that have not begun", async () => {
  const { begun, reads } = slowStore();
  const query = { filter: {}, edges: [0, 1] };
  const sums = [
    reads.histogram(query),
    reads.facets({ scope: {}, limit: 1 } as never),
    reads.usage({ limit: 1 }, BY_NOTHING),
  ];
  const list = reads.searchCalls({ limit: 1 }, { order: "newest" } as never);
  await settled();
  for (let index = 0; index < 4; index++) {
    begun[index]!.end();
    await settled();
  }
  await Promise.all([...sums, list]);
  expect(begun.map(({ name }) => name)).toEqual(["histogram", "facets", "searchCalls", "usage"]);
});

/** Reads sums of nothing, and counts how many of them one answer has under way or waiting. */
function countedReads() {
  let waiting = 0;
  let most = 0;
  const store = {
    usage: async () => {
      await Bun.sleep(0);
      return { data: [], totals: null };
    },
    findCall: () => Promise.resolve(null),
  } as unknown as CallStore;
  const reads = openReportReads(store, systemClock);
  const counting: typeof reads = {
    ...reads,
    usage: async (...query) => {
      most = Math.max(most, ++waiting);
      return await reads.usage(...query).finally(() => waiting--);
    },
  };
  return { reads, counting, most: () => most };
}

const AT = { tenantId: "acme", projectId: null };
const NOW_MS = 1_790_000_000_000;

function budgetsOfTokens(length: number): readonly LimitRule[] {
  return Array.from(
    { length },
    (_, index) =>
      ({
        id: `b${index}`,
        kind: "budget",
        tenantId: "acme",
        projectId: `p${index}`,
        scope: { token: "*" },
        window: "month",
      }) as unknown as LimitRule,
  );
}
const status = () => Promise.resolve({ limit: 1, used: 0, remaining: 1, resetsAtMs: null, reserved: 0 });

test("[d9.3] one answer reads more sums than may wait, and leaves places for the readings of others", async () => {
  const { reads, counting, most } = countedReads();
  const budgets = budgetsOfTokens(250);
  const states = statesOf({ calls: counting, limits: { status } }, budgets, AT, NOW_MS);
  await Bun.sleep(5);
  expect(await reads.findCall("of another")).toBeNull();
  expect((await states).map(({ rule }) => rule.id)).toEqual(budgets.map(({ id }) => id));
  expect(most()).toBeLessThan(10);
});

test("[d5.8, d9.3] of thousands of limits, the states of 500 are read, whoever asks for them", async () => {
  const { counting } = countedReads();
  const states = await statesOf({ calls: counting, limits: { status } }, budgetsOfTokens(501), AT, NOW_MS);
  expect(states).toHaveLength(500);
});

test("[d9.3] the list of a route's versions leaves places for the readings of others", async () => {
  const { counting, most } = countedReads();
  const found = Array.from({ length: 30 }, (_, index): Version => ({
    number: 30 - index,
    atMs: NOW_MS - index * 1000,
    actor: LOCAL_ACTOR,
    rolledBackTo: null,
    note: null,
    changes: [{ action: "change", kind: "route", id: "r", name: "fast", ...AT, before: null, after: null }],
  }));
  const store = {
    findResource: () => Promise.resolve({ kind: "route", id: "r", name: "fast", ...AT }),
    listObjectVersions: () => Promise.resolve(found),
  };
  const [list] = objectVersionOperations("routes", counting)({ inFile: () => [] } as never, {} as never);
  const call = { place: AT, params: { id: "r" }, nowMs: NOW_MS, caller: {} };
  const { body } = await list!.run(call as never, store as never, undefined);
  expect((body!["data"] as readonly { readonly calls: unknown }[]).map(({ calls }) => calls)).toEqual([
    ...Array.from({ length: 20 }, () => ({ calls: 0, errors: 0, cost_usd: "0" })),
    ...Array.from({ length: 10 }, () => null),
  ]);
  expect(most()).toBeLessThan(10);
});
