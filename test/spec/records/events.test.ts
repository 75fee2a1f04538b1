// Events (promises 4.6, 11.4): which are reported, once, to which webhooks, and without anything that their receivers may not see.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook as Verifier } from "standardwebhooks";
import { yieldToLoop } from "../../../src/core/concurrency/event-loop.ts";
import { thresholdEvent, thresholdWatch } from "../../../src/admission/budget-thresholds.ts";
import type { EVENT_TYPES, NewEvent } from "../../../src/core/record/event.ts";
import { eventIdOf } from "../../../src/core/record/event-id.ts";
import type { LimitRule } from "../../../src/core/configured/limit.ts";
import { compileWebhooks, newWebhookSecret, webhookSchema } from "../../../src/observe/webhooks/webhook-settings.ts";
import { webhookHeaders } from "../../../src/observe/webhooks/webhook-signature.ts";
import { breakerEvent } from "../../../src/routing/health/breaker-event.ts";
import { type BreakerChange, openHealth } from "../../../src/routing/health/health.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";

const A = "/api/v1/admin";
const BUDGET: LimitRule = {
  id: "bud_1",
  name: "monthly",
  kind: "budget",
  tenantId: "acme",
  projectId: "site",
  scope: {},
  unit: "nano_usd",
  window: "month",
  limit: 10_500_000_000,
  mode: "enforce",
  onStoreFailure: "local_share",
  assumeOutputTokens: 4096,
  unpriced: "deny",
  thresholds: [
    { percent: 80, degradeTo: null },
    { percent: 100, degradeTo: "route:cheap" },
  ],
};

describe("thresholds of budgets", () => {
  test("[d4.6] a threshold that three gateways each see reached is one event in a window, and another one in the next window", async () => {
    const account = { rule: BUDGET, value: "" };
    const crossed = async (used: number, resetsAtMs: number): Promise<readonly NewEvent[]> => {
      const told: NewEvent[] = [];
      const watch = thresholdWatch(
        { status: () => ({ used, limit: BUDGET.limit, resetsAtMs }) as never, first: () => Promise.resolve(true) },
        (one) => told.push(thresholdEvent(one)),
      );
      for (let call = 0; call < 5; call++) watch(account, null);
      await yieldToLoop();
      return told;
    };
    const march = Date.parse("2026-04-01T00:00:00Z");
    const told = [
      ...(await crossed(8_400_000_000, march)),
      ...(await crossed(8_500_000_000, march)),
      ...(await crossed(9_000_000_000, march)),
    ];
    expect(told).toHaveLength(3);
    expect(new Set(told.map(({ onceKey }) => eventIdOf(onceKey!))).size).toBe(1);
    const later = [
      ...told,
      ...(await crossed(11_000_000_000, march)),
      ...(await crossed(8_400_000_000, Date.parse("2026-05-01T00:00:00Z"))),
    ];
    // 80 and 100 % of the first window, 80 % of the second
    expect(new Set(later.map(({ onceKey }) => eventIdOf(onceKey!))).size).toBe(3);
    expect(told[0]).toMatchObject({
      type: "budget.threshold_reached",
      tenantId: "acme",
      projectId: "site",
      data: {
        budget: "monthly",
        percent: 80,
        unit: "usd",
        limit: "10.5",
        used: "8.4",
        resets_at: "2026-04-01T00:00:00.000Z",
      },
    });
  });
});

describe("breakers", () => {
  const SETTINGS = { failures: 3, ratio: 0.5, windowMs: 10_000, openMs: 5_000 };
  const opened = () => {
    const changes: BreakerChange[] = [];
    return { health: openHealth((change) => changes.push(change)), changes };
  };

  test("[d11.4] opening is reported with what the breaker counted, closing when its probe has answered, and nothing in between", () => {
    const { health, changes } = opened();
    const call = (outcome: "success" | "upstream_fault", nowMs: number): void => {
      const probe = health.begin("openai:gpt-5", SETTINGS, nowMs);
      health.end("openai:gpt-5", SETTINGS, outcome, nowMs, { probe });
    };
    for (let n = 0; n < 8; n++) call("upstream_fault", n);
    expect(changes).toEqual([
      { key: "openai:gpt-5", state: "opened", faults: 3, calls: 3, windowMs: 10_000, openForMs: 5_000 },
    ]);
    call("upstream_fault", 5_100); // the probe: it stays open, for longer
    expect(changes).toHaveLength(1);
    call("success", 20_000);
    expect(changes.map(({ state }) => state)).toEqual(["opened", "closed"]);
    expect(changes.map((change) => breakerEvent(change, "here:1"))).toMatchObject([
      {
        type: "target.breaker_opened",
        tenantId: null,
        projectId: null,
        data: {
          provider: "openai",
          model: "gpt-5",
          gateway: "here:1",
          faults: 3,
          calls: 3,
          window_s: 10,
          open_for_s: 5,
        },
      },
      { type: "target.breaker_closed", tenantId: null, data: { provider: "openai", model: "gpt-5" } },
    ]);
  });

  test("[d11.4] of several routes' breakers of one target the first opening and the last closing are reported", () => {
    const { health, changes } = opened();
    const strict = { ...SETTINGS, failures: 1 };
    health.begin("a:b", strict, 0);
    health.begin("a:b", SETTINGS, 0);
    for (let n = 0; n < 5; n++) health.end("a:b", SETTINGS, "upstream_fault", n, {});
    expect(changes.map(({ state }) => state)).toEqual(["opened"]);
  });

  test("[d11.4] a tenant's own provider is reported to that tenant alone, and an address that a caller brings to no one", () => {
    const change = (key: string): BreakerChange => ({
      key,
      state: "opened",
      faults: 1,
      calls: 1,
      windowMs: 1,
      openForMs: 1,
    });
    expect(breakerEvent(change("theirs:model/with:all of acme"), "g")).toMatchObject({
      tenantId: "acme",
      projectId: null,
      data: { provider: "theirs", model: "model/with:all" },
    });
    expect(breakerEvent(change("theirs:m of acme/site"), "g")).toMatchObject({ tenantId: "acme", projectId: "site" });
    for (const key of [
      "openai:gpt-5 by T1 credential 0123",
      "openai:gpt-5 by T1 address 0123",
      "theirs:m of acme by T1 settings 0123",
      "nonsense",
    ])
      expect(breakerEvent(change(key), "g")).toBeNull();
  });
});

describe("recipients of events", () => {
  const hook = (name: string, tenantId: string | null, projectId: string | null, own: object = {}) => ({
    id: name,
    name,
    tenantId,
    projectId,
    origin: "store" as const,
    setBy: null,
    version: 1,
    document: webhookSchema.parse({ url: "https://hooks.example/in", secret: newWebhookSecret(), ...own }),
  });

  test("[d11.4] a project's webhook receives its project's events, a tenant's those of the tenant and its projects, the operator's all; and each only the types that it names", () => {
    const set = compileWebhooks([
      hook("operator", null, null),
      hook("acme", "acme", null),
      hook("beta", "beta", null),
      hook("site", "acme", "site"),
      hook("blog", "acme", "blog"),
      hook("off", "acme", null, { enabled: false }),
      hook("tokens", "acme", null, { events: ["token.*"] }),
    ]);
    const heard = (
      type: (typeof EVENT_TYPES)[number],
      tenantId: string | null,
      projectId: string | null,
    ): readonly (string | null)[] => set.recipients({ type, tenantId, projectId }).map(({ name }) => name);
    expect(heard("call.refused", "acme", "site")).toEqual(["operator", "acme", "site"]);
    expect(heard("token.created", "acme", null)).toEqual(["operator", "acme", "tokens"]);
    expect(heard("target.breaker_opened", null, null)).toEqual(["operator"]);
    expect(heard("budget.threshold_reached", "beta", "shop")).toEqual(["operator", "beta"]);
  });

  test("[d11.4] an event of a project that was removed meanwhile does not reach one of another tenant that has its id", () => {
    const set = compileWebhooks([hook("new owner", "beta", "site"), hook("new tenant", "beta", null)]);
    expect(set.recipients({ type: "call.refused", tenantId: "acme", projectId: "site" })).toEqual([]);
  });
});

describe("webhooks of the admin API", () => {
  let world: AdminWorld;
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "dragoman-webhooks-"));
    const file = join(folder, "dragoman.yaml");
    writeFileSync(
      file,
      `webhooks:\n  all: {url: "https://operator.example/in?key=hidden", secret: "${newWebhookSecret()}"}\ntenants:\n  acme:\n    webhooks:\n      filed: {url: "https://acme.example/in", secret: "${newWebhookSecret()}"}\n`,
    );
    world = await openAdminWorld({ file });
  });
  afterEach(async () => {
    await world.close();
    rmSync(folder, { recursive: true });
  });
  const make = (body: object, as = "acme.admin") =>
    world.send(as, "POST", `${A}/tenants/acme/webhooks`, { name: "mine", url: "https://93.184.215.14/in", ...body });

  test("[d11.4] a secret is generated where none is given, shown in that answer alone, stored encrypted, and signs in the form that the published library verifies", async () => {
    const made = await make({});
    const { secret } = made.body;
    expect(made.status).toBe(201);
    expect(world.source.current().webhooks.find(made.body.id)!.secret).toBe(secret);
    expect(() =>
      new Verifier(secret).verify("{}", webhookHeaders({ id: "evt_1", atMs: Date.now(), body: "{}" }, [secret])),
    ).not.toThrow();
    const answers = [
      await world.send("acme.admin", "GET", `${A}/tenants/acme/webhooks/mine`),
      await world.send("acme.admin", "GET", `${A}/tenants/acme/webhooks`),
      await world.send("acme.admin", "PATCH", `${A}/tenants/acme/webhooks/mine`, {
        url: "https://93.184.215.14/other",
        events: ["token.*"],
      }),
      await world.send("acme.admin", "PUT", `${A}/tenants/acme/webhooks/mine`, { url: "https://93.184.215.14/third" }),
      await world.send("acme.owner", "GET", `${A}/tenants/acme/audit`),
      await world.send("acme.owner", "GET", `${A}/tenants/acme/versions/1`),
    ];
    for (const { status, text } of answers) expect([status, text.includes(secret)]).toEqual([200, false]);
    // whatever was changed meanwhile, the secret is the same
    expect(world.source.current().webhooks.find(made.body.id)).toMatchObject({
      secret,
      url: "https://93.184.215.14/third",
    });
    expect(
      JSON.stringify(await world.read("select * from resources"), (_, value: unknown) =>
        typeof value === "bigint" ? String(value) : value,
      ),
    ).not.toContain(secret.slice(6));
  });

  test("[d11.4] a new secret is shown once, and the old one signs beside it for the requested time", async () => {
    const { body: made } = await make({});
    const beganMs = Date.now();
    const rotated = await world.send("acme.admin", "POST", `${A}/tenants/acme/webhooks/mine/rotate`, {
      overlap_minutes: 30,
    });
    const endedMs = Date.now();
    expect(rotated.status).toBe(200);
    expect(rotated.body.secret).not.toBe(made.secret);
    const now = world.source.current().webhooks.find(made.id)!;
    expect([now.secret, now.previous?.secret]).toEqual([rotated.body.secret, made.secret]);
    expect(now.previous!.untilMs - 30 * 60_000).toBeWithin(beganMs, endedMs + 1);
    expect((await world.send("acme.admin", "GET", `${A}/tenants/acme/webhooks/mine`)).text).not.toContain("whsec_");
    // a second rotation within that time does not end it
    for (const body of [{}, { overlap_minutes: 5 }]) {
      const again = await world.send("acme.admin", "POST", `${A}/tenants/acme/webhooks/mine/rotate`, body);
      expect(again.status).toBe(409);
      expect(again.text).toContain("signs until");
    }
    expect(world.source.current().webhooks.find(made.id)).toMatchObject({ secret: now.secret, previous: now.previous });
    await world.send("acme.admin", "POST", `${A}/tenants/acme/webhooks/mine/rotate`, { overlap_minutes: 0 });
    expect(world.source.current().webhooks.find(made.id)!.previous).toBeNull();
  });

  test("[d2.12] [d11.4] an internal address and an invalid address, secret or event type are refused with their path", async () => {
    for (const url of [
      "http://127.0.0.1/in",
      "http://169.254.169.254/",
      "http://[::1]/in",
      "ftp://93.184.215.14/",
      "https://user:secret@93.184.215.14/",
      "javascript:1",
    ])
      expect([url, (await make({ url })).status]).toEqual([url, 400]);
    // of the operator's own tenant too: only what stands in the file is the operator's
    expect(
      (
        await world.send("default.owner", "POST", `${A}/tenants/default/webhooks`, {
          name: "inside",
          url: "http://10.0.0.1/in",
        })
      ).status,
    ).toBe(400);
    for (const [field, value] of [
      ["secret", "whsec_short"],
      ["secret", "x".repeat(40)],
      ["events", ["nothing.*"]],
      ["events", []],
      ["timeout_s", 61],
      ["max_attempts", 0],
      ["previous_secret_until", "soon"],
      // without an end it would sign nothing
      ["previous_secret", `whsec_${"B".repeat(43)}=`],
    ] as const) {
      const { status, body } = await make({ [field]: value });
      expect([field, status, String(body.error.param).startsWith(field)]).toEqual([field, 400, true]);
    }
  });

  test("[d11.4] webhooks of the file are shown without secret and query, read-only, to their own tenant; those that receive all events, to the operator alone", async () => {
    const ofAcme = await world.send("acme.viewer", "GET", `${A}/tenants/acme/webhooks`);
    expect(
      ofAcme.body.data.map(({ name, origin }: { readonly name: string; readonly origin: string }) => [name, origin]),
    ).toEqual([["filed", "file"]]);
    const ofOperator = await world.send("default.owner", "GET", `${A}/tenants/default/webhooks`);
    expect(ofOperator.body.data.map(({ name }: { readonly name: string }) => name)).toEqual(["all"]);
    expect(/whsec_|hidden/.test(ofAcme.text + ofOperator.text)).toBe(false);
    expect(
      (await world.send("acme.owner", "PATCH", `${A}/tenants/acme/webhooks/filed`, { enabled: false })).body.error.code,
    ).toBe("read_only");
  });

  test("[d11.4] a delivery is shown, and queued again, to callers who may configure webhooks there, and to no other tenant", async () => {
    await make({});
    const test_ = await world.send("acme.admin", "POST", `${A}/tenants/acme/webhooks/mine/test`);
    expect(test_.body).toMatchObject({
      state: "pending",
      type: "webhook.test",
      webhook_name: "mine",
      attempts: 0,
      event: { type: "webhook.test", tenant_id: "acme" },
    });
    const at = (tenant: string) => `${A}/tenants/${tenant}/webhook_deliveries/${test_.body.id}`;
    expect((await world.send("acme.admin", "GET", at("acme"))).status).toBe(200);
    expect((await world.send("beta.admin", "GET", at("beta"))).status).toBe(404);
    expect((await world.send("beta.admin", "POST", `${at("beta")}/redeliver`)).status).toBe(404);
    expect((await world.send("acme.developer", "GET", at("acme"))).status).toBe(403);
    expect((await world.send("acme.admin", "GET", `${A}/webhook_deliveries`)).status).toBe(403);
    expect(
      (await world.send("default.owner", "GET", `${A}/webhook_deliveries?webhook_id=${test_.body.webhook_id}`)).body
        .data,
    ).toHaveLength(1);
    expect((await world.send("acme.admin", "POST", `${at("acme")}/redeliver`)).body).toMatchObject({
      state: "pending",
      attempts: 0,
    });
  });
});
