// One call through the admin API: the verdict on it, its cost as a sum, the limits that applied, what calls of its route
// are usually like, and the calls around it, within what the reader may see.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { LimitOutcome } from "../../../src/core/record/record.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { attemptOf, HOUR_MS, newTraceId, rowOf } from "../../contract/store/call-records.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";

const HOUR = Date.UTC(2026, 5, 15, 12);
const MINUTE_MS = 60_000;
let world: AdminWorld;
let budgetId: string;

const usual = Array.from({ length: 9 }, (_, index) =>
  rowOf({
    startedAtMs: HOUR - HOUR_MS + index * MINUTE_MS,
    route: "fast",
    costNanoUsd: 100_000 * (index + 1),
    totalMs: 100 * (index + 1),
    tokens: [10 * (index + 1), index + 1],
  }),
);
/** 2.50 USD and 10 USD for a million tokens. */
const dear = rowOf({
  startedAtMs: HOUR + 10 * MINUTE_MS,
  route: "fast",
  endUser: "eve",
  tokens: [1000, 100],
  costNanoUsd: 1000 * 2500 + 100 * 10_000,
  attempts: [
    attemptOf({
      provider: "openai",
      model: "gpt-4o",
      usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
    }),
  ],
  totalMs: 500,
  metadata: { session_id: "s1" },
});
const oddId = newTraceId(dear.record.startedAtMs);
const odd = {
  record: { ...dear.record, traceId: oddId, cost: { nanoUsd: 123, priceId: "gone" } },
  settled: true,
};
const refusedId = newTraceId(HOUR);
const failing = (minute: number, parts = {}) =>
  rowOf({
    startedAtMs: HOUR + minute * MINUTE_MS,
    status: 502,
    code: "upstream_error",
    tokens: null,
    costNanoUsd: null,
    attempts: [
      attemptOf({
        provider: "a",
        model: "m",
        status: 500,
        code: "upstream_error",
        startMs: 0,
        totalMs: 40,
        usage: null,
      }),
    ],
    ...parts,
  });
const failed = failing(5, { endUser: "eve" });
const others = [
  failing(1),
  failing(2, { projectId: "app" }),
  failing(3, { tenantId: "beta", projectId: "lab" }),
  failing(70),
  rowOf({ startedAtMs: HOUR + 6 * MINUTE_MS, endUser: "eve" }),
  rowOf({ startedAtMs: HOUR + 7 * MINUTE_MS, endUser: "eve", tenantId: "beta", projectId: "lab" }),
  rowOf({ startedAtMs: HOUR + 20 * MINUTE_MS, endUser: "eve", metadata: { session_id: "s1" } }),
];

const refusedCall = (traceId: string, more: Partial<LimitOutcome> = {}) =>
  rowOf({
    traceId,
    startedAtMs: HOUR,
    status: 429,
    code: "insufficient_quota",
    tokens: null,
    costNanoUsd: null,
    limits: [
      {
        id: budgetId,
        value: "",
        unit: "nano_usd",
        before: 12_000_000_000,
        reserved: 0,
        settled: 0,
        after: 12_000_000_000,
        wouldRefuse: false,
        refused: "insufficient_quota",
        ...more,
      },
    ],
  });

beforeAll(async () => {
  world = await openAdminWorld();
  await world.store.change(LOCAL_ACTOR, async (writer) => {
    const { id } = await writer.createResource({
      kind: "budget",
      tenantId: "acme",
      projectId: "site",
      name: "team-month",
      document: { usd: "12", window: "month" },
    });
    budgetId = id;
  });
  await world.source.reload();
  await world.calls.ingest([...usual, dear, odd, failed, ...others, refusedCall(refusedId)]);
});
afterAll(() => world.close());

const get = (path: string, as = "acme.viewer"): Promise<Told> => world.send(as, "GET", `/api/v1/admin${path}`);

test("[d14.3] a call's cost is a sum that comes to exactly what the ledger has, or is not shown", async () => {
  const { body } = await get(`/tenants/acme/calls/${dear.record.traceId}`);
  expect(body.cost_usd).toBe("0.0035");
  expect(body.cost).toMatchObject({
    cost_usd: "0.0035",
    attempts: [
      {
        provider: "openai",
        model: "gpt-4o",
        cost_usd: "0.0035",
        parts: [
          { what: "uncached prompt tokens", units: 1000, usd_per_million: "2.5", usd: "0.0025" },
          { what: "completion tokens", units: 100, usd_per_million: "10", usd: "0.001" },
        ],
      },
    ],
  });
  expect((await get(`/tenants/acme/calls/${oddId}`)).body.cost).toBeNull();
});

test("the verdict compares a call with the medians of its route", async () => {
  const { body } = await get(`/tenants/acme/calls/${dear.record.traceId}`);
  expect(body.usual).toEqual({
    calls: 9,
    cost_usd: "0.0005",
    total_ms: 500,
    first_content_ms: 20,
    prompt_tokens: 50,
    completion_tokens: 5,
  });
  expect(body.verdict).toEqual({
    kind: "dear",
    text: "It cost 0.0035 USD, 7 times this route's median: 1,000 uncached prompt tokens are 71 % of it.",
    notes: [],
  });
  const alone = await get(`/tenants/acme/calls/${dear.record.traceId}?around=false`);
  expect([alone.body.usual, alone.body.around, alone.body.verdict.kind]).toEqual([null, null, "usual"]);
});

test("a refusal names the budget with its figures and its end", async () => {
  const { body } = await get(`/tenants/acme/calls/${refusedId}`);
  expect(body.verdict.text).toBe(
    'Refused before sending: the budget "team-month" had no room for the call: 12.00 of 12.00 USD were used in the month, and it resets on 2026-07-01 00:00 UTC.',
  );
  expect(body.limits).toMatchObject([
    {
      name: "team-month",
      kind: "budget",
      limit: "12",
      before: "12",
      window: "month",
      resets_at: "2026-07-01T00:00:00.000Z",
    },
  ]);
});

test("[d2.1] the calls around it are of the same end user, session and error, and only of what the reader may see", async () => {
  const ids = (list: readonly { readonly trace_id: string }[]): readonly string[] => list.map((one) => one.trace_id);
  const trace = (index: number): string => others[index]!.record.traceId;
  const { body } = await get(`/tenants/acme/calls/${failed.record.traceId}`);
  expect([body.around.errors, ids(body.around.error), ids(body.around.end_user)]).toEqual([
    3,
    [trace(0), trace(1)],
    [trace(4)],
  ]);
  const own = await get(`/projects/site/calls/${failed.record.traceId}`, "acme.site.viewer");
  expect([own.body.around.errors, ids(own.body.around.error)]).toEqual([2, [trace(0)]]);
  const session = await get(`/tenants/acme/calls/${dear.record.traceId}`);
  expect(ids(session.body.around.session)).toEqual([trace(6), oddId]);
  expect((await get(`/tenants/acme/calls/${trace(2)}`)).status).toBe(404);
});

test("[d11.1] a limit is shown as it was at the time of the call", async () => {
  const traceId = `${refusedId.slice(0, -1)}${refusedId.endsWith("0") ? "1" : "0"}`;
  await world.calls.ingest([refusedCall(traceId, { limit: 12_500_000_000 })]);
  const { body } = await get(`/tenants/acme/calls/${traceId}`);
  expect(body.limits).toMatchObject([{ name: "team-month", limit: "12.5" }]);
  expect(body.verdict.text).toContain("12.00 of 12.50 USD were used");
});
