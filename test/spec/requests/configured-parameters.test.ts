// Promises 3.4 and 6.5 through the whole gateway: what an operator writes into a route needs no permission of the caller,
// what the caller writes does, and a target that the caller may not call in this way is skipped, also for a fallback.
import { describe, expect, test } from "bun:test";
import type { RouteFallback } from "../../../src/core/configured/route.ts";
import { routedGateway, routeOf, type Routed, type RouteParts, UPSTREAMS } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

const HELLO = [{ role: "user", content: "Hello" }];
const IGNORE = { ignore: ["slow-host"] };
const AT_UP0 = { name: "up0:m" };

/** `up0` and `up1` are OpenRouter's, the others are not. */
function gatewayOf(
  targets: Parameters<typeof routeOf>[1],
  parts: RouteParts = {},
  permissions: readonly "byo_endpoint"[] = [],
): Routed {
  const providers = UPSTREAMS.map((id, at) =>
    providerSettings({
      id,
      family: at < 2 ? "openrouter" : "custom",
      baseUrl: `http://${id}.test/v1`,
      credentials: [storedKey(`key-of-${id}`)],
    }),
  );
  return routedGateway([routeOf("r", targets, parts)], {}, { permissions, providers });
}

/** The breaker of `up3:m` is open. */
function withOpenBreaker(gateway: Routed): Routed {
  const { health } = gateway.context.routing;
  const { breaker } = routeOf("r", []);
  for (let at = 0; at < breaker.failures; at++) health.end("up3:m", breaker, "upstream_fault", performance.now(), {});
  return gateway;
}

async function ask(gateway: Routed, fields: object = {}): Promise<readonly unknown[]> {
  const response = await gateway.chat({ route: "r", messages: HELLO, ...fields });
  const { error } = (await response.json()) as Record<string, any>;
  const sent = gateway.upstream.served.map(({ target, request }) => [
    target,
    JSON.parse(request.body).provider ?? null,
  ]);
  return [error === undefined ? "200" : `${response.status} ${error.code} ${error.param}`, ...sent];
}

describe("parameters that select further models", () => {
  test("[d6.5] of a target of the route need no permission of the caller", async () => {
    const route = [{ ...AT_UP0, params: { provider: IGNORE } }];
    expect(await ask(gatewayOf(route))).toEqual(["200", ["up0", IGNORE]]);
    const inside = [{ ...AT_UP0, params: { extra_body: { provider: IGNORE } } }];
    expect(await ask(gatewayOf(inside))).toEqual(["200", ["up0", IGNORE]]);
    expect(await ask(gatewayOf(route, {}, []), { stream: false, temperature: 0 })).toEqual(["200", ["up0", IGNORE]]);
  });
  test("[d6.5] of a fallback of the route need no permission of the caller", async () => {
    const fallback: RouteFallback = { model: "up1:m", route: null, params: { provider: IGNORE } };
    const gateway = withOpenBreaker(gatewayOf(["up3:m"], { fallbacks: [fallback] }));
    expect(await ask(gateway)).toEqual(["200", ["up1", IGNORE]]);
  });
  test("[d6.5] that the caller writes need it, also where the route sets them", async () => {
    const own = { order: ["another"] };
    const route = [{ ...AT_UP0, params: { provider: IGNORE } }];
    for (const fields of [{ provider: own }, { extra_body: { provider: own } }])
      expect(await ask(gatewayOf(route), fields)).toEqual(["403 permission_required provider"]);
    expect(await ask(gatewayOf(route, {}, ["byo_endpoint"]), { provider: own })).toEqual(["200", ["up0", own]]);
    // another such parameter of the route makes no difference
    expect(await ask(gatewayOf(route), { models: ["x"] })).toEqual(["403 permission_required models"]);
    const gateway = withOpenBreaker(gatewayOf([{ name: "up3:m", params: { provider: IGNORE } }]));
    expect(await ask(gateway, { fallbacks: [{ model: "up1:m", provider: own }] })).toEqual(["200", ["up3", IGNORE]]);
  });
});

describe("a target that the caller may not call in this way", () => {
  test("[d3.4] is skipped for the fallbacks, of the route and of the request, as for a further target", async () => {
    const fields = { provider: IGNORE };
    expect(await ask(gatewayOf(["up0:m", "up2:m"]), fields)).toEqual(["200", ["up2", IGNORE]]);
    expect(await ask(gatewayOf(["up0:m"], { fallbacks: ["up2:m"] }), fields)).toEqual(["200", ["up2", IGNORE]]);
    expect(await ask(gatewayOf(["up0:m"]), { ...fields, fallbacks: ["up2:m"] })).toEqual(["200", ["up2", IGNORE]]);
    const direct = { ...fields, route: "direct", model: "up0:m", fallbacks: ["up2:m"] };
    expect(await ask(gatewayOf(["up0:m"]), direct)).toEqual(["200", ["up2", IGNORE]]);
    expect(await ask(gatewayOf(["up0:m"], { fallbacks: ["up1:m"] }), fields)).toEqual([
      "403 permission_required provider",
    ]);
  });
});
