// Promises 2.4 and 3.4 through the whole gateway: tokens that are restricted to models, routes or addresses, and calls
// with targets that they may not call.
import { describe, expect, test } from "bun:test";
import type { AccessToken } from "../../../src/core/identity.ts";
import type { ModelListing, Snapshot } from "../../../src/core/snapshot.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { createApp } from "../../../src/http/app.ts";
import { refuseUnservedWith } from "../../../src/http/unserved-operations.ts";
import { noToolServers } from "../../../src/mcp/tool-servers.ts";
import { providers } from "../../../src/providers/registry.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { compileIpRanges } from "../../../src/wire/ip-range.ts";
import { openAdminWorld } from "../../harness/admin.ts";
import { type Fault, status } from "../../harness/faults.ts";
import { stubGateway } from "../../harness/in-process.ts";
import { type Routed, routedGateway, routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { answeringGateway, HELLO } from "../chat-calls.ts";
import { idleStanding } from "../../harness/standing.ts";

const DEAD: Fault = { kind: "refused" };
const TOO_LONG = status(
  400,
  {},
  { code: "context_length_exceeded", message: "This model's maximum context length is 8 tokens." },
);

const ROUTES = [
  routeOf("fast", ["up0:m", "up1:m"], { fallbacks: ["up2:m"], contextWindowFallbacks: new Map([["m", "up3:long"]]) }),
  routeOf("slow", ["up2:m"]),
  routeOf("mixed", ["up1:m", "up0:m"], { fallbacks: ["route:slow"] }),
];
const narrowed = (token: Partial<AccessToken>, scripts: Readonly<Record<string, readonly Fault[]>> = {}): Routed =>
  routedGateway(ROUTES, scripts, { token });

interface Got {
  readonly outcome: string;
  /** Upstreams that were called, in order. */
  readonly called: readonly string[];
  readonly message: string;
}

async function call(gateway: Routed, fields: object): Promise<Got> {
  const response = await gateway.chat({ messages: HELLO, ...fields });
  const body = (await response.json()) as Record<string, any>;
  return {
    outcome: response.status === 200 ? "200" : `${response.status} ${body["error"].code} ${body["error"].param}`,
    called: gateway.upstream.targets(),
    message: body["error"]?.message ?? "",
  };
}

describe("a token restricted to models", () => {
  test("[d2.4] calls those that match, in either spelling, and every other model is answered as if it did not exist", async () => {
    const gateway = narrowed({ models: ["up0:*", "up1:m-*", "up2/big"] });
    for (const model of ["up0:m", "up0/other", "up1:m-1", "up2:big"])
      expect((await call(gateway, { model })).outcome).toBe("200");
    const before = gateway.upstream.targets().length;
    for (const model of ["up1:m", "up1/m", "up2:big2", "up3:m"])
      expect((await call(gateway, { model })).outcome).toBe("404 model_not_found model");
    expect(gateway.upstream.targets()).toHaveLength(before);
  });

  test("[d3.4] calls any route, whose other targets are skipped", async () => {
    const gateway = narrowed({ models: ["up1:*"] });
    expect(await call(gateway, { route: "fast" })).toMatchObject({ outcome: "200", called: ["up1"] });
    expect((await call(gateway, { route: "slow" })).outcome).toBe("404 model_not_found model");
    // named beside the route, the refused target is skipped for the others of the route
    expect(await call(gateway, { route: "fast", model: "up0:m" })).toMatchObject({
      outcome: "200",
      called: ["up1", "up1"],
    });
  });

  test("[d3.4] has every attempt checked: of the route, its fallbacks and the request's", async () => {
    const one = narrowed({ models: ["up0:*", "up3:*"] }, { up0: [DEAD] });
    expect(await call(one, { route: "fast", fallbacks: ["up1:m", "route:slow", "up3:x"] })).toMatchObject({
      outcome: "200",
      called: ["up0", "up3"],
    });
    const route = narrowed({ models: ["up0:*"] }, { up0: [DEAD] });
    expect(await call(route, { route: "fast" })).toMatchObject({
      outcome: "502 upstream_connection null",
      called: ["up0"],
    });
  });

  test("[d3.4] that calls another model directly goes on to the fallbacks that it may call", async () => {
    expect(
      await call(narrowed({ models: ["up1:*"] }), { model: "up0:m", fallbacks: ["up2:m", "up1:m"] }),
    ).toMatchObject({ outcome: "200", called: ["up1"] });
  });

  test("[d3.4] gets the last refusal when no target is left, and no provider was called", async () => {
    const { outcome, called, message } = await call(narrowed({ models: ["up3:*"] }), {
      route: "mixed",
      fallbacks: ["up1:last"],
    });
    expect([outcome, called]).toEqual(["404 model_not_found model", []]);
    // it names what the caller named, and no model of the route
    expect(message).toContain('The route "mixed" leads to a model that this access token may not call.');
    const taken = await call(narrowed({ models: ["up3:*"] }), { model: "up0:m", fallbacks: ["route:mixed"] });
    expect(taken.message).toContain('The route "mixed" leads to');
    const beside = await call(narrowed({ models: ["up3:*"] }), { route: "slow", model: "up2:m" });
    expect(beside.message).toContain('There is no model "up2:m"');
    const direct = await call(narrowed({ models: ["up3:*"] }), { model: "up0:m", fallbacks: ["up1:m", "up1:last"] });
    expect([direct.outcome, direct.called]).toEqual(["404 model_not_found model", []]);
    expect(direct.message).toContain('"up1:last"');
  });

  test("[d3.4] follows the context-window map only to models that it may call, the route's and the request's", async () => {
    for (const [models, fields, outcome, called] of [
      [["up0:*", "up3:*"], { route: "fast" }, "200", ["up0", "up3"]],
      [["up0:*"], { route: "fast" }, "400 context_length_exceeded null", ["up0"]],
      [
        ["up0:*"],
        { model: "up0:m", context_window_fallback_dict: { m: "up2:long" } },
        "400 context_length_exceeded null",
        ["up0"],
      ],
      [
        ["up0:*", "up2:long"],
        { model: "up0:m", context_window_fallback_dict: { m: "up2:long" } },
        "200",
        ["up0", "up2"],
      ],
    ] as const)
      expect(await call(narrowed({ models }, { up0: [TOO_LONG] }), fields)).toMatchObject({ outcome, called });
  });

  test("[d3.4] [d1.6] has an entry of model_list checked like any other target", async () => {
    const list = [
      { model_name: "x", params: { model: "up1:m" } },
      { model_name: "x", params: { model: "up0:m" } },
    ];
    expect(await call(narrowed({ models: ["up0:*"] }), { model: "x", model_list: list })).toMatchObject({
      outcome: "200",
      called: ["up0"],
    });
    expect(await call(narrowed({ models: ["up3:*"] }), { model: "x", model_list: list })).toMatchObject({
      outcome: "404 model_not_found model",
      called: [],
    });
    // an address of one's own is no way around
    expect(
      await call(narrowed({ models: ["up3:*"] }), { model: "up0:m", base_url: "http://up3.test/v1" }),
    ).toMatchObject({ outcome: "404 model_not_found model", called: [] });
  });
});

describe("fields that change the model that is called", () => {
  const outcome = async (token: Partial<AccessToken>, fields: object): Promise<string> => {
    const response = await answeringGateway({ token: { permissions: ["byo_endpoint"], ...token } }).chat({
      messages: HELLO,
      ...fields,
    });
    const body = (await response.json()) as Record<string, any>;
    return response.status === 200 ? "200" : `${response.status} ${body["error"].code} ${body["error"].param}`;
  };

  test("[d3.4] [d1.7] a deployment that the request names has to be permitted beside the model, wherever it stands", async () => {
    const token = { models: ["azure:small", "azure:small-*", "openai:gpt-4o"] };
    expect(await outcome(token, { model: "azure:small", deployment_id: "small-eu" })).toBe("200");
    expect(await outcome(token, { model: "azure:small", deployment_id: "large" })).toBe("404 model_not_found model");
    expect(await outcome(token, { model: "azure:large", deployment_id: "small" })).toBe("404 model_not_found model");
    expect(await outcome(token, { model: "openai:o3", deployment_id: "gpt-4o", drop_params: true })).toBe(
      "404 model_not_found model",
    );
    expect(
      await outcome(token, {
        model: "x",
        model_list: [{ model_name: "x", params: { model: "azure:small", deployment_id: "large" } }],
      }),
    ).toBe("404 model_not_found model");
    expect(await outcome({}, { model: "azure:small", deployment_id: "large" })).toBe("200");
  });

  test("[d2.4] [d6.5] fields that widen the choice at a provider are not permitted to a restricted token", async () => {
    const fields = { model: "openrouter:openai/gpt-4o", models: ["anthropic/claude-sonnet-4"] };
    expect(await outcome({}, fields)).toBe("200");
    expect(await outcome({ models: ["openrouter:*"] }, fields)).toBe("403 permission_required models");
  });

  test("[d2.4] [d3.4] headers may choose a model too: a restricted token may send them only to an address of its own, wherever they stand", async () => {
    const headers = { "X-Amzn-SageMaker-Target-Model": "large.tar.gz" };
    const own = { base_url: "http://192.0.2.7/v1", api_key: "own" };
    for (const token of [{ models: ["openai:*"] }, { routes: ["fast"], models: ["openai:gpt-4o"] }]) {
      for (const name of ["headers", "extra_headers"]) {
        expect(await outcome(token, { model: "openai:gpt-4o", [name]: headers })).toBe(
          `403 permission_required ${name}`,
        );
        expect(await outcome(token, { model: "openai:gpt-4o", api_key: "own", [name]: headers })).toBe(
          `403 permission_required ${name}`,
        );
        expect(
          await outcome(token, { model: "openai:gpt-4o", fallbacks: [{ model: "openai:gpt-4o", [name]: headers }] }),
        ).toBe(`403 permission_required fallbacks[0].${name}`);
        expect(
          await outcome(token, {
            model: "x",
            model_list: [{ model_name: "x", params: { model: "openai:gpt-4o", [name]: headers } }],
          }),
        ).toMatch(/^403 permission_required model_list\[0\]\S*headers$/);
        expect(await outcome(token, { model: "openai:gpt-4o", ...own, [name]: headers })).toBe("200");
      }
      expect(await outcome(token, { model: "openai:gpt-4o", headers: {}, extra_headers: null })).toBe("200");
    }
    expect(await outcome({}, { model: "openai:gpt-4o", headers })).toBe("200");
  });
});

describe("a token restricted to routes", () => {
  test("[d2.4] calls those that match; other routes and every direct call are answered as if they did not exist", async () => {
    const gateway = narrowed({ routes: ["fa*", "nothing"] });
    for (const fields of [{ route: "fast" }, { model: "fast" }, { route: "fast", model: "up1:m" }])
      expect((await call(gateway, fields)).outcome).toBe("200");
    const before = gateway.upstream.targets().length;
    for (const fields of [{ route: "slow" }, { model: "slow" }, { route: "unknown" }])
      expect((await call(gateway, fields)).outcome).toBe("404 route_not_found route");
    for (const model of ["up0:m", "up2:m"])
      expect((await call(gateway, { model })).outcome).toBe("404 model_not_found model");
    expect(gateway.upstream.targets()).toHaveLength(before);
  });

  test("[d3.4] may call every target that the configuration names in a permitted route: targets, fallbacks, the context-window map", async () => {
    expect(await call(narrowed({ routes: ["fast"] }, { up0: [DEAD], up1: [DEAD] }), { route: "fast" })).toMatchObject({
      outcome: "200",
      called: ["up0", "up1", "up2"],
    });
    expect(await call(narrowed({ routes: ["mixed"] }, { up0: [DEAD], up1: [DEAD] }), { route: "mixed" })).toMatchObject(
      { outcome: "200", called: ["up1", "up0", "up2"] },
    );
    expect(await call(narrowed({ routes: ["fast"] }, { up0: [TOO_LONG] }), { route: "fast" })).toMatchObject({
      outcome: "200",
      called: ["up0", "up3"],
    });
  });

  test("[d3.4] may call a target by a permitted route although it may not call it directly", async () => {
    const gateway = narrowed({ routes: ["slow"] });
    expect(await call(gateway, { model: "up2:m", fallbacks: ["route:slow"] })).toMatchObject({
      outcome: "200",
      called: ["up2"],
    });
  });

  test("[d3.4] may call no target that the request adds to a permitted route", async () => {
    const dead = { up0: [DEAD], up1: [DEAD], up2: [DEAD] };
    expect(
      await call(narrowed({ routes: ["fast"] }, dead), { route: "fast", fallbacks: ["up3:m", "route:mixed"] }),
    ).toMatchObject({ outcome: "502 upstream_connection null", called: ["up0", "up1", "up2"] });
    expect(
      await call(narrowed({ routes: ["fast"] }, { up0: [TOO_LONG] }), {
        route: "fast",
        context_window_fallback_dict: { m: "up3:mine" },
      }),
    ).toMatchObject({ outcome: "200", called: ["up0", "up1"] });
    expect(
      await call(narrowed({ routes: ["fast", "slow"] }, { up0: [DEAD], up1: [DEAD] }), {
        route: "fast",
        fallbacks: ["route:slow"],
      }),
    ).toMatchObject({ outcome: "200" });
  });

  test("[d2.4] and to models calls what either restriction permits", async () => {
    const gateway = narrowed({ routes: ["slow"], models: ["up0:*"] });
    for (const fields of [{ route: "slow" }, { model: "up0:m" }])
      expect((await call(gateway, fields)).outcome).toBe("200");
    expect((await call(gateway, { route: "fast" })).outcome).toBe("404 route_not_found route");
    expect((await call(gateway, { model: "up2:m" })).outcome).toBe("404 model_not_found model");
  });

  test("[d2.4] learns no target of another route: not from errors, and not from explanations", async () => {
    const gateway = narrowed({ routes: ["fast"], permissions: ["debug"] });
    const said: string[] = [];
    for (const fields of [
      { route: "slow", model: "up9:m" },
      { route: "slow", model: "up2:m" },
      { route: "nosuch", model: "up9:m" },
    ]) {
      const { outcome, message } = await call(gateway, fields);
      expect(outcome).toBe("404 route_not_found route");
      said.push(message.replace(/slow|nosuch/, "R"));
    }
    expect(new Set(said).size).toBe(1);
    const own = await call(gateway, { route: "fast", model: "up9:m" });
    expect([own.outcome, own.message.includes("up0:m, up1:m")]).toEqual(["400 model_not_in_route model", true]);
    const fallback = await call(gateway, { route: "fast", fallbacks: [{ route: "slow", model: "up9:m" }] });
    expect([fallback.outcome, fallback.message.includes("up2")]).toEqual([expect.stringContaining("404"), false]);

    const response = await gateway.chat(
      { route: "fast", messages: HELLO, fallbacks: ["route:mixed"] },
      { headers: { "x-gateway-explain": "true" } },
    );
    const { targets } = (await response.json()) as { readonly targets: readonly Record<string, any>[] };
    expect(targets.map((one) => [one["target"], one["passed_over"]?.code])).toEqual([
      ["up0:m", undefined],
      ["up1:m", undefined],
      [null, "route_not_found"],
      [null, "route_not_found"],
      ["up2:m", undefined],
    ]);

    const ofModels = narrowed({ models: ["up1:*"] });
    const { message } = await call(ofModels, { route: "mixed", model: "up9:m" });
    expect(message).toEndWith('of the route "mixed", which has up1:m.');
  });

  test("gets an explanation that shows the skipped targets with the reason", async () => {
    const gateway = narrowed({ models: ["up1:*"], permissions: ["debug"] });
    const response = await gateway.chat(
      { route: "fast", messages: HELLO },
      { headers: { "x-gateway-explain": "true" } },
    );
    const { targets } = (await response.json()) as { readonly targets: readonly Record<string, any>[] };
    expect(targets.map((one) => [one["target"], one["passed_over"]?.code])).toEqual([
      ["up0:m", "model_not_found"],
      ["up1:m", undefined],
      ["up2:m", "model_not_found"],
    ]);
  });
});

describe("the listing of models", () => {
  const listed = (id: string): ModelListing => ({
    id,
    name: null,
    contextLength: null,
    maxCompletionTokens: null,
    pricing: null,
  });
  const listing = (token: Partial<AccessToken>) => {
    const own = [
      providerSettings({
        id: "up0",
        family: "custom",
        baseUrl: "http://up0.test/v1",
        credentials: [storedKey("k")],
        models: [listed("a"), listed("b")],
      }),
      providerSettings({
        id: "up1",
        family: "custom",
        baseUrl: "http://up1.test/v1",
        credentials: [storedKey("k")],
        models: [listed("c")],
      }),
    ];
    const stub = stubGateway({
      token,
      providers: own,
      snapshot: { routes: new Map(ROUTES.map((route) => [route.name, route])) },
    });
    const app = createApp({
      clock: systemClock,
      version: "1",
      snapshot: () => stub.context.snapshot(),
      refuseUnserved: refuseUnservedWith(stub.context),
      models: { providers, builtIn: new Map() },
      logins: stub.context.logins,
      metrics: () => Promise.reject(new Error("none")),
      notReady: () => null,
      standing: () => idleStanding(),
    });
    return async (path: string): Promise<{ readonly status: number; readonly body: any }> => {
      const response = await app.fetch(
        new Request(`http://gateway.test/api/v1${path}`, { headers: { authorization: stub.authorization } }),
        { peer: "127.0.0.1" },
      );
      return { status: response.status, body: await response.json() };
    };
  };
  const ids = async (token: Partial<AccessToken>): Promise<readonly string[]> =>
    (await listing(token)("/models")).body.data.map((one: { readonly id: string }) => one.id);

  test("[d9.1] [d2.4] holds what this token may call, and nothing else", async () => {
    expect(await ids({})).toEqual(["fast", "slow", "mixed", "up0:a", "up0:b", "up1:c"]);
    expect(await ids({ models: ["up0:b", "up0:m"] })).toEqual(["fast", "mixed", "up0:b"]);
    expect(await ids({ routes: ["s*"] })).toEqual(["slow"]);
    expect(await ids({ routes: ["slow"], models: ["up1:*"] })).toEqual(["slow", "up1:c"]);
    expect(await ids({ models: ["none:*"] })).toEqual([]);
  });

  test("[d9.1] is restricted for a single model too, and for its parameters", async () => {
    const get = listing({ routes: ["slow"], models: ["up1:*"] });
    for (const [path, code] of [
      ["/models/slow", 200],
      ["/models/fast", 404],
      ["/models/up1:c", 200],
      ["/models/up0:a", 404],
      ["/params?model=up1:c", 200],
      ["/params?model=up0:a", 404],
    ] as const)
      expect([path, (await get(path)).status]).toEqual([path, code]);
  });
});

test("[d2.4] a token restricted to tools lists and calls no others, through the admin API either", async () => {
  const asked: string[] = [];
  const tools = ["read", "remove"].map((name) => ({ name, title: null, description: null, inputSchema: {} }));
  const world = await openAdminWorld({
    toolServers: {
      ...noToolServers,
      list: () => Promise.resolve(tools),
      call: (_server, tool) => {
        asked.push(tool);
        return Promise.resolve({ parts: [], blocks: [], structured: undefined, isError: false, bytes: 0 });
      },
    },
  });
  try {
    const base = "/api/v1/admin/tenants/acme";
    const { result: server } = await world.store.change(LOCAL_ACTOR, (writer) =>
      writer.createResource({
        kind: "tool_server",
        tenantId: "acme",
        projectId: null,
        name: "files",
        document: { url: "https://tools.example/mcp" },
      }),
    );
    await world.source.reload();
    const tokenOf = async (restrictions: readonly string[]): Promise<string> => {
      const body = { name: "narrow", tools: restrictions };
      return (await world.send("acme.owner", "POST", `${base}/tokens`, body)).body.token;
    };
    const path = `${base}/tool_servers/${server.id}`;
    for (const [restrictions, permitted] of [
      [[], ["read", "remove"]],
      [["files__*"], ["read", "remove"]],
      [["other__*", "files__read"], ["read"]],
      [["other__*"], []],
    ] as const) {
      const token = await tokenOf(restrictions);
      const listed = await world.send(token, "GET", `${path}/tools`);
      expect(listed.body.data.map(({ name }: { readonly name: string }) => name)).toEqual(permitted);
      asked.length = 0;
      for (const { name: tool } of tools) {
        const { status: code, body } = await world.send(token, "POST", `${path}/call`, { tool });
        const isPermitted = (permitted as readonly string[]).includes(tool);
        expect([restrictions, tool, code, body.error?.code ?? null]).toEqual([
          restrictions,
          tool,
          isPermitted ? 200 : 404,
          isPermitted ? null : "tool_not_found",
        ]);
      }
      expect(asked).toEqual([...permitted]);
    }
  } finally {
    await world.close();
  }
});

describe("a token restricted to addresses", () => {
  const trust = (...proxies: string[]): Partial<Snapshot> => ({
    proxyTrust: { proxies: compileIpRanges(proxies), header: "x-forwarded-for" },
  });
  const outcome = async (
    stub: ReturnType<typeof answeringGateway>,
    peer: string | undefined,
    headers: Record<string, string> = {},
  ): Promise<string> => {
    const response = await stub.chat(
      { model: "openai:gpt-4o", messages: HELLO },
      { headers, ...(peer !== undefined && { peer }) },
    );
    const body = (await response.json()) as Record<string, any>;
    return response.status === 200 ? "200" : `${response.status} ${body["error"].code}`;
  };

  test("[d2.4 d11.1] is refused from every other address: 403 address_forbidden, before the body is examined", async () => {
    const stub = answeringGateway({ token: { ipRanges: ["192.0.2.0/24", "2001:db8::/32"] } });
    for (const peer of ["192.0.2.1", "::ffff:192.0.2.200", "2001:db8::9"])
      expect([peer, await outcome(stub, peer)]).toEqual([peer, "200"]);
    for (const peer of ["192.0.3.1", "2001:db9::1", undefined])
      expect([peer, await outcome(stub, peer)]).toEqual([peer, "403 address_forbidden"]);
    const calls = stub.records.length;
    expect((await stub.chat("no JSON", { peer: "192.0.3.1" })).status).toBe(403);
    // the token was a good one: its owner wants to know of it
    expect(stub.records.slice(calls)).toMatchObject([
      {
        code: "address_forbidden",
        tokenId: expect.any(String),
        tenantId: expect.any(String),
        projectId: expect.any(String),
      },
    ]);
    expect(
      await outcome(stub, "192.0.3.1", {
        "x-forwarded-for": "192.0.2.1",
        forwarded: "for=192.0.2.1",
        "x-real-ip": "192.0.2.1",
      }),
    ).toBe("403 address_forbidden");
  });

  test("[d2.4] is checked behind the operator's proxy against the address from which the proxy was called, and against no address that the caller writes", async () => {
    const stub = answeringGateway({ token: { ipRanges: ["192.0.2.0/24"] }, snapshot: trust("10.0.0.0/8") });
    expect(await outcome(stub, "10.0.0.1", { "x-forwarded-for": "192.0.2.1" })).toBe("200");
    expect(await outcome(stub, "10.0.0.1", { "x-forwarded-for": "192.0.2.1, 203.0.113.5" })).toBe(
      "403 address_forbidden",
    );
    expect(await outcome(stub, "203.0.113.5", { "x-forwarded-for": "192.0.2.1" })).toBe("403 address_forbidden");
    expect(await outcome(stub, "10.0.0.1", { forwarded: "for=192.0.2.1" })).toBe("403 address_forbidden");
  });

  test("the address is not determined for a token without this restriction", async () => {
    const stub = answeringGateway();
    const { handleCall } = await import("../../../src/engine/handle.ts");
    const { CHAT_COMPLETIONS } = await import("../../../src/operations/chat/chat-completions.ts");
    let asked = 0;
    const peers = {
      requestIP: () => {
        asked += 1;
        return { address: "192.0.2.1" };
      },
    };
    const request = new Request("http://gateway.test/api/v1/chat/completions", {
      method: "POST",
      headers: { authorization: stub.authorization, "content-type": "application/json" },
      body: JSON.stringify({ model: "openai:gpt-4o", messages: HELLO }),
    });
    expect((await handleCall(CHAT_COMPLETIONS, request, stub.context, peers)).status).toBe(200);
    expect(asked).toBe(0);
  });
});
