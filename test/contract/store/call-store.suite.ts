// What every store of calls does: rows are stored exactly once, sums agree with the rows, pages are complete and
// without repetition, reports are exact.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../../src/core/json.ts";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { tagOf } from "../../../src/store/calls/call-tags.ts";
import { parseJson } from "../../../src/wire/json/json.ts";
import type {
  CallFilter,
  CallStore,
  CallSummary,
  SpentQuery,
  UsageDimension,
  UsageQuery,
  UsageRow,
} from "../../../src/store/calls/calls.ts";
import { LATENCY_BOUNDS_MS } from "../../../src/store/calls/calls.ts";
import type { DatabasePlace } from "../../../src/store/database/database.ts";
import { openRecordedReads } from "../../../src/store/search/recorded-reads.ts";
import type { LedgerRow, ShippedPlace } from "../../../src/store/journal/ledger.ts";
import type { Replica } from "../../../src/store/database/replicas.ts";
import { attemptOf, type CallParts, DAY_MS, DAY_ONE, HOUR_MS, newTraceId, recordOf, rowOf } from "./call-records.ts";
import { attemptSumsSuite } from "./attempt-sums.suite.ts";
import { logSuite, type NewStore } from "./log-search.suite.ts";
import { usagePeriodsSuite } from "./usage-periods.suite.ts";
import { vendorObjectSuite } from "./vendor-objects.suite.ts";
import { usageTotals } from "../../harness/usage-totals.ts";

export interface CallPlace {
  readonly calls: CallStore;
  /** Where another connection to it can be opened. */
  readonly database: DatabasePlace;
  dispose(): Promise<void>;
}

/** Where stores differ. */
export interface CallStoreTraits {
  /** The largest sum that one hour holds; `null` where it holds any. */
  readonly mostOfAnHour: bigint | null;
  /** The most records that one round of pruning removes; `null` where it removes those of a day. */
  readonly prunedAtOnce: number | null;
}
const OF_SQL: CallStoreTraits = { mostOfAnHour: 9_000_000_000_000_000_000n, prunedAtOnce: 2000 };

/** `open` gives an empty store each time. */
export function callStoreSuite(name: string, open: () => Promise<CallPlace>, traits = OF_SQL): void {
  const opened: CallPlace[] = [];
  const newPlace = async (rows: readonly LedgerRow[]): Promise<CallPlace> => {
    const place = await open();
    opened.push(place);
    if (rows.length > 0) await place.calls.ingest(rows);
    return place;
  };
  const newStore: NewStore = async (rows = []) => (await newPlace(rows)).calls;
  describe(`${name}: calls`, () => {
    afterAll(async () => void (await Promise.all(opened.map((place) => place.dispose()))));
    onceSuite(newStore);
    listSuite(newStore);
    usageSuite(newStore, traits);
    randomSuite(newStore);
    usagePeriodsSuite(newStore);
    spentSuite(newStore);
    lastsSuite(newStore, traits);
    logSuite(newStore);
    replicaSuite(newStore);
    placesSuite(newStore);
    attemptSumsSuite(newStore);
    vendorObjectSuite(() => newStore());
    recordsSuite(newStore);
    recordedSuite(newPlace);
  });
}

const ids = (list: readonly CallSummary[]): readonly string[] => list.map(({ traceId }) => traceId);

function onceSuite(newStore: NewStore): void {
  describe("rows are stored exactly once", () => {
    test("[d11.2] a batch that is sent again, whole, in part or with rows twice, changes nothing", async () => {
      const rows = Array.from({ length: 250 }, (_, index) =>
        rowOf({ startedAtMs: DAY_ONE + index * 60_000, endUser: index % 2 === 0 ? "eve" : null }),
      );
      const calls = await newStore(rows);
      const before = await usageTotals(calls);
      expect(before).toMatchObject({ calls: 250n, promptTokens: 25_000n, costNanoUsd: 250_000n });
      await calls.ingest(rows);
      await calls.ingest([...rows.slice(100, 120), rowOf(), ...rows.slice(3, 5)]);
      const twice = rowOf();
      await calls.ingest([twice, twice, { ...twice }]);
      expect(await usageTotals(calls)).toMatchObject({ calls: 252n, promptTokens: 25_200n, costNanoUsd: 252_000n });
      expect(await usageTotals(calls, { endUser: "eve" })).toMatchObject({ calls: 125n });
      await calls.ingest([]);
    });

    test("[d11.2] the shipped position of a journal is stored with the rows, for each run, and is not set back by a late batch", async () => {
      const calls = await newStore();
      const at = (run: string, segment: number, offset: number, rows: number): ShippedPlace => ({
        journal: "j",
        run,
        segment,
        offset,
        rows,
        lastMs: DAY_ONE + rows,
      });
      expect(await calls.places(["j"], ["one"])).toEqual([]);
      await calls.ingest([rowOf()], at("one", 3, 100, 1));
      await calls.ingest([rowOf(), rowOf()], at("one", 4, 50, 3));
      // it was given up for lost, and is committed now
      await calls.ingest([rowOf()], at("one", 3, 200, 2));
      await calls.ingest([rowOf()], at("two", 5, 10, 4));
      await calls.ingest([rowOf()]);
      await calls.ingest([rowOf()], { ...at("one", 9, 9, 1), journal: "a copy" });
      const all = await calls.places(["j"], ["one", "nothing is known of it"]);
      expect(all).toContainEqual(at("two", 5, 10, 4));
      expect(all).toContainEqual(at("one", 4, 50, 3));
      expect(all).toContainEqual({ ...at("one", 9, 9, 1), journal: "a copy" });
      expect(all).toHaveLength(3);
      expect(await calls.places(["j", "a copy"], [])).toEqual([
        at("two", 5, 10, 4),
        { ...at("one", 9, 9, 1), journal: "a copy" },
      ]);
      // rows that are not taken do not move it either
      const broken = {
        ...rowOf(),
        get record(): never {
          throw new Error("no record");
        },
        bytes: Buffer.from("{"),
        text: "{",
      };
      await calls.ingest([broken], at("two", 6, 10, 5)).then(
        () => expect.unreachable(),
        () => {},
      );
      expect(await calls.places(["j"], [])).toEqual([at("two", 5, 10, 4)]);
    });

    test("[d11.2] positions that a journal has passed are removed when they are old; the last one of each journal stays, however old it is", async () => {
      const calls = await newStore();
      const at = (journal: string, run: string, rows: number): ShippedPlace => ({
        journal,
        run,
        segment: 1,
        offset: 1,
        rows,
        lastMs: DAY_ONE + rows,
      });
      const places = [at("j", "one", 1), at("j", "two", 2), at("j", "three", 3), at("j", "four", 4), at("k", "one", 1)];
      for (const place of places) await calls.ingest([rowOf()], place);
      const prune = async (placesMs: number | null) => await calls.prune({ callsMs: null, detailsMs: null, placesMs });
      const left = async () =>
        new Set(
          (await calls.places([], ["one", "two", "three", "four"])).map((place) => `${place.journal} ${place.run}`),
        );
      expect([await prune(null), await prune(DAY_ONE + 1)]).toEqual([0, 0]);
      expect([await prune(DAY_ONE + 3), await prune(DAY_ONE + 3)]).toEqual([2, 0]);
      expect(await left()).toEqual(new Set(["j three", "j four", "k one"]));
      expect(await prune(DAY_ONE + 1000)).toBe(1);
      expect(await left()).toEqual(new Set(["j four", "k one"]));
      expect(await calls.places(["j"], [])).toEqual([places[3]!]);
    });

    test("[d11.2] a settled row replaces one that was charged with its reservation, and the sums are corrected", async () => {
      const traceId = newTraceId();
      const other = rowOf({ endUser: "eve" });
      const calls = await newStore([
        other,
        rowOf(
          {
            traceId,
            endUser: "eve",
            tokens: [500, 500],
            costNanoUsd: 9000,
            status: 500,
            provider: "openai",
            totalMs: 90_000,
          },
          false,
        ),
      ]);
      expect(await usageTotals(calls)).toMatchObject({
        calls: 2n,
        errors: 1n,
        promptTokens: 600n,
        costNanoUsd: 10_000n,
      });
      const settled = rowOf({
        traceId,
        endUser: "eve",
        tokens: [300, 20],
        costNanoUsd: 400,
        provider: "anthropic",
        totalMs: 50,
      });
      await calls.ingest([settled]);
      const after = await usageTotals(calls);
      expect(after).toMatchObject({
        calls: 2n,
        errors: 0n,
        promptTokens: 400n,
        completionTokens: 30n,
        costNanoUsd: 1400n,
        totalMs: 250n,
      });
      expect(after.latency.slice(0, 3)).toEqual([1n, 1n, 0n]);
      expect(await usageTotals(calls, { endUser: "eve" })).toMatchObject({ calls: 2n, costNanoUsd: 1400n });
      expect(
        (await calls.usage({ limit: 10 }, { by: ["provider"], order: "group" })).data.map(({ group, sums }) => [
          ...group,
          sums.calls,
        ]),
      ).toEqual([
        ["anthropic", 1n],
        ["openai", 1n],
      ]);
      expect(await calls.findCall(traceId)).toMatchObject({
        summary: { settled: true, provider: "anthropic", status: 200 },
        record: { provider: "anthropic", totalMs: 50 },
      });
    });

    test("[d11.2] an unsettled row never replaces a settled one, nor does a second settled one", async () => {
      const traceId = newTraceId();
      const calls = await newStore([rowOf({ traceId, tokens: [7, 1] })]);
      await calls.ingest([rowOf({ traceId, tokens: [100, 100] }, false), rowOf({ traceId, tokens: [50, 50] })]);
      expect(await usageTotals(calls)).toMatchObject({ calls: 1n, promptTokens: 7n });
      const both = newTraceId();
      await calls.ingest([
        rowOf({ traceId: both, tokens: [100, 100] }, false),
        rowOf({ traceId: both, tokens: [2, 2] }),
      ]);
      expect(await usageTotals(calls)).toMatchObject({ calls: 2n, promptTokens: 9n });
      expect((await calls.searchCalls({ limit: 10 }, { order: "newest", settled: false })).data).toEqual([]);
    });

    test("[d16.2] what prompt caches saved or lost is summed with its sign, whole and by target", async () => {
      const row = (saved: number, parts: object = {}) =>
        rowOf({
          ...parts,
          usage: {
            prompt_tokens: 100,
            completion_tokens: 1,
            total_tokens: 101,
            prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
          },
          cost: { nanoUsd: 5, priceId: "p", promptCacheSavedNanoUsd: saved },
        } as object);
      const calls = await newStore([row(-7), row(-2_000_000_000_001, { model: "other" })]);
      await calls.ingest([row(3), row(-1), rowOf()]);
      expect(await usageTotals(calls)).toMatchObject({
        calls: 5n,
        cachedTokens: 240n,
        cacheWriteTokens: 120n,
        cacheSavedNanoUsd: -2_000_000_000_006n,
      });
      const { data } = await calls.usage({ limit: 10 }, { by: ["model"], order: "group" });
      expect(data.map(({ group, sums }) => [...group, sums.cacheSavedNanoUsd])).toEqual([
        ["gpt-4o", -5n],
        ["other", -2_000_000_000_001n],
      ]);
      const traceId = newTraceId();
      await calls.ingest([rowOf({ traceId }, false)]);
      await calls.ingest([rowOf({ traceId })]);
      expect((await usageTotals(calls)).cacheSavedNanoUsd).toBe(-2_000_000_000_006n);
      const least = -Number.MAX_SAFE_INTEGER;
      await calls.ingest([row(least), row(least)]);
      await calls.ingest([row(least)]);
      expect((await usageTotals(calls)).cacheSavedNanoUsd).toBe(3n * BigInt(least) - 2_000_000_000_006n);
    });

    test("[d11.2] several writers of the same rows at once count them once", async () => {
      const rows = Array.from({ length: 300 }, () => rowOf());
      const calls = await newStore();
      await Promise.all(
        [0, 1, 2, 3].map((part) => calls.ingest([...rows.slice(part * 75), ...rows.slice(0, part * 75)])),
      );
      expect(await usageTotals(calls)).toMatchObject({ calls: 300n });
    });

    test("an explanation is a call in the list, and in no sum", async () => {
      const calls = await newStore([rowOf({ explained: true, tokens: null, costNanoUsd: null })]);
      expect(await usageTotals(calls)).toMatchObject({ calls: 0n });
      expect((await calls.searchCalls({ limit: 5 }, { order: "newest" })).data).toHaveLength(1);
    });

    test("[d16.1] a copy for a mirror is a call in the list, and in no sum; it is found by its route and by its call", async () => {
      const traceId = "0".repeat(31) + "1";
      const made = await newStore([
        rowOf({ mirror: { route: "chat", target: "openai:m", traceId, dropped: null } }),
        rowOf({ mirror: { route: "chat", target: "openai:m", traceId: null, dropped: "no room" } }),
        rowOf({ route: "chat", mirrorOf: traceId }),
      ]);
      expect(await usageTotals(made)).toMatchObject({ calls: 2n });
      const found = async (filter: object) =>
        (await made.searchCalls({ limit: 5 }, { order: "newest", ...filter })).data.map(({ mirrorOf }) => mirrorOf);
      expect(await found({})).toHaveLength(3);
      expect(await found({ mirrored: true })).toEqual([traceId]);
      expect(await found({ mirrored: false })).toEqual([null, null]);
      expect(await found({ tags: ["mirrored:chat"] })).toEqual([null]);
      expect(await found({ tags: ["copy:chat"] })).toEqual([traceId]);
      expect(await found({ tags: [`copy_of:${traceId}`] })).toEqual([traceId]);
    });

    test("hostile values of callers and providers do no harm: quotes, zeros, halves of surrogate pairs, unbounded figures, records of earlier versions", async () => {
      const ugly = `'; drop table call; -- \0 \ud800 "${"x".repeat(2000)}`;
      const record = {
        ...recordOf({ endUser: ugly, model: ugly, route: ugly, metadata: { a: ugly } }),
        usage: {
          prompt_tokens: 1e300,
          completion_tokens: -5,
          total_tokens: 1,
          prompt_tokens_details: { cached_tokens: "7" },
        },
      } as unknown as CallRecord;
      const { endUser: _endUser, callerCost: _callerCost, cost: _cost, ...old } = recordOf();
      const calls = await newStore([
        { record, settled: true },
        { record: old as CallRecord, settled: true },
      ]);
      const { data } = await calls.searchCalls({ limit: 5 }, { order: "newest" });
      expect(data).toHaveLength(2);
      expect(await usageTotals(calls)).toMatchObject({
        calls: 2n,
        promptTokens: 100n,
        completionTokens: 10n,
        cachedTokens: 0n,
        unpriced: 1n,
      });
      const found = await calls.findCall(record.traceId);
      expect(found!.summary.model).toStartWith("'; drop table call; -- \uFFFD \uFFFD \"xxx");
      expect((found!.record!.metadata!["a"] as string).length).toBe(ugly.length);
    });

    test("[d11.1] a call keeps numbers beyond the precision of a double in its metadata, and is found by them", async () => {
      const record = recordOf({
        metadata: parseJson('{"order":12345678901234567890,"deep":[1e400],"metadata":null}') as JsonObject,
      });
      const calls = await newStore([{ record, settled: true }]);
      expect(JSON.stringify((await calls.findCall(record.traceId))!.record!.metadata)).toBe(
        JSON.stringify(record.metadata),
      );
      const found = await calls.searchCalls(
        { limit: 5 },
        { order: "newest", tags: ["order=12345678901234567890"].map((pair) => tagOf("meta", pair)) },
      );
      expect(found.data.map(({ traceId }) => traceId)).toEqual([record.traceId]);
    });
  });
}

function replicaSuite(newStore: NewStore): void {
  test("gateways register beside the calls, and a registration is removed only if it has not changed since it was read", async () => {
    const calls = await newStore();
    const replica = (id: string, beat: number, fingerprint = "aa"): Replica => ({
      id,
      name: `host-${id}:1`,
      version: "1.2.3",
      schemaStep: 31,
      fingerprint,
      beat,
      seenMs: DAY_ONE + beat,
    });
    expect(await calls.registerReplica(replica("a", 1), [])).toEqual([]);
    expect(await calls.registerReplica(replica("b", 1), [])).toEqual([replica("a", 1)]);
    expect(await calls.registerReplica(replica("a", 2, "bb"), [])).toEqual([replica("b", 1)]);
    expect(await calls.registerReplica(replica("c", 1), [{ id: "a", beat: 1 }])).toEqual([
      replica("a", 2, "bb"),
      replica("b", 1),
    ]);
    expect(await calls.registerReplica(replica("c", 2), [{ id: "a", beat: 2 }])).toEqual([replica("b", 1)]);
    // one that was taken for dead and is not
    expect(await calls.registerReplica(replica("a", 3), [])).toEqual([replica("b", 1), replica("c", 2)]);
    await calls.unregisterReplica("c");
    await calls.unregisterReplica("another");
    expect(await calls.registerReplica(replica("b", 2), [])).toEqual([replica("a", 3)]);
  });
}

function listSuite(newStore: NewStore): void {
  describe("the list", () => {
    const rows = Array.from({ length: 130 }, (_, index) =>
      rowOf({
        // many at one moment: the trace id tells them apart
        startedAtMs: DAY_ONE + Math.floor(index / 13) * 1000,
        tenantId: index % 2 === 0 ? "acme" : "other",
        projectId: `p${index % 4}`,
        tokenId: `t${index % 3}`,
        userId: index % 5 === 0 ? "ann" : null,
        endUser: index % 7 === 0 ? "eve" : null,
        route: index % 3 === 0 ? "fast" : "direct",
        provider: index % 2 === 0 ? "openai" : "anthropic",
        model: `m${index % 3}`,
        status: index % 10 === 0 ? 502 : 200,
        code: index % 10 === 0 ? "upstream_error" : null,
      }),
    );
    const newest = rows
      .map(({ record }) => record)
      .toSorted((a, b) => b.startedAtMs - a.startedAtMs || (a.traceId < b.traceId ? 1 : -1));
    let calls: CallStore;
    beforeAll(async () => void (calls = await newStore(rows)));

    const all = async (filter: CallFilter, limit: number): Promise<readonly string[]> => {
      const found: string[] = [];
      for (let cursor: string | null = null; ;) {
        const page = await calls.searchCalls({ limit, cursor }, { order: "newest", ...filter });
        found.push(...ids(page.data));
        expect(page.data.length).toBe(page.nextCursor === null ? page.data.length : limit);
        if (page.nextCursor === null) return found;
        cursor = page.nextCursor;
      }
    };
    const FILTERS: readonly (readonly [string, CallFilter, (record: CallRecord) => boolean])[] = [
      ["none", {}, () => true],
      ["tenant", { tenantId: "acme" }, ({ tenantId }) => tenantId === "acme"],
      ["project and tenant", { tenantId: "acme", projectId: "p2" }, ({ projectId }) => projectId === "p2"],
      ["a project of another tenant", { tenantId: "other", projectId: "p2" }, () => false],
      [
        "token, project and tenant",
        { tenantId: "acme", projectId: "p0", tokenId: "t1" },
        ({ tokenId, projectId }) => tokenId === "t1" && projectId === "p0",
      ],
      ["user", { userId: "ann" }, ({ userId }) => userId === "ann"],
      ["end user", { endUser: "eve" }, ({ endUser }) => endUser === "eve"],
      [
        "route, provider, model",
        { route: "fast", provider: "openai", model: "m0" },
        ({ route, provider, model }) => route === "fast" && provider === "openai" && model === "m0",
      ],
      ["failed", { outcome: "failed" }, ({ status }) => status >= 400],
      [
        "those of a tenant that went well",
        { tenantId: "acme", outcome: "ok" },
        ({ status, tenantId }) => status < 400 && tenantId === "acme",
      ],
      ["status and code", { status: 502, code: "upstream_error" }, ({ status }) => status === 502],
      [
        "time",
        { fromMs: DAY_ONE + 2000, toMs: DAY_ONE + 5000 },
        ({ startedAtMs }) => startedAtMs >= DAY_ONE + 2000 && startedAtMs < DAY_ONE + 5000,
      ],
    ];
    for (const [what, filter, holds] of FILTERS)
      test(`filter: ${what}; pages of any size hold every call once, the newest first`, async () => {
        const expected = newest.filter(holds).map(({ traceId }) => traceId);
        for (const limit of [7, 13, 1000]) expect(await all(filter, limit)).toEqual([...expected]);
      });

    test("calls that arrive meanwhile shift nothing: the next page continues where the last one ended", async () => {
      const own = await newStore(rows.slice(0, 40));
      const first = await own.searchCalls({ limit: 10 }, { order: "newest" });
      await own.ingest([rowOf({ startedAtMs: DAY_ONE + DAY_MS }), rowOf({ startedAtMs: DAY_ONE - DAY_MS })]);
      const second = await own.searchCalls({ limit: 100, cursor: first.nextCursor }, { order: "newest" });
      expect(new Set([...ids(first.data), ...ids(second.data)]).size).toBe(41);
    });

    test("a row is shown in summary, and with its record; a row of another tenant is not found", async () => {
      const record = recordOf({
        startedAtMs: DAY_ONE + 5,
        tokens: [10, 5, 4, 3],
        costNanoUsd: 9_007_199_254_740_991,
        attempts: [attemptOf(), attemptOf({ round: 2 })],
        stream: true,
        cancelled: true,
        firstContentMs: 12.4,
        totalMs: 99.6,
        userId: "ann",
        endUser: "eve",
      });
      const own = await newStore([{ record, settled: true }]);
      const summary: CallSummary = {
        traceId: record.traceId,
        operation: "chat.completions",
        timeMs: DAY_ONE + 5,
        tenantId: "acme",
        projectId: "site",
        tokenId: "tok",
        userId: "ann",
        endUser: "eve",
        route: "direct",
        provider: "openai",
        model: "gpt-4o",
        status: 200,
        code: null,
        stream: true,
        cancelled: true,
        attempts: 2,
        promptTokens: 10,
        completionTokens: 5,
        cachedTokens: 4,
        cacheWriteTokens: 0,
        reasoningTokens: 3,
        costNanoUsd: 9_007_199_254_740_991,
        cacheSavedNanoUsd: 0,
        totalMs: 100,
        firstContentMs: 12,
        settled: true,
        modelAsked: "openai:gpt-4o",
        finishReason: "stop",
        cache: null,
        estimated: false,
        mirrorOf: null,
      };
      expect((await own.searchCalls({ limit: 1 }, { order: "newest" })).data).toEqual([summary]);
      expect(await own.findCall(record.traceId, "acme")).toEqual({ summary, record });
      expect([await own.findCall(record.traceId, "other"), await own.findCall("0".repeat(32))]).toEqual([null, null]);
    });

    test("an invalid cursor or size is refused", async () => {
      for (const page of [
        { limit: 0 },
        { limit: 1001 },
        { limit: 1.5 },
        { limit: 1, cursor: "x" },
        { limit: 1, cursor: Buffer.from('["calls","1; drop","x"]').toString("base64url") },
        { limit: 1, cursor: Buffer.from('["tokens","1","x"]').toString("base64url") },
      ])
        expect(await calls.searchCalls(page, { order: "newest" }).catch((error: unknown) => error)).toMatchObject({
          name: "StoreError",
          kind: "invalid",
        });
    });
  });
}

function usageSuite(newStore: NewStore, { mostOfAnHour }: CallStoreTraits): void {
  describe("usage", () => {
    const report = async (
      calls: CallStore,
      query: Partial<UsageQuery> & { readonly by: UsageQuery["by"] },
    ): Promise<readonly (readonly [...(string | null)[], bigint])[]> =>
      (await calls.usage({ limit: 100 }, { order: "group", ...query })).data.map(
        ({ group, sums }) => [...group, sums.calls] as const,
      );

    test("[d9.3] is summed by tenant, project, token, user, end user, route, provider, model, operation, day, and by several at once", async () => {
      const calls = await newStore([
        rowOf({
          tenantId: "a",
          projectId: "p",
          tokenId: "t",
          userId: "u",
          endUser: "e",
          route: "r",
          provider: "x",
          model: "m",
          startedAtMs: DAY_ONE,
        }),
        rowOf({
          tenantId: "b",
          projectId: "q",
          tokenId: "s",
          userId: null,
          endUser: null,
          route: null,
          provider: null,
          model: null,
          startedAtMs: DAY_ONE + DAY_MS + 5 * HOUR_MS,
          operation: "embeddings",
          tokens: null,
          costNanoUsd: null,
          status: 401,
        }),
        rowOf({
          tenantId: "a",
          projectId: "p",
          tokenId: "t",
          userId: "u",
          endUser: "f",
          route: "r",
          provider: "x",
          model: "m",
          startedAtMs: DAY_ONE + DAY_MS - 1,
        }),
      ]);
      const expected: Readonly<Record<UsageDimension, readonly (readonly [string | null, bigint])[]>> = {
        tenant: [
          ["a", 2n],
          ["b", 1n],
        ],
        project: [
          ["p", 2n],
          ["q", 1n],
        ],
        token: [
          ["s", 1n],
          ["t", 2n],
        ],
        user: [
          [null, 1n],
          ["u", 2n],
        ],
        end_user: [
          ["e", 1n],
          ["f", 1n],
        ],
        route: [
          [null, 1n],
          ["r", 2n],
        ],
        provider: [
          [null, 1n],
          ["x", 2n],
        ],
        model: [
          [null, 1n],
          ["m", 2n],
        ],
        operation: [
          ["chat.completions", 2n],
          ["embeddings", 1n],
        ],
        day: [
          ["2026-01-05", 2n],
          ["2026-01-06", 1n],
        ],
      };
      for (const [dimension, rows] of Object.entries(expected))
        expect([dimension, await report(calls, { by: [dimension as UsageDimension] })]).toEqual([dimension, rows]);
      expect(await report(calls, { by: ["day", "tenant", "model"] })).toEqual([
        ["2026-01-05", "a", "m", 2n],
        ["2026-01-06", "b", null, 1n],
      ]);
      expect(await report(calls, { by: ["end_user", "day"], model: "m" })).toEqual([
        ["e", "2026-01-05", 1n],
        ["f", "2026-01-05", 1n],
      ]);
      expect(await report(calls, { by: [] })).toEqual([[3n]]);
      expect(await report(calls, { by: ["operation", "model"] })).toEqual([
        ["chat.completions", "m", 2n],
        ["embeddings", null, 1n],
      ]);
      expect(await report(calls, { by: ["end_user", "operation"] })).toEqual([
        ["e", "chat.completions", 1n],
        ["f", "chat.completions", 1n],
      ]);
      expect(await report(calls, { by: ["tenant"], operation: "embeddings" })).toEqual([["b", 1n]]);
      expect(await report(calls, { by: ["tenant"], operation: "chat.completions" })).toEqual([["a", 2n]]);
      expect(await report(calls, { by: ["tenant"], operation: "rerank" })).toEqual([]);
      expect(await report(calls, { by: ["tenant"], projectId: "p", tenantId: "a" })).toEqual([["a", 2n]]);
      expect(await report(calls, { by: ["tenant"], projectId: "p", tenantId: "b" })).toEqual([]);
    });

    test("durations of calls are counted in buckets, and usage without a price is counted", async () => {
      const calls = await newStore([
        ...[50, 100, 101, 999, 120_000, 120_001].map((totalMs) => rowOf({ totalMs })),
        rowOf({ costNanoUsd: null, totalMs: 1 }),
        rowOf({ costNanoUsd: null, tokens: null, totalMs: 1 }),
      ]);
      const { latency, unpriced } = await usageTotals(calls);
      expect(latency).toEqual([4n, 1n, 0n, 1n, 0n, 0n, 0n, 0n, 0n, 1n, 1n]);
      expect(latency).toHaveLength(LATENCY_BOUNDS_MS.length + 1);
      expect(unpriced).toBe(1n);
    });

    test("[d4.7] sums beyond 2^53, and beyond 2^63, are exact", async () => {
      const most = Number.MAX_SAFE_INTEGER;
      const calls = await newStore(
        Array.from({ length: 1030 }, (_, index) =>
          rowOf({ tokens: [most, 1], costNanoUsd: most, startedAtMs: DAY_ONE + (index % 2) * HOUR_MS }),
        ),
      );
      const sums = await usageTotals(calls);
      expect(sums.costNanoUsd).toBe(1030n * BigInt(most));
      expect(sums.promptTokens).toBe(1030n * BigInt(most));
      expect(sums.costNanoUsd > 2n ** 63n).toBe(true);
      expect((await calls.spent({ tenantId: "acme", sinceMs: DAY_ONE, by: [] }))[0]).toMatchObject({
        calls: 1030n,
        tokens: 1030n * BigInt(most) + 1030n,
        costNanoUsd: 1030n * BigInt(most),
      });
      // an hour that is full never stops what comes behind it
      await calls.ingest(Array.from({ length: 1030 }, () => rowOf({ costNanoUsd: most })));
      expect(
        (await calls.usage({ limit: 10 }, { by: [], order: "group", toMs: DAY_ONE + HOUR_MS })).data[0]!.sums
          .costNanoUsd,
      ).toBe(mostOfAnHour ?? 1545n * BigInt(most));
    });

    test("groups are paged in their own order; the largest first is one page", async () => {
      const calls = await newStore(
        Array.from({ length: 60 }, (_, index) =>
          rowOf({
            model: `m${index % 20}`,
            startedAtMs: DAY_ONE + (index % 3) * DAY_MS,
            costNanoUsd: index % 20,
            tokens: [20 - (index % 20), 0],
          }),
        ),
      );
      const query = { by: ["day", "model"], order: "group" } as const;
      const whole = (await calls.usage({ limit: 100 }, query)).data;
      expect(whole).toHaveLength(60);
      const paged: UsageRow[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await calls.usage({ limit: 7, cursor: cursor ?? null }, query);
        paged.push(...page.data);
        cursor = page.nextCursor;
      }
      expect(paged).toEqual([...whole]);
      const largest = async (order: "cost" | "tokens"): Promise<unknown> =>
        (await calls.usage({ limit: 2 }, { by: ["model"], order })).data.map(({ group }) => group[0]);
      expect([await largest("cost"), await largest("tokens")]).toEqual([
        ["m19", "m18"],
        ["m0", "m1"],
      ]);
      const top = await calls.usage({ limit: 2 }, { by: ["model"], order: "cost" });
      expect(top.nextCursor).toBeNull();
      const { nextCursor } = await calls.usage({ limit: 7 }, query);
      for (const wrong of [
        { by: ["model"], order: "group" },
        { by: ["day", "model"], order: "cost" },
        { by: [], order: "group" },
      ] as const)
        expect(
          await calls.usage({ limit: 7, cursor: nextCursor }, wrong).catch((error: unknown) => error),
        ).toMatchObject({ kind: "invalid" });
    });
  });
}

function randomSuite(newStore: NewStore): void {
  test("[d11.2] whatever arrives in whatever order, the sums are those of the stored calls", async () => {
    const word = fc.constantFrom("a", "b", null);
    const call = fc.record({
      id: fc.integer({ min: 0, max: 11 }),
      settled: fc.boolean(),
      projectId: word,
      endUser: word,
      model: word,
      operation: fc.constantFrom("chat.completions", "embeddings", "messages"),
      status: fc.constantFrom(200, 429),
      prompt: fc.integer({ min: 0, max: 99 }),
      cost: fc.option(fc.integer({ min: 0, max: 99 })),
      totalMs: fc.integer({ min: 0, max: 3000 }),
    });
    const beginnings = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 12, maxLength: 12 });
    const calls = await newStore();
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(call, { maxLength: 6 }), { maxLength: 5 }),
        beginnings,
        async (batches, hours) => {
          const tenantId = `run${++runs}`;
          const begun = hours.map((hour) => DAY_ONE + hour * HOUR_MS);
          const traceIds = begun.map(newTraceId);
          const kept = new Map<string, LedgerRow>();
          for (const batch of batches) {
            const rows = batch.map(({ id, settled, prompt, cost, ...parts }) =>
              rowOf(
                {
                  ...parts,
                  tenantId,
                  traceId: traceIds[id]!,
                  startedAtMs: begun[id]!,
                  tokens: [prompt, 1],
                  costNanoUsd: cost,
                },
                settled,
              ),
            );
            await calls.ingest(rows);
            for (const row of rows) {
              const there = kept.get(row.record.traceId);
              if (there === undefined || (!there.settled && row.settled)) kept.set(row.record.traceId, row);
            }
          }
          const records = [...kept.values()].map(({ record }) => record);
          const sum = (list: readonly CallRecord[], of: (record: CallRecord) => number): bigint =>
            list.reduce((total, record) => total + BigInt(of(record)), 0n);
          for (const by of [
            [],
            ["project", "day"],
            ["model"],
            ["end_user"],
            ["operation"],
            ["operation", "end_user"],
          ] as const) {
            const values = (record: CallRecord): readonly (string | null)[] =>
              by.map(
                (dimension) =>
                  ({
                    project: record.projectId,
                    day: new Date(record.startedAtMs).toISOString().slice(0, 10),
                    model: record.model,
                    end_user: record.endUser,
                    operation: record.operation,
                  })[dimension],
              );
            const counted = records.filter(
              ({ endUser }) => !(by as readonly string[]).includes("end_user") || endUser !== null,
            );
            const expected = [...Map.groupBy(counted, (record) => JSON.stringify(values(record)))].map(([key, list]) =>
              [
                key,
                list.length,
                sum(list, ({ status }) => (status >= 400 ? 1 : 0)),
                sum(list, ({ usage }) => usage!.prompt_tokens),
                sum(list, ({ cost }) => cost?.nanoUsd ?? 0),
                sum(list, ({ totalMs }) => totalMs),
              ].join(" "),
            );
            const { data } = await calls.usage({ limit: 100 }, { by, order: "group", tenantId });
            const told = data.map(({ group, sums }) =>
              [JSON.stringify(group), sums.calls, sums.errors, sums.promptTokens, sums.costNanoUsd, sums.totalMs].join(
                " ",
              ),
            );
            expect(told.toSorted()).toEqual(expected.toSorted());
          }
        },
      ),
      { numRuns: 25 },
    );
  });
}

function spentSuite(newStore: NewStore): void {
  describe("the usage of an account since a moment", () => {
    test("[d4.1 d4.2] is summed for any moment, by the account's scope, from sums and single calls together", async () => {
      const rows = Array.from({ length: 72 }, (_, index) =>
        rowOf({
          startedAtMs: DAY_ONE + index * 20 * 60_000 + 7,
          projectId: index % 2 === 0 ? "p" : "q",
          endUser: index % 3 === 0 ? "eve" : null,
          model: `m${index % 4}`,
          operation: index % 5 === 0 ? "embeddings" : "chat.completions",
          tokens: [index, 1],
          costNanoUsd: index * 10,
        }),
      );
      const calls = await newStore([...rows, rowOf({ tenantId: "other" })]);
      for (const sinceMs of [
        DAY_ONE,
        DAY_ONE + HOUR_MS,
        DAY_ONE + 5 * HOUR_MS + 20 * 60_000 + 8,
        DAY_ONE + 20 * HOUR_MS,
      ]) {
        const since = rows.map(({ record }) => record).filter(({ startedAtMs }) => startedAtMs >= sinceMs);
        const [all] = await calls.spent({ tenantId: "acme", sinceMs, by: [] });
        const tokens = since.reduce((sum, { usage }) => sum + usage!.total_tokens, 0);
        expect([sinceMs, all]).toEqual([
          sinceMs,
          {
            values: [],
            calls: BigInt(since.length),
            tokens: BigInt(tokens),
            costNanoUsd: BigInt(since.reduce((sum, { cost }) => sum + cost!.nanoUsd, 0)),
          },
        ]);
        const byModel = await calls.spent({ tenantId: "acme", projectId: "p", sinceMs, by: ["provider", "model"] });
        const models = Map.groupBy(
          since.filter(({ projectId }) => projectId === "p"),
          ({ model }) => model,
        );
        expect(byModel.map(({ values, calls: count }) => `${values[1]} ${count}`).toSorted()).toEqual(
          [...models].map(([model, list]) => `${model} ${list.length}`).toSorted(),
        );
        const [eve, ...others] = await calls.spent({ tenantId: "acme", sinceMs, by: ["end_user"] });
        expect([eve?.values, eve?.calls, others]).toEqual([
          ["eve"],
          BigInt(since.filter(({ endUser }) => endUser === "eve").length),
          [],
        ]);
        for (const operation of ["embeddings", "chat.completions"]) {
          const those = since.filter((record) => record.operation === operation);
          const count = async (by: SpentQuery["by"]): Promise<unknown> =>
            (await calls.spent({ tenantId: "acme", operation, sinceMs, by })).map((one) => [...one.values, one.calls]);
          expect(await count([])).toEqual(those.length === 0 ? [] : [[BigInt(those.length)]]);
          const both = await calls.spent({ tenantId: "acme", sinceMs, by: ["operation"] });
          expect(both.find(({ values }) => values[0] === operation)?.calls ?? 0n).toBe(BigInt(those.length));
          const ofEve = those.filter(({ endUser }) => endUser === "eve").length;
          expect(await count(["end_user"])).toEqual(ofEve === 0 ? [] : [["eve", BigInt(ofEve)]]);
        }
      }
      expect(await calls.spent({ tenantId: "acme", sinceMs: DAY_ONE + 30 * DAY_MS, by: [] })).toEqual([]);
    });
  });
}

/** A trace id as the gateway makes them, with these digits behind the time. */
const timedId = (startedAtMs: number, digits: string): string =>
  `${startedAtMs.toString(16).padStart(12, "0")}${digits.padEnd(20, "0")}`;

function placesSuite(newStore: NewStore): void {
  const startedAtMs = DAY_ONE + 5;
  const timed = (digits: string, parts: CallParts = {}, settled = true): LedgerRow =>
    rowOf({ traceId: timedId(startedAtMs, digits), startedAtMs, ...parts }, settled);
  const idsIn = async (calls: CallStore, order: "newest" | "oldest"): Promise<readonly string[]> => {
    const found: string[] = [];
    for (let cursor: string | null = null; ;) {
      const page = await calls.searchCalls({ limit: 7, cursor }, { order });
      found.push(...ids(page.data));
      if (page.nextCursor === null) return found;
      cursor = page.nextCursor;
    }
  };

  describe("calls whose trace ids begin with their time", () => {
    test("[d11.2] are stored once and found by their trace ids, also those that would have the same place", async () => {
      // all of them, and two that stand where the others were pushed to
      const rows = [
        ...Array.from({ length: 20 }, (_, index) => timed(`abcde${index.toString(16).padStart(2, "0")}`)),
        timed("abcdf77"),
        timed("abce077"),
        timed("00000"),
        timed("fffff"),
        rowOf({ startedAtMs: startedAtMs + 1, traceId: timedId(startedAtMs + 1, "00000") }),
      ];
      const calls = await newStore(rows.slice(0, 9));
      await calls.ingest(rows.slice(5, 22).toReversed());
      await calls.ingest(rows);
      await calls.ingest(rows.toReversed());
      expect(await usageTotals(calls)).toMatchObject({ calls: BigInt(rows.length) });
      for (const { record } of rows) {
        expect(await calls.findCall(record.traceId)).toMatchObject({
          summary: { traceId: record.traceId, timeMs: record.startedAtMs },
          record: { traceId: record.traceId },
        });
        expect(ids((await calls.searchCalls({ limit: 5 }, { order: "newest", traceId: record.traceId })).data)).toEqual(
          [record.traceId],
        );
      }
      expect(await calls.findCall(timedId(startedAtMs, "abcde99"))).toBeNull();
      expect(await calls.findCall(timedId(startedAtMs - 1, "abcde00"))).toBeNull();
      const all = rows.map(({ record }) => record.traceId);
      expect(new Set(await idsIn(calls, "oldest"))).toEqual(new Set(all));
      expect(await idsIn(calls, "newest")).toEqual((await idsIn(calls, "oldest")).toReversed());
    });

    test("[d11.2] a settled row replaces an unsettled one at a place that other calls want too, with its record and its tags", async () => {
      const unsettled = timed("abcde01", { metadata: { a: 1 }, tokens: [5, 5] }, false);
      const calls = await newStore([timed("abcde00"), unsettled, timed("abcde02")]);
      const settled = timed("abcde01", { metadata: { b: 1 }, tokens: [7, 1], status: 502 });
      await calls.ingest([settled, timed("abcde03")]);
      await calls.ingest([unsettled, settled]);
      expect(await usageTotals(calls)).toMatchObject({ calls: 4n, promptTokens: 307n, errors: 1n });
      expect(await calls.findCall(settled.record.traceId)).toMatchObject({
        summary: { settled: true, status: 502, promptTokens: 7 },
        record: { metadata: { b: 1 } },
      });
      const tagged = async (pair: string): Promise<number> =>
        (await calls.searchCalls({ limit: 5 }, { order: "newest", tags: [tagOf("meta", pair)] })).data.length;
      expect([await tagged("a=1"), await tagged("b=1")]).toEqual([0, 1]);
    });

    test("any time is stored: none, one far ahead, and one that no key can hold", async () => {
      const rows = [0, 1, Date.UTC(2200, 0, 1), 2 ** 47].map((at) => rowOf({ startedAtMs: at }));
      const calls = await newStore(rows);
      for (const { record } of rows)
        expect(await calls.findCall(record.traceId)).toMatchObject({ record: { startedAtMs: record.startedAtMs } });
      expect(
        (await calls.searchCalls({ limit: 9 }, { order: "oldest", fromMs: 1, toMs: 2 ** 53 - 1 })).data,
      ).toHaveLength(2);
      expect((await calls.searchCalls({ limit: 9 }, { order: "oldest" })).data).toHaveLength(4);
    });
  });
}

/** What simulations read, which is not part of the port: they read in a thread of their own. */
function recordedSuite(newPlace: (rows: readonly LedgerRow[]) => Promise<CallPlace>): void {
  describe("recorded calls", () => {
    test("of a scope come the newest first, up to a limit, with names and attempts, without hits and explanations", async () => {
      const attempts = [attemptOf({ provider: "openai", model: "gpt-4o", startMs: 3, totalMs: 90 })];
      const rows = Array.from({ length: 300 }, (_, index) =>
        rowOf({
          startedAtMs: DAY_ONE + index * 60_000,
          route: index % 3 === 0 ? "chat" : "other",
          dispositions: { temperature: "native" },
          metadata: { n: index },
          attempts,
        }),
      );
      const place = await newPlace([
        ...rows,
        rowOf({ route: "chat", explained: true }),
        rowOf({ route: "chat", cache: { outcome: "hit", key: "k", ageS: 1 } as never }),
        rowOf({ route: "chat", tenantId: "beta" }),
      ]);
      const { calls } = place;
      const reads = await openRecordedReads(place.database);
      const found = await reads.calls({ tenantId: "acme", route: "chat", limit: 50 });
      expect(found.calls.map(({ traceId }) => traceId)).toEqual(
        rows
          .filter((_, index) => index % 3 === 0)
          .map(({ record }) => record.traceId)
          .toReversed()
          .slice(0, 50),
      );
      expect(found).toMatchObject({ withoutRecord: 0, searchedToMs: null });
      expect(found.calls[0]).toMatchObject({
        parameters: ["temperature"],
        usage: { prompt_tokens: 100 },
        costNanoUsd: 1000,
        metadata: { n: 297 },
        attempts: [{ provider: "openai", model: "gpt-4o", startMs: 3, totalMs: 90, code: null }],
      });
      expect(await reads.calls({ tenantId: "acme", route: "chat", limit: 1000 })).toMatchObject({
        calls: { length: 100 },
        fromCache: 1,
      });
      const gone = DAY_ONE + 150 * 60_000;
      while ((await calls.prune({ callsMs: null, detailsMs: gone, placesMs: null })) > 0);
      expect(await reads.calls({ tenantId: "acme", route: "chat", limit: 1000 })).toMatchObject({
        calls: { length: 50 },
        // the hit and the explanation began with the first of them
        withoutRecord: 51,
      });
      expect(await reads.calls({ tenantId: "acme", route: "never", limit: 10 })).toEqual({
        calls: [],
        fromCache: 0,
        withoutRecord: 0,
        searchedToMs: null,
      });
      await reads.close();
    });
  });
}

function recordsSuite(newStore: NewStore): void {
  describe("records", () => {
    const isWhole = async (calls: CallStore, rows: readonly LedgerRow[]): Promise<void> => {
      for (const { record } of rows)
        expect(JSON.stringify((await calls.findCall(record.traceId))?.record)).toBe(JSON.stringify(record));
    };

    test("[d11.1] are found whole, whether calls come one by one, many at once, or hours after their beginning", async () => {
      const calls = await newStore();
      const single = Array.from({ length: 150 }, (_, index) =>
        rowOf({ startedAtMs: DAY_ONE + index, errorDetail: `lines\n{"traceId":"${index}"}\n`, metadata: { n: index } }),
      );
      for (const row of single) await calls.ingest([row]);
      const many = Array.from({ length: 700 }, (_, index) => rowOf({ startedAtMs: DAY_ONE + index * 60_000 }));
      await calls.ingest(many);
      const long = [rowOf({ startedAtMs: DAY_ONE, metadata: { text: "x".repeat(700_000) } }), rowOf()];
      await calls.ingest(long);
      await Promise.all(single.slice(0, 10).map((row) => calls.ingest([row])));
      await isWhole(calls, [...single, ...many, ...long]);
    });

    test("[d11.3] that are past their retention are removed from among later ones, which stay whole", async () => {
      const rows = Array.from({ length: 90 }, (_, index) =>
        rowOf({ startedAtMs: DAY_ONE + ((index * 37) % 90) * 1000 }),
      );
      const calls = await newStore(rows.slice(0, 40));
      for (const row of rows.slice(40)) await calls.ingest([row]);
      const beforeMs = DAY_ONE + 45_500;
      while ((await calls.prune({ callsMs: null, detailsMs: beforeMs, placesMs: null })) > 0);
      await isWhole(
        calls,
        rows.filter(({ record }) => record.startedAtMs >= beforeMs),
      );
      for (const { record } of rows.filter((row) => row.record.startedAtMs < beforeMs))
        expect(await calls.findCall(record.traceId)).toMatchObject({ summary: {}, record: null });
      const more = rowOf({ startedAtMs: DAY_ONE + 50_000 });
      await calls.ingest([more]);
      await isWhole(calls, [more]);
    });
  });
}

function lastsSuite(newStore: NewStore, { prunedAtOnce }: CallStoreTraits): void {
  test("[d11.3] records past their retention are removed, a bounded number at a time, details before calls; sums stay", async () => {
    const rows = Array.from({ length: 2500 }, (_, index) => rowOf({ startedAtMs: DAY_ONE + index }));
    const calls = await newStore();
    for (let at = 0; at < rows.length; at += 500) await calls.ingest(rows.slice(at, at + 500));
    const traceId = rows[2400]!.record.traceId;
    expect(await calls.prune({ callsMs: null, detailsMs: null, placesMs: null })).toBe(0);
    for (const removed of prunedAtOnce === null ? [2450, 0] : [prunedAtOnce, 2450 - prunedAtOnce])
      expect(await calls.prune({ callsMs: null, detailsMs: DAY_ONE + 2450, placesMs: null })).toBe(removed);
    expect(await calls.findCall(traceId)).toMatchObject({ summary: { traceId }, record: null });
    expect(await calls.findCall(rows[2450]!.record.traceId)).toMatchObject({
      record: { traceId: rows[2450]!.record.traceId },
    });
    while ((await calls.prune({ callsMs: DAY_ONE + 2490, detailsMs: null, placesMs: null })) > 0);
    expect((await calls.searchCalls({ limit: 100 }, { order: "newest" })).data).toHaveLength(10);
    expect(await calls.findCall(traceId)).toBeNull();
    expect(await usageTotals(calls)).toMatchObject({ calls: 2500n });
    // a row that was there once and comes again after it was removed would be counted again: the ledger ships within minutes, calls are kept for days
  });
}
