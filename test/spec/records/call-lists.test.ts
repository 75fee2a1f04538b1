// Lists of calls by every filter, their histogram and their most frequent values through the admin API.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { bypassedCall } from "../../../src/core/configured/cache.ts";
import { attemptOf, HOUR_MS, rowOf } from "../../contract/store/call-records.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";

const NOW = Date.UTC(2026, 5, 15, 12, 30);
const HOUR = Date.UTC(2026, 5, 15, 12);
const MINUTE_MS = 60_000;

const rows = [
  rowOf({
    startedAtMs: HOUR,
    route: "fast",
    userId: "ann",
    providerRequestId: "req_answered",
    attempts: [
      attemptOf({ requestId: "req_refused", status: 529, code: "upstream_overloaded" }),
      attemptOf({ requestId: "req_answered" }),
    ],
    costNanoUsd: 7,
    totalMs: 300,
  }),
  rowOf({
    startedAtMs: HOUR - HOUR_MS,
    status: 429,
    code: "rate_limit_exceeded",
    tokens: null,
    costNanoUsd: null,
    cache: { ...bypassedCall("no_store"), outcome: "miss", bypass: null },
    stream: true,
  }),
  rowOf({
    startedAtMs: HOUR - 30 * MINUTE_MS,
    projectId: "app",
    usageSource: "estimated",
    cache: bypassedCall("no_store"),
    providerRequestId: "req_other",
    operation: "embeddings",
  }),
  rowOf({
    startedAtMs: HOUR - HOUR_MS,
    tenantId: "beta",
    projectId: "lab",
    route: "secret",
    status: 502,
    code: "upstream_error",
    // as a provider of its own may say
    attempts: [attemptOf({ requestId: "req_answered", status: 502, code: "upstream_error" })],
  }),
];
let world: AdminWorld;
beforeAll(async () => {
  world = await openAdminWorld({ clock: { now: () => NOW, monotonic: () => performance.now() } });
  await world.calls.ingest(rows);
});
afterAll(() => world.close());

const get = (path: string, as = "acme.viewer"): Promise<Told> => world.send(as, "GET", `/api/v1/admin${path}`);

describe("GET .../calls", () => {
  test("names the tokens of the page, as far as they are known", async () => {
    const token = [...world.source.current().tokens.values()].find(({ tenantId }) => tenantId === "acme")!;
    await world.calls.ingest([rowOf({ startedAtMs: HOUR - 1000 * HOUR_MS, tokenId: token.id, endUser: "named" })]);
    const { body } = await get("/tenants/acme/calls?end_user=named");
    expect(body.token_names).toEqual({ [token.id]: token.name });
    expect((await get("/tenants/acme/calls?cache=miss")).body.token_names).toEqual({});
    const one = await get(`/tenants/acme/calls/${body.data[0].trace_id}`);
    expect(one.body.token_name).toBe(token.name);
    const hour = Date.parse(body.data[0].at);
    const range = `from=${new Date(hour).toISOString()}&to=${new Date(hour + HOUR_MS).toISOString()}`;
    expect((await get(`/tenants/acme/calls/facets?${range}`)).body.token_names).toEqual({ [token.id]: token.name });
  });

  test("[d9.3] finds calls by the provider's id of any of their requests, what became of them in the cache, estimates, attempts and cost", async () => {
    const found = async (query: string): Promise<unknown> => {
      const { status, body } = await get(`/tenants/acme/calls?${query}`);
      expect([query, status]).toEqual([query, 200]);
      return body.data.map((one: any) => rows.findIndex(({ record }) => record.traceId === one.trace_id));
    };
    expect([
      await found("provider_request_id=req_answered"),
      await found("provider_request_id=req_refused"),
      await found("provider_request_id=req_other"),
      await found("provider_request_id=req_none"),
      await found("cache=miss"),
      await found("cache=bypass"),
      await found("cache=hit"),
      await found("estimated=true"),
      await found("min_attempts=2"),
      await found("max_cost_usd=0.000000007"),
      await found("status_class=4xx&stream=true"),
      await found(`trace_id=${rows[0]!.record.traceId}`),
      await found("operation=embeddings&cache=bypass&estimated=true"),
    ]).toEqual([[0], [0], [2], [], [1], [2], [], [2], [0], [0], [1], [0], [2]]);
    expect((await get("/projects/site/calls?provider_request_id=req_other")).body.data).toEqual([]);
    expect((await get("/tenants/acme/calls?cache=miss")).body.data[0]).toMatchObject({
      cache: "miss",
      estimated: false,
    });
    expect((await get("/tenants/acme/calls")).body.looked_to).toBeNull();
  });
});

describe("GET .../calls/histogram", () => {
  test("[d14.3] counts the last 24 hours in hours, with cost, tokens and durations, and only what the caller may see", async () => {
    const { status, body } = await get("/tenants/acme/calls/histogram");
    expect(status).toBe(200);
    expect([
      body.data.length,
      body.bucket,
      body.data[0].at,
      body.to,
      body.as_of,
      body.looked_to,
      body.whole_until,
    ]).toEqual([
      24,
      "1h",
      "2026-06-14T13:00:00.000Z",
      "2026-06-15T13:00:00.000Z",
      "2026-06-15T12:30:00.000Z",
      null,
      null,
    ]);
    expect(body.data.slice(-2)).toMatchObject([
      { at: "2026-06-15T11:00:00.000Z", calls: 2, errors: 1, unpriced: 0, estimated: 1, cost_usd: "0.000001" },
      {
        at: "2026-06-15T12:00:00.000Z",
        calls: 1,
        errors: 0,
        prompt_tokens: 100,
        cost_usd: "0.000000007",
        mean_ms: 300,
      },
    ]);
    const counts = async (path: string, as?: string): Promise<unknown> =>
      (await get(path, as)).body.data.reduce((sum: number, { calls }: any) => sum + calls, 0);
    expect([
      await counts("/projects/site/calls/histogram", "acme.site.viewer"),
      await counts("/projects/site/calls/histogram?stream=true"),
      await counts("/tenants/acme/calls/histogram?status=429"),
      await counts("/tenants/acme/calls/histogram?status=502"),
      await counts("/calls/histogram?status=502", "default.owner"),
      await counts("/calls/histogram?from=2026-06-15T11:30:00Z&to=2026-06-15T12:00:00Z&bucket=5m", "default.owner"),
      await counts("/calls/histogram?tenant_id=beta&bucket=1d", "default.owner"),
    ]).toEqual([2, 1, 1, 0, 1, 1, 1]);
    expect((await get("/projects/lab/calls/histogram")).status).toBe(404);
  });

  test("buckets of a day begin at local midnight, also when clocks change", async () => {
    const { body } = await get(
      "/tenants/acme/calls/histogram?bucket=1d&timezone=America/New_York&from=2026-03-07T05:00:00Z&to=2026-03-10T04:00:00Z",
    );
    expect([...body.data.map(({ at }: any) => at), body.to]).toEqual([
      "2026-03-07T05:00:00.000Z",
      "2026-03-08T05:00:00.000Z",
      "2026-03-09T04:00:00.000Z",
      "2026-03-10T04:00:00.000Z",
    ]);
  });

  test("[d5.1] answers with 400 and the parameter where there would be no bucket or too many", async () => {
    for (const [query, param] of [
      ["from=2026-06-15&to=2026-06-15", "from"],
      ["from=2020-01-01&bucket=1m", "bucket"],
      ["bucket=2h", "bucket"],
      ["timezone=nowhere", "timezone"],
      ["limit=3", "limit"],
    ] as const) {
      const { status, body } = await get(`/tenants/acme/calls/histogram?${query}`);
      expect([query, status, body.error.param]).toEqual([query, 400, param]);
    }
  });
});

describe("a histogram of the time with calls", () => {
  const narrow = async (query: string): Promise<Told["body"]> =>
    (await get(`/tenants/acme/calls/histogram?narrow=true&${query}`)).body;

  test("[d14.3] begins with the first call, with narrower buckets, where most of the time before has none, and counts the same calls", async () => {
    const body = await narrow("from=2026-05-16T12:30:00Z&to=2026-06-15T13:00:00Z");
    expect([body.bucket, body.data[0].at, body.to]).toEqual([
      "5m",
      "2026-06-15T06:00:00.000Z",
      "2026-06-15T13:00:00.000Z",
    ]);
    expect(body.data.reduce((sum: number, { calls }: any) => sum + calls, 0)).toBe(3);
  });

  test("[d14.3] stays whole where calls are spread over it, where there is none, and where a width is asked for", async () => {
    const spread = await narrow("from=2026-06-15T10:30:00Z&to=2026-06-15T13:00:00Z");
    expect(spread.data[0].at).toBe("2026-06-15T10:30:00.000Z");
    const empty = await narrow("from=2026-05-16T00:00:00Z&to=2026-05-17T00:00:00Z");
    expect([empty.data[0].at, empty.bucket]).toEqual(["2026-05-16T00:00:00.000Z", "1h"]);
    const asked = await narrow("from=2026-05-16T00:00:00Z&to=2026-06-15T13:00:00Z&bucket=1d");
    expect([asked.data[0].at, asked.bucket]).toEqual(["2026-05-16T00:00:00.000Z", "1d"]);
  });
});

describe("GET .../usage with the same time earlier", () => {
  test("[d14.3] sums the time that is so much earlier, and needs a time that begins", async () => {
    const { body } = await get("/tenants/acme/usage?from=2026-06-15T11:45:00Z&earlier_s=3600");
    expect([body.totals.calls, body.earlier.calls, body.earlier.errors]).toEqual([1, 1, 1]);
    expect((await get("/tenants/acme/usage?from=2026-06-15T11:45:00Z")).body.earlier).toBeNull();
    const { status, body: refused } = await get("/tenants/acme/usage?earlier_s=3600");
    expect([status, refused.error.param]).toEqual([400, "earlier_s"]);
    const first = await get("/tenants/acme/usage?from=1970-01-01T00:00:00Z&to=2026-06-15T13:00:00Z&earlier_s=31536000");
    expect([first.status, first.body.earlier?.calls]).toEqual([200, 0]);
    const coming = await get("/tenants/acme/usage?from=2099-01-01T00:00:00Z&earlier_s=60");
    expect([coming.status, coming.body.earlier?.calls]).toEqual([200, 0]);
  });

  test.each(["csv", "focus"])("[d5.1] is refused with format=%s, which has no place for it", async (format) => {
    const { status, body } = await get(`/tenants/acme/usage?from=2026-06-15T11:45:00Z&earlier_s=3600&format=${format}`);
    expect([status, body.error?.param]).toEqual([400, "earlier_s"]);
  });
});

describe("GET .../calls/facets", () => {
  test("[d14.3] names the limit, the policy or the target that calls failed of, only to those who may see it", async () => {
    const limit = { metric: "requests", window: "minute", limit: 1 };
    // its tag comes first, and yet it refused nothing
    const tried = await world.send("acme.owner", "POST", "/api/v1/admin/tenants/acme/limits", {
      ...limit,
      name: "tried",
      mode: "audit",
    });
    const mine = await world.send("acme.owner", "POST", "/api/v1/admin/tenants/acme/limits", {
      ...limit,
      name: "each",
    });
    const reports = await world.send("acme.owner", "POST", "/api/v1/admin/tenants/acme/policies", {
      name: "a-report",
      rule: "true",
      mode: "audit",
    });
    expect([mine.status, tried.status, reports.status]).toEqual([201, 201, 201]);
    const refusal = { value: "", unit: "requests", before: 1, reserved: 0, settled: null, after: 1 } as const;
    const at = { startedAtMs: HOUR - 50 * HOUR_MS, projectId: "app" };
    const refused = { ...at, status: 429, code: "rate_limit_exceeded", provider: null, model: null } as const;
    await world.calls.ingest([
      ...[1, 2].map(() =>
        rowOf({
          ...refused,
          limits: [
            { ...refusal, id: tried.body.id, wouldRefuse: true },
            { ...refusal, id: mine.body.id, wouldRefuse: false, refused: "rate_limit_exceeded" },
          ],
        }),
      ),
      // the limit refused another target, and what the client got is of the one that was called
      rowOf({
        ...at,
        status: 429,
        code: "rate_limit_exceeded",
        limits: [{ ...refusal, id: mine.body.id, wouldRefuse: false, refused: "rate_limit_exceeded" }],
      }),
      rowOf({
        ...at,
        status: 403,
        code: "policy_violation",
        policies: [
          { name: "a-report", effect: "would_deny" },
          { name: "no-cards", effect: "denied" },
        ],
      }),
      rowOf({ ...at, status: 502, code: "upstream_error" }),
      rowOf({ ...at, status: 400, code: "invalid_request", provider: null, model: null }),
    ]);
    const { body } = await get(`/projects/app/calls/facets?causes=true&from=2026-06-13&to=2026-06-14`);
    const named = (kind: string | null, subject: string | null, name: string | null) => ({ kind, subject, name });
    expect(body.causes[0]).toEqual({
      status: 429,
      code: "rate_limit_exceeded",
      ...named("limit", mine.body.id, "each"),
      calls: 2,
    });
    expect(new Set(body.causes.slice(1))).toEqual(
      new Set([
        { status: 429, code: "rate_limit_exceeded", ...named("target", "openai:gpt-4o", "openai:gpt-4o"), calls: 1 },
        { status: 403, code: "policy_violation", ...named("policy", "no-cards", "no-cards"), calls: 1 },
        { status: 502, code: "upstream_error", ...named("target", "openai:gpt-4o", "openai:gpt-4o"), calls: 1 },
        { status: 400, code: "invalid_request", ...named(null, null, null), calls: 1 },
      ]),
    );
    expect((await get("/projects/app/calls/facets?from=2026-06-13&to=2026-06-14")).body.causes).toEqual([]);
    expect((await get("/projects/site/calls/facets?causes=true")).text).not.toContain("each");
  });

  test("[d9.3] lists the most frequent values with their calls, and nothing of other tenants and projects", async () => {
    const { status, body, text } = await get("/tenants/acme/calls/facets");
    expect(status).toBe(200);
    const of = (dimension: string): unknown =>
      body.data.filter((one: any) => one.dimension === dimension).map((one: any) => [one.value, one.calls, one.errors]);
    expect([of("project"), of("route"), of("status"), of("code"), of("operation")]).toEqual([
      [
        ["site", 2, 1],
        ["app", 1, 0],
      ],
      [
        ["direct", 2, 1],
        ["fast", 1, 0],
      ],
      [["429", 1, 1]],
      [["rate_limit_exceeded", 1, 1]],
      [
        ["chat.completions", 2, 1],
        ["embeddings", 1, 0],
      ],
    ]);
    expect(text).not.toMatch(/secret|lab|beta|502/);
    expect((await get("/projects/site/calls/facets", "acme.site.viewer")).text).not.toMatch(/"app"|embeddings/);
    const few = await get("/tenants/acme/calls/facets?limit=1&route=fast");
    expect(few.body.others).toMatchObject({ route: 1, project: 0 });
    expect(few.body.data.filter((one: any) => one.dimension === "route")).toHaveLength(1);
  });
});
