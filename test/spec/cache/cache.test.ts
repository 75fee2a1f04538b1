// The response cache through the whole gateway (promises 13.4 and 13.5): when it is on, what a hit is, what is never kept,
// and how equal calls share one request. test/engine/cache/cache-properties.test.ts compares random pairs of requests.
import { describe, expect, test } from "bun:test";
import type { AnswerCache } from "../../../src/cache/answer-cache.ts";
import { openMemoryCache } from "../../../src/cache/memory.ts";
import { LONG_BODY_BYTES } from "../../../src/engine/long-bodies/long-body-thread.ts";
import type { LongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import type { VendorObjects } from "../../../src/engine/objects/vendor-objects.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { type UpstreamClient, UpstreamFault } from "../../../src/wire/upstream.ts";
import { ASK, cachedGateway, COST_NANO_USD, type Cached, STREAMED, WHOLE } from "../../harness/cached.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { type CannedAnswer, cannedUpstream } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { until } from "../../harness/time/until.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { manualUpstream, type ManualUpstream } from "../manual-upstream.ts";

const ASK_STREAM = { ...ASK, stream: true };

interface Heard {
  readonly status: number;
  readonly cache: string | null;
  readonly headers: Headers;
  readonly text: string;
  readonly body: any;
}

async function ask(gateway: Cached, fields: object = {}, headers: Record<string, string> = {}): Promise<Heard> {
  const response = await gateway.chat({ ...ASK, ...fields }, { headers });
  const text = await response.text();
  return {
    status: response.status,
    cache: response.headers.get("x-gateway-cache"),
    headers: response.headers,
    text,
    body: text.startsWith("{") ? JSON.parse(text) : null,
  };
}

/** What the header says of two equal calls, one after the other. */
async function twice(gateway: Cached, fields: object = {}, headers: Record<string, string> = {}) {
  return [(await ask(gateway, fields, headers)).cache, (await ask(gateway, fields, headers)).cache] as const;
}

describe("when it is on", () => {
  test("[d13.4] it is off unless the tenant allows it and a route, project or request turns it on", async () => {
    expect(await twice(cachedGateway({ setting: null }))).toEqual([null, null]);
    expect(await twice(cachedGateway())).toEqual(["miss", "hit"]);
    expect(await twice(cachedGateway({ setting: null }), { cache: { ttl_s: 60 } })).toEqual(["miss", "hit"]);
    const route = routeOf("r", ["one:m"], { cache: { ttlMs: 60_000, scope: "token" } });
    const routed = cachedGateway({ setting: null, snapshot: { routes: new Map([["r", route]]) } });
    expect(await twice(routed, { model: undefined, route: "r" })).toEqual(["miss", "hit"]);
    for (const [setting, fields] of [
      [{ ttlMs: 60_000, scope: "token" }, {}],
      [null, { cache: { ttl_s: 60 } }],
    ] as const) {
      const forbidden = cachedGateway({ isAllowed: false, setting });
      expect(await twice(forbidden, fields)).toEqual(["bypass", "bypass"]);
      expect(forbidden.sent).toHaveLength(2);
      expect(forbidden.records[0]!.cache).toMatchObject({ outcome: "bypass", bypass: "not_allowed", key: null });
    }
  });

  test("[d13.4] a route or project that says false turns it off for its calls", async () => {
    const route = routeOf("r", ["one:m"], { cache: "off" });
    const gateway = cachedGateway({ snapshot: { routes: new Map([["r", route]]) } });
    expect(await twice(gateway, { model: undefined, route: "r" })).toEqual([null, null]);
    expect(await twice(gateway, { model: undefined, route: "r", cache: { ttl_s: 9 } })).toEqual(["bypass", "bypass"]);
    expect(await twice(cachedGateway({ setting: "off" }), { cache: {} })).toEqual(["bypass", "bypass"]);
    expect(gateway.sent).toHaveLength(4);
  });

  test.each([
    ["user", "user"],
    ["project", "project"],
    // the session of a login link has the id of its user
    ["user", "token"],
  ] as const)(
    "[d2.7, d13.4] a %s that was removed and made again with the same id shares no answer with the former, by %s",
    async (_, scope) => {
      const gateway = cachedGateway({
        setting: { ttlMs: 60_000, scope },
        token: { kind: "personal", projectId: null, userId: "ann", role: null },
        snapshot: {
          memberships: new Map([["ann", [{ userId: "ann", tenantId: "default", projectId: null, role: "developer" }]]]),
        },
      });
      const before = gateway.context.snapshot();
      const asked = async (createdAtMs: number) => {
        const place = { tenantId: "default", name: "Any", createdAtMs };
        const projects = new Map([["default", { id: "default", ...place }]]);
        const users = new Map([["ann", { id: "ann", ...place }]]);
        const snapshot = { ...before, version: createdAtMs, projects, users };
        Object.assign(gateway.context, { snapshot: () => snapshot });
        return (await ask(gateway)).cache;
      };
      expect([await asked(1), await asked(1), await asked(2)]).toEqual(["miss", "hit", "miss"]);
    },
  );

  test("[d13.5] a call that outlives its tenant leaves no answer to another one that has its id", async () => {
    const gateway = cachedGateway();
    const before = gateway.context.snapshot();
    const projects = new Map([...before.projects].map(([id, one]) => [id, { ...one, createdAtMs: 2 }]));
    let taken = 0;
    // the call takes the first one
    const snapshot = () => (taken++ === 0 ? before : { ...before, version: 2, projects });
    Object.assign(gateway.context, { snapshot });
    expect((await ask(gateway)).cache).toBe("bypass");
    expect(gateway.cache.figures()).toMatchObject({ entries: 0, flights: 0 });
    taken = 1;
    expect(await twice(gateway)).toEqual(["miss", "hit"]);
  });

  test("[d13.4] a request can only narrow the scope", async () => {
    const gateway = cachedGateway({ setting: { ttlMs: 60_000, scope: "project" } });
    for (const scope of ["token", "user", "project"])
      expect((await ask(gateway, { cache: { scope } })).status).toBe(200);
    const wide = await ask(gateway, { cache: { scope: "tenant" } });
    expect([wide.status, wide.body.error.code, wide.body.error.param]).toEqual([400, "invalid_request", "cache.scope"]);
    const own = await ask(cachedGateway({ setting: null }), { cache: { scope: "user" } });
    expect([own.status, own.body.error.param]).toEqual([400, "cache.scope"]);
  });

  test.each([
    [{ cache: true }, "cache"],
    [{ cache: "on" }, "cache"],
    [{ cache: { ttl_s: 0 } }, "cache.ttl_s"],
    [{ cache: { ttl_s: "60" } }, "cache.ttl_s"],
    [{ cache: { ttl_s: 9_999_999 } }, "cache.ttl_s"],
    [{ cache: { scope: "world" } }, "cache.scope"],
    [{ cache: { ttl: 5 } }, "cache.ttl"],
    [{ fallbacks: [{ model: "two:m", cache: { ttl_s: 5 } }] }, "fallbacks[0].cache"],
  ])("%j is refused with its path", async (fields, param) => {
    const { status, body } = await ask(cachedGateway(), fields);
    expect([status, body.error.param]).toEqual([400, param]);
  });

  test("[d13.4] [d3.4] a target whose route forbids the scope is skipped like any other that is refused", async () => {
    const cache = (scope: "token" | "project") => ({ cache: { ttlMs: 60_000, scope } });
    const routes = new Map(
      [
        routeOf("wide", ["one:m"], cache("project")),
        routeOf("narrow", ["one:m", "two:m"], cache("token")),
        routeOf("last", ["two:m"], cache("project")),
      ].map((route) => [route.name, route]),
    );
    const answering = cannedUpstream(WHOLE);
    const upstream: UpstreamClient = {
      async send(request, upstreamCall) {
        if (new URL(request.url).host === "one.test") throw new UpstreamFault("connection", "reset");
        return answering.send(request, upstreamCall);
      },
    };
    const asked = async (fallbacks: readonly string[]) => {
      const gateway = cachedGateway({ setting: null, upstream, snapshot: { routes } });
      const fields = { model: undefined, route: "wide", cache: { scope: "project" }, num_retries: 0, fallbacks };
      const { status, body } = await ask(gateway, fields);
      return [status, body.route ?? body.error.code];
    };
    expect(await asked(["route:narrow", "route:last"])).toEqual([200, "last"]);
    expect(await asked(["route:narrow"])).toEqual([502, "upstream_connection"]);
  });

  test("[d13.4] no-store goes past the cache, no-cache keeps a new answer, max-age bounds the age", async () => {
    let nowMs = 1_767_225_600_000;
    const clock = { now: () => nowMs, monotonic: () => performance.now() };
    const gateway = cachedGateway({ clock });
    expect(await twice(gateway, {}, { "cache-control": "no-store" })).toEqual(["bypass", "bypass"]);
    expect(await twice(gateway, { cache: false })).toEqual(["bypass", "bypass"]);
    expect(await twice(gateway)).toEqual(["miss", "hit"]);
    expect(await twice(gateway, {}, { "cache-control": "max-age=0, No-Cache" })).toEqual(["miss", "miss"]);
    expect((await ask(gateway)).cache).toBe("hit");
    nowMs += 10_000;
    expect((await ask(gateway, {}, { "cache-control": "max-age=9" })).cache).toBe("miss");
    nowMs += 9_000;
    expect((await ask(gateway, {}, { "cache-control": "max-age=9" })).cache).toBe("hit");
    nowMs += 61_000;
    expect((await ask(gateway)).cache).toBe("miss");
    expect(gateway.sent).toHaveLength(9);
  });

  test("[d13.4] a call with its own ttl_s takes no older answer", async () => {
    let nowMs = 1_767_225_600_000;
    const gateway = cachedGateway({ clock: { now: () => nowMs, monotonic: () => performance.now() } });
    await ask(gateway);
    nowMs += 5_000;
    expect((await ask(gateway, { cache: { ttl_s: 4 } })).cache).toBe("miss");
    expect((await ask(gateway, { cache: { ttl_s: 4 } })).cache).toBe("hit");
  });
});

test("[d9.4] an explanation shows how a call would use it", async () => {
  const explained = async (gateway: Cached, fields: object = {}) => {
    const { status, body } = await ask(gateway, fields, { "x-gateway-explain": "true" });
    return status === 200 ? (body.targets[0].cache as unknown) : body.error.param;
  };
  const gateway = cachedGateway({ permissions: ["debug", "byo_endpoint"] });
  expect(await explained(gateway)).toEqual({ ttl_s: 60, scope: "token", reads: true });
  expect(await explained(gateway, { cache: false })).toEqual({ bypass: "no_store" });
  expect(await explained(gateway, { cache: { scope: "tenant" } })).toBe("cache.scope");
  expect(await explained(cachedGateway({ setting: null, permissions: ["debug"] }))).toBeNull();
  // another thread would hold the call, but not its explanation
  const long = { messages: [{ role: "user", content: "x".repeat(LONG_BODY_BYTES) }] };
  const holding = cachedGateway({ permissions: ["debug"], longRequests: {} as LongRequests });
  expect(await explained(holding, long)).toEqual({ bypass: "long_request" });
  expect(await explained(gateway, long)).toEqual({ ttl_s: 60, scope: "token", reads: true });
  // the body is long, and its translation is not
  const letters = "\\u0078".repeat(LONG_BODY_BYTES / 6);
  const escaped = `{"model":"one:m","max_tokens":5,"messages":[{"role":"user","content":"${letters}"}]}`;
  const answer = await holding.call(MESSAGES, escaped, { headers: { "x-gateway-explain": "true" } });
  expect(((await answer.json()) as any).targets[0].cache).toEqual({ bypass: "long_request" });
  expect(gateway.sent).toEqual([]);
});

describe("a hit", () => {
  test("[d13.5] has ids of its own, the asking call's trace id, and says what it saved", async () => {
    const gateway = cachedGateway();
    const [first, second] = [await ask(gateway), await ask(gateway)];
    expect([first.cache, second.cache]).toEqual(["miss", "hit"]);
    expect(first.body.id).toBe("chatcmpl-of-the-provider");
    expect(second.body.id).toBe(`chatcmpl-${second.body.x_gateway_trace_id}`);
    expect(second.body.x_gateway_trace_id).toBe(second.headers.get("x-gateway-trace-id"));
    expect({ ...second.body, id: "", x_gateway_trace_id: "" }).toEqual({
      ...first.body,
      id: "",
      x_gateway_trace_id: "",
    });
    expect(first.headers.get("x-gateway-cache-key")).toMatch(/^[0-9a-f]{64}$/);
    expect(second.headers.get("x-gateway-cache-key")).toBe(first.headers.get("x-gateway-cache-key"));
    const [paid, free] = gateway.records;
    expect([paid!.cost?.nanoUsd, paid!.cache?.savedNanoUsd]).toEqual([COST_NANO_USD, null]);
    expect(free).toMatchObject({
      status: 200,
      usage: { total_tokens: 12 },
      usageSource: "provider",
      cost: { nanoUsd: 0 },
      cache: { outcome: "hit", scope: "token", ageMs: 0, savedNanoUsd: COST_NANO_USD },
      provider: "one",
      providerModel: "m-2026",
      finishReasons: ["stop"],
    });
    expect(free!.attempts).toMatchObject([{ status: null, code: null, fromCache: true }]);
    expect(gateway.sent).toHaveLength(1);
  });

  test("[d13.5] of a stream is a stream, event for event, with an id of its own", async () => {
    const gateway = cachedGateway({ answer: STREAMED });
    const fields = { stream: true, stream_options: { include_usage: true } };
    const [first, second] = [await ask(gateway, fields), await ask(gateway, fields)];
    expect([first.cache, second.cache]).toEqual(["miss", "hit"]);
    const own = (text: string, id: string): string =>
      text.replaceAll(`"id":"${id}"`, '"id":""').replaceAll(/"x_gateway_trace_id":"[0-9a-f]+"/g, '""');
    const traceId = second.headers.get("x-gateway-trace-id")!;
    expect(second.text).not.toContain("chatcmpl-of-the-provider");
    expect(own(second.text, `chatcmpl-${traceId}`)).toBe(own(first.text, "chatcmpl-of-the-provider"));
    expect(gateway.sent).toHaveLength(1);
  });

  test("[d13.4] a streamed answer is never replayed as a whole one, nor the other way round", async () => {
    const gateway = cachedGateway({ answer: ({ body }) => (body.includes('"stream":true') ? STREAMED : WHOLE) });
    expect((await ask(gateway)).cache).toBe("miss");
    expect((await ask(gateway, { stream: true })).cache).toBe("miss");
    expect((await ask(gateway)).cache).toBe("hit");
    expect((await ask(gateway, { stream: true })).cache).toBe("hit");
  });

  test("[d13.5] counts under limits; a budget counts it only if it says so", async () => {
    const limitRules = limitSet({
      limits: {
        calls: { metric: "requests", window: "minute", limit: 2 },
        tokens: { metric: "tokens", window: "minute", limit: 100_000 },
      },
      budgets: {
        free: { usd: "1", window: "day" },
        full: { usd: "1", window: "day", cache_hits: "full" },
        tokens_free: { tokens: 100_000, window: "day" },
        tokens_full: { tokens: 100_000, window: "day", cache_hits: "full" },
      },
    });
    const gateway = cachedGateway({ snapshot: { limitRules } });
    await ask(gateway);
    expect((await ask(gateway)).cache).toBe("hit");
    const settled = Object.fromEntries(gateway.records[1]!.limits.map((limit) => [limit.id, limit.settled]));
    expect(settled).toEqual({
      id_calls: 1,
      id_tokens: 12,
      id_free: 0,
      id_full: COST_NANO_USD,
      id_tokens_free: 0,
      id_tokens_full: 12,
    });
    const third = await ask(gateway);
    expect([third.status, third.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
  });

  test("[d13.5] is refused by the rules of now, and passes the guards of now", async () => {
    const store = openMemoryCache(1_000_000);
    const plain = cachedGateway({ store });
    const { authorization } = plain;
    const tokens = plain.context.snapshot().tokens;
    const later = (document: object): Cached =>
      cachedGateway({ store, snapshot: { tokens, policies: policiesFor(document) } });
    await ask(plain);
    const denied = await ask(later({ name: "no", rule: "request.stream == false" }), {}, { authorization });
    expect([denied.status, denied.body.error.code]).toEqual([403, "policy_violation"]);
    const masking = later({ name: "mask", guard: { on: "output", action: "mask", patterns: ["day"], mask: "[x]" } });
    const masked = await ask(masking, {}, { authorization });
    expect([masked.cache, masked.body.choices[0].message.content]).toEqual(["hit", "Good [x]."]);
    const blocking = later({ name: "block", guard: { on: "output", action: "block", patterns: ["day"] } });
    expect((await ask(blocking, {}, { authorization })).status).toBe(403);
    // the answer is still there for calls to which no guard objects
    expect((await ask(plain)).cache).toBe("hit");
    expect([masking.sent, blocking.sent]).toEqual([[], []]);
  });

  test("[d13.4] is found by what is sent after masking", async () => {
    const policies = policiesFor({ name: "mask", guard: { on: "input", action: "mask", classes: ["email"] } });
    const gateway = cachedGateway({ snapshot: { policies } });
    const asking = (mail: string) => ({ messages: [{ role: "user", content: `Write to ${mail}.` }] });
    expect((await ask(gateway, asking("ada@mail.example.org"))).cache).toBe("miss");
    expect((await ask(gateway, asking("bob@mail.example.org"))).cache).toBe("hit");
    expect(gateway.sent[0]!.body).not.toContain("ada@");
  });

  test("[d13.5] says nothing about the health of the target, and takes no place there", async () => {
    const target = { name: "one:m", maxConcurrency: 1 };
    const route = routeOf("r", [target], { cache: { ttlMs: 60_000, scope: "token" } });
    const gateway = cachedGateway({ snapshot: { routes: new Map([["r", route]]) } });
    const { health } = gateway.context.routing;
    expect((await ask(gateway, { model: undefined, route: "r" })).cache).toBe("miss");
    const before = JSON.stringify(health.snapshot(0));
    expect((await ask(gateway, { model: undefined, route: "r" })).cache).toBe("hit");
    expect(JSON.stringify(health.snapshot(0))).toBe(before);
  });
});

describe("never kept", () => {
  const failing = (answer: Parameters<typeof cachedGateway>[0] & {}): Cached => cachedGateway(answer);

  test("[d13.5] failed and cut answers", async () => {
    for (const answer of [
      { status: 500, body: "no" },
      { status: 400, body: '{"error":{"message":"bad"}}' },
      { ...WHOLE, body: "<html>" },
      { ...WHOLE, cutAt: 30 },
    ]) {
      const gateway = failing({ answer });
      await ask(gateway);
      await ask(gateway);
      expect(gateway.sent).toHaveLength(2);
      expect(await gateway.store.tenants()).toEqual([]);
    }
    const cut = cachedGateway({ answer: { ...STREAMED, cutAt: 500 } });
    await ask(cut, { stream: true });
    await ask(cut, { stream: true });
    expect(cut.sent).toHaveLength(2);
    expect(cut.cache.figures()).toMatchObject({ entries: 0, flights: 0 });
  });

  test("[d13.5] answers that the provider's filter has refused or cut off", async () => {
    const withheld = (answer: CannedAnswer): CannedAnswer => ({
      ...answer,
      body: (answer.body as string).replaceAll('"finish_reason":"stop"', '"finish_reason":"content_filter"'),
    });
    for (const [answer, fields] of [
      [withheld(WHOLE), {}],
      [withheld(STREAMED), { stream: true }],
    ] as const) {
      const gateway = cachedGateway({ answer });
      expect((await ask(gateway, fields)).text).toContain('"finish_reason":"content_filter"');
      expect((await ask(gateway, fields)).cache).toBe("miss");
      expect(gateway.sent).toHaveLength(2);
      expect(gateway.cache.figures()).toMatchObject({ entries: 0, flights: 0 });
    }
  });

  test("[d13.5] answers that a guard refused", async () => {
    const policies = policiesFor({ name: "block", guard: { on: "output", action: "block", patterns: ["day"] } });
    for (const [answer, fields] of [
      [WHOLE, {}],
      [STREAMED, { stream: true }],
    ] as const) {
      const gateway = cachedGateway({ answer, snapshot: { policies } });
      await ask(gateway, fields);
      await ask(gateway, fields);
      expect(gateway.sent).toHaveLength(2);
      expect(gateway.cache.figures()).toMatchObject({ entries: 0, flights: 0 });
    }
  });

  test("[d13.4] calls with a caller's address or credential", async () => {
    for (const [fields, bypass] of [
      [{ api_key: "own" }, "callers_credential"],
      [{ base_url: "http://127.0.0.1:9/v1" }, "callers_address"],
      [{ base_url: "http://127.0.0.1:9/v1", api_key: "own" }, "callers_address"],
    ] as const) {
      const gateway = cachedGateway();
      expect(await twice(gateway, fields)).toEqual(["bypass", "bypass"]);
      expect(gateway.sent).toHaveLength(2);
      expect(gateway.records[1]!.cache?.bypass).toBe(bypass);
    }
  });

  test("[d13.5] calls under a policy that looks at time", async () => {
    const policies = policiesFor({ name: "late", rule: "now.getHours() > 24" });
    const gateway = cachedGateway({ snapshot: { policies } });
    expect(await twice(gateway)).toEqual(["bypass", "bypass"]);
    expect(gateway.records[0]!.cache?.bypass).toBe("time_policy");
    const elsewhere = policiesFor({ name: "late", scope: { user: "mallory" }, rule: "now.getHours() > 24" });
    expect(await twice(cachedGateway({ snapshot: { policies: elsewhere } }))).toEqual(["miss", "hit"]);
  });

  test("[d13.5] answers of calls with tool servers", async () => {
    const tools = fakeToolServers({ sky: { clock: { run: () => says("noon") } } });
    const gateway = cachedGateway({ tools });
    const fields = { tools: [{ type: "mcp", server_label: "sky" }] };
    expect(await twice(gateway, fields)).toEqual(["bypass", "bypass"]);
    expect(gateway.records[1]!.cache?.bypass).toBe("tool_servers");
    expect(gateway.cache.figures()).toMatchObject({ entries: 0, flights: 0 });
  });

  test("[d13.5] empty answers", async () => {
    const body = JSON.parse(WHOLE.body as string) as { choices: { message: { content: string } }[]; usage: object };
    body.choices[0]!.message.content = "";
    body.usage = { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 };
    const gateway = cachedGateway({ answer: { ...WHOLE, body: JSON.stringify(body) } });
    await ask(gateway);
    expect(gateway.cache.figures()).toMatchObject({ entries: 0, flights: 0 });
  });

  test.each([
    ["plain", false],
    ["streamed", true],
  ])("[d12.15] %s: answers that hand out a container or a file at the vendor", async (_, stream) => {
    const objects: VendorObjects = { find: () => Promise.resolve(new Map()), bind: () => Promise.resolve() };
    const answered = async (container: object | null): Promise<readonly (string | null)[]> => {
      const head = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null };
      const usage = { input_tokens: 9, output_tokens: 3 };
      const last = { stop_reason: "end_turn", stop_sequence: null, container };
      const text = { type: "text", text: "Good day." };
      const events = [
        { type: "message_start", message: { ...head, usage } },
        { type: "content_block_start", index: 0, content_block: text },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: last, usage },
        { type: "message_stop" },
      ];
      const body = stream
        ? events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("")
        : JSON.stringify({ ...head, ...last, content: [text], usage });
      const gateway = cachedGateway({
        objects,
        answer: { headers: { "content-type": stream ? "text/event-stream" : "application/json" }, body },
        providers: [
          providerSettings({
            id: "anthropic",
            family: "anthropic",
            baseUrl: "https://api.anthropic.com",
            credentials: [storedKey("key")],
            hostedTools: ["code_execution*"],
          }),
        ],
      });
      const outcomes: (string | null)[] = [];
      for (let call = 0; call < 2; call++) {
        const response = await gateway.call(MESSAGES, {
          model: "anthropic:m",
          max_tokens: 9,
          messages: [{ role: "user", content: "Hello" }],
          tools: [{ type: "code_execution_20250825", name: "code_execution" }],
          stream,
        });
        expect(await response.text()).toContain("Good day.");
        outcomes.push(response.headers.get("x-gateway-cache"));
      }
      return outcomes;
    };
    expect(await answered(null)).toEqual(["miss", "hit"]);
    expect(await answered({ id: "container_1", expires_at: "2099-01-01T00:00:00Z" })).toEqual(["miss", "miss"]);
  });

  test("[d12.15] equal calls at once whose answers may hand out a container send a request each", async () => {
    const objects: VendorObjects = { find: () => Promise.resolve(new Map()), bind: () => Promise.resolve() };
    let requests = 0;
    const upstream: UpstreamClient = {
      async send(request, upstreamCall) {
        const container = { id: `container_${++requests}`, expires_at: "2099-01-01T00:00:00Z" };
        await until(() => requests === 2);
        const content = [{ type: "text", text: "Good day." }];
        const usage = { input_tokens: 9, output_tokens: 3 };
        const head = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_sequence: null };
        const body = JSON.stringify({ ...head, content, stop_reason: "end_turn", container, usage });
        const answer = cannedUpstream({ headers: { "content-type": "application/json" }, body });
        return answer.send(request, upstreamCall);
      },
    };
    const gateway = cachedGateway({
      objects,
      upstream,
      providers: [
        providerSettings({
          id: "anthropic",
          family: "anthropic",
          baseUrl: "https://api.anthropic.com",
          credentials: [storedKey("key")],
          hostedTools: ["code_execution*"],
        }),
      ],
    });
    const asked = {
      model: "anthropic:m",
      max_tokens: 9,
      messages: [{ role: "user", content: "Hello" }],
      tools: [{ type: "code_execution_20250825", name: "code_execution" }],
    };
    const answers = await Promise.all([1, 2].map(() => gateway.call(MESSAGES, asked)));
    const bodies = await Promise.all(
      answers.map(async (answer) => (await answer.json()) as { container: { id: string } }),
    );
    expect(bodies.map(({ container }) => container.id).toSorted()).toEqual(["container_1", "container_2"]);
  });

  test("answers longer than max_answer_bytes, which are delivered whole", async () => {
    for (const [answer, fields] of [
      [{ ...WHOLE, chunk: 20 }, {}],
      [STREAMED, { stream: true }],
    ] as const) {
      const gateway = cachedGateway({ maxAnswerBytes: 100, answer });
      const full = await ask(cachedGateway({ answer }), fields);
      const long = await ask(gateway, fields);
      expect(long.text.length).toBe(full.text.length);
      expect((await ask(gateway, fields)).cache).toBe("miss");
      expect(gateway.cache.figures()).toMatchObject({ entries: 0, flights: 0 });
    }
  });
});

/**
 * A gateway whose provider answers as the test says, each request apart, and calls that read their answers apart from one
 * another.
 */
function flying(options: Parameters<typeof cachedGateway>[0] = {}, headWaits = false) {
  const upstreams: ManualUpstream[] = [];
  const client: UpstreamClient = {
    send(request, upstreamCall) {
      const upstream = manualUpstream({ headWaits });
      upstreams.push(upstream);
      return upstream.client.send(request, upstreamCall);
    },
  };
  const gateway = cachedGateway({ upstream: client, ...options });
  const call = (fields: object = {}) => {
    const abort = new AbortController();
    const response = gateway.chat({ ...ASK_STREAM, ...fields }, { signal: abort.signal });
    let read: Promise<string> | null = null;
    return {
      response,
      abort,
      /** Reads the answer, from the first use on. */
      get text(): Promise<string> {
        return (read ??= response.then((answer) => answer.text()));
      },
      /** The client leaves in the middle of its stream. */
      leave: async (): Promise<void> => void (await response).body!.cancel(),
    };
  };
  /** The provider's side of the request at this place, once it has come. */
  const upstream = async (place = 0): Promise<ManualUpstream> => {
    await until(() => upstreams.length > place);
    return upstreams[place]!;
  };
  return { gateway, call, upstream };
}
const chunkOf = (content: string): string =>
  `data: {"id":"p","choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}]}\n\n`;
const LAST = `data: {"id":"p","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}\n\ndata: [DONE]\n\n`;

describe("one flight", () => {
  test("[d13.5] equal calls at once share one request, and one of them pays", async () => {
    const { gateway, call, upstream } = flying();
    const calls = [call(), call(), call()];
    (await upstream()).give(chunkOf("Good"));
    await Promise.all(calls.map(({ response }) => response));
    const late = call();
    await late.response;
    (await upstream()).give(chunkOf(" day."));
    (await upstream()).give(LAST);
    const texts = await Promise.all([...calls, late].map(({ text }) => text));
    for (const text of texts) {
      expect(text).toContain('"content":"Good"');
      expect(text).toContain('"content":" day."');
      expect(text).toEndWith("data: [DONE]\n\n");
    }
    expect(new Set(texts.map((text) => /"id":"([^"]+)"/.exec(text)![1])).size).toBe(4);
    expect(gateway.sent).toHaveLength(1);
    expect(gateway.records.map(({ cache }) => cache!.outcome).toSorted()).toEqual(["hit", "hit", "hit", "miss"]);
    expect(gateway.records.reduce((sum, { cost }) => sum + cost!.nanoUsd, 0)).toBe(COST_NANO_USD);
    expect(gateway.cache.figures()).toMatchObject({ entries: 1, flights: 0 });
  });

  test("[d13.5] it belongs to none: it goes on when the call leaves that sent it, and another call pays", async () => {
    const { gateway, call, upstream } = flying();
    const [first, second] = [call(), call()];
    (await upstream()).give(chunkOf("Good"));
    await Promise.all([first.response, second.response]);
    await first.leave();
    await until(() => gateway.records.length === 1);
    expect((await upstream()).released()).toBe(false);
    (await upstream()).give(chunkOf(" day."));
    (await upstream()).give(LAST);
    expect(await second.text).toContain(" day.");
    expect(gateway.sent).toHaveLength(1);
    const [left, stayed] = gateway.records;
    expect([left!.status, left!.cost?.nanoUsd]).toEqual([499, 0]);
    expect([stayed!.cache?.outcome, stayed!.cost?.nanoUsd]).toEqual(["miss", COST_NANO_USD]);
    expect(gateway.cache.figures()).toMatchObject({ entries: 1, flights: 0 });
  });

  test.each([
    ["breaks off", new UpstreamFault("cut", "cut")],
    ["ends too early", null],
  ])("[d13.5] where it %s for all of them, the call that sent it pays", async (_, end) => {
    const { gateway, call, upstream } = flying();
    const calls = [call(), call()];
    (await upstream()).give(chunkOf("Good"));
    await Promise.all(calls.map(({ response }) => response));
    (await upstream()).give(end);
    await Promise.all(calls.map(({ text }) => text));
    expect(gateway.sent).toHaveLength(1);
    const outcomes = gateway.records.map((record) => [record.code, record.cache!.outcome, record.cost!.nanoUsd > 0]);
    expect(outcomes.toSorted((one, other) => String(one).localeCompare(String(other)))).toEqual([
      ["upstream_incomplete", "hit", false],
      ["upstream_incomplete", "miss", true],
    ]);
    const sender = gateway.records.find(({ attempts }) => attempts[0]!.status === 200)!;
    expect(sender.cache!.outcome).toBe("miss");
  });

  test("[d13.5] it ends when its last reader leaves, and nothing of it is kept", async () => {
    const { gateway, call, upstream } = flying();
    const calls = [call(), call()];
    (await upstream()).give(chunkOf("Good"));
    await Promise.all(calls.map(({ response }) => response));
    await calls[0]!.leave();
    await until(() => gateway.records.length === 1);
    expect((await upstream()).released()).toBe(false);
    await calls[1]!.leave();
    const provider = await upstream();
    await until(() => provider.released());
    await until(() => gateway.records.length === 2);
    expect(gateway.cache.figures()).toMatchObject({ entries: 0, flights: 0 });
    // what was generated until then is charged once
    expect(gateway.records.filter(({ cost }) => cost!.nanoUsd > 0)).toHaveLength(1);
  });

  test.each([
    ["streamed", true],
    ["plain", false],
  ])(
    "[d4.2] %s: one that reached its provider is charged once where all leave before a word of the answer",
    async (_, stream) => {
      const { gateway, call, upstream } = flying({}, true);
      const calls = [call({ stream }), call({ stream }), call({ stream })];
      const provider = await upstream();
      await until(() => gateway.cache.figures().flights === 1);
      for (const [index, { abort }] of calls.entries()) {
        abort.abort();
        await until(() => gateway.records.length === index + 1);
      }
      await until(() => provider.released());
      expect(gateway.sent).toHaveLength(1);
      const charged = gateway.records.filter(({ cost }) => (cost?.nanoUsd ?? 0) > 0);
      expect(charged.map(({ cache, usage }) => [cache?.outcome, usage?.completion_tokens])).toEqual([["miss", 0]]);
    },
  );

  test("[d4.2] nobody is charged for a request that the provider refuses after the call has left that sent it", async () => {
    const refused = Promise.withResolvers<void>();
    const refusing = cannedUpstream({ status: 503, body: '{"error":{"message":"no"}}' });
    const upstream: UpstreamClient = {
      async send(request, upstreamCall) {
        upstreamCall.onSent?.(true);
        await refused.promise;
        return refusing.send(request, upstreamCall);
      },
    };
    const { gateway, call } = flying({ upstream });
    const [first, second] = [call(), call()];
    await until(() => gateway.sent.length === 1 && gateway.cache.figures().flights === 1);
    first.abort.abort();
    await until(() => gateway.records.length === 1);
    refused.resolve();
    expect(await second.text).toContain('"upstream_overloaded"');
    const [left, stayed] = gateway.records;
    expect([left!.status, left!.cost?.nanoUsd]).toEqual([499, 0]);
    expect([stayed!.status, stayed!.usage, stayed!.cost]).toEqual([503, null, null]);
  });

  test("[d13.5] a call that waits for a request which has not been sent takes it over", async () => {
    const target = { name: "one:m", maxConcurrency: 1 };
    const route = routeOf("r", [target], { cache: { ttlMs: 60_000, scope: "token" } });
    const { gateway, call, upstream } = flying({ snapshot: { routes: new Map([["r", route]]) } });
    const routed = { model: undefined, route: "r" };
    const busy = call({ ...routed, seed: 1 });
    const provider = await upstream(0);
    const [first, second] = [call(routed), call(routed)];
    await until(() => gateway.cache.figures().flights === 2);
    first.abort.abort();
    provider.give(chunkOf("a"));
    provider.give(LAST);
    await busy.text;
    (await upstream(1)).give(chunkOf("Good"));
    (await upstream(1)).give(LAST);
    expect(await second.text).toContain("Good");
    expect(gateway.sent).toHaveLength(2);
  });

  test("[d13.5] a call that leaves while the store is asked takes nothing over", async () => {
    const memory = openMemoryCache(1_000_000);
    const asked: PromiseWithResolvers<null>[] = [];
    const store: AnswerCache = {
      ...memory,
      get() {
        const one = Promise.withResolvers<null>();
        asked.push(one);
        return one.promise;
      },
    };
    const target = { name: "one:m", maxConcurrency: 1 };
    const route = routeOf("r", [target], { cache: { ttlMs: 60_000, scope: "token" } });
    const { gateway, call, upstream } = flying({ store, snapshot: { routes: new Map([["r", route]]) } });
    const routed = { model: undefined, route: "r" };
    const busy = call({ ...routed, seed: 1 });
    await until(() => asked.length === 1);
    asked[0]!.resolve(null);
    const provider = await upstream(0);
    const [first, second] = [call(routed), call(routed)];
    await until(() => asked.length === 3);
    second.abort.abort();
    asked[1]!.resolve(null);
    await until(() => gateway.cache.figures().flights === 2);
    asked[2]!.resolve(null);
    await until(() => gateway.records.length === 1);
    first.abort.abort();
    // nobody is left who could send the request
    await until(() => gateway.cache.figures().flights === 1);
    provider.give(chunkOf("a"));
    provider.give(LAST);
    await busy.text;
    expect(gateway.sent).toHaveLength(1);
  });

  test("[d13.5] a slow reader delays only itself", async () => {
    const { call, upstream } = flying();
    const [slow, quick] = [call(), call()];
    (await upstream()).give(chunkOf("Good"));
    await slow.response;
    (await upstream()).give(chunkOf(" day."));
    (await upstream()).give(LAST);
    expect(await quick.text).toEndWith("data: [DONE]\n\n");
    const text = await slow.text;
    expect(text).toContain(" day.");
    expect(text).toEndWith("data: [DONE]\n\n");
  });

  test("[d13.5] a failure reaches all that wait for it", async () => {
    const { gateway, call, upstream } = flying({}, true);
    const calls = [call({ num_retries: 0 }), call({ num_retries: 0 })];
    (await upstream()).give(new UpstreamFault("connection", "reset"));
    const responses = await Promise.all(calls.map(({ response }) => response));
    expect(responses.map(({ status }) => status)).toEqual([502, 502]);
    expect(gateway.sent).toHaveLength(1);
    expect(gateway.cache.figures()).toMatchObject({ entries: 0, flights: 0 });
  });

  test.each([302, 408, 409, 451])(
    "[d7.3] [d13.5] a refusal of a shared request with the status %i leads each call to the next target",
    async (status) => {
      const refusing = cannedUpstream({ ...WHOLE, status, body: '{"error":{"message":"Not now.","type":"conflict"}}' });
      const answering = cannedUpstream(WHOLE);
      const asked: string[] = [];
      const gate = Promise.withResolvers<void>();
      const upstream: UpstreamClient = {
        async send(request, upstreamCall) {
          const { host } = new URL(request.url);
          asked.push(host);
          if (host === "two.test") return answering.send(request, upstreamCall);
          await gate.promise;
          return refusing.send(request, upstreamCall);
        },
      };
      const routes = new Map([["both", routeOf("both", ["one:m", "two:m"], { retries: 0 })]]);
      const { gateway, call } = flying({ upstream, snapshot: { routes } });
      const lookUp = gateway.cache.lookUp.bind(gateway.cache);
      let lookedUp = 0;
      gateway.cache.lookUp = (...question) => {
        lookedUp += 1;
        return lookUp(...question);
      };
      const calls = [1, 2, 3].map(() => call({ route: "both", model: undefined, stream: false }));
      await until(() => lookedUp === 3 && asked.length === 1);
      gate.resolve();
      const responses = await Promise.all(calls.map(({ response }) => response));
      expect(responses.map((response) => [response.status, response.headers.get("x-gateway-model")])).toEqual(
        calls.map(() => [200, "two:m"]),
      );
      expect(asked.filter((host) => host === "one.test")).toHaveLength(1);
      for (const { attempts } of gateway.records) expect(attempts[0]).toMatchObject({ provider: "one", status });
    },
  );

  test.each([
    ["off", "route:other", "other", null],
    ["gone past", { model: "two:m", api_key: "own" }, "kept", "bypass"],
  ] as const)(
    "[d13.4] [d11.1] what is told of a call is told of the target that answered: the cache is %s there",
    async (_, fallback, route, told) => {
      const routes = new Map([
        ["kept", routeOf("kept", ["one:m"], { cache: { ttlMs: 60_000, scope: "token" } })],
        ["other", routeOf("other", ["two:m"], { cache: "off" })],
      ]);
      const answering = cannedUpstream(WHOLE);
      const asked: string[] = [];
      const upstream: UpstreamClient = {
        async send(request, upstreamCall) {
          const { host } = new URL(request.url);
          asked.push(host);
          if (host === "one.test") throw new UpstreamFault("connection", "reset");
          return answering.send(request, upstreamCall);
        },
      };
      const permissions = ["byo_endpoint" as const];
      const gateway = cachedGateway({ setting: null, permissions, upstream, snapshot: { routes } });
      const heard = await ask(gateway, { model: undefined, route: "kept", num_retries: 0, fallbacks: [fallback] });
      expect([heard.status, heard.cache, heard.body.route, asked]).toEqual([
        200,
        told,
        route,
        ["one.test", "two.test"],
      ]);
      expect(gateway.records[0]!.cache?.outcome ?? null).toBe(told);
    },
  );

  test("[d13.5] each call passes its own limits first", async () => {
    const limitRules = limitSet({ limits: { calls: { metric: "requests", window: "minute", limit: 2 } } });
    const { gateway, call, upstream } = flying({ snapshot: { limitRules } });
    const calls = [call(), call(), call()];
    (await upstream()).give(chunkOf("Good"));
    (await upstream()).give(LAST);
    const statuses = (await Promise.all(calls.map(({ response }) => response))).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 429]);
    await Promise.all(calls.map(({ text }) => text));
    expect(gateway.sent).toHaveLength(1);
  });

  test("[d13.5] one that ends its own wait does not end that of the others", async () => {
    const { gateway, call, upstream } = flying();
    const [hasty, patient] = [call({ timeout: 0.2 }), call()];
    (await upstream()).give(chunkOf("Good"));
    expect(await hasty.text).toContain('"error"');
    (await upstream()).give(LAST);
    expect(await patient.text).toEndWith("data: [DONE]\n\n");
    expect(await patient.text).not.toContain('"error"');
    expect(gateway.sent).toHaveLength(1);
    expect(gateway.cache.figures()).toMatchObject({ entries: 1, flights: 0 });
  });

  /** A provider that is silent when it is first asked, and answers each further request at once. */
  function silentAtFirst() {
    const silent = manualUpstream();
    const other = cannedUpstream(STREAMED);
    const requests: unknown[] = [];
    const upstream: UpstreamClient = {
      send: (request, upstreamCall) =>
        (requests.push(request) === 1 ? silent.client : other).send(request, upstreamCall),
    };
    return { silent, requests, upstream };
  }

  test("[d7.1] [d13.5] a call that has given up its wait asks anew, although an equal call waits on", async () => {
    const hasty = routeOf("hasty", ["one:m"], { retries: 1, timeouts: { firstTokenMs: 50 } });
    const routes = new Map([hasty, routeOf("patient", ["one:m"])].map((route) => [route.name, route]));
    const { silent, requests, upstream } = silentAtFirst();
    const { call } = flying({ upstream, snapshot: { routes } });
    const patient = call({ route: "patient", model: undefined });
    await until(() => requests.length === 1);
    expect(await call({ route: "hasty", model: undefined }).text).toContain("Good");
    silent.give(chunkOf("Late"));
    silent.give(LAST);
    expect(await patient.text).toContain("Late");
    expect(requests).toHaveLength(2);
  });

  test("[d7.5] [d13.5] a second attempt beside the first one at the same target sends a request of its own", async () => {
    const hedged = routeOf("hedged", ["one:m"], { hedge: { after: 20, maxExtra: 1 } });
    const { silent, requests, upstream } = silentAtFirst();
    const { gateway, call } = flying({ upstream, snapshot: { routes: new Map([["hedged", hedged]]) } });
    expect(await call({ route: "hedged", model: undefined }).text).toContain("Good");
    await until(() => silent.released());
    expect(requests).toHaveLength(2);
    expect(gateway.cache.figures()).toMatchObject({ entries: 1, flights: 0 });
  });
});

describe("purge", () => {
  test("[d13.5] removes what was kept, by key, by route and by tenant", async () => {
    const routes = new Map(
      ["a", "b"].map((name) => [name, routeOf(name, ["one:m"], { cache: { ttlMs: 60_000, scope: "token" } })]),
    );
    const gateway = cachedGateway({ snapshot: { routes } });
    const via = (route: string, seed: number) => ask(gateway, { model: undefined, route, seed });
    const [one] = [await via("a", 1), await via("a", 2), await via("b", 3)];
    const key = one.headers.get("x-gateway-cache-key")!;
    expect(await gateway.cache.purge({ tenantId: "other", key })).toBe(0);
    expect(await gateway.cache.purge({ tenantId: "default", key })).toBe(1);
    expect([(await via("a", 1)).cache, (await via("a", 2)).cache]).toEqual(["miss", "hit"]);
  });

  test("[d13.5] removes what was kept before the clock was set back, which is no hit either", async () => {
    const START_MS = 1_767_225_600_000;
    const clock = { nowMs: START_MS, now: () => clock.nowMs, monotonic: () => performance.now() };
    const gateway = cachedGateway({ clock });
    expect([(await ask(gateway)).cache, (await ask(gateway)).cache]).toEqual(["miss", "hit"]);
    clock.nowMs -= 3_600_000;
    expect(await gateway.cache.purge({ tenantId: "default" })).toBe(1);
    clock.nowMs = START_MS + 1;
    expect((await ask(gateway)).cache).toBe("miss");
    clock.nowMs -= 3_600_000;
    expect([(await ask(gateway)).cache, (await ask(gateway)).cache]).toEqual(["miss", "hit"]);
  });

  test("[d13.5] in mid-flight: the calls that wait get their answer, and no other call does", async () => {
    const { gateway, call, upstream } = flying();
    const before = call();
    (await upstream(0)).give(chunkOf("old"));
    await before.response;
    await gateway.cache.purge({ tenantId: "default" });
    const after = call();
    (await upstream(1)).give(chunkOf("new"));
    (await upstream(0)).give(LAST);
    expect(await before.text).toContain("old");
    expect(gateway.cache.figures()).toMatchObject({ entries: 0, flights: 1 });
    (await upstream(1)).give(LAST);
    expect(await after.text).not.toContain("old");
  });

  test("[d13.5] what was kept goes with its tenant", async () => {
    const gateway = cachedGateway();
    await ask(gateway);
    await gateway.cache.keepOnly(new Set(["default"]));
    expect(gateway.cache.figures().entries).toBe(1);
    await gateway.cache.keepOnly(new Set(["another"]));
    expect(gateway.cache.figures().entries).toBe(0);
  });
});

describe("a store that fails", () => {
  const broken = (how: Partial<AnswerCache>): AnswerCache => ({ ...openMemoryCache(1_000_000), ...how });
  const rejecting = (): Promise<never> => Promise.reject(new Error("away"));
  const throwing = (): never => {
    throw new Error("away");
  };
  const calls = (gateway: Cached) => Promise.all([ask(gateway), ask(gateway)]).then(() => twice(gateway));

  test.each<[string, Partial<AnswerCache>, string]>([
    ["away", { get: rejecting, put: rejecting }, "away"],
    ["away at once", { get: throwing, put: throwing }, "away"],
    ["full", { put: throwing }, "full"],
  ])("[d13.5] %s is a miss and never an error, and is said once", async (_name, how, fault) => {
    const gateway = cachedGateway({ store: broken(how) });
    expect(await calls(gateway)).toEqual(["miss", "miss"]);
    expect(gateway.records.every(({ status }) => status === 200)).toBe(true);
    expect(gateway.faults).toEqual([fault as never]);
    expect(gateway.cache.figures().faults).toBeGreaterThan(0);
  });

  test("[d13.5] away is said once also where each call takes longer than the store is left alone", async () => {
    let atMs = 0;
    const gateway = cachedGateway({
      store: broken({ get: throwing, put: throwing }),
      clock: { now: () => 1_767_225_600_000 + atMs, monotonic: () => atMs },
      answer: () => {
        atMs += 1500;
        return WHOLE;
      },
    });
    expect(await twice(gateway)).toEqual(["miss", "miss"]);
    expect(gateway.cache.figures().faults).toBe(4);
    expect(gateway.faults).toEqual(["away"]);
  });

  test("[d13.5] a store that does not answer delays a call by its bound at most", async () => {
    const gateway = cachedGateway({ store: broken({ get: () => new Promise(() => {}) }) });
    expect(await twice(gateway)).toEqual(["miss", "miss"]);
  });

  test("[d13.5] garbage is a miss", async () => {
    const store = openMemoryCache(1_000_000);
    const garbage = broken({
      ...store,
      get: (address, nowMs) => ({
        ...address,
        route: "direct",
        askedAtMs: nowMs,
        expiresAtMs: nowMs + 1000,
        body: new Uint8Array([9, 9, 9]),
      }),
    });
    const gateway = cachedGateway({ store: garbage });
    expect(await twice(gateway)).toEqual(["miss", "miss"]);
    expect(gateway.cache.figures().garbage).toBe(2);
  });
});
