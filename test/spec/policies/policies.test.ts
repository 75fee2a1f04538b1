// Promises 3.1, 3.2 and 3.4 through the whole gateway: which calls a rule denies, what the caller and the record see of
// it, and that no path to a target avoids it.
import { describe, expect, test } from "bun:test";
import type { Json } from "../../../src/core/json.ts";
import type { Snapshot } from "../../../src/core/snapshot.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { type Fault, status } from "../../harness/faults.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { type Routed, routedGateway, routeOf } from "../../harness/routed.ts";
import { readStream } from "../../harness/sse.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { configuredPolicy, policiesFor } from "../../policies/policy-documents.ts";
import { compilePolicies } from "../../../src/policies/compile-policies.ts";
import { HELLO, TOOL } from "../chat-calls.ts";
import { nativeUpstream } from "../operations/native-answers.ts";

const DEAD: Fault = { kind: "refused" };
const withPolicies = (policies: Snapshot["policies"], options: StubOptions = {}): StubOptions => ({
  ...options,
  snapshot: { ...options.snapshot, policies },
});
const gateway = (document: object, options: StubOptions = {}): Stub =>
  stubGateway(
    withPolicies(policiesFor({ name: "the-rule", ...document }), {
      upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer("Hello")) }),
      ...options,
    }),
  );

async function ask(
  stub: Stub,
  fields: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly code: string | null; readonly body: Record<string, any> }> {
  const response = await stub.chat({ model: "openai:gpt-4o", messages: HELLO, ...fields }, { headers });
  const text = await response.text();
  const body = (
    response.headers.get("content-type")!.startsWith("text/event-stream") ? { ...readStream(text) } : JSON.parse(text)
  ) as Record<string, any>;
  return { status: response.status, code: body["error"]?.code ?? null, body };
}

describe("a rule", () => {
  test("[d3.1] [d3.2] [s:authentication.5] [s:errors.403-forbidden] that matches denies the call before any provider is called: 403 policy_violation with the policy's name and message, and nothing of its expression", async () => {
    const stub = gateway({
      rule: 'request.model.startsWith("openai:") && request.metadata.team != "blue"',
      message: "Only team blue.",
    });
    const { status: code, body } = await ask(stub, { metadata: { team: "red" } });
    expect(code).toBe(403);
    expect(body["error"]).toEqual({
      message: "Only team blue.",
      type: "permission_error",
      param: null,
      code: "policy_violation",
      metadata: { policy: "the-rule" },
    });
    expect(JSON.stringify(body)).not.toMatch(/startsWith|metadata\.team/);
    expect(stub.sent).toEqual([]);
    expect(stub.records[0]).toMatchObject({
      status: 403,
      code: "policy_violation",
      policies: [{ name: "the-rule", effect: "denied" }],
    });
    expect((await ask(stub, { metadata: { team: "blue" } })).status).toBe(200);
    expect(stub.records[1]!.policies).toEqual([]);
  });

  test("[d3.2] is answered with the same 403 where a stream was requested", async () => {
    expect(await ask(gateway({ rule: "request.stream" }), { stream: true })).toMatchObject({
      status: 403,
      code: "policy_violation",
    });
  });

  const SEEN: readonly (readonly [string, string, object])[] = [
    ["the route asked for", 'request.route == "" && request.model == "openai:gpt-4o"', {}],
    ["whole numbers", "request.parameters.max_tokens > 100 && request.parameters.n == 1", { max_tokens: 101, n: 1 }],
    ["fractions beside whole numbers", "request.parameters.temperature > 1", { temperature: 1.5 }],
    [
      "parameters in the extra body",
      'request.parameters.service_tier == "priority"',
      { extra_body: { service_tier: "priority" } },
    ],
    [
      "whether a parameter was sent",
      "!has(request.parameters.temperature) && has(request.parameters.user)",
      { user: "ada" },
    ],
    [
      "the form of a parameter",
      'request.parameters.response_format.type == "json_object"',
      { response_format: { type: "json_object" } },
    ],
    [
      "message statistics",
      'request.messages.count == 1 && request.messages.characters == 5 && request.messages.roles.user == 1 && request.messages.parts["image_url"] == 0 && request.messages.prompt_tokens > 0',
      {},
    ],
    [
      "metadata",
      'request.metadata.tags.exists(tag, tag == "draft") && request.metadata.level >= 2',
      { metadata: { tags: ["draft"], level: 2 } },
    ],
    ["types and names of tools", 'request.tools == ["function"] && "weather" in request.tool_names', { tools: [TOOL] }],
    ["fields that are passed through", '"top_k" in request.extra && request.extra.top_k > 10', { top_k: 50 }],
    [
      "the target",
      'target.provider == "openai" && target.model == "gpt-4o" && target.name == "openai:gpt-4o" && target.route == "direct"',
      {},
    ],
    [
      "token, tenant and project",
      'token.kind == "project" && token.role == "developer" && token.permissions == ["byo_endpoint"] && tenant.id == "default" && project.id == "default" && token.id != ""',
      {},
    ],
    ["the time", 'now > timestamp("2025-01-01T00:00:00Z") && now.getHours("Asia/Kathmandu") == 5', {}],
    ["patterns", 'request.model.matches("^open.i:gpt-[0-9]")', {}],
  ];
  test.each(SEEN)("[d3.1] sees %s", async (_, rule, fields) => {
    expect(await ask(gateway({ rule }), fields)).toMatchObject({
      status: 403,
      body: { error: { metadata: { policy: "the-rule" } } },
    });
    expect((await ask(gateway({ rule: `!(${rule})` }), fields)).status).toBe(200);
  });

  test("[d3.1] sees the address of the client, as far as proxies are trusted", async () => {
    const from = async (
      rule: string,
      peer?: string,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<number> => {
      const response = await gateway({ rule }).chat(
        { model: "openai:gpt-4o", messages: HELLO },
        { headers, ...(peer !== undefined && { peer }) },
      );
      return response.status;
    };
    expect(await from('client.ip.startsWith("192.0.2.")', "192.0.2.7")).toBe(403);
    expect(await from('client.ip.startsWith("192.0.2.")', "198.51.100.1", { "x-forwarded-for": "192.0.2.7" })).toBe(
      200,
    );
    expect(await from('client.ip == ""')).toBe(403);
  });

  test("[d3.1] that cannot be evaluated denies, and the log reports it", async () => {
    const stub = gateway({ rule: 'request.metadata.team == "red"' });
    expect(await ask(stub)).toMatchObject({ status: 403, code: "policy_violation" });
    expect(stub.records[0]!.policies).toEqual([
      { name: "the-rule", effect: "failed", why: "No such key: team" },
      { name: "the-rule", effect: "denied" },
    ]);
    expect(stub.records[0]!.errorDetail).toContain("No such key: team");
    expect(stub.sent).toEqual([]);
  });

  test("[d3.1] runs its macros over at most 1,000 items: with more it cannot be evaluated", async () => {
    const rule = "request.metadata.list.exists(item, item == 2000)";
    const list = (length: number): object => ({ metadata: { list: Array.from({ length }, (_, index) => index) } });
    expect((await ask(gateway({ rule }), list(900))).status).toBe(200);
    const stub = gateway({ rule });
    expect((await ask(stub, list(1001))).status).toBe(403);
    expect(stub.records[0]!.policies[0]).toEqual({
      name: "the-rule",
      effect: "failed",
      why: "a value has more than 1000 members",
    });
    const tools = Array.from({ length: 1001 }, (_, index) => ({
      ...TOOL,
      function: { ...TOOL.function, name: `f${index}` },
    }));
    expect((await ask(gateway({ rule: 'request.tools.all(tool, tool == "x")' }), { tools })).status).toBe(403);
  });

  test("[d3.1] in audit mode denies nothing, and is recorded", async () => {
    const stub = gateway({ rule: "true", mode: "audit" });
    expect((await ask(stub)).status).toBe(200);
    expect(stub.records[0]!.policies).toEqual([{ name: "the-rule", effect: "would_deny" }]);
  });

  test("[d3.1] in audit mode denies nothing where it cannot be evaluated either", async () => {
    const stub = gateway({ rule: "request.metadata.team == 1", mode: "audit" });
    expect((await ask(stub)).status).toBe(200);
    expect(stub.records[0]!.policies).toEqual([{ name: "the-rule", effect: "failed", why: "No such key: team" }]);
  });
});

describe("the scope of a policy", () => {
  test.each([
    ["a model", { model: "openai:gpt-*" }, {}, 403],
    ["another model", { model: "openai:o*" }, {}, 200],
    ["a model with a slash after its provider", { model: "openai/gpt-*" }, {}, 403],
    ["a provider", { provider: "openai" }, {}, 403],
    ["another provider", { provider: "anthropic" }, {}, 200],
    ["direct calls", { route: "direct" }, {}, 403],
    ["an end user", { user: "eve-*" }, { user: "eve-1" }, 403],
    ["another end user", { user: "eve-*" }, { user: "ada" }, 200],
    ["calls without an end user", { user: "*" }, {}, 200],
    ["another token", { token: "nobody" }, {}, 200],
    ["all that is named", { provider: "openai", user: "ada" }, { user: "eve" }, 200],
  ])("[d3.1] bounds it to %s", async (_, scope, fields, expected) => {
    expect((await ask(gateway({ rule: "true", scope }), fields)).status).toBe(expected);
  });

  test("[d3.1] global, tenant and project policies apply, in this order; those of other scopes do not", async () => {
    const place = (name: string, rule: string, where: object) => configuredPolicy({ name, rule }, where);
    const all = [
      place("project", "request.stream", { tenantId: "default", projectId: "default" }),
      place("everywhere", "request.stream", {}),
      place("tenant", "request.stream", { tenantId: "default" }),
      place("foreign-tenant", "true", { tenantId: "other" }),
      place("foreign-project", "true", { tenantId: "default", projectId: "other" }),
    ];
    const named = async (policies: typeof all): Promise<unknown> =>
      (
        await ask(stubGateway(withPolicies(compilePolicies(policies), { upstream: cannedUpstream({ body: "{}" }) })), {
          stream: true,
        })
      ).body["error"].metadata?.policy;
    expect(await named(all)).toBe("everywhere");
    expect(await named(all.filter(({ name }) => name !== "everywhere"))).toBe("tenant");
    expect(await named(all.filter(({ name }) => name !== "everywhere" && name !== "tenant"))).toBe("project");
    expect(
      (
        await ask(
          stubGateway(
            withPolicies(compilePolicies(all), {
              upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer("x")) }),
            }),
          ),
        )
      ).status,
    ).toBe(200);
  });
});

describe("every path to a target", () => {
  const NO_UP1 = { name: "no-up1", rule: 'target.provider == "up1"', message: "Not there." };
  const routed = (
    scripts: Readonly<Record<string, readonly Fault[]>>,
    document: object = NO_UP1,
    routes = [routeOf("r", ["up0:m", "up1:m", "up2:m"])],
  ): Routed => routedGateway(routes, scripts, withPolicies(policiesFor(document)));

  test("[d3.4] a denied target of a route is skipped", async () => {
    const stub = routed({ up0: [DEAD] });
    const got = await ask(stub, { model: null, route: "r" });
    expect([got.status, stub.upstream.targets()]).toEqual([200, ["up0", "up2"]]);
    expect(stub.records[0]!.policies).toEqual([{ name: "no-up1", effect: "denied" }]);
  });

  test("[d3.4] a denied fallback of the request or the route is skipped, and a denied model of the context-window map", async () => {
    const asRequest = routed({ up0: [DEAD] });
    expect((await ask(asRequest, { model: "up0:m", num_retries: 0, fallbacks: ["up1:m", "up2:m"] })).status).toBe(200);
    expect(asRequest.upstream.targets()).toEqual(["up0", "up2"]);

    const ofRoute = routed({ up0: [DEAD] }, NO_UP1, [routeOf("r", ["up0:m"], { fallbacks: ["up1:m", "up3:m"] })]);
    expect((await ask(ofRoute, { model: null, route: "r" })).status).toBe(200);
    expect(ofRoute.upstream.targets()).toEqual(["up0", "up3"]);

    const tooLong = status(
      400,
      {},
      { code: "context_length_exceeded", message: "This model's maximum context length is 8 tokens." },
    );
    const byMap = routed({ up0: [tooLong] });
    const got = await ask(byMap, { model: "up0:m", context_window_fallback_dict: { "up0:m": "up1:m" } });
    expect([got.status, got.code, byMap.upstream.targets()]).toEqual([400, "context_length_exceeded", ["up0"]]);
  });

  test("[d3.4] a denied entry of model_list is skipped", async () => {
    const stub = routed({});
    const got = await ask(stub, {
      model: "mine",
      model_list: [
        { model_name: "mine", params: { model: "up1:m" }, order: 1 },
        { model_name: "mine", params: { model: "up2:m" }, order: 2 },
      ],
    });
    expect([got.status, stub.upstream.targets()]).toEqual([200, ["up2"]]);
  });

  test("[d3.4] when no target is left, the last refusal is the answer", async () => {
    const stub = routed({}, { name: "nowhere", rule: 'target.name.startsWith("up")', message: "Nowhere." });
    expect(await ask(stub, { model: null, route: "r" })).toMatchObject({
      status: 403,
      body: { error: { code: "policy_violation", message: "Nowhere.", metadata: { policy: "nowhere" } } },
    });
    expect(await ask(stub, { model: "up1:m" })).toMatchObject({ status: 403, code: "policy_violation" });
    expect(stub.upstream.targets()).toEqual([]);
  });

  test("[d3.4] the failure of a target that was called takes precedence over a refusal", async () => {
    const got = await ask(routed({ up0: [status(500)], up2: [status(503)] }), { model: null, route: "r" });
    expect([got.status, got.code]).toEqual([503, "upstream_overloaded"]);
  });

  test("[d3.4] an entry of fallbacks is a request: a rule about parameters applies to those of the entry", async () => {
    const stub = routed(
      { up0: [DEAD] },
      { name: "cool", rule: "has(request.parameters.temperature) && request.parameters.temperature > 1" },
    );
    const got = await ask(stub, {
      model: "up0:m",
      num_retries: 0,
      temperature: 0,
      fallbacks: [{ model: "up2:m", temperature: 2 }],
    });
    expect([got.status, stub.upstream.targets()]).toEqual([502, ["up0"]]);
  });

  test("[d3.4] a hedge goes to no denied target", async () => {
    const hedge = { after: 5, maxExtra: 1 } as const;
    const stub = routedGateway(
      [routeOf("r", ["up0:m", "up1:m"], { hedge })],
      { up0: [{ kind: "ok", delayMs: 60 }] },
      withPolicies(policiesFor(NO_UP1)),
    );
    expect((await ask(stub, { model: null, route: "r" })).status).toBe(200);
    // the second attempt is at the same target, where there is no other one
    expect(new Set(stub.upstream.targets())).toEqual(new Set(["up0"]));
    const free = routedGateway([routeOf("r", ["up0:m", "up1:m"], { hedge })], { up0: [{ kind: "ok", delayMs: 60 }] });
    await ask(free, { model: null, route: "r" });
    expect(free.upstream.targets()).toEqual(["up0", "up1"]);
  });
});

describe("an explanation", () => {
  test("[d9.4] shows which policies apply, and which target each of them denies, without their rules", async () => {
    const stub = routedGateway(
      [routeOf("r", ["up0:m", "up1:m"])],
      {},
      withPolicies(
        policiesFor(
          { name: "no-up1", rule: 'target.provider == "up1"' },
          { name: "mail", guard: { on: "input", classes: ["email"], action: "mask" } },
        ),
        { permissions: ["debug"] },
      ),
    );
    const { body } = await ask(
      stub,
      { model: null, route: "r", messages: [{ role: "user", content: "I am a@b.co" }] },
      { "x-gateway-explain": "true" },
    );
    expect(body["policies"]).toEqual([
      { name: "no-up1", mode: "enforce", kind: "rule", asked: "at each target" },
      { name: "mail", mode: "enforce", kind: "guard", asked: "once", on: "input", action: "mask" },
    ]);
    expect(body["targets"][1].passed_over).toMatchObject({ code: "policy_violation" });
    expect(JSON.stringify(body)).not.toMatch(/a@b\.co|target\.provider/);
    expect(JSON.stringify(body["targets"][0].request)).toContain("I am [email]");
    expect(stub.upstream.targets()).toEqual([]);
  });
});

test("[d3.3] [d12.3] a value of the wrong kind, which a native target is left to judge, denies a call whose rule reads it", async () => {
  const call = async (temperature: Json): Promise<readonly [number, number, unknown]> => {
    const policies = policiesFor({ name: "cool", rule: "request.parameters.temperature > 1.0" });
    const stub = stubGateway({ upstream: nativeUpstream(), snapshot: { policies } });
    const answer = await stub.call(MESSAGES, {
      model: "anthropic:claude-sonnet-5",
      max_tokens: 50,
      messages: [{ role: "user", content: "Hello" }],
      temperature,
    });
    return [answer.status, stub.sent.length, stub.records[0]!.policies.map(({ effect }) => effect)];
  };
  expect(await call(0.5)).toEqual([200, 1, []]);
  for (const temperature of ["warm", {}, [2], true])
    expect(await call(temperature)).toEqual([403, 0, ["failed", "denied"]]);
});
