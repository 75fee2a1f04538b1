// Promises 3.4 and 6.5 through the whole gateway: what an operator writes into a route needs no permission of the caller,
// what the caller writes does, and a target that the caller may not call in this way is skipped, also for a fallback.
import { describe, expect, test } from "bun:test";
import type { RouteFallback } from "../../../src/core/configured/route.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Operation } from "../../../src/engine/operation.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { stubGateway } from "../../harness/in-process.ts";
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

test("[d6.2] a parameter that a target never gets does not reach it from the extra body either, and this is told", async () => {
  const gateway = gatewayOf([{ ...AT_UP0, drop: new Set(["reasoning_effort"]) }]);
  const response = await gateway.chat({
    route: "r",
    messages: HELLO,
    extra_body: { reasoning_effort: "high", top_k: 3 },
  });
  expect(response.headers.get("x-gateway-dropped-params")).toBe("reasoning_effort");
  expect(JSON.parse(gateway.upstream.served[0]!.request.body)).toMatchObject({ top_k: 3 });
  expect(gateway.upstream.served[0]!.request.body).not.toContain("reasoning_effort");
});

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

test("[d6.5] [d12.3] what needs the permission in the vendor's own form needs it in a chat completion too", async () => {
  const providers = [
    providerSettings({
      id: "anthropic",
      family: "anthropic",
      baseUrl: "https://a.test",
      credentials: [storedKey("k-1")],
    }),
  ];
  const asked = (permissions: readonly "byo_endpoint"[], fields: object) =>
    stubGateway({ providers, permissions }).chat({ model: "anthropic:claude-x", messages: HELLO, ...fields });
  for (const name of ["workspace_id", "user_profile_id", "fallback_credit_token"])
    for (const fields of [{ [name]: "x" }, { extra_body: { [name]: "x" } }]) {
      const response = await asked([], fields);
      const { error } = (await response.json()) as { error: JsonObject };
      expect([response.status, error["code"], error["param"]]).toEqual([403, "permission_required", name]);
      expect((await asked(["byo_endpoint"], fields)).status).not.toBe(403);
    }
});

describe("a guard of the vendor that the configuration sets", () => {
  const OPERATORS = { guardrailIdentifier: "of-the-operator", guardrailVersion: "1" };
  const STRICT = [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_LOW_AND_ABOVE" }];
  const LAX = [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }];
  const providers = [
    providerSettings({
      id: "bedrock",
      family: "bedrock",
      baseUrl: "https://bedrock-runtime.eu-central-1.amazonaws.com",
      credentials: [storedKey("stored-key")],
      native: ["messages"],
    }),
    providerSettings({
      id: "gemini",
      family: "gemini",
      baseUrl: "https://generativelanguage.googleapis.com/v1beta",
      credentials: [storedKey("stored-key")],
    }),
  ];
  const WITH_GUARDS: readonly (readonly [string, ...string[]])[] = [
    ["cohere", "safety_mode"],
    ["custom", "guardrails"],
    ["litellm", "guardrails", "disable_global_guardrails"],
    ["minimax", "mask_sensitive_info"],
    ["mistral", "safe_prompt", "guardrails"],
    ["nvidia", "guardrails"],
    ["snowflake", "guardrails"],
    ["together", "safety_model"],
    ["vertex", "modelArmorConfig", "model_armor_config", "safetySettings", "safe_prompt", "guardrails"],
    ["zai", "sensitive_word_check"],
  ];
  providers.push(
    ...WITH_GUARDS.map(([id]) =>
      providerSettings({
        id,
        family: id,
        baseUrl: "https://vendor.example/v1",
        credentials: [storedKey("stored-key")],
      }),
    ),
  );
  const CLAUDE = "bedrock:anthropic.claude-sonnet-4-5-20250929-v1:0";
  const gatewayWith = (name: string, params: JsonObject, parts: RouteParts = {}) =>
    stubGateway({
      permissions: ["byo_endpoint"],
      providers,
      snapshot: { routes: new Map([["r", routeOf("r", [{ name, params }], parts)]]) },
    });
  /** The outcome, and the members of the body that was sent, if one was. */
  async function sentBy(gateway: ReturnType<typeof gatewayWith>, fields: object, operation?: Operation) {
    const body = { ...(operation === undefined ? { route: "r" } : { model: "r", max_tokens: 9 }), messages: HELLO };
    const response = await (operation === undefined
      ? gateway.chat({ ...body, ...fields })
      : gateway.call(operation, { ...body, ...fields }));
    const code = /"code":"(\w+)"/.exec(await response.text())?.[1];
    const [request] = gateway.sent;
    if (request === undefined) return code;
    return [request.url.replace(/^.*[:/]/, ""), JSON.parse(request.body) as JsonObject] as const;
  }

  test("[d6.5] is never overwritten by a request, in any of its names", async () => {
    for (const params of [{ guardrailConfig: OPERATORS }, { extra_body: { guardrailConfig: OPERATORS } }]) {
      expect(await sentBy(gatewayWith(CLAUDE, params), {})).toMatchObject(["converse", { guardrailConfig: OPERATORS }]);
      for (const own of [{ guardrailIdentifier: "another" }, { trace: "enabled" }, null])
        for (const fields of [{ guardrailConfig: own }, { extra_body: { guardrailConfig: own } }])
          expect(await sentBy(gatewayWith(CLAUDE, params), fields)).toBe("reserved_parameter");
    }
    const gemini = () => gatewayWith("gemini:gemini-2.5-flash", { safetySettings: STRICT });
    expect(await sentBy(gemini(), {})).toMatchObject(["generateContent", { safetySettings: STRICT }]);
    for (const name of ["safetySettings", "safety_settings"])
      expect(await sentBy(gemini(), { [name]: LAX })).toBe("reserved_parameter");
    // a guard of the request's own stands where the configuration sets none
    expect(await sentBy(gatewayWith("gemini:gemini-2.5-flash", {}), { safetySettings: LAX })).toMatchObject([
      "generateContent",
      { safetySettings: LAX },
    ]);
  });

  test.each(WITH_GUARDS)("[d6.5] of %s is known by each of its names", async (id, ...guards) => {
    for (const name of guards) {
      const asking = () => gatewayWith(`${id}:gemini-2.5-flash`, { [name]: 1 });
      expect(await sentBy(asking(), {})).toMatchObject([expect.anything(), { [name]: 1 }]);
      for (const written of guards) expect(await sentBy(asking(), { [written]: 2 })).toBe("reserved_parameter");
    }
  });

  test("[d6.5] [d12.3] holds for other operations too, whose calls are then translated", async () => {
    for (const params of [{ guardrailConfig: OPERATORS }, { extra_body: { guardrailConfig: OPERATORS } }])
      expect(await sentBy(gatewayWith(CLAUDE, params), {}, MESSAGES)).toMatchObject([
        "converse",
        { guardrailConfig: OPERATORS },
      ]);
    expect(await sentBy(gatewayWith(CLAUDE, { extra_body: { top_k: 5 } }), {}, MESSAGES)).toMatchObject([
      "invoke",
      { top_k: 5 },
    ]);
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
