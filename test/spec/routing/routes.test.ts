// Which target a request selects (promises 1.1 to 1.4 and 1.6), and the specification's table of the request as far as
// one attempt suffices.
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { restrictionsOf } from "../../../src/auth/permitted-models.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { AccessToken } from "../../../src/core/identity.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { createApp } from "../../../src/http/app.ts";
import { refuseUnservedWith } from "../../../src/http/unserved-operations.ts";
import { BUILT_IN_MODELS, providers } from "../../../src/providers/registry.ts";
import {
  contextWindowFallback,
  namedRoutes,
  type ResolvedRoute,
  resolveRoute,
} from "../../../src/routing/resolve-route.ts";
import { runCli } from "../../harness/processes/gateway-process.ts";
import { projectToken } from "../../harness/in-process.ts";
import { answeringGateway, ask, HELLO, MODELS } from "../chat-calls.ts";
import { routesOfText } from "./route-texts.ts";
import { idleStanding } from "../../harness/standing.ts";

const ROUTES = routesOfText(`
routes:
  chat: {targets: ["openai:gpt-4o", {model: "anthropic:claude-sonnet-4-5", order: 2}, "gemini:gemini-2.5-flash"], drop_params: true}
  warm: {targets: [{model: "openai:gpt-4o-mini", params: {temperature: 1.5, max_tokens: 7, top_k: 3}}]}
  claude: {targets: ["anthropic:claude-sonnet-4-5"], aliases: ["team/claude"]}
  cool: {targets: [{model: "openai:gpt-4o", drop: [temperature, max_tokens, user], params: {top_p: 0.5}}]}
  groq.fast_1-x: {targets: ["groq:llama/deep:1"]}
tenants: {default: {routes: {ours: {targets: ["openai:tenant"]}}}}
projects: {default: {routes: {mine: {targets: ["openai:project"]}}}}
`);
const gateway = answeringGateway({ snapshot: ROUTES });
const plain = answeringGateway({ snapshot: ROUTES, permissions: [] });

async function served(fields: Readonly<Record<string, unknown>>, stub = gateway): Promise<string> {
  const { outcome, text } = await ask(stub, { model: null, ...fields });
  if (outcome !== "200") return outcome;
  const { route, model } = JSON.parse(text) as { readonly route: string; readonly model: string };
  return `${route} ${model}`;
}
function resolve(fields: Readonly<Record<string, unknown>>): ResolvedRoute {
  const { options } = parseChatRequest(JSON.stringify({ messages: HELLO, ...fields }));
  return resolveRoute(options, gateway.context.snapshot(), { tenantId: "default", projectId: "default" }, null);
}
function refusal(run: () => unknown): string {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof GatewayError) return `${thrown.entry.status} ${thrown.code} ${thrown.param}`;
    throw thrown;
  }
  return "taken";
}

describe("[d1.3] [d15.2] an alias of a route", () => {
  const OLD = routesOfText(`
routes:
  direct_llama: {targets: ["groq:llama"], aliases: ["groq/llama", "old name", "shared"], retries: 0}
  chat: {targets: ["openai:gpt-4o", "groq:llama"], aliases: ["team/chat", "openai/gpt-4o"]}
projects: {default: {routes: {ours: {targets: ["gemini:gemini-2.5-flash"], aliases: [shared]}}}}
`);
  const old = answeringGateway({ snapshot: OLD });
  const resolved = (
    fields: Readonly<Record<string, unknown>>,
    routes: readonly string[] = [],
    models: readonly string[] = [],
  ) => {
    const { options } = parseChatRequest(JSON.stringify({ messages: HELLO, ...fields }));
    const restrictions = restrictionsOf({ routes, models } as unknown as AccessToken);
    return resolveRoute(options, old.context.snapshot(), { tenantId: "default", projectId: "default" }, restrictions)
      .route.name;
  };
  test("is found in model and in route, with a slash and spaces in it, and precedes <provider>/<model>", async () => {
    for (const [name, route] of [
      ["groq/llama", "direct_llama"],
      ["old name", "direct_llama"],
      ["team/chat", "chat"],
      ["shared", "ours"],
    ] as const) {
      expect(await served({ model: name }, old)).toStartWith(`${route} `);
      expect(await served({ route: name }, old)).toStartWith(`${route} `);
    }
    expect(await served({ model: "groq:llama" }, old)).toBe("direct groq:llama");
    expect(await served({ route: "direct", model: "groq/llama" }, old)).toBe("direct groq:llama");
  });
  test("beside its route repeats the route's name, unless it is one of the targets", async () => {
    expect(await served({ route: "chat", model: "team/chat" }, old)).toBe("chat openai:gpt-4o");
    expect(await served({ route: "direct_llama", model: "groq/llama" }, old)).toBe("direct_llama groq:llama");
    expect(await served({ route: "chat", model: "old name" }, old)).toBe("400 model_not_in_route model");
  });
  test("is none for a token that may not call the route, so that a model of this name is called directly", () => {
    expect(resolved({ model: "groq/llama" }, ["direct_*"])).toBe("direct_llama");
    expect(resolved({ model: "groq/llama" }, ["chat"], ["groq:llama"])).toBe("direct");
    expect(refusal(() => resolved({ model: "old name" }, ["chat"]))).toBe("404 model_not_found model");
    expect(refusal(() => resolved({ route: "old name" }, ["chat"]))).toBe("404 route_not_found route");
  });
});

describe("selection", () => {
  test("[d1.1] [s:request.route] [s:request.model] is by a route's name or by a model's provider and name, of which the request needs one", async () => {
    expect(await served({ route: "chat" })).toBe("chat openai:gpt-4o");
    expect(await served({ model: "groq:llama/deep:1" })).toBe("direct groq:llama/deep:1");
    for (const none of [{}, { model: null, route: null }, { model: "" }, { route: "direct" }])
      expect(await served(none)).toBe("400 invalid_request model");
  });

  test("[d1.2] [s:request-rules.1] a route alone is enough, and so is a model alone; tenant and project need not be named", async () => {
    expect(await served({ route: "claude" }, plain)).toBe("claude anthropic:claude-sonnet-4-5");
    expect(await served({ model: MODELS.anthropic }, plain)).toBe("direct anthropic:claude-sonnet-4-5");
  });

  test("[d1.2] with route and model, the model has to be one of the route's targets, and is attempted first", async () => {
    expect(await served({ route: "chat", model: MODELS.gemini })).toBe("chat gemini:gemini-2.5-flash");
    const { route, requested: asked } = resolve({ route: "chat", model: "anthropic/claude-sonnet-4-5" });
    expect([route.name, asked!.name, route.targets.length]).toEqual(["chat", "anthropic:claude-sonnet-4-5", 3]);
    const externalClients = await ask(gateway, { route: "chat", model: "openai:gpt-4o-mini" });
    expect([externalClients.outcome, externalClients.wire]).toEqual(["400 model_not_in_route model", null]);
    expect(externalClients.error!.message).toContain(
      "openai:gpt-4o, anthropic:claude-sonnet-4-5, gemini:gemini-2.5-flash",
    );
    for (const model of ["nowhere:m", "gpt-4o", "claude", "openai:"])
      expect([model, await served({ route: "chat", model })]).toEqual([model, "400 model_not_in_route model"]);
  });

  test("[d1.2] the route's policies apply, whichever of its targets is requested", async () => {
    const { outcome, headers } = await ask(gateway, { route: "chat", model: MODELS.anthropic, seed: 1 });
    expect([outcome, headers.get("x-gateway-dropped-params")]).toEqual(["200", "seed"]);
    expect((await ask(gateway, { model: MODELS.anthropic, seed: 1 })).outcome).toBe("400 unsupported_parameter seed");
    expect((await ask(gateway, { route: "chat", model: MODELS.anthropic, seed: 1, drop_params: false })).outcome).toBe(
      "400 unsupported_parameter seed",
    );
  });

  test("[d6.3] a target drops the parameters that it names, whether or not it supports them and whatever the request says of dropping, and reports them", async () => {
    for (const drop_params of [undefined, false, true])
      for (const stream of [false, true]) {
        const { outcome, wire, headers } = await ask(gateway, {
          route: "cool",
          stream,
          drop_params,
          temperature: 0.3,
          max_completion_tokens: 20,
          user: "u",
          seed: 1,
        });
        expect([outcome, headers.get("x-gateway-dropped-params")]).toEqual([
          "200",
          "temperature,max_completion_tokens,user",
        ]);
        expect(wire).toMatchObject({ top_p: 0.5, seed: 1 });
        for (const name of ["temperature", "max_completion_tokens", "max_tokens", "user"])
          expect(wire).not.toHaveProperty(name);
        expect(gateway.records.at(-1)!.dispositions).toMatchObject({
          temperature: "dropped",
          max_completion_tokens: "dropped",
          user: "dropped",
          seed: "native",
        });
      }
    const nothing = await ask(gateway, { route: "cool", seed: 1 });
    expect([nothing.outcome, nothing.headers.has("x-gateway-dropped-params")]).toEqual(["200", false]);
  });

  test("[d1.3] a model that equals a route's name selects that route, also beside the same route", async () => {
    expect(await served({ model: "chat" })).toBe("chat openai:gpt-4o");
    expect(await served({ model: "groq.fast_1-x" })).toBe("groq.fast_1-x groq:llama/deep:1");
    expect(await served({ model: "chat", route: "chat" })).toBe("chat openai:gpt-4o");
    expect(resolve({ model: "chat" }).requested).toBeNull();
  });

  test("[d1.3] / is the same as the first :, and what follows may contain both", async () => {
    for (const model of ["groq:llama/deep:1", "groq/llama/deep:1"])
      expect(await served({ model })).toBe("direct groq:llama/deep:1");
    expect(await served({ model: "meta-llama/llama-3" })).toBe("404 model_not_found model");
  });

  test("[d1.3] direct is reserved: no route has that name, and beside it a route's name is not a model", async () => {
    expect(await served({ route: "direct", model: MODELS.openai })).toBe("direct openai:gpt-4o");
    expect(await served({ route: "direct", model: "chat" })).toBe("404 model_not_found model");
    expect(await served({ model: "direct" })).toBe("404 model_not_found model");
  });

  test("[d1.4] an unknown name is answered with 404, and nothing is sent", async () => {
    const before = gateway.sent.length;
    expect(await served({ route: "none" })).toBe("404 route_not_found route");
    expect(await served({ route: "none", model: MODELS.openai })).toBe("404 route_not_found route");
    expect(await served({ model: "nowhere:gpt" })).toBe("404 model_not_found model");
    expect(await served({ model: "none" })).toBe("404 model_not_found model");
    const off = answeringGateway({
      providers: [...gateway.context.snapshot().providers.values()].map((one) => ({ ...one, enabled: false })),
      permissions: [],
    });
    expect(await served({ model: MODELS.openai }, off)).toBe("404 model_not_found model");
    expect([gateway.sent.length, off.sent.length]).toEqual([before, 0]);
  });

  test("[d1.4] routes of a tenant or project do not exist for another", async () => {
    expect(await served({ route: "mine" })).toBe("mine openai:project");
    expect(await served({ route: "ours" })).toBe("ours openai:tenant");
    const foreign = answeringGateway({
      snapshot: {
        routes: ROUTES.routes,
        tenantRoutes: new Map([["other", ROUTES.tenantRoutes.get("default")!]]),
        projectRoutes: new Map([["other", ROUTES.projectRoutes.get("default")!]]),
      },
    });
    expect([await served({ route: "mine" }, foreign), await served({ model: "ours" }, foreign)]).toEqual([
      "404 route_not_found route",
      "404 model_not_found model",
    ]);
  });

  test("parameters of a target apply where the request does not set them", async () => {
    const wire = async (fields: Readonly<Record<string, unknown>>) =>
      (await ask(gateway, { model: "warm", ...fields })).wire;
    expect(await wire({})).toMatchObject({ model: "gpt-4o-mini", temperature: 1.5, top_k: 3, messages: HELLO });
    expect(await wire({ temperature: 0, top_k: 9 })).toMatchObject({ temperature: 0, top_k: 9 });
    expect((await wire({ temperature: null }))!["temperature"]).toBe(1.5);
    const bound = await wire({ max_completion_tokens: 5 });
    expect([bound!["max_tokens"], bound!["max_completion_tokens"]].filter((value) => value !== undefined)).toEqual([5]);
  });

  test("[d2.9] an address or key of a call does not go to several providers: the call has to name the provider", async () => {
    const access = { api_key: "callers-own", base_url: "http://127.0.0.1:9/v1" };
    expect(await served({ route: "chat", ...access })).toBe("400 invalid_request api_key");
    const named = await ask(gateway, { route: "chat", model: MODELS.openai, ...access });
    expect([
      named.request!.url.startsWith("http://127.0.0.1:9/v1"),
      JSON.stringify(named.request!.headers).includes("callers-own"),
    ]).toEqual([true, true]);
    expect((await ask(gateway, { model: "claude", ...access })).request!.url).toStartWith("http://127.0.0.1:9/v1");
  });
});

describe("model_list", () => {
  const entry = (model: string, more: object = {}) => ({ model_name: "fast", params: { model, ...more } });

  test("[d1.6] [s:param.model-list] has its entries of the requested name attempted by order, then weight, then position", () => {
    const model_list = [
      { ...entry("openai:third"), order: 2 },
      { ...entry("openai:second"), order: 1 },
      { ...entry("anthropic/first"), order: 1, weight: 3 },
      { ...entry("gemini:fourth"), order: 2, weight: null },
      { model_name: "slow", params: { model: "openai:never" } },
    ];
    const { route, requested: asked } = resolve({ model: "fast", model_list });
    expect([route.name, route.strategy, asked]).toEqual(["direct", "priority", null]);
    expect(route.targets.map(({ name, order }) => [name, order])).toEqual([
      ["anthropic:first", 0],
      ["openai:second", 1],
      ["openai:third", 2],
      ["gemini:fourth", 3],
    ]);
  });
  test("[d1.6] [s:param.model-list] needs byo_endpoint", async () => {
    const { outcome, error } = await ask(plain, { model: "fast", model_list: [entry(MODELS.openai)] });
    expect([outcome, error!.message.includes("byo_endpoint")]).toEqual(["403 permission_required model_list", true]);
  });
  test("[d1.6] is refused without the requested model, with a model that does not exist, and beside a route", () => {
    expect(refusal(() => resolve({ model: "other", model_list: [entry(MODELS.openai)] }))).toBe(
      "404 model_not_found model",
    );
    expect(refusal(() => resolve({ model: MODELS.openai, model_list: [entry(MODELS.openai)] }))).toBe(
      "404 model_not_found model",
    );
    expect(refusal(() => resolve({ model_list: [entry(MODELS.openai)] }))).toBe("400 invalid_request model");
    expect(refusal(() => resolve({ model: "fast", model_list: [entry("nowhere:m")] }))).toBe(
      "404 model_not_found model_list[0].params.model",
    );
    expect(refusal(() => resolve({ model: "fast", route: "chat", model_list: [entry(MODELS.openai)] }))).toBe(
      "400 invalid_request model_list",
    );
  });
  test("[d1.6] takes precedence over a configured route of the same name, for this call alone", () => {
    expect(
      resolve({
        model: "chat",
        model_list: [{ model_name: "chat", params: { model: "openai:inline" } }],
      }).route.targets.map(({ name }) => name),
    ).toEqual(["openai:inline"]);
    expect(resolve({ model: "chat" }).route.targets).toHaveLength(3);
  });
});

test("the context-window map has keys with or without the provider's prefix, and the whole name is looked up first", () => {
  const { options } = parseChatRequest(
    JSON.stringify({
      model: MODELS.openai,
      messages: HELLO,
      context_window_fallback_dict: { "openai:a": "gemini:x", "openai/b": "gemini:y", a: "gemini:z" },
    }),
  );
  const found = (providerId: string, model: string) =>
    contextWindowFallback(options.contextWindowFallbacks, { providerId, model });
  expect([found("openai", "a"), found("azure", "a"), found("openai", "b"), found("azure", "b")]).toEqual([
    "gemini:x",
    "gemini:z",
    "gemini:y",
    null,
  ]);
});

describe("the table of the request", () => {
  test("[s:request-rules.2] [s:request.messages] messages are required, whatever selects the target", async () => {
    for (const selection of [{ model: MODELS.openai }, { route: "chat", model: null }]) {
      for (const messages of [null, [], "Hello", {}])
        expect((await ask(gateway, { ...selection, messages })).outcome).toBe("400 invalid_request messages");
      expect((await ask(gateway, { ...selection, messages: HELLO })).wire!["messages"]).toEqual([...HELLO]);
    }
  });
  test("[s:request-rules.2] [s:request.model] model is the ID of the model to use; a route may stand in its place", async () => {
    expect((await ask(gateway, {})).wire!["model"]).toBe("gpt-4o");
    expect(await served({})).toBe("400 invalid_request model");
    for (const wrong of [5, [], {}])
      expect((await ask(gateway, { model: wrong })).outcome).toBe("400 invalid_request model");
  });
  test("[s:request.route] route is a name; anything else is refused", async () => {
    for (const wrong of [5, [], {}])
      expect((await ask(gateway, { route: wrong })).outcome).toBe("400 invalid_request route");
  });
  test.each(["tenant_id", "project_id"])(
    "[s:request.tenant-id] [s:request.project-id] [s:request-rules.1] %s may repeat the token's own or be left out, and is never sent to the provider",
    async (field) => {
      for (const selection of [{}, { model: "chat" }]) {
        const { outcome, wire } = await ask(gateway, { ...selection, [field]: "default" });
        expect([outcome, wire!["model"], field in wire!]).toEqual(["200", "gpt-4o", false]);
      }
      expect((await ask(gateway, { [field]: "other" })).error!.code).toBe("scope_mismatch");
      expect((await ask(gateway, { [field]: 5 })).outcome).toBe(`400 invalid_request ${field}`);
    },
  );
  test("[s:request.stream] stream true gives deltas and [DONE], false and null one answer, over a route too", async () => {
    for (const model of [MODELS.openai, "chat"]) {
      const streamed = await ask(gateway, { model, stream: true });
      expect([streamed.headers.get("content-type"), streamed.text.endsWith("data: [DONE]\n\n")]).toEqual([
        "text/event-stream; charset=utf-8",
        true,
      ]);
      for (const stream of [false, null])
        expect(JSON.parse((await ask(gateway, { model, stream })).text)).toMatchObject({ object: "chat.completion" });
    }
    expect((await ask(gateway, { stream: "yes" })).outcome).toBe("400 invalid_request stream");
  });
  test.each([
    ["temperature", [0, 0.7, 2], [-0.1, 2.1, "1", true]],
    ["top_p", [0, 0.1, 1], [-0.1, 1.1, "1"]],
  ] as const)(
    "[s:request.temperature] [s:request.top-p] %s reaches the model as it was sent; null means not set",
    async (field, right, wrong) => {
      for (const model of [MODELS.openai, "chat"]) {
        for (const value of right) expect((await ask(gateway, { model, [field]: value })).wire![field]).toBe(value);
        for (const value of wrong)
          expect((await ask(gateway, { model, [field]: value })).outcome).toBe(`400 invalid_request ${field}`);
        expect((await ask(gateway, { model, [field]: null })).wire![field]).toBeUndefined();
      }
    },
  );
  test("[s:request.max-tokens] the bound on generated tokens reaches each wire form", async () => {
    expect((await ask(gateway, { max_tokens: 9 })).wire).toMatchObject({ max_tokens: 9 });
    expect((await ask(gateway, { model: "claude", max_tokens: 9 })).wire).toMatchObject({ max_tokens: 9 });
    expect((await ask(gateway, { model: MODELS.gemini, max_tokens: 9 })).wire).toMatchObject({
      generationConfig: { maxOutputTokens: 9 },
    });
    for (const wrong of [1.5, "9", -2])
      expect((await ask(gateway, { max_tokens: wrong })).outcome).toBe("400 invalid_request max_tokens");
  });
  test("[s:request.metadata] metadata is recorded with the call and never sent", async () => {
    const { request } = await ask(gateway, { model: "chat", metadata: { team: "canary" } });
    expect(request!.body).not.toContain("canary");
    expect(gateway.records.at(-1)).toMatchObject({ route: "chat", metadata: { team: "canary" } });
  });
});

describe("[d9.1] routes in the listing of models", () => {
  const { token, text } = projectToken();
  const snapshot = { ...gateway.context.snapshot(), tokens: new Map([[token.id, token]]) };
  const app = createApp({
    clock: systemClock,
    version: "1",
    snapshot: () => snapshot,
    refuseUnserved: refuseUnservedWith(gateway.context),
    models: { providers, builtIn: BUILT_IN_MODELS },
    logins: gateway.context.logins,
    metrics: () => Promise.reject(new Error("none")),
    notReady: () => null,
    standing: () => idleStanding(),
  });
  const get = async (path: string): Promise<any> =>
    (
      await app.fetch(
        new Request(`http://gateway.test/api/v1/models${path}`, { headers: { authorization: `Bearer ${text}` } }),
        { peer: null },
      )
    ).json();

  test("stand first, those of tenant and project included, and look like models to a client", async () => {
    const { data } = await get("");
    const names = namedRoutes(ROUTES.projectRoutes.get("default")!).map(({ name }) => name);
    expect(data.slice(0, names.length).map((one: any) => one.id)).toEqual(names);
    expect(names.toSorted()).toEqual(["chat", "claude", "cool", "groq.fast_1-x", "mine", "ours", "warm"]);
    for (const one of data.slice(0, names.length))
      expect(one).toMatchObject({ object: "model", owned_by: "dragoman", created: expect.any(Number), name: one.id });
    expect(data[names.length + 1].owned_by).not.toBe("dragoman");
  });
  test("[d15.2] are listed under their aliases too, and found by them", async () => {
    const { data } = await get("");
    const own = data.find((one: any) => one.id === "team/claude");
    const named = await get("/claude");
    expect(own).toEqual({ ...named, id: "team/claude" });
    expect(await get("/team/claude")).toEqual(own);
  });
  test("show what every target can do: the shortest context, common parameters and modalities", async () => {
    const [chat, ...targets] = await Promise.all(
      ["/chat", "/openai:gpt-4o", "/anthropic:claude-sonnet-4-5", "/gemini:gemini-2.5-flash"].map(get),
    );
    expect(chat.context_length).toBe(Math.min(...targets.map((one: any) => one.context_length)));
    expect(chat.supported_parameters).toEqual(
      targets[0].supported_parameters.filter((name: string) =>
        targets.every((one: any) => one.supported_parameters.includes(name)),
      ),
    );
    expect([chat.supported_parameters.includes("temperature"), chat.supported_parameters.includes("seed")]).toEqual([
      true,
      false,
    ]);
    expect(chat.architecture.input_modalities).toEqual(["text", "image", "file"]);
  });
});

test("dragoman routes prints the resolved form of each route, and where it is configured", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-routes-"));
  try {
    const file = join(folder, "dragoman.yaml");
    writeFileSync(
      file,
      'route_defaults: {retries: 3}\nroutes: {a: {targets: ["sandbox:echo", "openai:m"], fallbacks: ["route:b"]}, b: {targets: [{model: "sandbox:json", when: request.stream, share: 5}, "sandbox:echo"], mirror: {target: "openai:m", drop: [seed], share: 10}, cache: {ttl_s: 60}}}\ntenants: {t: {route_defaults: {retries: 4}, routes: {a: {targets: ["sandbox:tools"]}}}}\n',
    );
    const table = await runCli(["routes", "--config", file]);
    expect(
      table.stdout
        .trim()
        .split("\n")
        .map((line) => line.split(/\s{2,}/)),
    ).toEqual([
      ["ROUTE", "SCOPE", "STRATEGY", "TARGETS", "FALLBACKS"],
      ["a", "global", "priority", "sandbox:echo, openai:m", "route:b"],
      ["b", "global", "priority", "sandbox:json, sandbox:echo", "-"],
      ["a", "tenant t", "priority", "sandbox:tools", "-"],
    ]);
    const json = JSON.parse((await runCli(["routes", "--json", "--config", file])).stdout) as readonly Record<
      string,
      any
    >[];
    expect(json.map((route) => [route["name"], route["scope"], route["retries"], route["on_exhausted"]])).toEqual([
      ["a", "global", 3, "least_bad"],
      ["b", "global", 3, "least_bad"],
      ["a", "tenant t", 4, "least_bad"],
    ]);
    expect(json[1]).toMatchObject({
      targets: [
        { name: "sandbox:json", when: "request.stream", share: 5 },
        { name: "sandbox:echo", drop: [] },
      ],
      mirror: { name: "openai:m", drop: ["seed"], share: 10, max_in_flight: 16, timeout_ms: 120_000 },
      cache: { ttl_s: 60, scope: "token" },
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  // two processes that have to start, however busy the machine is
});

test("an explanation names the route, and applies its drop_params", async () => {
  const stub = answeringGateway({ snapshot: ROUTES, permissions: ["debug"] });
  const { text } = await ask(stub, { model: "chat", seed: 1 }, { "x-gateway-explain": "true" });
  const plan: any = JSON.parse(text);
  expect([plan.route, plan.settings.drop_params, plan.targets[0].target]).toEqual([
    "chat",
    { value: true, from: "route" },
    "openai:gpt-4o",
  ]);
  expect(plan.targets[0].why).toContain("chat");
});
