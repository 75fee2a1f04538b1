// What reports and histograms of a store of calls say of any period in any time zone, against a sum over the calls
// themselves.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { CallRecord } from "../../../src/core/record/record.ts";
import type { CallStore, UsageDimension, UsageRow, UsageSums } from "../../../src/store/calls/calls.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { type CallParts, DAY_MS, DAY_ONE, HOUR_MS, rowOf } from "./call-records.ts";
import type { NewStore } from "./log-search.suite.ts";

const MINUTE_MS = 60_000;

/** Each zone with two days on which its clocks change, or do in another zone. */
const ZONES = [
  ["UTC", Date.UTC(2026, 2, 8), Date.UTC(2026, 10, 1)],
  ["Asia/Kolkata", Date.UTC(2026, 2, 8), Date.UTC(2026, 10, 1)],
  ["Asia/Kathmandu", Date.UTC(2026, 2, 8), Date.UTC(2026, 10, 1)],
  ["Australia/Lord_Howe", Date.UTC(2026, 3, 4, 15), Date.UTC(2026, 9, 3, 15, 30)],
  ["America/New_York", Date.UTC(2026, 2, 8, 7), Date.UTC(2026, 10, 1, 6)],
] as const;

/** Calls within two days of these times, most of them near full and half hours. */
function recordsAround(times: readonly number[]): readonly CallRecord[] {
  const parts = (index: number, atMs: number): CallParts => ({
    startedAtMs: atMs + (((index * 7_919) % 192) - 96) * 30 * MINUTE_MS + [-1, 0, 1, 15 * MINUTE_MS][index % 4]!,
    tenantId: index % 11 === 0 ? "other" : "acme",
    projectId: `p${index % 3}`,
    model: `m${index % 4}`,
    endUser: index % 2 === 0 ? `e${index % 5}` : null,
    operation: index % 5 === 0 ? "embeddings" : "chat.completions",
    status: index % 7 === 0 ? 502 : 200,
    tokens: [(index * 37) % 1000, index % 50],
    costNanoUsd: index % 13 === 0 ? null : (index * 104_729) % 1_000_000,
    usageSource: index % 6 === 0 ? "estimated" : "provider",
    totalMs: (index * 997) % 4000,
    explained: index % 31 === 0,
  });
  return times.flatMap((atMs) => Array.from({ length: 250 }, (_, index) => rowOf(parts(index, atMs)).record));
}

interface Counted {
  readonly calls: bigint;
  readonly errors: bigint;
  readonly unpriced: bigint;
  readonly estimated: bigint;
  readonly promptTokens: bigint;
  readonly costNanoUsd: bigint;
  readonly totalMs: bigint;
}

function counted(records: readonly CallRecord[]): Counted {
  const sum = (of: (record: CallRecord) => number): bigint =>
    records.reduce((total, record) => total + BigInt(of(record)), 0n);
  return {
    calls: BigInt(records.length),
    errors: sum(({ status }) => (status >= 400 ? 1 : 0)),
    unpriced: sum(({ cost, usage }) => (cost === null && usage!.total_tokens > 0 ? 1 : 0)),
    estimated: sum(({ usageSource }) => (usageSource === "estimated" ? 1 : 0)),
    promptTokens: sum(({ usage }) => usage!.prompt_tokens),
    costNanoUsd: sum(({ cost }) => cost?.nanoUsd ?? 0),
    totalMs: sum(({ totalMs }) => totalMs),
  };
}

const shown = (sums: UsageSums): Counted => {
  const { calls, errors, unpriced, estimated, promptTokens, costNanoUsd, totalMs } = sums;
  expect(sums.latency.reduce((all, count) => all + count, 0n)).toBe(calls);
  return { calls, errors, unpriced, estimated, promptTokens, costNanoUsd, totalMs };
};

/** By a program of its own: the sums never ask for the text of a date. */
const dayIn = (zone: string): ((atMs: number) => string) => {
  const format = new Intl.DateTimeFormat("en-CA", { timeZone: zone });
  const days = new Map<number, string>();
  return (atMs) => {
    const day = days.get(atMs) ?? format.format(atMs);
    days.set(atMs, day);
    return day;
  };
};

function valueOf(record: CallRecord, dimension: UsageDimension, dayOf: (atMs: number) => string): string | null {
  switch (dimension) {
    case "day":
      return dayOf(record.startedAtMs);
    case "project":
      return record.projectId;
    case "model":
      return record.model;
    case "end_user":
      return record.endUser;
    default:
      return record.operation;
  }
}

const GROUPINGS: readonly (readonly UsageDimension[])[] = [
  [],
  ["day"],
  ["project", "day"],
  ["project", "model"],
  ["model", "day"],
  ["operation", "day"],
  ["operation", "model"],
  ["end_user"],
  ["end_user", "day"],
];

export function usagePeriodsSuite(newStore: NewStore): void {
  describe("reports of any period", () => {
    for (const [zone, first, second] of ZONES)
      test(`[d14.3] sums of any period in ${zone}, on both days on which clocks change, are those of its calls, and its days add up to it`, async () => {
        const records = recordsAround([first, second]);
        const calls = await newStore(records.map((record) => ({ record, settled: true })));
        const dayOf = dayIn(zone);
        const minute = fc.integer({ min: -4 * 24 * 60, max: 4 * 24 * 60 });
        await fc.assert(
          fc.asyncProperty(
            fc.constantFrom(first, second),
            minute,
            fc.integer({ min: 1, max: 18 * 24 * 60 }),
            fc.constantFrom(0, 1),
            fc.constantFrom(...GROUPINGS),
            fc.constantFrom("chat.completions", "embeddings", undefined),
            fc.constantFrom("group", "calls", "cost"),
            async (atMs, offset, length, further, by, operation, order) => {
              const fromMs = atMs + offset * MINUTE_MS + further;
              const toMs = fromMs + length * MINUTE_MS;
              const report = await calls.usage(
                { limit: 1000 },
                { tenantId: "acme", fromMs, toMs, by, order, zone, ...(operation && { operation }) },
              );
              const within = records.filter(
                (record) =>
                  record.startedAtMs >= fromMs &&
                  record.startedAtMs < toMs &&
                  record.tenantId === "acme" &&
                  !record.explained &&
                  (operation === undefined || record.operation === operation) &&
                  (!by.includes("end_user") || record.endUser !== null),
              );
              const groups = Map.groupBy(within, (record) =>
                JSON.stringify(by.map((dimension) => valueOf(record, dimension, dayOf))),
              );
              expect(
                Object.fromEntries(report.data.map(({ group, sums }) => [JSON.stringify(group), shown(sums)])),
              ).toEqual(Object.fromEntries([...groups].map(([group, list]) => [group, counted(list)])));
              const figure = ({ sums }: UsageRow) => (order === "cost" ? sums.costNanoUsd : sums.calls);
              if (order !== "group")
                expect(report.data.map(figure)).toEqual(
                  report.data.map(figure).toSorted((a, b) => (a === b ? 0 : a < b ? 1 : -1)),
                );
              expect(shown(report.totals!)).toEqual(counted(within));
              expect(report.wholeUntilMs).toBeNull();
            },
          ),
          { numRuns: drawCount(40, 1000) },
        );
      });

    test("[d14.3] where calls are not kept any more, an hour that has to be divided counts as a whole where it begins, and the report says so", async () => {
      const at = (minute: number) => rowOf({ startedAtMs: DAY_ONE + minute * MINUTE_MS, endUser: "eve" });
      const calls = await newStore([0, 20, 50, 70, 80, 110, 130].map(at));
      const query = {
        fromMs: DAY_ONE + 30 * MINUTE_MS,
        toMs: DAY_ONE + 100 * MINUTE_MS,
        by: [],
        order: "group",
      } as const;
      const report = async () => {
        const { totals, wholeUntilMs } = await calls.usage({ limit: 10 }, query);
        return [totals!.calls, wholeUntilMs];
      };
      expect(await report()).toEqual([3n, null]);
      const keepSince = async (minute: number) => {
        while ((await calls.prune({ callsMs: DAY_ONE + minute * MINUTE_MS, detailsMs: null, placesMs: null })) > 0);
      };
      await keepSince(60);
      // the first hour is left out, because it begins before the report does
      expect(await report()).toEqual([2n, DAY_ONE + HOUR_MS]);
      // only a part of the second hour is left, which therefore counts as a whole
      await keepSince(75);
      expect(await report()).toEqual([3n, DAY_ONE + 2 * HOUR_MS]);
      expect(await calls.usage({ limit: 10 }, { by: ["day"], order: "group", zone: "Asia/Kolkata" })).toMatchObject({
        data: [{ group: ["2026-01-05"], sums: { calls: 7n } }],
        wholeUntilMs: null,
      });
      // an hour that cannot be divided, and nothing else
      const within = { ...query, fromMs: DAY_ONE + 10 * MINUTE_MS, toMs: DAY_ONE + 20 * MINUTE_MS };
      for (const by of [[], ["project"], ["model"], ["token"], ["end_user"]] as const)
        expect(await calls.usage({ limit: 10 }, { ...within, by })).toMatchObject({ totals: { calls: 0n } });
      const ofUsers = await calls.usage({ limit: 10 }, { ...query, by: ["end_user"] });
      expect(ofUsers).toMatchObject({ data: [], wholeUntilMs: DAY_ONE + DAY_MS });
    });
  });
  histogramSuite(newStore);
}

function histogramSuite(newStore: NewStore): void {
  describe("calls over time", () => {
    const records = recordsAround([DAY_ONE]);
    const expected = (edges: readonly number[], matches: (record: CallRecord) => boolean) =>
      edges
        .slice(1)
        .map((edge, index) =>
          counted(
            records.filter(
              (record) =>
                record.startedAtMs >= edges[index]! &&
                record.startedAtMs < edge &&
                !record.explained &&
                matches(record),
            ),
          ),
        );
    const range = (fromMs: number, widthMs: number, count: number): readonly number[] =>
      Array.from({ length: count + 1 }, (_, index) => fromMs + index * widthMs);

    test("[d14.3] sums of buckets of any width are those of their calls, whatever is filtered", async () => {
      const calls = await newStore(records.map((record) => ({ record, settled: true })));
      const filters = [
        [{}, () => true],
        [{ tenantId: "acme", projectId: "p1" }, ({ tenantId, projectId }) => tenantId === "acme" && projectId === "p1"],
        [{ tenantId: "acme", explained: false, mirrored: false }, ({ tenantId }) => tenantId === "acme"],
        [{ operation: "embeddings" }, ({ operation }) => operation === "embeddings"],
        [{ endUser: "e2" }, ({ endUser }) => endUser === "e2"],
        [{ tenantId: "acme", outcome: "failed" }, ({ tenantId, status }) => tenantId === "acme" && status >= 400],
        [
          { estimated: true, atLeast: { totalMs: 1000 } },
          (one) => one.usageSource === "estimated" && one.totalMs >= 1000,
        ],
        [{ route: "none" }, () => false],
      ] as const satisfies readonly (readonly [object, (record: CallRecord) => boolean])[];
      const widths = [
        range(DAY_ONE - DAY_MS, HOUR_MS, 48),
        range(DAY_ONE - DAY_MS, 6 * HOUR_MS, 8),
        range(DAY_ONE - 30 * MINUTE_MS, DAY_MS, 2),
        range(DAY_ONE, 5 * MINUTE_MS, 36),
        [DAY_ONE - 5 * HOUR_MS + 7, DAY_ONE, DAY_ONE + 3 * HOUR_MS, DAY_ONE + 6 * HOUR_MS - 1],
      ];
      for (const [filter, matches] of filters)
        for (const edges of widths) {
          const { buckets, searchedToMs, wholeUntilMs } = await calls.histogram({ filter, edges });
          expect([filter, edges, buckets.map(shown)]).toEqual([filter, edges, expected(edges, matches)]);
          expect([searchedToMs, wholeUntilMs]).toEqual([null, null]);
        }
    });

    test("[d14.3] where single calls are counted and some are not kept any more, the chart says since when it counts", async () => {
      const at = (minute: number) => rowOf({ startedAtMs: DAY_ONE + minute * MINUTE_MS });
      const calls = await newStore([0, 20, 50, 70, 80, 110, 130].map(at));
      const told = async (fromMinute: number) => {
        const { buckets, searchedToMs } = await calls.histogram({
          filter: {},
          edges: range(DAY_ONE + fromMinute * MINUTE_MS, 5 * MINUTE_MS, (150 - fromMinute) / 5),
        });
        return [buckets.reduce((sum, { calls: one }) => sum + one, 0n), searchedToMs];
      };
      const keepSince = async (minute: number) => {
        while ((await calls.prune({ callsMs: DAY_ONE + minute * MINUTE_MS, detailsMs: null, placesMs: null })) > 0);
      };
      expect(await told(-60)).toEqual([7n, null]);
      await keepSince(60);
      expect(await told(30)).toEqual([4n, DAY_ONE + 70 * MINUTE_MS]);
      // Nothing of the hour in which the chart begins is gone.
      expect(await told(60)).toEqual([4n, null]);
      await keepSince(75);
      expect(await told(60)).toEqual([3n, DAY_ONE + 80 * MINUTE_MS]);
      expect(await told(120)).toEqual([1n, null]);
      await keepSince(200);
      expect(await told(30)).toEqual([0n, DAY_ONE + 150 * MINUTE_MS]);
    });

    test("buckets that are none, not in order or too many are refused", async () => {
      const calls = await newStore();
      for (const edges of [[], [1], [2, 1], [1, 1], range(0, HOUR_MS, 751)])
        expect(await calls.histogram({ filter: {}, edges }).catch((error: unknown) => error)).toMatchObject({
          kind: "invalid",
        });
    });

    test("[d14.3] the most frequent values of each dimension are those of the calls, under every filter but its own", async () => {
      const calls = await newStore(records.map((record) => ({ record, settled: true })));
      await facetsAgree(calls, records);
    });

    test("[d14.3] values in the order of their cost begin with the dearest, also where sums exceed a dollar", async () => {
      const dear = (model: string, costs: readonly number[]) =>
        costs.map((costNanoUsd) => rowOf({ model, costNanoUsd }));
      const calls = await newStore([
        ...dear("often", [1, 2, 3, 4]),
        ...dear("dearest", [900_000_000, 900_000_000, 900_000_000]),
        ...dear("whole", [2_000_000_000]),
      ]);
      const query = {
        scope: { tenantId: "acme" },
        fixed: ["tenantId"],
        fromMs: DAY_ONE,
        toMs: DAY_ONE + DAY_MS,
      } as const;
      const models = async (order?: "calls" | "cost"): Promise<readonly (string | null)[]> => {
        const { facets } = await calls.facets({ ...query, limit: 3, ...(order !== undefined && { order }) });
        return facets.model.values.map(({ value }) => value);
      };
      expect([await models("cost"), await models("calls"), await models()]).toEqual([
        ["dearest", "whole", "often"],
        ["often", "dearest", "whole"],
        ["often", "dearest", "whole"],
      ]);
    });

    test("[d14.3] causes of failed calls are summed by code, target and the limits and policies of the call, when they are asked for", async () => {
      const refused = (...ids: readonly string[]): CallParts => ({
        status: 429,
        code: "rate_limit_exceeded",
        provider: null,
        model: null,
        metadata: { team: ids.join() },
        limits: ids.map((id) => ({
          id,
          value: "",
          unit: "requests",
          before: 1,
          reserved: 0,
          settled: null,
          after: 1,
          wouldRefuse: id === "lim_audit",
          ...(id !== "lim_audit" && { refused: "rate_limit_exceeded" as const }),
        })),
      });
      const failing: CallParts = { status: 502, code: "upstream_error" };
      const denied: CallParts = {
        status: 403,
        code: "policy_violation",
        provider: null,
        model: null,
        policies: [{ name: "no-cards", effect: "denied" }],
      };
      const parts = [refused("lim_1"), refused("lim_1"), refused("lim_1", "lim_audit"), failing, denied, {}];
      // neither is a call that failed, and no sum has them
      const others = [
        { ...denied, explained: true },
        { ...failing, mirrorOf: "0".repeat(32) },
      ];
      const calls = await newStore([...parts, ...others].map((one) => rowOf(one)));
      const query = {
        scope: { tenantId: "acme" },
        fixed: ["tenantId"],
        fromMs: DAY_ONE,
        toMs: DAY_ONE + DAY_MS,
        limit: 1,
      } as const;
      const { causes, failures } = await calls.facets({ ...query, causes: true });
      const none = { provider: null, model: null };
      expect(causes.filter(({ calls: count }) => count > 1)).toEqual([
        { status: 429, code: "rate_limit_exceeded", ...none, tags: ["limit:lim_1"], calls: 2 },
      ]);
      expect(new Set(causes.slice(1))).toEqual(
        new Set([
          { status: 429, code: "rate_limit_exceeded", ...none, tags: ["limit:lim_1", "limit:lim_audit"], calls: 1 },
          { status: 403, code: "policy_violation", ...none, tags: ["policy:no-cards"], calls: 1 },
          { status: 502, code: "upstream_error", provider: "openai", model: "gpt-4o", tags: [], calls: 1 },
        ]),
      );
      expect(failures.values[0]).toEqual({ status: 429, code: "rate_limit_exceeded", calls: 3 });
      expect((await calls.facets(query)).causes).toEqual([]);
    });
  });
}

async function facetsAgree(calls: CallStore, records: readonly CallRecord[]): Promise<void> {
  const fromMs = DAY_ONE - 20 * HOUR_MS;
  const toMs = DAY_ONE + 20 * HOUR_MS + 30 * MINUTE_MS;
  const { facets, failures } = await calls.facets({
    scope: { tenantId: "acme", model: "m1" },
    fixed: ["tenantId"],
    fromMs,
    toMs,
    limit: 2,
  });
  const own = records.filter(
    (record) =>
      record.startedAtMs >= fromMs && record.startedAtMs < toMs && record.tenantId === "acme" && !record.explained,
  );
  const expected = (list: readonly CallRecord[], of: (record: CallRecord) => string | null) =>
    [...Map.groupBy(list, of)]
      .map(([value, group]) => ({ value, ...counted(group) }))
      .toSorted((a, b) => Number(b.calls - a.calls));
  const narrowed = own.filter(({ model }) => model === "m1");
  const models = expected(own, ({ model }) => model);
  expect(facets.model.values.map(({ calls: count }) => count)).toEqual(
    models.slice(0, 2).map(({ calls: count }) => count),
  );
  expect(facets.model.others).toBe(2n);
  for (const { value, calls: count, errors, costNanoUsd } of facets.model.values)
    expect(models.find((one) => one.value === value)).toMatchObject({ calls: count, errors, costNanoUsd });
  const projects = expected(narrowed, ({ projectId }) => projectId);
  for (const { value, calls: count, costNanoUsd } of facets.project.values)
    expect(projects.find((one) => one.value === value)).toMatchObject({ calls: count, costNanoUsd });
  expect(facets.project.others).toBe(BigInt(projects.length - 2));
  expect(Object.fromEntries(facets.operation.values.map(({ value, calls: count }) => [value, count]))).toEqual(
    Object.fromEntries(
      expected(narrowed, ({ operation }) => operation).map(({ value, calls: count }) => [value, count]),
    ),
  );
  expect(failures).toEqual({
    values: [{ status: 502, code: null, calls: narrowed.filter(({ status }) => status === 502).length }],
    searchedToMs: null,
  });
}
