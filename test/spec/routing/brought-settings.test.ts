// Promise 7.5 with what a caller may add to a request under the permission `byo_endpoint`: where a header, a version or a
// deployment of one caller makes a provider refuse a call, that says nothing about the target and the keys of all others.
import { describe, expect, test } from "bun:test";
import { yieldToLoop } from "../../../src/core/concurrency/event-loop.ts";
import { DIRECT_ROUTE } from "../../../src/core/configured/route.ts";
import { targetStandings } from "../../../src/engine/plan/open-routing.ts";
import { type Fault, faultyUpstream, OK, status } from "../../harness/faults.ts";
import { stubGateway } from "../../harness/in-process.ts";
import { routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

const DATED = "2024-10-21";
const BROUGHT: readonly (readonly [what: string, fields: object])[] = [
  ["a header", { headers: { "x-of-the-caller": "1" } }],
  ["a version of the API", { api_version: DATED }],
  ["a deployment", { api_version: DATED, deployment_id: "of-the-caller" }],
  ["an entry of model_list with a version of the API", entry({ api_version: DATED })],
];

function entry(params: object): object {
  return {
    route: undefined,
    model: "mine",
    model_list: [
      { model_name: "mine", params: { model: "azure:m", ...params } },
      { model_name: "mine", params: { model: "other:m" }, order: 1 },
    ],
  };
}

/**
 * A route to `azure:m`, which has several keys, and then to `other:m`. The server of `azure` refuses only what a caller
 * has added something to.
 */
function gatewayThat(refuses: Fault, keys: readonly string[]) {
  const upstream = faultyUpstream({
    scripts: { refused: [refuses], served: [OK], other: [OK] },
    targetOf({ url, headers }) {
      if (url.includes("other.test")) return "other";
      return url.includes(DATED) || headers["x-of-the-caller"] !== undefined ? "refused" : "served";
    },
  });
  const provider = (id: string, family: string, stored: readonly string[]) =>
    providerSettings({ id, family, baseUrl: `https://${id}.test`, credentials: stored.map(storedKey) });
  const parts = { breaker: { failures: 1, ratio: 0.1, windowMs: 60_000, openMs: 60_000 }, fallbacks: ["other:m"] };
  const target = { name: "azure:m", maxConcurrency: 1 };
  const gateway = stubGateway({
    upstream,
    providers: [provider("azure", "azure", keys), provider("other", "custom", ["other"])],
    snapshot: {
      routes: new Map([
        [DIRECT_ROUTE, routeOf(DIRECT_ROUTE, [], parts)],
        ["r", routeOf("r", [target], { ...parts, queue: { max: 0, timeoutMs: 1 } })],
      ]),
    },
  });
  return {
    ...gateway,
    served: async (fields: object = {}, signal = new AbortController().signal): Promise<string | null> => {
      const messages = [{ role: "user", content: "Hello" }];
      const answered = await gateway.chat({ route: "r", messages, ...fields }, { signal });
      await answered.text();
      return answered.headers.get("x-gateway-model");
    },
    sentTo: (whom: string): number => upstream.targets().filter((one) => one === whom).length,
  };
}

describe.each(BROUGHT)("%s of one caller", (_, fields) => {
  test.each([
    ["a fault", status(500)],
    ["a wait", status(429, { "retry-after": "3600" })],
    ["a refused key", status(401)],
  ])("[d7.5] that ends in %s says nothing about the target of the others", async (__, refusal) => {
    const gateway = gatewayThat(refusal, ["first"]);
    expect([await gateway.served(fields), await gateway.served()]).toEqual(["other:m", "azure:m"]);
    // it is known of the calls that bring the same
    expect(await gateway.served(fields)).toBe("other:m");
    expect(gateway.sentTo("refused")).toBe(1);
    expect(targetStandings(gateway.context.routing, 0).map(({ state }) => state)).toEqual(["closed", "closed"]);
  });

  test.each([
    ["refused", status(401)],
    ["told to wait", status(429, { "retry-after": "3600" })],
  ])("[d7.5] for which all keys are %s says nothing about the keys of the others", async (__, refusal) => {
    const gateway = gatewayThat(refusal, ["first", "second"]);
    expect(await gateway.served(fields)).toBe("other:m");
    expect(gateway.sentTo("refused")).toBe(2);
    expect(gateway.refused).toEqual([]);
    expect([await gateway.served(), await gateway.served()]).toEqual(["azure:m", "azure:m"]);
    const keys = gateway.sent.filter(({ url }) => url.includes("azure.test")).map(({ headers }) => headers["api-key"]!);
    expect(new Set(keys.slice(-2))).toEqual(new Set(["first", "second"]));
  });
});

test("[d7.5] a call with a header of the caller takes a place of the target, whose calls in flight are bounded", async () => {
  const gateway = gatewayThat({ kind: "stall" }, ["first"]);
  const leaving = new AbortController();
  const hanging = gateway.served({ headers: { "x-of-the-caller": "1" } }, leaving.signal).catch(() => null);
  while (gateway.sent.length === 0) await yieldToLoop();
  expect(await gateway.served()).toBe("other:m");
  leaving.abort();
  await hanging;
  expect(await gateway.served()).toBe("azure:m");
});

test("[d7.5] an entry of model_list that brings nothing else shares what is known of its target", async () => {
  const gateway = gatewayThat(OK, ["first"]);
  gateway.context.routing.health.end("azure:m", routeOf("r", []).breaker, "cancelled", performance.now(), {
    retryAfterMs: 3_600_000,
  });
  expect([await gateway.served(), await gateway.served(entry({}))]).toEqual(["other:m", "other:m"]);
});
