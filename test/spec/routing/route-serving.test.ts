// Promises 1.5, 3.4, 4.1, 6.4 and 7: a call that named a route is served by that route, whatever target it ends at; a
// fallback `route:x` hands the call to `x`.
import { describe, expect, test } from "bun:test";
import type { Route } from "../../../src/core/configured/route.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { type Fault, status } from "../../harness/faults.ts";
import type { StubOptions } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { type RouteParts, type Routed, routedGateway, routeOf, UPSTREAMS } from "../../harness/routed.ts";
import { readStream } from "../../harness/sse.ts";
import { HELLO } from "../chat-calls.ts";

const DEAD: Fault = { kind: "refused" };
const TOO_LONG = status(
  400,
  {},
  { code: "context_length_exceeded", message: "This model's maximum context length is 8 tokens." },
);
const UNFIT = status(400, {}, { code: "content_filter", message: "The content was flagged." });

/** Each way by which a call of the route `fb` ends at `up1`, beside its own targets. */
const WAYS: Readonly<Record<string, { readonly fault: Fault; readonly parts?: RouteParts; readonly fields?: object }>> =
  {
    "its fallbacks": { fault: DEAD, parts: { fallbacks: ["up1:m"] } },
    "the request's fallbacks": { fault: DEAD, fields: { fallbacks: ["up1:m"] } },
    "an entry with parameters": { fault: DEAD, fields: { fallbacks: [{ model: "up1:m", temperature: 0 }] } },
    "its context_window_fallbacks": { fault: TOO_LONG, parts: { contextWindowFallbacks: new Map([["m", "up1:m"]]) } },
    "the request's context_window_fallback_dict": {
      fault: TOO_LONG,
      fields: { context_window_fallback_dict: { m: "up1:m" } },
    },
    "its content_policy_fallbacks": { fault: UNFIT, parts: { contentPolicyFallbacks: ["up1:m"] } },
  };

interface Heard {
  readonly status: number;
  readonly code: string | null;
  readonly model: string | null;
  readonly route: string | null;
  readonly headers: Headers;
}

async function ask(gateway: Routed, fields: object): Promise<Heard> {
  const response = await gateway.chat({ messages: HELLO, ...fields });
  const text = await response.text();
  const body = text.startsWith("{")
    ? (JSON.parse(text) as Record<string, any>)
    : (readStream(text).events[0] as Record<string, any>);
  return {
    status: response.status,
    code: body["error"]?.code ?? null,
    model: body["model"] ?? null,
    route: body["route"] ?? null,
    headers: response.headers,
  };
}

describe.each(Object.entries(WAYS))("a call of a route that ends at %s", (_, { fault, parts = {}, fields = {} }) => {
  const gatewayOf = (
    more: RouteParts = {},
    then: readonly Fault[] = [{ kind: "ok" }],
    options: StubOptions = {},
  ): Routed => routedGateway([routeOf("fb", ["up0:m"], { ...parts, ...more })], { up0: [fault], up1: then }, options);
  const named = { route: "fb", num_retries: undefined, ...fields };

  test.each([
    ["plain", {}],
    ["streamed", { stream: true }],
    ["by its name in model", { route: undefined, model: "fb" }],
  ] as const)("[d1.5] has its name in the answer and in the record: %s", async (_how, how) => {
    const gateway = gatewayOf();
    expect(await ask(gateway, { ...named, ...how })).toMatchObject({ status: 200, model: "up1:m", route: "fb" });
    expect(gateway.records[0]).toMatchObject({ route: "fb", provider: "up1", model: "m" });
  });

  test("[d4.1] is counted by the limits of the route", async () => {
    const limitRules = limitSet({
      limits: {
        calls: { metric: "tokens", window: "day", limit: 100_000, scope: { route: "fb" } },
        here: { metric: "requests", window: "day", limit: 1, scope: { route: "fb", provider: "up1" } },
      },
    });
    const gateway = gatewayOf({}, [{ kind: "ok" }], { snapshot: { limitRules } });
    expect(await ask(gateway, named)).toMatchObject({ status: 200 });
    const [touched] = gateway.records;
    expect(touched!.limits.find(({ id }) => id === "id_here")).toMatchObject({ settled: 1 });
    expect(touched!.limits.find(({ id }) => id === "id_calls")!.settled).toBeGreaterThanOrEqual(
      touched!.usage!.total_tokens,
    );
    // the second one has no room there, and gets the refusal of the limit
    expect(await ask(gateway, named)).toMatchObject(fault === DEAD ? { status: 502 } : { status: 400 });
    expect(gateway.upstream.targets().filter((target) => target === "up1")).toHaveLength(1);
  });

  test("[d3.4] is checked by the policies of the route", async () => {
    for (const document of [
      { rule: "true", scope: { route: "fb", provider: "up1" } },
      { rule: "target.route == 'fb' && target.provider == 'up1'" },
      { rule: "request.route == 'fb' && target.provider == 'up1'" },
    ]) {
      const gateway = gatewayOf({}, [{ kind: "ok" }], {
        snapshot: { policies: policiesFor({ name: "the-rule", ...document }) },
      });
      await ask(gateway, named);
      expect(gateway.upstream.targets()).not.toContain("up1");
    }
  });

  test("[d6.4] uses the settings of the route", async () => {
    const providers = UPSTREAMS.map((id) =>
      providerSettings({
        id,
        family: id === "up1" ? "anthropic" : "custom",
        baseUrl: `http://${id}.test/v1`,
        credentials: [storedKey(`key-of-${id}`)],
      }),
    );
    const dropping = gatewayOf({ dropParams: true }, [status(500)], { providers });
    await ask(dropping, { ...named, seed: 7 });
    expect(dropping.upstream.targets()).toContain("up1");
    const refusing = gatewayOf({ dropParams: false }, [status(500)], { providers });
    await ask(refusing, { ...named, seed: 7 });
    expect(refusing.upstream.targets()).not.toContain("up1");
  });

  test("[d7.1] is retried as the route says", async () => {
    for (const retries of [0, 2]) {
      const gateway = gatewayOf({ retries }, [status(500)], {});
      await ask(gateway, { ...named, timeout: 60 });
      expect(gateway.upstream.targets().filter((target) => target === "up1")).toHaveLength(1 + retries);
    }
  });

  test("[d7.2] has the time limits of the route", async () => {
    const gateway = gatewayOf({ timeouts: { firstByteMs: 20 }, retries: 0 }, [{ kind: "stall" }]);
    await ask(gateway, named);
    expect(gateway.records[0]!.attempts.map(({ provider, code }) => [provider, code])).toContainEqual([
      "up1",
      "upstream_timeout",
    ]);
  });

  test("[d7.5] is refused while the route's breaker is open", async () => {
    const gateway = gatewayOf(
      { onExhausted: "error", retries: 0, breaker: { failures: 1, ratio: 0, windowMs: 60_000, openMs: 60_000 } },
      [status(500), { kind: "ok" }],
    );
    await ask(gateway, named);
    await ask(gateway, named);
    expect(gateway.upstream.targets().filter((target) => target === "up1")).toHaveLength(1);
  });
});

describe("a call that falls back to another route", () => {
  const two = (x: RouteParts = {}, fb: RouteParts = {}): readonly Route[] => [
    routeOf("fb", ["up0:m"], { fallbacks: ["route:x"], ...fb }),
    routeOf("x", ["up1:m"], x),
  ];

  test.each([
    ["of the route", {}],
    ["of the request", { fallbacks: ["route:x"] }],
    ["of the request, by its bare name", { fallbacks: ["x"] }],
  ] as const)("[d1.5] has the other route's name and rules from there on: a fallback %s", async (_, fields) => {
    const gateway = routedGateway(
      two({ retries: 2, fallbacks: ["up2:m"] }, "fallbacks" in fields ? { fallbacks: [] } : {}),
      { up0: [DEAD], up1: [status(500)] },
    );
    expect(await ask(gateway, { route: "fb", ...fields })).toMatchObject({ status: 200, model: "up2:m", route: "x" });
    expect(gateway.upstream.targets()).toEqual(["up0", "up1", "up1", "up1", "up2"]);
    expect(gateway.records[0]).toMatchObject({ route: "x" });
  });

  test("[d1.5] [d4.2] stays charged to the first route's limits, and is counted by the other's from there on", async () => {
    const limitRules = limitSet({
      limits: {
        first: { metric: "requests", window: "day", limit: 1, scope: { route: "fb" } },
        second: { metric: "tokens", window: "day", limit: 100_000, scope: { route: "x" } },
      },
    });
    const gateway = routedGateway(two(), { up0: [DEAD] }, { snapshot: { limitRules } });
    expect(await ask(gateway, { route: "fb" })).toMatchObject({ status: 200, route: "x" });
    expect(gateway.records[0]!.limits.map(({ id, settled }) => [id, settled])).toEqual([
      ["id_first", 1],
      ["id_second", gateway.records[0]!.usage!.total_tokens],
    ]);
    // the first route has no room for a second call, the other one has
    expect(await ask(gateway, { route: "fb" })).toMatchObject({ status: 200, route: "x" });
    expect(gateway.upstream.targets()).toEqual(["up0", "up1", "up1"]);
  });

  test("[d3.4] is checked by the other route's policies, and by the first one's no more", async () => {
    const of = (route: string): StubOptions => ({
      snapshot: { policies: policiesFor({ name: "the-rule", rule: "true", scope: { route, provider: "up1" } }) },
    });
    expect((await ask(routedGateway(two(), { up0: [DEAD] }, of("fb")), { route: "fb" })).status).toBe(200);
    expect((await ask(routedGateway(two(), { up0: [DEAD] }, of("x")), { route: "fb" })).status).toBe(502);
  });

  test("[d7.3] has the other route's fallbacks for context length and content policy", async () => {
    for (const [fault, parts] of [
      [TOO_LONG, { contextWindowFallbacks: new Map([["m", "up2:m"]]) }],
      [UNFIT, { contentPolicyFallbacks: ["up2:m"] }],
    ] as const) {
      const gateway = routedGateway(two(parts), { up0: [DEAD], up1: [fault] });
      expect(await ask(gateway, { route: "fb" })).toMatchObject({ status: 200, model: "up2:m", route: "x" });
    }
  });

  test("[d7.2] has the other route's timeouts from that point on", async () => {
    const gateway = routedGateway(two({ timeouts: { totalMs: 30 } }), { up0: [DEAD], up1: [{ kind: "stall" }] });
    expect(await ask(gateway, { route: "fb" })).toMatchObject({ status: 504, code: "upstream_timeout" });
    const own = routedGateway(two({ timeouts: { totalMs: 1 } }), { up0: [DEAD], up1: [{ kind: "ok", delayMs: 20 }] });
    expect(await ask(own, { route: "fb", timeout: 60 })).toMatchObject({ status: 200, route: "x" });
  });

  test("[d1.5] [d7.2] has the other route's timeouts also where the first route's target is passed over", async () => {
    const breaker = { failures: 1, ratio: 0, windowMs: 60_000, openMs: 60_000 };
    const gateway = routedGateway(two({ timeouts: { totalMs: 300 } }, { retries: 0, breaker }), {
      up0: [DEAD],
      up1: [{ kind: "ok" }, { kind: "stall" }],
    });
    expect(await ask(gateway, { route: "fb" })).toMatchObject({ status: 200, route: "x" });
    expect(await ask(gateway, { route: "fb" })).toMatchObject({ status: 504, code: "upstream_timeout" });
    expect(gateway.upstream.targets()).toEqual(["up0", "up1", "up1"]);
  });

  test("[d1.5] is served by the first route again for the later targets of that route's list", async () => {
    const gateway = routedGateway(two({}, { fallbacks: ["route:x", "up2:m"] }), { up0: [DEAD], up1: [DEAD] });
    expect(await ask(gateway, { route: "fb" })).toMatchObject({ status: 200, model: "up2:m", route: "fb" });
  });

  test("[d7.3] routes that fall back to one another end, and each is entered once", async () => {
    const routes = [
      routeOf("a", ["up0:m"], { fallbacks: ["route:b", "route:c"] }),
      routeOf("b", ["up1:m"], { fallbacks: ["route:c", "route:a"] }),
      routeOf("c", ["up2:m"], { fallbacks: ["route:a", "route:b"] }),
    ];
    const gateway = routedGateway(routes, { up0: [DEAD], up1: [DEAD], up2: [DEAD] });
    expect((await ask(gateway, { route: "a", num_retries: 0 })).status).toBe(502);
    expect(gateway.upstream.targets()).toEqual(["up0", "up1", "up2"]);
  });

  test("[d7.3] routes that fall back to one another are planned once each, also for a token that is restricted to routes", async () => {
    const routes = [
      routeOf("a", ["up0:m"], { fallbacks: ["route:b"] }),
      routeOf("b", ["up1:m"], { fallbacks: ["route:a"] }),
    ];
    for (const restrictions of [{}, { routes: ["a", "b"] }]) {
      const gateway = routedGateway(routes, {}, { token: { permissions: ["debug"], ...restrictions } });
      const headers = { "x-gateway-explain": "true" };
      const explained = await (await gateway.chat({ messages: HELLO, route: "a" }, { headers })).json();
      const { targets } = explained as { readonly targets: readonly { readonly target: string }[] };
      expect(targets.map(({ target }) => target)).toEqual(["up0:m", "up1:m"]);
    }
  });

  test("[d1.5] a direct call stays a direct call, by the defaults of its scope", async () => {
    const gateway = routedGateway(
      [],
      { up0: [TOO_LONG], up1: [status(500)] },
      { snapshot: { routes: new Map([["direct", routeOf("direct", [], { retries: 2 })]]) } },
    );
    expect(
      await ask(gateway, { model: "up0:m", context_window_fallback_dict: { m: "up1:m" }, fallbacks: ["up2:m"] }),
    ).toMatchObject({ status: 200, route: "direct" });
    expect(gateway.upstream.targets()).toEqual(["up0", "up1", "up1", "up1", "up2"]);
  });
});
