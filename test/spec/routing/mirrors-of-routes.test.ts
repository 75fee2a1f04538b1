// `mirror` of a route through the whole gateway: which calls are copied, what a copy is sent and what it is not, and that
// the call of the client stays as it is whatever becomes of the copy.
import { describe, expect, test } from "bun:test";
import { openRouting } from "../../../src/engine/plan/open-routing.ts";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { LONG_BODY_BYTES } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { OpenCopies } from "../../../src/engine/mirror/copies.ts";
import { systemClock } from "../../../src/core/clock.ts";
import type { RouteMirror } from "../../../src/core/configured/route.ts";
import type { CallContent } from "../../../src/core/configured/content.ts";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { COUNT_TOKENS } from "../../../src/operations/messages/count-tokens.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import type { Snapshot } from "../../../src/core/snapshot.ts";
import { type Fault, OK, status } from "../../harness/faults.ts";
import { providers } from "../../../src/providers/registry.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { type Routed, routedGateway, routeOf, type RouteParts } from "../../harness/routed.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { until } from "../../harness/time/until.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { HELLO } from "../chat-calls.ts";

const MIRROR: RouteMirror = {
  target: { name: "up1:copy", providerId: "up1", model: "copy", weight: 1, order: 0, params: {}, maxConcurrency: null },
  toOtherVendors: true,
  maxInFlight: 16,
  timeoutMs: 60_000,
};

interface Mirrored extends Routed {
  readonly copies: OpenCopies;
}

function gatewayOf(
  mirror: Partial<RouteMirror> = {},
  scripts: Readonly<Record<string, readonly Fault[]>> = {},
  parts: RouteParts = {},
  options: StubOptions = {},
): Mirrored {
  const copies = new OpenCopies(openRouting(Math.random));
  const route = routeOf("r", ["up0:m", "up2:m"], { ...parts, mirror: { ...MIRROR, ...mirror } });
  const gateway = routedGateway(
    [route],
    { up0: [OK], up1: [OK], up2: [OK], up3: [OK], ...scripts },
    {
      permissions: ["byo_endpoint", "debug"],
      copies,
      ...options,
      snapshot: { conditionHeaders: ["x-tier"], ...options.snapshot },
    },
  );
  return Object.assign(gateway, { copies });
}

async function asked(gateway: Mirrored, body: object = {}, headers: Record<string, string> = {}) {
  const response = await gateway.chat({ route: "r", messages: HELLO, ...body }, { headers });
  const text = await response.text();
  return { status: response.status, text, traceId: response.headers.get("x-gateway-trace-id")! };
}

const recordOf = (gateway: Mirrored, traceId: string): CallRecord =>
  gateway.records.find((record) => record.traceId === traceId)!;

/** The record of the call, and that of its copy once it has ended. */
async function pairOf(gateway: Mirrored, traceId: string): Promise<readonly [CallRecord, CallRecord]> {
  await until(() => gateway.records.some(({ mirrorOf }) => mirrorOf === traceId));
  return [recordOf(gateway, traceId), gateway.records.find(({ mirrorOf }) => mirrorOf === traceId)!];
}

describe("[d16.1] a mirror", () => {
  test("gets a copy of the call, with a record that stands beside the first one", async () => {
    const gateway = gatewayOf();
    const { text, traceId } = await asked(gateway, { temperature: 0.3 });
    const [call, copy] = await pairOf(gateway, traceId);
    expect(JSON.parse(text).model).toBe("up0:m");
    expect(call.mirror).toEqual({ route: "r", target: "up1:copy", traceId: copy.traceId, dropped: null });
    expect(call.mirrorOf).toBeNull();
    expect(copy).toMatchObject({
      mirrorOf: traceId,
      mirror: null,
      route: "r",
      provider: "up1",
      model: "copy",
      status: 200,
      finishReasons: ["stop"],
      tokenId: call.tokenId,
      projectId: call.projectId,
      cancelled: false,
    });
    expect(gateway.upstream.targets().toSorted()).toEqual(["up0", "up1"]);
    const bodies = gateway.upstream.served.map(({ request }) => JSON.parse(request.body));
    expect(bodies[1]).toEqual({ ...bodies[0], model: "copy" });
  });

  test("gets a stream where the call is one, and reads it to its end", async () => {
    const gateway = gatewayOf();
    const { text, traceId } = await asked(gateway, { stream: true });
    const [call, copy] = await pairOf(gateway, traceId);
    expect(text).toContain("[DONE]");
    expect(text).not.toContain("up1");
    expect([call.stream, copy.stream, copy.status, copy.finishReasons]).toEqual([true, true, 200, ["stop"]]);
    expect(gateway.upstream.served.map(({ ended }) => ended)).toEqual(["read", "read"]);
  });

  test("gets the share of the calls, and those for which `when` is true", async () => {
    const gateway = gatewayOf({ share: 25, maxInFlight: 200 });
    for (let call = 0; call < 200; call++) await asked(gateway);
    const copied = gateway.records.filter(({ mirror }) => mirror !== null).length;
    expect(copied).toBeGreaterThan(20);
    expect(copied).toBeLessThan(80);
    await until(() => gateway.records.filter(({ mirrorOf }) => mirrorOf !== null).length === copied);
    const gold = gatewayOf({ when: 'headers["x-tier"] == "gold"' });
    const other = await asked(gold);
    expect(recordOf(gold, other.traceId).mirror).toBeNull();
    const { traceId } = await asked(gold, {}, { "x-tier": "gold" });
    await pairOf(gold, traceId);
  });

  test("is told of a condition that cannot be evaluated: the call is not copied, and its record says so", async () => {
    const gateway = gatewayOf({ when: 'request.metadata.plan == "pro"' });
    const { traceId, status: answered } = await asked(gateway);
    expect(answered).toBe(200);
    expect(recordOf(gateway, traceId).mirror).toMatchObject({ traceId: null });
    expect(recordOf(gateway, traceId).mirror!.dropped).toStartWith("`when` could not be evaluated: ");
    expect(gateway.upstream.targets()).toEqual(["up0"]);
  });

  test("that hangs, fails or breaks off changes nothing for the call", async () => {
    for (const fault of [
      { kind: "stall" },
      { kind: "no_connection" },
      { kind: "garbage" },
      { kind: "cut", words: 1 },
      status(500),
      status(429, { "retry-after": "60" }),
    ] satisfies Fault[]) {
      const gateway = gatewayOf({ timeoutMs: 200 }, { up1: [fault] });
      const { status: answered, traceId } = await asked(gateway, { stream: fault.kind === "cut" });
      const [call, copy] = await pairOf(gateway, traceId);
      expect([answered, call.status, call.code]).toEqual([200, 200, null]);
      expect(copy.status).toBeGreaterThanOrEqual(400);
      // one attempt, without retries and without the fallbacks of the route
      expect(gateway.upstream.targets().filter((target) => target === "up1")).toHaveLength(1);
      expect(gateway.upstream.targets()).not.toContain("up2");
    }
  });

  test("is known apart from the targets: what copies learn of a target does not keep calls from it", async () => {
    const gateway = gatewayOf(
      {},
      { up1: [status(500)] },
      { breaker: { failures: 1, ratio: 0.1, windowMs: 60_000, openMs: 60_000 } },
    );
    for (let call = 0; call < 3; call++) await pairOf(gateway, (await asked(gateway)).traceId);
    const known = gateway.context.routing.health.snapshot(performance.now());
    expect(known.length).toBeGreaterThan(0);
    expect(known.filter(({ key }) => key.startsWith("up1"))).toEqual([]);
  });

  test("that refuses its key does not set the key aside for the calls of clients", async () => {
    const gateway = gatewayOf({}, { up1: [status(401)] });
    const [, copy] = await pairOf(gateway, (await asked(gateway)).traceId);
    expect(copy.code).toBe("upstream_authentication");
    expect(gateway.refused).toEqual([]);
    await (await gateway.chat({ model: "up1:m", messages: HELLO })).text();
    expect(gateway.refused).toMatchObject([{ providerId: "up1" }]);
  });

  test("drops copies beyond its bound, and the records of the calls say so", async () => {
    const gate = Promise.withResolvers<void>();
    const gateway = gatewayOf({ maxInFlight: 2 }, { up1: [{ kind: "ok", heldUntil: gate.promise }] });
    const calls = [await asked(gateway), await asked(gateway), await asked(gateway)];
    // a configuration that was read again has another object for the same route
    const { routes, ...rest } = gateway.context.snapshot();
    const again = new Map([...routes].map(([name, route]) => [name, structuredClone(route)]));
    Object.assign(gateway.context, { snapshot: () => ({ ...rest, version: 2, routes: again }) });
    calls.push(await asked(gateway));
    expect(calls.map(({ traceId }) => recordOf(gateway, traceId).mirror!.dropped)).toEqual([
      null,
      null,
      "too many copies are in flight",
      "too many copies are in flight",
    ]);
    gate.resolve();
    await pairOf(gateway, calls[1]!.traceId);
    await until(() => gateway.records.filter(({ mirrorOf }) => mirrorOf !== null).length === 2);
    await pairOf(gateway, (await asked(gateway)).traceId);
  });

  test("[d11.3] leaves nothing of what was said in a project that is removed meanwhile", async () => {
    const gate = Promise.withResolvers<void>();
    const project = { id: "default", tenantId: "default", name: "default", createdAtMs: 1 };
    const rules = { sample: 1, retentionMs: 86_400_000, isStored: true, maxCharacters: 1000, detectors: [] };
    const gateway = gatewayOf(
      {},
      { up1: [{ kind: "ok", heldUntil: gate.promise }, OK] },
      {},
      { snapshot: { projects: new Map([["default", project]]), contentLogs: new Map([["default", rules]]) } },
    );
    const kept = new Map<string | null, boolean>();
    let current = gateway.context.snapshot();
    Object.assign(gateway.context, {
      snapshot: () => current,
      observer: {
        publish: ({ mirrorOf }: CallRecord, content: CallContent | null) =>
          void kept.set(mirrorOf, content?.keptUntilMs != null),
      },
    });
    const { traceId: before } = await asked(gateway);
    const again = new Map([["default", { ...project, createdAtMs: 2 }]]);
    current = { ...current, version: 2, projects: again };
    gate.resolve();
    await until(() => kept.has(before));
    expect(kept.get(before)).toBe(false);
    const { traceId: after } = await asked(gateway);
    await until(() => kept.has(after));
    expect(kept.get(after)).toBe(true);
  });

  test("goes on when the client of the call leaves, and is cut at the end of the process", async () => {
    const gateway = gatewayOf({}, { up0: [{ kind: "stall" }], up1: [{ kind: "stall" }] });
    const leaving = new AbortController();
    const call = gateway.chat({ route: "r", messages: HELLO }, { signal: leaving.signal });
    await until(() => gateway.upstream.targets().length === 2);
    leaving.abort();
    await (await call).text();
    expect(gateway.records.map(({ status: answered, mirrorOf }) => [answered, mirrorOf])).toEqual([[499, null]]);
    await gateway.copies.close();
    expect(gateway.records[1]).toMatchObject({ mirrorOf: gateway.records[0]!.traceId, code: "shutting_down" });
  });

  test("gets no copy of a call that is refused, or that is answered without asking a provider", async () => {
    const limitRules = limitSet({ limits: { one: { metric: "requests", window: "day", limit: 1 } } });
    const gateway = gatewayOf({}, {}, {}, { snapshot: { limitRules } });
    const first = await asked(gateway);
    const refused = await asked(gateway);
    expect(refused.status).toBe(429);
    const [, copy] = await pairOf(gateway, first.traceId);
    expect(copy.limits).toEqual([]);
    expect(recordOf(gateway, refused.traceId).mirror).toBeNull();
    const explained = gatewayOf();
    await asked(explained, {}, { "x-gateway-explain": "true" });
    expect(explained.records.map(({ mirror }) => mirror)).toEqual([null]);
  });

  test.each([
    ["a key of the caller", { api_key: "sk-own" }],
    ["a long request", { messages: [{ role: "user", content: "word ".repeat(120_000) }] }],
  ])("gets no copy of a call with %s", async (_, body) => {
    const gateway = gatewayOf();
    const { traceId } = await asked(gateway, { model: "up0:m", ...body });
    expect(recordOf(gateway, traceId).mirror).toMatchObject({ traceId: null });
    expect(gateway.upstream.targets()).toEqual(["up0"]);
  });

  test("gets no copy of a call that is refused when its request is written, so that nothing of it is sent", async () => {
    const own = (id: string, family: string) =>
      providerSettings({ id, family, baseUrl: `http://${id}.test/v1`, credentials: [storedKey(`key-of-${id}`)] });
    const gateway = gatewayOf(
      {},
      {},
      {},
      { providers: [own("up0", "ollama"), own("up1", "custom"), own("up2", "ollama")] },
    );
    // the model takes images as bytes alone, and the gateway fetches none from this address
    const image = { type: "image_url", image_url: { url: "http://127.0.0.1/picture.png" } };
    const { status: code, text, traceId } = await asked(gateway, { messages: [{ role: "user", content: [image] }] });
    expect([code, JSON.parse(text).error.code]).toEqual([400, "address_not_allowed"]);
    expect([recordOf(gateway, traceId).mirror, gateway.upstream.served.length]).toEqual([null, 0]);
  });

  test("gets no copy of a call whose token may not call its target", async () => {
    for (const [restrictions, isCopied] of [
      [{ models: ["up0:*", "up2:*"] }, false],
      [{ models: ["up0:*", "up1:copy"] }, true],
      [{ routes: ["r"] }, true],
      [{ models: ["up0:*"], routes: ["r"] }, true],
    ] as const) {
      const gateway = gatewayOf({}, {}, {}, { token: restrictions });
      const { status: answered, traceId } = await asked(gateway);
      expect(answered).toBe(200);
      if (isCopied) await pairOf(gateway, traceId);
      expect([restrictions, recordOf(gateway, traceId).mirror!.dropped]).toEqual([
        restrictions,
        isCopied ? null : "the token may not call the target of the mirror",
      ]);
      expect(gateway.upstream.targets().includes("up1")).toBe(isCopied);
    }
  });

  test("gets no copy of a call whose tenant or project has not enabled its target", async () => {
    const models = ["up0:*", "up2:*"];
    const settings = new Map([["default", { dropParams: null, disableStopSequenceLimit: null, models }]]);
    const scopes: readonly Partial<Snapshot>[] = [{ tenantSettings: settings }, { projectSettings: settings }];
    for (const snapshot of scopes) {
      const gateway = gatewayOf({}, {}, {}, { snapshot });
      const { status: answered, traceId } = await asked(gateway);
      expect([answered, recordOf(gateway, traceId).mirror]).toEqual([
        200,
        {
          route: "r",
          target: "up1:copy",
          traceId: null,
          dropped: "the target of the mirror is not enabled for the call",
        },
      ]);
      expect(gateway.upstream.targets()).not.toContain("up1");
    }
  });

  test("of another vendor gets no copy of a call whose content is not kept, unless the route says so", async () => {
    const gateway = gatewayOf({ toOtherVendors: false });
    const { traceId } = await asked(gateway);
    expect(recordOf(gateway, traceId).mirror!.dropped).toBe(
      "its content is not kept, and the mirror is at another vendor",
    );
    const same = gatewayOf({
      toOtherVendors: false,
      target: { ...MIRROR.target, name: "up0:copy", providerId: "up0" },
    });
    await pairOf(same, (await asked(same)).traceId);
  });

  test("of another region or resource of one vendor is at another place, also where the client has chosen the region", async () => {
    const bedrockAt = (id: string, region: string) =>
      providerSettings({
        id,
        family: "bedrock",
        baseUrl: providers.get("bedrock")!.baseUrl,
        settings: { region },
        credentials: [storedKey("key")],
      });
    const model = "amazon.nova-lite-v1:0";
    const targetAt = (id: string): RouteMirror["target"] => ({
      ...MIRROR.target,
      name: `${id}:${model}`,
      providerId: id,
      model,
    });
    const answer = { output: { message: { role: "assistant", content: [{ text: "Hello" }] } }, stopReason: "end_turn" };
    const droppedAt = async (mirrored: string, body: object = {}): Promise<string | null> => {
      const route = routeOf("r", [`eu:${model}`], {
        mirror: { ...MIRROR, toOtherVendors: false, target: targetAt(mirrored) },
      });
      const gateway = stubGateway({
        copies: new OpenCopies(openRouting(Math.random)),
        upstream: cannedUpstream({ body: JSON.stringify(answer) }),
        providers: [bedrockAt("eu", "eu-central-1"), bedrockAt("eu2", "eu-central-1"), bedrockAt("us", "us-east-1")],
        snapshot: { routes: new Map([["r", route]]) },
      });
      const response = await gateway.chat({ route: "r", messages: HELLO, ...body });
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
      const call = gateway.records.find(({ mirrorOf }) => mirrorOf === null)!;
      return call.mirror!.dropped;
    };
    expect(await droppedAt("eu2")).toBeNull();
    expect(await droppedAt("us")).toBe("its content is not kept, and the mirror is at another vendor");
    expect(await droppedAt("eu")).toBeNull();
    const elsewhere = { model: `eu:${model}`, aws_region_name: "eu-west-1" };
    expect(await droppedAt("eu", elsewhere)).toBe("its content is not kept, and the mirror is at another vendor");
  });

  test("gets what guards have left of a call, in both of its forms", async () => {
    const policies = policiesFor({ name: "mask", guard: { on: "input", action: "mask", classes: ["email"] } });
    const gateway = gatewayOf({}, {}, {}, { snapshot: { policies } });
    const { traceId } = await asked(gateway, { messages: [{ role: "user", content: "Write to ann@example.com" }] });
    const [call, copy] = await pairOf(gateway, traceId);
    expect([call.status, copy.status]).toEqual([200, 200]);
    const [first, second] = gateway.upstream.served.map(({ request }) => JSON.parse(request.body));
    expect(JSON.stringify(second)).not.toContain("ann@example.com");
    expect(second.messages).toEqual(first.messages);
  });

  test("gets one copy of a call, however often the call is attempted, and none from a route that takes it over", async () => {
    const tried = gatewayOf({}, { up0: [status(500)] }, { hedge: { after: 1, maxExtra: 1 }, retries: 2 });
    const { traceId } = await asked(tried);
    await pairOf(tried, traceId);
    expect(tried.upstream.targets().filter((target) => target === "up1")).toHaveLength(1);
    const other = gatewayOf({ target: { ...MIRROR.target, name: "up3:copy", providerId: "up3" } });
    const over = routedGateway(
      [
        routeOf("a", ["up1:m"], { fallbacks: ["route:r"] }),
        routeOf("r", ["up0:m"], {
          mirror: { ...MIRROR, target: { ...MIRROR.target, name: "up3:copy", providerId: "up3" } },
        }),
      ],
      { up0: [OK], up1: [status(500)], up3: [OK] },
      { copies: other.copies },
    );
    const response = await over.chat({ route: "a", messages: HELLO });
    expect([response.status, (await response.text()).includes("up0")]).toEqual([200, true]);
    expect(over.records[0]).toMatchObject({ route: "r", mirror: null });
  });

  test("gets no copy of a call with tool servers", async () => {
    const gateway = gatewayOf();
    const { traceId } = await asked(gateway, {
      tools: [{ type: "mcp", server_label: "s", server_url: "https://tools.test/mcp", require_approval: "never" }],
    });
    expect(recordOf(gateway, traceId).mirror?.traceId ?? null).toBeNull();
    expect(gateway.upstream.targets()).not.toContain("up1");
  });

  test("gets no copy of a call that names a deployment, which would take the place of its own", async () => {
    const target = (model: string) => ({ ...MIRROR.target, name: `az:${model}`, providerId: "az", model });
    const gateway = stubGateway({
      copies: new OpenCopies(openRouting(Math.random)),
      upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer("Hello")) }),
      providers: [
        providerSettings({
          id: "az",
          family: "azure",
          baseUrl: "https://here.openai.azure.com",
          credentials: [storedKey("key")],
        }),
      ],
      snapshot: {
        routes: new Map([["r", routeOf("r", ["az:gpt-4o"], { mirror: { ...MIRROR, target: target("gpt-4o-mini") } })]]),
      },
    });
    const response = await gateway.chat({ route: "r", messages: HELLO, deployment_id: "own" });
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    expect(gateway.records.map(({ mirror }) => mirror?.dropped)).toEqual(["the call names a deployment"]);
    expect(gateway.sent).toHaveLength(1);
  });

  test("[d12.11] gets no copy of a count, which says nothing of its target that could be compared", async () => {
    const target = { ...MIRROR.target, name: "anthropic:claude-y", providerId: "anthropic", model: "claude-y" };
    const gateway = stubGateway({
      copies: new OpenCopies(openRouting(Math.random)),
      upstream: cannedUpstream({ body: '{"input_tokens":5}' }),
      providers: [
        providerSettings({
          id: "anthropic",
          family: "anthropic",
          baseUrl: "https://api.anthropic.com",
          credentials: [storedKey("key")],
        }),
      ],
      snapshot: {
        routes: new Map([["r", routeOf("r", ["anthropic:claude-x"], { mirror: { ...MIRROR, target } })]]),
      },
    });
    const response = await gateway.call(COUNT_TOKENS, { model: "r", messages: HELLO });
    expect([response.status, await response.json()]).toEqual([200, { input_tokens: 5 }]);
    expect(gateway.records.map(({ mirror }) => mirror?.dropped)).toEqual(["only a count of its tokens is asked for"]);
    expect(gateway.sent).toHaveLength(1);
  });

  test("[d12.15] stores nothing at its vendor, of which the client would know no id", async () => {
    const target = { ...MIRROR.target, name: "openai:gpt-y", providerId: "openai", model: "gpt-y" };
    const answered = {
      id: "resp_vendor",
      object: "response",
      created_at: 1,
      status: "completed",
      model: "gpt-x",
      output: [
        {
          type: "message",
          id: "m_1",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "Hello", annotations: [] }],
        },
      ],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    };
    const gateway = stubGateway({
      copies: new OpenCopies(openRouting(Math.random)),
      upstream: cannedUpstream({ body: JSON.stringify(answered) }),
      providers: [
        providerSettings({
          id: "openai",
          baseUrl: "https://api.openai.com/v1",
          credentials: [storedKey("key")],
          vendorStore: true,
        }),
      ],
      snapshot: {
        routes: new Map([["r", routeOf("r", ["openai:gpt-x"], { mirror: { ...MIRROR, target } })]]),
      },
    });
    const response = await gateway.call(RESPONSES, { model: "r", input: "Hi", store: true });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("Hello")]);
    await until(() => gateway.records.some(({ mirrorOf }) => mirrorOf !== null));
    const bodies = gateway.sent.map(({ body }) => JSON.parse(body));
    expect(bodies.map(({ model, store }) => [model, store])).toEqual([
      ["gpt-x", true],
      ["gpt-y", false],
    ]);
  });

  test("is named in an explanation", async () => {
    const gateway = gatewayOf({ when: 'headers["x-tier"] == "gold"' });
    const { text } = await asked(gateway, {}, { "x-gateway-explain": "true" });
    expect(JSON.parse(text).mirror).toEqual({ target: "up1:copy", copies: false, why: "`when` is false" });
    const gold = await asked(gateway, {}, { "x-gateway-explain": "true", "x-tier": "gold" });
    expect(JSON.parse(gold.text).mirror).toEqual({ target: "up1:copy", copies: true, why: null });
  });

  test.each([
    ["with a key of the caller", {}, { model: "up0:m", api_key: "sk-own" }],
    ["with tool servers", {}, { tools: [{ type: "mcp", server_label: "desk" }] }],
    ["whose content is not kept", { toOtherVendors: false }, {}],
    // fewer characters than the bound, and more bytes
    ["that is long", {}, { messages: [{ role: "user", content: "é".repeat(LONG_BODY_BYTES - 1000) }] }],
  ])("[d9.4] is not said to copy a call %s, which it does not copy", async (_, mirror, body) => {
    const tools = fakeToolServers({ desk: { find: { run: () => says("one") } } });
    const gateway = gatewayOf(mirror, {}, {}, { tools });
    const { text } = await asked(gateway, body, { "x-gateway-explain": "true" });
    const { traceId } = await asked(gateway, body);
    const { dropped } = recordOf(gateway, traceId).mirror!;
    expect(JSON.parse(text).mirror).toEqual({ target: "up1:copy", copies: false, why: dropped });
    expect(dropped).toBeString();
  });

  test("[d9.4] is not said to copy a call in the background, which it does not copy", async () => {
    const gateway = gatewayOf({}, {}, {}, { kept: new KeptObjects(systemClock) });
    const body = { model: "r", input: "Hi", background: true };
    const explained = await gateway.call(RESPONSES, body, { headers: { "x-gateway-explain": "true" } });
    expect((await gateway.call(RESPONSES, body)).status).toBe(200);
    await until(() => gateway.records.length === 2);
    const { dropped } = gateway.records[1]!.mirror!;
    expect(((await explained.json()) as any).mirror).toEqual({ target: "up1:copy", copies: false, why: dropped });
    expect(dropped).toBe("the call runs in the background");
  });
});
