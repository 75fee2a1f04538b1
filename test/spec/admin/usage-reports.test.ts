// Reports and lists of calls through the admin API (promise 9.3): groups, times, filters, totals, CSV, single calls, and that no tenant sees another's.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DAY_MS, HOUR_MS, rowOf } from "../../contract/store/call-records.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";

const NOW = Date.UTC(2026, 5, 15, 12, 30);
const DAY = Date.UTC(2026, 5, 14);
let world: AdminWorld;
const rows = [
  rowOf({
    tenantId: "acme",
    projectId: "site",
    tokenId: "t1",
    userId: "ann",
    endUser: "eve",
    model: "m1",
    startedAtMs: DAY,
    tokens: [10, 1],
    costNanoUsd: 1_000_000_000,
  }),
  rowOf({
    tenantId: "acme",
    projectId: "site",
    tokenId: "t2",
    model: "=cmd",
    startedAtMs: DAY + HOUR_MS,
    tokens: [20, 2],
    costNanoUsd: 5,
    status: 502,
    code: "upstream_error",
  }),
  rowOf(
    {
      tenantId: "acme",
      projectId: "app",
      tokenId: "t3",
      model: "m1",
      startedAtMs: DAY + DAY_MS,
      tokens: [30, 3],
      costNanoUsd: null,
    },
    false,
  ),
  rowOf({ tenantId: "beta", projectId: "lab", tokenId: "t4", model: "m9", startedAtMs: DAY, tokens: [40, 4] }),
  rowOf({ tenantId: "acme", projectId: "site", tokenId: "t1", model: "old", startedAtMs: DAY - 60 * DAY_MS }),
];
const [first, , open, others] = rows.map(({ record }) => record.traceId);

beforeAll(async () => {
  world = await openAdminWorld({ clock: { now: () => NOW, monotonic: () => performance.now() } });
  await world.calls.ingest(rows);
});
afterAll(() => world.close());

const get = (as: string, path: string): Promise<Told> => world.send(as, "GET", `/api/v1/admin${path}`);

describe("GET .../usage", () => {
  test("[d9.3] sums by day, with totals, by the requested groups and filters", async () => {
    const { status, body } = await get("acme.viewer", "/tenants/acme/usage?group_by=day&from=2026-06-01");
    expect([status, body.next_cursor]).toEqual([200, null]);
    expect(body.data).toMatchObject([
      {
        group: { day: "2026-06-14" },
        calls: 2,
        errors: 1,
        prompt_tokens: 30,
        completion_tokens: 3,
        cost_usd: "1.000000005",
      },
      { group: { day: "2026-06-15" }, calls: 1, unpriced: 1, cost_usd: "0" },
    ]);
    expect(body.totals).toMatchObject({ calls: 3, prompt_tokens: 60, cost_usd: "1.000000005" });
    const grouped = async (query: string): Promise<unknown> =>
      (await get("acme.viewer", `/tenants/acme/usage?${query}`)).body.data.map(({ calls, group }: any) => [
        ...Object.values(group),
        calls,
      ]);
    expect(await grouped("group_by=project,model&from=2026-06-01")).toEqual([
      ["app", "m1", 1],
      ["site", "=cmd", 1],
      ["site", "m1", 1],
    ]);
    expect(await grouped("group_by=token&project_id=site&from=2026-06-14T01:00:00Z")).toEqual([["t2", 1]]);
    expect(await grouped("group_by=end_user&from=2026-06-01")).toEqual([["eve", 1]]);
    expect(await grouped("group_by=user&model=m1&from=2026-06-01")).toEqual([
      [null, 1],
      ["ann", 1],
    ]);
    expect(await grouped("group_by=model&order=cost&limit=1&from=2026-06-01")).toEqual([["m1", 2]]);
    expect(await grouped("group_by=model&from=2026-04-01&to=2026-05-01")).toEqual([["old", 1]]);
  });

  test("[d9.3] pages through groups", async () => {
    const page = await get("acme.viewer", "/tenants/acme/usage?group_by=model&limit=1&from=2026-06-01");
    expect([page.body.data.length, page.body.data[0].group.model]).toEqual([1, "=cmd"]);
    const next = await get(
      "acme.viewer",
      `/tenants/acme/usage?group_by=model&limit=1&from=2026-06-01&cursor=${page.body.next_cursor}`,
    );
    expect([next.body.data[0].group.model, next.body.next_cursor]).toEqual(["m1", null]);
  });

  test("[d9.3] pages through CSV too, which holds nothing that a spreadsheet runs", async () => {
    const { headers, text } = await get(
      "acme.viewer",
      "/tenants/acme/usage?group_by=model,day&format=csv&limit=2&from=2026-06-01",
    );
    expect(headers.get("content-type")).toStartWith("text/csv");
    expect(text.split("\r\n").map((line) => line.split(",").slice(0, 3).join())).toEqual([
      "model,day,calls",
      `"'=cmd",2026-06-14,1`,
      "m1,2026-06-14,1",
      "",
    ]);
    const next = await get(
      "acme.viewer",
      `/tenants/acme/usage?group_by=model,day&format=csv&limit=2&from=2026-06-01&cursor=${headers.get("x-gateway-next-cursor")}`,
    );
    expect([next.text.split("\r\n")[1]!.slice(0, 15), next.headers.get("x-gateway-next-cursor")]).toEqual([
      "m1,2026-06-15,1",
      null,
    ]);
  });

  test("[d5.2] a word among several that is none of the dimensions is not called missing", async () => {
    for (const words of ["hour", "day,hour"]) {
      const { status, body } = await get("acme.viewer", `/tenants/acme/usage?group_by=${words}`);
      expect([status, body.error.param]).toEqual([400, `group_by[${words.split(",").length - 1}]`]);
      expect(body.error.message).toContain("expected one of tenant, ");
      expect(body.error.message).not.toContain("nothing");
    }
  });

  test("[d5.1] answers with 400 and the parameter what cannot be answered exactly", async () => {
    for (const [query, param] of [
      ["timezone=Mars/Olympus", "timezone"],
      ["timezone=%2B01:00", "timezone"],
      ["group_by=colour", "group_by[0]"],
      ["group_by=day,day", "group_by"],
      ["limit=0", "limit"],
      ["format=xml", "format"],
      ["from=yesterday", "from"],
      ["tenant_id=beta", "tenant_id"],
      ["cursor=x", "cursor"],
    ] as const) {
      const { status, body } = await get("acme.viewer", `/tenants/acme/usage?${query}`);
      expect([query, status, body.error.code, body.error.param]).toEqual([query, 400, "invalid_request", param]);
    }
  });

  test("[d2.1 d9.3] shows a tenant and a project their own calls alone, whatever they ask for, and the operator all", async () => {
    const calls = async (as: string, path: string): Promise<unknown> => (await get(as, path)).body?.totals?.calls;
    expect([
      await calls("acme.viewer", "/tenants/acme/usage"),
      await calls("acme.viewer", "/tenants/acme/usage?project_id=lab"),
      await calls("acme.site.developer", "/projects/site/usage"),
      await calls("default.owner", "/usage"),
      await calls("default.owner", "/usage?tenant_id=beta"),
    ]).toEqual([4, 0, 3, 5, 1]);
    for (const [as, path, status] of [
      ["acme.owner", "/usage", 403],
      ["acme.owner", "/tenants/beta/usage", 404],
      ["acme.owner", "/projects/lab/calls", 404],
      ["acme.owner", `/tenants/acme/calls/${others}`, 404],
      ["acme.site.viewer", `/projects/site/calls/${open}`, 404],
      ["default.admin", "/calls", 403],
    ] as const)
      expect([path, (await get(as, path)).status]).toEqual([path, status]);
  });
});

describe("GET .../calls", () => {
  test("[d9.3] lists the newest first, in pages, by filter, and shows one with its record", async () => {
    const page = await get("acme.viewer", "/tenants/acme/calls?limit=2&from=2026-06-01");
    expect(page.body.data.map((one: any) => [one.trace_id, one.at, one.cost_usd, one.settled])).toEqual([
      [open, "2026-06-15T00:00:00.000Z", null, false],
      [rows[1]!.record.traceId, "2026-06-14T01:00:00.000Z", "0.000000005", true],
    ]);
    const next = await get(
      "acme.viewer",
      `/tenants/acme/calls?limit=2&from=2026-06-01&cursor=${page.body.next_cursor}`,
    );
    expect([next.body.data.map((one: any) => one.trace_id), next.body.next_cursor]).toEqual([[first], null]);
    const ids = async (query: string): Promise<unknown> =>
      (await get("acme.viewer", `/tenants/acme/calls?${query}`)).body.data.map((one: any) =>
        rows.findIndex(({ record }) => record.traceId === one.trace_id),
      );
    expect([
      await ids("outcome=failed"),
      await ids("settled=false"),
      await ids("end_user=eve"),
      await ids("status=502&code=upstream_error"),
      await ids("project_id=app"),
      await ids("to=2026-05-01"),
    ]).toEqual([[1], [2], [0], [1], [2], [4]]);
    const { body } = await get("acme.viewer", `/tenants/acme/calls/${first}`);
    expect(body).toMatchObject({
      trace_id: first,
      tenant_id: "acme",
      end_user: "eve",
      prompt_tokens: 10,
      record: { trace_id: first, status: 200, cost_nano_usd: 1_000_000_000, price_id: "p", usage_source: "provider" },
    });
    expect((await get("default.owner", `/calls/${others}`)).body.tenant_id).toBe("beta");
  });
});

describe("[d14.3] reports of any period", () => {
  const usage = async (query: string): Promise<any> => {
    const { status, body } = await get("acme.viewer", `/tenants/acme/usage?${query}`);
    expect(status).toBe(200);
    return body;
  };

  test("begin and end at any moment, have days of a time zone, name the moment of which they are, and agree with the list", async () => {
    const cut = await usage("from=2026-06-14T00:30:00Z&to=2026-06-15T00:00:00.001Z");
    expect([cut.totals.calls, cut.totals.cost_usd, cut.as_of, cut.whole_until]).toEqual([
      2,
      "0.000000005",
      new Date(NOW).toISOString(),
      null,
    ]);
    const days = await usage("group_by=day&from=2026-06-01&timezone=America/New_York");
    expect(days.data.map((row: any) => [row.group.day, row.calls])).toEqual([
      ["2026-06-13", 2],
      ["2026-06-14", 1],
    ]);
    expect((await usage("group_by=end_user&to=2026-06-14T01:00:00Z")).data).toMatchObject([
      { group: { end_user: "eve" }, calls: 1 },
    ]);
  });

  test("say as CSV in headers of which moment they are, and until when hours count as a whole", async () => {
    const own = await openAdminWorld({ clock: { now: () => NOW, monotonic: () => performance.now() } });
    const within = { tenantId: "acme", projectId: "site", startedAtMs: DAY + HOUR_MS / 2 };
    await own.calls.ingest([rowOf(within), rowOf({ ...within, startedAtMs: DAY + DAY_MS })]);
    while ((await own.calls.prune({ callsMs: DAY + DAY_MS, detailsMs: null, placesMs: null })) > 0);
    const said = async (from: string): Promise<readonly (string | null)[]> => {
      const path = `/api/v1/admin/tenants/acme/usage?format=csv&from=${from}`;
      const { headers } = await own.send("acme.viewer", "GET", path);
      return [headers.get("x-gateway-as-of"), headers.get("x-gateway-whole-until")];
    };
    const asOf = new Date(NOW).toISOString();
    expect(await said("2026-06-14T00:15:00Z")).toEqual([asOf, new Date(DAY + HOUR_MS).toISOString()]);
    expect(await said("2026-06-14T00:00:00Z")).toEqual([asOf, null]);
    await own.close();
  });

  test("count calls without a price, and calls whose usage is estimated", async () => {
    const own = await openAdminWorld();
    await own.calls.ingest([
      rowOf({ usageSource: "estimated", endUser: "eve" }),
      rowOf({ usageSource: "estimated", costNanoUsd: null }),
      rowOf({ operation: "embeddings" }),
    ]);
    const { body } = await own.send("acme.viewer", "GET", "/api/v1/admin/tenants/acme/usage?group_by=operation");
    expect(body.totals).toMatchObject({ calls: 3, unpriced: 1, estimated: 2 });
    expect(body.data).toMatchObject([
      { group: { operation: "chat.completions" }, calls: 2, unpriced: 1, estimated: 2 },
      { group: { operation: "embeddings" }, calls: 1, unpriced: 0, estimated: 0 },
    ]);
    await own.close();
  });
});

describe("GET .../usage?format=focus", () => {
  interface FocusRow {
    readonly [column: string]: string;
  }
  /** Splits CSV by RFC 4180, of which no cell has a line break here. */
  function rowsOf(text: string): readonly FocusRow[] {
    const lines = text
      .trimEnd()
      .split("\r\n")
      .map((line) =>
        [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
          ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain!,
        ),
      );
    const [head, ...rest] = lines;
    return rest.map((cells) => Object.fromEntries(head!.map((name, at) => [name, cells[at]!])));
  }
  const nanoOf = (dollars: string): bigint => {
    const [whole, fraction = ""] = dollars.split(".");
    return BigInt(whole!) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0"));
  };
  const exported = async (as: string, path: string): Promise<readonly FocusRow[]> => {
    const { status, text } = await get(as, path);
    expect(status).toBe(200);
    return rowsOf(text);
  };

  test("[d16.6] has a row for each day, project, provider, model and route, whose sums are those of the ledger to the nano-dollar", async () => {
    const all = await exported("acme.viewer", "/tenants/acme/usage?format=focus");
    const own = rows.filter(({ record }) => record.tenantId === "acme");
    const due = own.reduce((sum, { record }) => sum + BigInt(record.cost?.nanoUsd ?? 0), 0n);
    for (const column of ["BilledCost", "EffectiveCost", "ContractedCost", "ListCost"])
      expect([column, all.reduce((sum, row) => sum + nanoOf(row[column]!), 0n)]).toEqual([column, due]);
    expect(all.reduce((sum, row) => sum + Number(row["x_Requests"]), 0)).toBe(own.length);
    expect(all.find(({ SubAccountId: project, ResourceName: model }) => project === "site" && model === "m1")).toEqual(
      expect.objectContaining({
        BilledCost: "1",
        BillingAccountId: "acme",
        BillingCurrency: "USD",
        BillingPeriodStart: "2026-06-01T00:00:00Z",
        BillingPeriodEnd: "2026-07-01T00:00:00Z",
        ChargeCategory: "Usage",
        ChargePeriodStart: "2026-06-14T00:00:00Z",
        ChargePeriodEnd: "2026-06-15T00:00:00Z",
        ConsumedQuantity: "11",
        ServiceCategory: "AI and Machine Learning",
      }),
    );
    // a spreadsheet takes no name for a formula
    expect(all.map(({ ResourceName: model }) => model)).toContain("'=cmd");
    expect(JSON.parse(all[0]!["Tags"]!)).toHaveProperty("project");
  });

  test("[d16.6] a day that is not over has the end that it will have", async () => {
    const today = (await exported("acme.viewer", "/tenants/acme/usage?format=focus")).filter(
      (row) => row["ChargePeriodStart"] === "2026-06-15T00:00:00Z",
    );
    expect(today.length).toBeGreaterThan(0);
    for (const row of today) expect(row["ChargePeriodEnd"]).toBe("2026-06-16T00:00:00Z");
  });

  test("[d16.6] has the parts of days that lie within the time, and no row of another tenant", async () => {
    const from = new Date(DAY + HOUR_MS / 2).toISOString();
    const to = new Date(DAY + DAY_MS).toISOString();
    const some = await exported("acme.viewer", `/tenants/acme/usage?format=focus&from=${from}&to=${to}`);
    expect(some.map((row) => [row["ChargePeriodStart"], row["ChargePeriodEnd"], row["BilledCost"]])).toEqual([
      ["2026-06-14T00:30:00Z", "2026-06-15T00:00:00Z", "0.000000005"],
    ]);
    expect(
      (await exported("acme.viewer", "/tenants/acme/usage?format=focus")).map((row) => row["BillingAccountId"]),
    ).not.toContain("beta");
    expect((await get("acme.viewer", "/tenants/beta/usage?format=focus")).status).toBe(404);
  });

  test("[d16.6] says which hours it has, where the calls of an hour that the time divides are not kept any more", async () => {
    const own = await openAdminWorld({ clock: { now: () => NOW, monotonic: () => performance.now() } });
    await own.calls.ingest(
      [5, 40, 65].map((minutes) => rowOf({ startedAtMs: DAY + minutes * 60_000, tenantId: "acme", projectId: "site" })),
    );
    while ((await own.calls.prune({ callsMs: DAY + DAY_MS, detailsMs: null, placesMs: null })) > 0);
    const from = new Date(DAY + HOUR_MS / 2).toISOString();
    const { text } = await own.send("acme.viewer", "GET", `/api/v1/admin/tenants/acme/usage?format=focus&from=${from}`);
    expect(rowsOf(text).map((row) => [row["ChargePeriodStart"], row["x_Requests"]])).toEqual([
      ["2026-06-14T01:00:00Z", "1"],
    ]);
    await own.close();
  });

  test("[d16.6] takes no other groups, order or time zone", async () => {
    for (const [name, value] of [
      ["group_by", "day"],
      ["order", "cost"],
      ["timezone", "Europe/Berlin"],
    ]) {
      const { status, body } = await get("acme.viewer", `/tenants/acme/usage?format=focus&${name}=${value}`);
      expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_request", name!]);
    }
  });
});
