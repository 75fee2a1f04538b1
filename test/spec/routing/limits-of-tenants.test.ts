// Promises 7.5 and 7.9 with routes that a tenant's own people have written: their time limits open no breaker for others
// at a target that all may call.
import { expect, test } from "bun:test";
import { DEFAULT_BREAKER } from "../../../src/core/configured/route.ts";
import { targetStandings } from "../../../src/engine/plan/open-routing.ts";
import { routesSeen } from "../../../src/routing/compile-routes.ts";
import { type RouteEntries, routesSection } from "../../../src/routing/settings.ts";
import { type Fault, faultyUpstream, OK } from "../../harness/faults.ts";
import { stubGateway } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

const BREAKER = { failures: 1, ratio: 0.1 };
const entries = (routes: object): RouteEntries => routesSection.parse(routes);
const GLOBAL = { routes: entries({ r: { targets: ["up:m"], retries: 0, breaker: BREAKER } }), defaults: {} };

function gatewayWith(timeouts: object, answer: Fault, written: "by a tenant" | "by an operator", owner?: string) {
  const hurried = entries({ hurried: { targets: ["up:m"], retries: 0, timeouts } });
  const scope = {
    routes: hurried,
    defaults: {},
    ofTenant: new Map(written === "by a tenant" ? [["hurried", "default"]] : []),
  };
  const up = providerSettings({
    id: "up",
    family: "custom",
    baseUrl: "https://up.test/v1",
    credentials: [storedKey("key")],
    ...(owner !== undefined && { owner }),
  });
  const gateway = stubGateway({
    upstream: faultyUpstream({ scripts: { up: [answer, OK] } }),
    providers: [up],
    snapshot: { routes: routesSeen([GLOBAL]), tenantRoutes: new Map([["default", routesSeen([scope, GLOBAL])]]) },
  });
  return async (fields: object = {}): Promise<string | undefined> => {
    // both routes have been used, so that each attempt counts at the breakers of both
    gateway.context.routing.health.begin(`up:m${owner === undefined ? "" : ` of ${owner}`}`, breakerOfAll(), 0);
    const answered = await gateway.chat({ route: "hurried", messages: [{ role: "user", content: "Hi" }], ...fields });
    await answered.text();
    return targetStandings(gateway.context.routing, performance.now())[0]?.state;
  };
}

const breakerOfAll = () => ({ ...DEFAULT_BREAKER, ...BREAKER });
const SLOW: Fault = { kind: "ok", delayMs: 500 };

test.each([
  ["first_token_ms", { first_token_ms: 20 }, { stream: true }],
  ["total_ms", { total_ms: 40 }, {}],
])("[d7.9] %s of a tenant's route opens no breaker of a target that all may call", async (_, timeouts, fields) => {
  expect(await gatewayWith(timeouts, SLOW, "by a tenant")(fields)).toBe("closed");
  expect(await gatewayWith(timeouts, SLOW, "by an operator")(fields)).toBe("open");
  expect(await gatewayWith(timeouts, SLOW, "by a tenant", "default")(fields)).toBe("open");
});

test("[d7.9] a fault of the provider counts at the target, whoever has written the route", async () => {
  expect(await gatewayWith({ total_ms: 5000 }, { kind: "status", status: 500 }, "by a tenant")()).toBe("open");
  expect(await gatewayWith({ total_ms: 5000 }, { kind: "status", status: 504 }, "by a tenant")()).toBe("open");
});
