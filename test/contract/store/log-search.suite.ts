// What every store of calls does for the log: each filter finds what a scan over the records finds, in every order, in
// pages of bounded cost; contents are stored, found and removed.
import { beforeAll, describe, expect, test } from "bun:test";
import type { CallRecord } from "../../../src/core/record/record.ts";
import type { CallStore, LogFilter, LogOrder, StoredContent } from "../../../src/store/calls/calls.ts";
import { tagOf } from "../../../src/store/calls/call-tags.ts";
import type { LedgerRow } from "../../../src/store/journal/ledger.ts";
import { type CallParts, DAY_ONE, newTraceId, rowOf } from "./call-records.ts";

export type NewStore = (rows?: readonly LedgerRow[]) => Promise<CallStore>;

const ATTEMPT: CallRecord["attempts"][number] = {
  provider: "openai",
  vendor: "openai",
  model: "m",
  round: 1,
  startMs: 1,
  spanId: null,
  usage: null,
  usageSource: null,
  status: 200,
  code: null,
  toldModel: null,
  requestId: null,
  nativeCode: null,
  retryAfterMs: null,
  fromCache: false,
  promptCacheMiss: null,
  headMs: 1,
  firstContentMs: 2,
  totalMs: 3,
};
const TOUCH: CallRecord["limits"][number] = {
  id: "lim_1",
  value: "",
  unit: "requests",
  before: 0,
  reserved: 1,
  settled: 1,
  after: 1,
  wouldRefuse: false,
};
const RUN: CallRecord["tools"][number] = {
  callId: "c",
  server: "github",
  tool: "search",
  round: 1,
  startMs: 1,
  totalMs: 2,
  code: null,
  isError: false,
  resultBytes: 3,
  spanId: null,
};

function parts(index: number): CallParts {
  const failed = index % 10 === 0;
  return {
    startedAtMs: DAY_ONE + Math.floor(index / 13) * 1000,
    totalMs: (index * 37) % 5000,
    firstContentMs: index % 4 === 0 ? null : index,
    tenantId: index % 2 === 0 ? "acme" : "other",
    projectId: `p${index % 4}`,
    tokenId: `t${index % 3}`,
    userId: index % 5 === 0 ? "ann" : null,
    endUser: index % 7 === 0 ? "eve" : null,
    route: index % 3 === 0 ? "fast" : "direct",
    provider: index % 2 === 0 ? "openai" : "anthropic",
    model: `m${index % 3}`,
    modelAsked: index % 6 === 0 ? "fast" : "openai:m",
    status: failed ? (index % 20 === 0 ? 502 : 429) : 200,
    code: failed ? (index % 20 === 0 ? "upstream_error" : "rate_limit_exceeded") : null,
    operation: index % 13 === 0 ? "embeddings" : index % 17 === 0 ? "messages" : "chat.completions",
    stream: index % 8 === 0,
    cancelled: index % 9 === 0,
    explained: index % 11 === 0,
    attempts: index % 5 === 0 ? [ATTEMPT, ATTEMPT] : [ATTEMPT],
    tokens: [index, 2 * index],
    costNanoUsd: index % 4 === 0 ? null : index * 100,
    finishReasons: index % 3 === 0 ? ["length"] : ["stop"],
    clientRequestId: index % 12 === 0 ? `req-${index}` : null,
    otelTraceId: index % 12 === 0 ? index.toString(16).padStart(32, "a") : null,
    metadata:
      index % 4 === 0
        ? { team: index % 8 === 0 ? "search" : "ads", n: index % 3, deep: { a: 1 }, long: "x".repeat(400) }
        : null,
    policies: index % 14 === 0 ? [{ name: "no-cards", effect: "masked" }] : [],
    limits:
      index % 15 === 0
        ? [
            { ...TOUCH, wouldRefuse: true },
            { ...TOUCH, id: "lim_2" },
          ]
        : [TOUCH],
    tools: index % 16 === 0 ? [RUN] : [],
  };
}

const has =
  (tag: string) =>
  (record: CallRecord): boolean =>
    record.metadata === null
      ? false
      : Object.entries(record.metadata).some(
          ([name, value]) => typeof value !== "object" && tag === `meta:${name}=${value}`,
        );

const FILTERS: readonly (readonly [
  what: string,
  filter: Omit<LogFilter, "order">,
  holds: (record: CallRecord) => boolean,
])[] = [
  ["nothing", {}, () => true],
  ["a tenant", { tenantId: "acme" }, ({ tenantId }) => tenantId === "acme"],
  ["a project of a tenant", { tenantId: "acme", projectId: "p2" }, ({ projectId }) => projectId === "p2"],
  ["a project of another tenant", { tenantId: "other", projectId: "p2" }, () => false],
  ["a token", { tokenId: "t1" }, ({ tokenId }) => tokenId === "t1"],
  [
    "a user in a project",
    { userId: "ann", projectId: "p1" },
    ({ userId, projectId }) => userId === "ann" && projectId === "p1",
  ],
  ["an end user", { endUser: "eve" }, ({ endUser }) => endUser === "eve"],
  [
    "route, provider, model",
    { route: "fast", provider: "openai", model: "m0" },
    ({ route, provider, model }) => route === "fast" && provider === "openai" && model === "m0",
  ],
  ["the model that was asked for", { modelAsked: "fast" }, ({ modelAsked }) => modelAsked === "fast"],
  ["status", { status: 429 }, ({ status }) => status === 429],
  [
    "class of status in a tenant",
    { statusClass: 5, tenantId: "acme" },
    ({ status, tenantId }) => status >= 500 && tenantId === "acme",
  ],
  ["what went well", { outcome: "ok" }, ({ status }) => status < 400],
  [
    "what failed in a tenant",
    { outcome: "failed", tenantId: "acme" },
    ({ status, tenantId }) => status >= 400 && tenantId === "acme",
  ],
  ["a code", { code: "rate_limit_exceeded" }, ({ code }) => code === "rate_limit_exceeded"],
  [
    "a code of a token",
    { code: "upstream_error", tokenId: "t2" },
    ({ code, tokenId }) => code === "upstream_error" && tokenId === "t2",
  ],
  ["streams that were left", { stream: true, cancelled: true }, ({ stream, cancelled }) => stream && cancelled],
  ["an operation", { operation: "embeddings" }, ({ operation }) => operation === "embeddings"],
  [
    "the operation of the earliest calls",
    { operation: "chat.completions" },
    ({ operation }) => operation === "chat.completions",
  ],
  [
    "an operation of a tenant",
    { operation: "messages", tenantId: "acme" },
    ({ operation, tenantId }) => operation === "messages" && tenantId === "acme",
  ],
  ["an operation that was never called", { operation: "rerank" }, () => false],
  ["explanations", { explained: true }, ({ explained }) => explained],
  ["a finish reason", { finishReason: "length" }, ({ finishReasons }) => finishReasons[0] === "length"],
  [
    "duration",
    { atLeast: { totalMs: 2000 }, atMost: { totalMs: 3000 } },
    ({ totalMs }) => totalMs >= 2000 && totalMs <= 3000,
  ],
  [
    "time to the first content",
    { atLeast: { firstContentMs: 50 } },
    ({ firstContentMs }) => firstContentMs !== null && firstContentMs >= 50,
  ],
  ["repeats", { atLeast: { attempts: 2 } }, ({ attempts }) => attempts.length > 1],
  [
    "tokens",
    { atLeast: { tokens: 60, promptTokens: 30 }, atMost: { completionTokens: 100 } },
    ({ usage }) => usage!.total_tokens >= 60 && usage!.prompt_tokens >= 30 && usage!.completion_tokens <= 100,
  ],
  ["cost", { atLeast: { costNanoUsd: 5000 } }, ({ cost }) => cost !== null && cost.nanoUsd >= 5000],
  ["metadata", { tags: [tagOf("meta", "team=search")] }, has("meta:team=search")],
  [
    "metadata of a tenant, twice",
    { tags: [tagOf("meta", "team=ads"), tagOf("meta", "n=1")], tenantId: "acme" },
    (record) => has("meta:team=ads")(record) && has("meta:n=1")(record) && record.tenantId === "acme",
  ],
  ["metadata that is too long to be looked up by", { tags: [tagOf("meta", `long=${"x".repeat(400)}`)] }, () => false],
  ["metadata that is not a plain value", { tags: [tagOf("meta", "deep=[object Object]")] }, () => false],
  [
    "the caller's own id",
    { tags: [tagOf("request", "req-24")] },
    ({ clientRequestId }) => clientRequestId === "req-24",
  ],
  [
    "the id of a distributed trace",
    { tags: [tagOf("otel", (36).toString(16).padStart(32, "a"))] },
    ({ otelTraceId }) => otelTraceId === (36).toString(16).padStart(32, "a"),
  ],
  ["a tool server", { tags: [tagOf("tool", "github")] }, ({ tools }) => tools.length > 0],
  [
    "a tool and a tenant",
    { tags: [tagOf("tool", "github/search")], tenantId: "acme" },
    ({ tools, tenantId }) => tools.length > 0 && tenantId === "acme",
  ],
  ["a policy that spoke", { tags: [tagOf("policy", "no-cards")] }, ({ policies }) => policies.length > 0],
  [
    "a limit that would have refused",
    { tags: [tagOf("limit", "lim_1")] },
    ({ limits }) => limits.some(({ wouldRefuse }) => wouldRefuse),
  ],
  ["a limit that only applied", { tags: [tagOf("limit", "lim_2")] }, () => false],
  [
    "a time",
    { fromMs: DAY_ONE + 2000, toMs: DAY_ONE + 5000 },
    ({ startedAtMs }) => startedAtMs >= DAY_ONE + 2000 && startedAtMs < DAY_ONE + 5000,
  ],
  [
    "a tag in a time",
    { fromMs: DAY_ONE + 2000, toMs: DAY_ONE + 7000, tags: [tagOf("meta", "n=0")] },
    (record) => record.startedAtMs >= DAY_ONE + 2000 && record.startedAtMs < DAY_ONE + 7000 && has("meta:n=0")(record),
  ],
];

const endOf = (record: CallRecord): number => record.startedAtMs + record.totalMs;

export function logSuite(newStore: NewStore): void {
  describe("the log", () => {
    const rows = Array.from({ length: 130 }, (_, index) => rowOf(parts(index)));
    const records = rows.map(({ record }) => record);
    let calls: CallStore;
    beforeAll(async () => void (calls = await newStore(rows)));

    const all = async (filter: LogFilter, limit: number): Promise<readonly string[]> => {
      const found: string[] = [];
      for (let cursor: string | null = null; ;) {
        const page = await calls.searchCalls({ limit, cursor }, filter);
        found.push(...page.data.map(({ traceId }) => traceId));
        if (page.nextCursor === null) return found;
        cursor = page.nextCursor;
      }
    };
    const expected = (order: LogOrder, holds: (record: CallRecord) => boolean): readonly string[] => {
      const at = (record: CallRecord): number => (order === "ended" ? endOf(record) : record.startedAtMs);
      const sorted = records.filter(holds).toSorted((a, b) => at(a) - at(b) || (a.traceId < b.traceId ? -1 : 1));
      return (order === "newest" ? sorted.toReversed() : sorted).map(({ traceId }) => traceId);
    };
    for (const [what, filter, holds] of FILTERS)
      test(`[d9.3] filter: ${what}; in every order, in pages of any size, every call once`, async () => {
        for (const order of ["newest", "oldest", "ended"] as const)
          for (const limit of [7, 1000])
            expect([order, await all({ ...filter, order }, limit)]).toEqual([order, [...expected(order, holds)]]);
      });

    test("[d9.3] one call by its trace id; those that ended since a moment", async () => {
      const { traceId } = records[77]!;
      for (const order of ["newest", "oldest", "ended"] as const)
        expect(await all({ order, traceId }, 5)).toEqual([traceId]);
      expect(await all({ order: "newest", traceId, tenantId: "acme" }, 5)).toEqual([]);
      const since = DAY_ONE + 6000;
      expect(await all({ order: "ended", endedFromMs: since, tenantId: "other" }, 9)).toEqual([
        ...expected("ended", (record) => endOf(record) >= since && record.tenantId === "other"),
      ]);
    });

    test("[d9.3] a cursor continues within the bounds of the time, also one that was invented or belongs to another order", async () => {
      const window = { fromMs: DAY_ONE + 2000, toMs: DAY_ONE + 5000 } as const;
      const later = Buffer.from(
        JSON.stringify(["logs newest", (BigInt(DAY_ONE + 900_000) << 20n).toString()]),
      ).toString("base64url");
      const page = await calls.searchCalls({ limit: 1000, cursor: later }, { order: "newest", ...window });
      expect(page.data.map(({ traceId }) => traceId)).toEqual([
        ...expected("newest", ({ startedAtMs }) => startedAtMs >= window.fromMs && startedAtMs < window.toMs),
      ]);
      const { nextCursor } = await calls.searchCalls({ limit: 3 }, { order: "newest" });
      for (const cursor of [
        nextCursor,
        "x",
        Buffer.from('["logs oldest","1; drop table call"]').toString("base64url"),
        Buffer.from('["calls","1"]').toString("base64url"),
      ])
        expect(
          await calls.searchCalls({ limit: 3, cursor }, { order: "oldest" }).catch((error: unknown) => error),
        ).toMatchObject({ name: "StoreError", kind: "invalid" });
    });

    test("hostile values of callers do no harm in a filter: quotes, wildcards, zeros, halves of surrogate pairs", async () => {
      for (const ugly of [
        "' or '1'='1",
        "%",
        "*",
        '" or 1=1 --',
        "\\",
        "\ud800".toWellFormed(),
        "'; drop table call; --",
      ])
        for (const filter of [
          { endUser: ugly },
          { model: ugly },
          { code: ugly },
          { tags: [tagOf("meta", ugly)] },
          { tags: [tagOf("meta", "team=search"), ugly] },
          { traceId: ugly },
          { finishReason: ugly },
        ])
          expect((await calls.searchCalls({ limit: 5 }, { order: "newest", ...filter })).data).toEqual([]);
      expect((await calls.searchCalls({ limit: 1 }, { order: "newest" })).data).toHaveLength(1);
    });

    test("a settled row that replaces an unsettled one is found by its own values; a removed row leaves nothing behind", async () => {
      const traceId = newTraceId();
      const own = await newStore([
        rowOf({ traceId, startedAtMs: DAY_ONE, metadata: { a: 1, b: 1 } }, false),
        rowOf({ startedAtMs: DAY_ONE + 1, metadata: { b: 1 } }),
      ]);
      await own.ingest([rowOf({ traceId, startedAtMs: DAY_ONE, metadata: { b: 1, c: 1 } })]);
      const found = async (tag: string): Promise<number> =>
        (await own.searchCalls({ limit: 9 }, { order: "newest", tags: [tagOf("meta", tag)] })).data.length;
      expect([await found("a=1"), await found("b=1"), await found("c=1")]).toEqual([0, 2, 1]);
      while ((await own.prune({ callsMs: DAY_ONE + 1, detailsMs: null, placesMs: null })) > 0);
      expect([await found("b=1"), await found("c=1")]).toEqual([1, 0]);
    });
  });

  describe("contents", () => {
    const body = (word: string): Uint8Array => new TextEncoder().encode(word);
    test("[d11.3] are stored once for each call, found by its trace id, and removed by their end and by their scope", async () => {
      const calls = await newStore();
      const one = (traceId: string, projectId: string, expiresMs: number, word = traceId) => ({
        traceId,
        tenantId: "acme",
        projectId,
        expiresMs,
        body: body(word),
      });
      const keys = [
        { tenantId: "acme", sealed: (await calls.contentKey("acme", "key"))! },
        { tenantId: "other", sealed: (await calls.contentKey("other", "another"))! },
      ];
      const keep = (contents: readonly StoredContent[], used = keys): Promise<boolean> =>
        calls.keepContents(contents, used);
      const find = async (traceId: string): Promise<StoredContent | null> =>
        (await calls.findContents([traceId]))[0] ?? null;
      await keep([one("gone", "removed", 5000), one("moved", "r", 5000)]);
      expect(await calls.findContents(["gone", "moved"])).toEqual([]);
      await keep([one("a", "p", 1000), one("b", "q", 2000), { ...one("c", "r", 2000), tenantId: "other" }]);
      await keep([
        one("a", "p", 9000, "again"),
        ...Array.from({ length: 120 }, (_, index) => one(`n${index}`, "p", 5000)),
      ]);
      const old = keys.map((key) => ({ ...key, sealed: "old" }));
      expect(await keep([one("z", "p", 9000)], old)).toBe(false);
      expect(await find("z")).toBeNull();
      expect(await find("a")).toEqual(one("a", "p", 1000));
      expect(await find("none")).toBeNull();
      const some = await calls.findContents(["c", "a", "none", "n7"]);
      expect(some.map(({ traceId }) => traceId).toSorted()).toEqual(["a", "c", "n7"]);
      expect(await calls.findContents([])).toEqual([]);
      expect([
        await calls.countContents({ tenantId: "acme", projectId: null }),
        await calls.countContents({ tenantId: "acme", projectId: "q" }),
        await calls.countContents({ tenantId: "none", projectId: null }),
      ]).toEqual([122, 1, 0]);
      expect(await calls.removeContents({ expiredMs: 1999 })).toBe(1);
      expect([await find("a"), (await find("b"))?.expiresMs]).toEqual([null, 2000]);
      expect(await calls.removeContents({ tenantId: "acme", projectId: "p" })).toBe(120);
      expect(await calls.removeContents({ tenantId: "acme", projectId: null })).toBe(1);
      expect(await calls.removeContents({ tenantId: "acme", projectId: null })).toBe(0);
      expect((await find("c"))?.tenantId).toBe("other");
    });

    test("[d11.3] the key of a tenant is the first that was created, whoever asks", async () => {
      const calls = await newStore();
      const keys = await Promise.all(["one", "two", "three"].map((sealed) => calls.contentKey("acme", sealed)));
      expect(new Set(keys).size).toBe(1);
      expect(await calls.contentKey("acme", "four")).toBe(keys[0]!);
      expect(await calls.contentKey("other", "five")).toBe("five");
      expect(await calls.contentKey("nobody", "six")).toBeNull();
    });
  });
}
