// What screens that overlook a tenant ask of the admin API: how full limits are, how providers do, and what needs
// somebody, each within what the reader may see.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { isShortage } from "../../../src/admission/limit-store.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { attemptOf, DAY_MS, HOUR_MS, rowOf } from "../../contract/store/call-records.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";
import { storedSample } from "../../harness/sample-tokens.ts";

/** A Thursday in the middle of a month. */
const NOW = Date.UTC(2026, 5, 18, 12, 30);
const RECENT = NOW - HOUR_MS;
let world: AdminWorld;
const ids: Record<string, string> = {};

const BUDGETS = [
  ["tenant-month", null, { usd: "12", window: "month" }],
  ["site-day", "site", { usd: "100", window: "day" }],
  ["app-day", "app", { usd: "100", window: "day" }],
  ["per-user", null, { tokens: 1000, window: "month", scope: { user: "*" } }],
  ["globbed", null, { usd: "5", window: "month", scope: { model: "openai:*" } }],
] as const;

/** An access token of the tenant that is configured, unlike those of other calls. */
const configuredToken = () => [...world.source.current().tokens.values()].find(({ tenantId }) => tenantId === "acme")!;

beforeAll(async () => {
  world = await openAdminWorld({
    clock: { now: () => NOW, monotonic: () => performance.now() },
    targets: () =>
      Promise.resolve(
        [
          ["sandbox:echo", null, "closed"],
          ["sandbox:words", null, "open"],
          ["sandbox:own", "T00000000000", "open"],
          ["walled:m", "acme", "open"],
        ].map(([target, owner, state]) => ({
          target: target!,
          owner: owner!,
          state: state as "open",
          inFlight: 7,
          waiting: 0,
          firstContentMs: 20.4,
          openForMs: state === "open" ? 5000 : null,
        })),
      ),
  });
  await world.store.change(LOCAL_ACTOR, async (writer) => {
    for (const [name, projectId, document] of BUDGETS)
      ids[name] = (await writer.createResource({ kind: "budget", tenantId: "acme", projectId, name, document })).id;
    ids["minute"] = (
      await writer.createResource({
        kind: "limit",
        tenantId: "acme",
        projectId: "site",
        name: "minute",
        document: { metric: "requests", window: "minute", limit: 10 },
      })
    ).id;
    for (const name of ["mine", "relay", "stern", "walled"])
      await writer.createResource({
        kind: "provider",
        tenantId: "acme",
        projectId: null,
        name,
        document: { type: "openai", base_url: "https://models.example/v1", api_key: "k" },
      });
    ids["app-minute"] = (
      await writer.createResource({
        kind: "limit",
        tenantId: "acme",
        projectId: "app",
        name: "app-minute",
        document: { metric: "requests", window: "minute", limit: 10 },
      })
    ).id;
    ids["route"] = (
      await writer.createResource({
        kind: "route",
        tenantId: "acme",
        projectId: "site",
        name: "fast",
        document: { targets: ["sandbox:echo"] },
      })
    ).id;
  });
  await world.source.reload();
  // a dollar an hour for six hours, half of it in each project
  const spending = Array.from({ length: 12 }, (_, index) =>
    rowOf({
      startedAtMs: NOW - 5.4 * HOUR_MS + Math.floor(index / 2) * HOUR_MS,
      projectId: index % 2 === 0 ? "site" : "app",
      tokenId: index % 2 === 0 ? configuredToken().id : "t1",
      endUser: index % 2 === 0 ? "eve" : "bob",
      costNanoUsd: 500_000_000,
      provider: "sandbox",
      model: "echo",
    }),
  );
  const failing = Array.from({ length: 8 }, (_, index) =>
    rowOf({
      startedAtMs: RECENT + index,
      projectId: "site",
      route: "fast",
      provider: "sandbox",
      model: "words",
      status: 502,
      code: "upstream_error",
      tokens: null,
      costNanoUsd: null,
      attempts: [attemptOf({ provider: "sandbox", model: "words", status: 500, code: "upstream_error" })],
    }),
  );
  // refused by a limit: no fault of the provider, and none of the route
  const refused = Array.from({ length: 8 }, (_, index) =>
    rowOf({
      startedAtMs: RECENT + 100 + index,
      projectId: "app",
      route: "busy",
      provider: "mine",
      model: "m",
      status: 429,
      code: "rate_limit_exceeded",
      tokens: null,
      costNanoUsd: null,
      limits: [
        {
          id: ids["app-minute"]!,
          value: "",
          unit: "requests",
          before: 10,
          reserved: 0,
          settled: 0,
          after: 10,
          wouldRefuse: false,
          refused: "rate_limit_exceeded",
        },
      ],
    }),
  );
  // each failed at one provider, and another one answered
  const saved = Array.from({ length: 6 }, (_, index) =>
    rowOf({
      startedAtMs: RECENT + 200 + index,
      projectId: "site",
      provider: "sandbox",
      model: "echo",
      tokens: null,
      costNanoUsd: null,
      attempts: [
        attemptOf({ provider: "relay", model: "m", status: 503, code: "upstream_overloaded" }),
        attemptOf({ provider: "sandbox", model: "echo" }),
      ],
    }),
  );
  // what callers asked for was refused: no fault of the provider, and none of the route
  const impossible = Array.from({ length: 6 }, (_, index) =>
    rowOf({
      startedAtMs: RECENT + 300 + index,
      projectId: "app",
      route: "strict",
      provider: "stern",
      model: "m",
      status: 400,
      code: "context_length_exceeded",
      tokens: null,
      costNanoUsd: null,
      attempts: [
        attemptOf({
          provider: "stern",
          model: "m",
          status: 400,
          code: index % 2 === 0 ? "context_length_exceeded" : "upstream_invalid_request",
        }),
      ],
    }),
  );
  const unpriced = rowOf({ startedAtMs: RECENT, projectId: "app", provider: "mine", model: "m", costNanoUsd: null });
  const foreign = rowOf({
    startedAtMs: RECENT,
    tenantId: "beta",
    projectId: "lab",
    route: "secret",
    endUser: "mallory",
  });
  await world.calls.ingest([...spending, ...failing, ...refused, ...saved, ...impossible, unpriced, foreign]);
  // what the calls have charged
  const rules = new Map(
    world.source
      .current()
      .limitRules.rulesIn("acme")
      .map((rule) => [rule.name, rule]),
  );
  for (const [name, value, units] of [
    ["tenant-month", "", 9_000_000_000],
    ["site-day", "", 3_000_000_000],
    ["per-user", "eve", 990],
    ["minute", "", 4],
  ] as const) {
    const reserved = await world.limits.reserve([{ account: { rule: rules.get(name)!, value }, units, force: true }]);
    if (isShortage(reserved)) throw new Error(`${name} has no room`);
    reserved.settle([units]);
  }
});
afterAll(() => world.close());

const get = (path: string, as = "acme.viewer"): Promise<Told> => world.send(as, "GET", `/api/v1/admin${path}`);

test("[d9.3] limits and budgets are listed with what is used, the first that will be reached first, and when that is", async () => {
  const { status, body, text } = await get("/tenants/acme/limit_states");
  expect(status).toBe(200);
  const named = Object.fromEntries(body.data.map((one: any) => [one.name, one]));
  expect(body.data[0].name).toBe("tenant-month");
  expect(named["tenant-month"]).toMatchObject({
    metric: "usd",
    limit: "12",
    begins_at: "2026-06-01T00:00:00.000Z",
    accounts: [{ value: null, used: "9", remaining: "3", share: 0.75, resets_at: "2026-07-01T00:00:00.000Z" }],
  });
  // about a dollar an hour, so the three that are left are used up in about three hours
  const hitsMs = Date.parse(named["tenant-month"].accounts[0].hits_at) - NOW;
  expect(hitsMs).toBeGreaterThan(2.5 * HOUR_MS);
  expect(hitsMs).toBeLessThan(4 * HOUR_MS);
  // 97 dollars are left for the rest of the day
  expect(named["site-day"].accounts[0].hits_at).toBeNull();
  expect(named["per-user"].accounts.map(({ value, used }: any) => [value, used])).toEqual([
    ["eve", 990],
    ["bob", 0],
  ]);
  expect(named["minute"]).toMatchObject({ kind: "limit", accounts: [{ used: 4, remaining: 6, hits_at: null }] });
  expect(text).not.toMatch(/mallory|secret/);
  expect((await get("/tenants/acme/limit_states?kind=limit")).body.data).toHaveLength(2);
});

test("[d2.1] a project sees its own limits and those of its tenant, and of the latter neither what others use nor at which rate", async () => {
  const { body, text } = await get("/projects/site/limit_states", "acme.site.viewer");
  const names = body.data.map(({ name }: any) => name).toSorted();
  expect(names).toEqual(["globbed", "minute", "per-user", "site-day", "tenant-month"]);
  expect(text).not.toContain('"bob"');
  const { body: own } = await get(`/projects/site/limit_states/${ids["tenant-month"]!}`, "acme.site.viewer");
  expect(own.consumers.map(({ dimension, value, name }: any) => [dimension, value, name])).toEqual([
    ["token", configuredToken().id, configuredToken().name],
    ["token", "tok", null],
  ]);
  expect((await get(`/projects/site/limit_states/${ids["app-day"]!}`, "acme.site.viewer")).status).toBe(404);
  expect((await get(`/tenants/beta/limit_states/${ids["tenant-month"]!}`, "beta.owner")).status).toBe(404);
});

test("[d14.3] one budget has its largest consumers and its days, which agree with usage", async () => {
  const { body } = await get(`/tenants/acme/limit_states/${ids["tenant-month"]!}`);
  const { body: usage } = await get("/tenants/acme/usage?from=2026-06-01&group_by=day");
  expect(body.days.map(({ day, cost_usd: cost }: any) => [day, cost])).toEqual(
    usage.data.map((row: any) => [row.group.day, row.cost_usd]),
  );
  expect(body.consumers.slice(0, 2)).toMatchObject([
    { dimension: "project", value: "app", cost_usd: "3" },
    { dimension: "project", value: "site", cost_usd: "3" },
  ]);
  const globbed = await get(`/tenants/acme/limit_states/${ids["globbed"]!}`);
  expect([globbed.body.consumers, globbed.body.days]).toEqual([null, null]);
});

test("[d9.3] providers are listed with their targets, failures and routes, without what belongs to single callers", async () => {
  const { status, body, text } = await get("/projects/site/provider_health");
  expect(status).toBe(200);
  const sandbox = body.data.find(({ id }: any) => id === "sandbox");
  expect(sandbox).toMatchObject({
    status: "degraded",
    attempts: 14,
    errors: 8,
    targets: [
      { model: "echo", state: "closed", first_content_ms: 20, open_for_ms: null },
      { model: "words", state: "open", open_for_ms: 5000 },
    ],
    codes: [{ code: "upstream_error", attempts: 8 }],
    last_failure: { model: "words", status: 500, code: "upstream_error" },
    routes: [{ name: "fast", project_id: "site" }],
  });
  expect(text).not.toMatch(/T00000000000|secret/);
});

test("[d9.9] a provider's health counts its attempts, those that a fallback saved, and none of calls that a limit refused", async () => {
  const { body } = await get("/projects/site/provider_health");
  expect(body.data.find(({ id }: any) => id === "relay")).toMatchObject({
    status: "down",
    attempts: 6,
    errors: 6,
    codes: [{ code: "upstream_overloaded", attempts: 6 }],
    last_failure: { model: "m", status: 503, code: "upstream_overloaded" },
  });
  const app = await get("/projects/app/provider_health", "acme.app.viewer");
  const inApp = Object.fromEntries(app.body.data.map((one: any) => [one.id, one]));
  expect(inApp.relay).toMatchObject({ status: "unused", attempts: 0, errors: 0, last_failure: null });
  expect(inApp.mine).toMatchObject({ status: "unused", attempts: 0, errors: 0 });
});

test("[d9.9] what callers ask for and a provider refuses is no failure of the provider, and none of the route", async () => {
  const { body } = await get("/projects/app/provider_health", "acme.app.viewer");
  expect(body.data.find(({ id }: any) => id === "stern")).toMatchObject({
    status: "ok",
    attempts: 6,
    errors: 0,
    codes: [],
    last_failure: null,
  });
  const { body: matters } = await get("/tenants/acme/attention");
  const subjects = matters.data.map(({ kind, subject }: any) => `${kind} ${subject}`);
  expect(subjects).toContain("route fast");
  expect(subjects).not.toContain("route strict");
  expect(subjects).not.toContain("provider stern");
});

test("[d9.9] a tenant's own provider is down while its targets are avoided", async () => {
  for (const path of ["/tenants/acme/provider_health", "/projects/app/provider_health"]) {
    const { body } = await get(path);
    expect(body.data.find(({ id }: any) => id === "walled")).toMatchObject({
      status: "down",
      targets: [{ model: "m", state: "open", open_for_ms: 5000 }],
    });
  }
});

test("[d9.9] of a tenant, a provider has the routes of its projects", async () => {
  const { body } = await get("/tenants/acme/provider_health");
  expect(body.data.find(({ id }: any) => id === "sandbox").routes).toEqual([{ name: "fast", project_id: "site" }]);
});

test("[d9.3] what needs somebody is listed, and tokens only for those who may list them", async () => {
  const kinds = async (path: string, as: string) => {
    const { status, body } = await get(path, as);
    expect(status).toBe(200);
    return body.data.map(({ kind, subject }: any) => `${kind} ${subject}`);
  };
  const seen = await kinds("/tenants/acme/attention", "acme.viewer");
  expect(seen).toEqual(
    expect.arrayContaining([
      `budget ${ids["tenant-month"]!}`,
      "provider sandbox",
      "provider relay",
      "route fast",
      "price mine:m",
    ]),
  );
  expect(seen.filter((one: string) => one.startsWith("token"))).toEqual([]);
  expect(seen).not.toContain("route busy");
  expect(seen).not.toContain("provider mine");
  await world.store.change(LOCAL_ACTOR, async (writer) => {
    await writer.createToken(
      storedSample({
        id: "T00000000001",
        name: "old",
        secrets: [{ sha256: new Uint8Array(32).fill(9), retiresAtMs: null }],
        createdAtMs: NOW,
        lifetimeMs: 3 * DAY_MS,
        expiresAtMs: NOW + 3 * DAY_MS,
      }),
    );
  });
  await world.source.reload();
  expect(await kinds("/tenants/acme/attention", "acme.admin")).toContain("token T00000000001");
  expect(await kinds("/projects/site/attention", "acme.site.maintainer")).toContain("token T00000000001");
  expect(await kinds("/projects/app/attention", "acme.app.maintainer")).not.toContain("token T00000000001");
  const own = await kinds("/projects/app/attention", "acme.app.viewer");
  expect(own).toContain("price mine:m");
  expect(own.filter((one: string) => /^(?:route|token)/.test(one))).toEqual([]);
  // at the rate of the project's own calls its day ends long before its budget
  expect(own).not.toContain(`budget ${ids["app-day"]!}`);
});

test("[d9.3] a token that expires needs somebody, however many newer ones the tenant has", async () => {
  const written = async (...tokens: readonly Partial<Parameters<typeof storedSample>[0]>[]): Promise<void> => {
    await world.store.change(LOCAL_ACTOR, async (writer) => {
      for (const one of tokens)
        await writer.createToken(storedSample({ createdAtMs: NOW, expiresAtMs: NOW + 90 * DAY_MS, ...one }));
    });
  };
  const secrets = (number: number) => {
    const sha256 = new Uint8Array(32).fill(1);
    new DataView(sha256.buffer).setUint32(0, number);
    return [{ sha256, retiresAtMs: null }];
  };
  await written({
    id: "T00000000002",
    projectId: "app",
    secrets: secrets(0),
    createdAtMs: NOW - 80 * DAY_MS,
    expiresAtMs: NOW + 10 * DAY_MS,
  });
  await written(
    ...Array.from({ length: 1001 }, (_, index) => ({
      id: `N${String(index).padStart(11, "0")}`,
      projectId: index % 2 === 0 ? "site" : "app",
      secrets: secrets(index + 1),
    })),
  );
  await world.source.reload();
  const { body } = await get("/tenants/acme/attention", "acme.admin");
  const told = body.data.filter(({ kind }: any) => kind === "token").map(({ subject }: any) => subject);
  expect(told).toContain("T00000000002");
  await world.store.change(LOCAL_ACTOR, (writer) =>
    writer.changeToken("T00000000002", (now) => ({ ...now, revokedAtMs: NOW })),
  );
  await world.source.reload();
  const later = (await get("/tenants/acme/attention", "acme.admin")).body.data;
  expect(later.map(({ subject }: any) => subject)).not.toContain("T00000000002");
}, 60_000);

test("[d9.9] a limit that refuses many calls needs somebody, with the routes of these calls", async () => {
  for (const [place, as] of [
    ["/tenants/acme", "acme.viewer"],
    ["/projects/app", "acme.app.viewer"],
  ] as const) {
    const { body } = await get(`${place}/attention`, as);
    const told = body.data.filter(({ kind }: any) => kind === "limit");
    expect(told).toEqual([
      {
        kind: "limit",
        subject: ids["app-minute"]!,
        text: expect.stringMatching(
          /^The limit "app-minute" refused 8 of \d+ calls lately\. They were calls of the route "busy"\.$/,
        ),
        at: null,
      },
    ]);
  }
  const { body } = await get("/projects/site/attention", "acme.site.viewer");
  expect(body.data.filter(({ kind }: any) => kind === "limit")).toEqual([]);
});

test("[d16.4] a guard whose service gives no verdict needs somebody, in its own project and its tenant", async () => {
  const guard = { on: "both", action: "mask", service: { type: "request", url: "https://judge.example/" } };
  const made = new Map<string, string>();
  await world.store.change(LOCAL_ACTOR, async (writer) => {
    for (const [name, more] of [
      ["down", {}],
      ["open", { on_error: "allow" }],
      ["fine", {}],
    ] as const) {
      const place = { kind: "policy", tenantId: "acme", projectId: "site", name } as const;
      const { id } = await writer.createResource({ ...place, document: { guard: { ...guard, ...more } } });
      made.set(name, id);
    }
  });
  const [down, open, fine] = ["down", "open", "fine"].map((name) => made.get(name)!);
  await world.source.reload();
  const use = (policy: string, failures: number) => ({
    policy,
    type: "request" as const,
    place: "input" as const,
    requests: 1,
    characters: 5,
    waitedMs: 1,
    slowestMs: 1,
    found: [],
    failures,
    costNanoUsd: null,
  });
  await world.calls.ingest(
    Array.from({ length: 6 }, (_, index) =>
      rowOf({
        startedAtMs: RECENT + 500 + index,
        projectId: "site",
        guardServices: [use("down", 1), ...(index === 0 ? [] : [use("open", 2)]), use("fine", index === 0 ? 1 : 0)],
      }),
    ),
  );
  const guards = async (path: string, as: string) =>
    (await get(`${path}/attention`, as)).body.data.filter(({ kind }: any) => kind === "guard");
  for (const [path, as] of [
    ["/projects/site", "acme.site.viewer"],
    ["/tenants/acme", "acme.viewer"],
  ] as const) {
    const told = await guards(path, as);
    expect(told).toEqual(
      expect.arrayContaining([
        {
          kind: "guard",
          subject: down,
          text: 'The service of the guard "down" gave no verdict in 6 calls lately. What it should have judged was refused.',
          at: null,
        },
        {
          kind: "guard",
          subject: open,
          text: 'The service of the guard "open" gave no verdict in 5 calls lately. What it should have judged passed unchecked.',
          at: null,
        },
      ]),
    );
    // one failure among many calls is none
    expect(told.map(({ subject }: any) => subject)).not.toContain(fine);
  }
  expect(await guards("/projects/app", "acme.app.viewer")).toEqual([]);
});

test("[d14.1] tokens are listed with the time of their last call", async () => {
  const ofSite = [...world.source.current().tokens.values()]
    .filter(({ kind, projectId }) => kind === "project" && projectId === "site")
    .map(({ id }) => id)
    .filter((id) => id !== configuredToken().id);
  const [used, unused] = ofSite as [string, string];
  await world.calls.ingest([rowOf({ startedAtMs: NOW - 5, projectId: "site", tokenId: used })]);
  const { body } = await get("/projects/site/tokens?limit=1000", "acme.site.maintainer");
  const lasts = new Map(body.data.map((token: any) => [token.id, token.last_used_at]));
  expect(lasts.get(used)).toBe(new Date(NOW - 5).toISOString());
  expect(lasts.get(unused)).toBeNull();
});

test("[d2.1] a drain is begun by an admin of the tenant, seen in its projects, and neither seen nor ended by others", async () => {
  const drain = "/api/v1/admin/tenants/acme/providers/sandbox/drain";
  expect((await world.send("acme.maintainer", "POST", drain, { minutes: 5 })).status).toBe(403);
  expect((await world.send("beta.owner", "POST", drain, { minutes: 5 })).status).toBe(404);
  const begun = await world.send("acme.admin", "POST", drain, { minutes: 5, model: "words", note: "upkeep" });
  expect(begun).toMatchObject({
    status: 200,
    body: { provider: "sandbox", model: "words", until: "2026-06-18T12:35:00.000Z", note: "upkeep" },
  });
  const drainsAt = async (path: string, as: string): Promise<readonly string[]> =>
    (await get(path, as)).body.data.flatMap(({ drains }: any) => drains.map(({ model }: any) => model));
  expect(await drainsAt("/projects/site/provider_health", "acme.site.viewer")).toEqual(["words"]);
  expect(await drainsAt("/tenants/beta/provider_health", "beta.owner")).toEqual([]);
  expect((await get("/tenants/acme/drains", "beta.owner")).status).toBe(404);
  expect((await world.send("beta.owner", "DELETE", `${drain}?model=words`)).status).toBe(404);
  expect((await world.send("acme.admin", "DELETE", drain)).status).toBe(404);
  expect((await get("/tenants/acme/drains")).body.data).toHaveLength(1);
  expect((await world.send("acme.admin", "DELETE", `${drain}?model=words`)).status).toBe(204);
  expect((await get("/tenants/acme/drains")).body.data).toEqual([]);
});

test("a drain says what is wrong with it, and where", async () => {
  const drain = "/api/v1/admin/tenants/acme/providers/sandbox/drain";
  for (const [body, param] of [
    [{}, "minutes"],
    [{ minutes: 0 }, "minutes"],
    [{ minutes: 10_081 }, "minutes"],
    [{ minutes: 1, model: "a b" }, "model"],
    [{ minutes: 1, note: "a\nb" }, "note"],
    [{ minutes: 1, until: "tomorrow" }, "until"],
  ] as const) {
    const { status, body: answer } = await world.send("acme.admin", "POST", drain, body);
    expect([body, status, answer.error.param]).toEqual([body, 400, param]);
  }
  const nobody = await world.send("acme.admin", "POST", drain.replace("sandbox", "nobody"), { minutes: 1 });
  expect([nobody.status, nobody.body.error.message]).toEqual([404, expect.stringContaining("provider nobody")]);
});

test("[d14.3] a budget without a period has the days that were the last", async () => {
  const { result } = await world.store.change(LOCAL_ACTOR, (writer) =>
    writer.createResource({
      kind: "budget",
      tenantId: "beta",
      projectId: null,
      name: "total",
      document: { usd: "12", window: "total" },
    }),
  );
  await world.source.reload();
  await world.calls.ingest(
    Array.from({ length: 120 }, (_, index) =>
      rowOf({ startedAtMs: NOW - index * DAY_MS, tenantId: "beta", projectId: "lab" }),
    ),
  );
  const { body } = await get(`/tenants/beta/limit_states/${result.id}`, "beta.owner");
  const days = body.days.map(({ day }: { readonly day: string }) => day);
  expect([days.length, days[0], days.at(-1)]).toEqual([100, "2026-03-11", "2026-06-18"]);
});

test("[d14.3] of a budget with a route, those end users are shown who use the route, however much others use elsewhere", async () => {
  const { result } = await world.store.change(LOCAL_ACTOR, (writer) =>
    writer.createResource({
      kind: "budget",
      tenantId: "beta",
      projectId: null,
      name: "of-a-route",
      document: { tokens: 1000, window: "day", scope: { route: "quiet", user: "*" } },
    }),
  );
  await world.source.reload();
  const called = (route: string, endUser: string, tokens: number) =>
    rowOf({ startedAtMs: RECENT, tenantId: "beta", projectId: "lab", route, endUser, tokens: [tokens, 0] });
  await world.calls.ingest([
    ...Array.from({ length: 6 }, (_, index) => called("loud", `user-${index}`, 5000)),
    called("quiet", "low", 10),
  ]);
  const { body } = await get(`/tenants/beta/limit_states/${result.id}`, "beta.owner");
  expect(body.accounts.map(({ value }: { readonly value: string }) => value)).toEqual(["low"]);
});
