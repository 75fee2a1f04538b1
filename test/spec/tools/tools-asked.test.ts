// Promise 10.1: which tool servers a request may name, with which of their tools, and which mistakes are refused.
import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { stubGateway } from "../../harness/in-process.ts";
import { checkAddress } from "../../../src/wire/address-guard.ts";
import { failureOf, PRINCIPAL, sessionWorld, toolOf, USER } from "../../harness/tools/tool-sessions.ts";

interface Refusal {
  readonly code: string;
  readonly param: string;
}
const parse = (fields: JsonObject) =>
  parseChatRequest(JSON.stringify({ model: "sandbox:echo", messages: [USER], ...fields }));
const parseServer = (entry: JsonObject) =>
  parse({ tools: [{ type: "mcp", server_label: "docs", ...entry }] }).options.toolServers[0]!;
const refusal = (fields: JsonObject): Promise<string> => failureOf(Promise.resolve().then(() => parse(fields)));
const refusalOf = (entry: JsonObject): Promise<string> =>
  refusal({ tools: [{ type: "mcp", server_label: "docs", ...entry }] });

describe("[d10.1] an entry of tools that is a tool server", () => {
  test("is an option of the call and never one of the tools that a provider gets", () => {
    const own = { type: "function", function: { name: "own" } };
    const { params, options, source } = parse({
      tools: [own, { type: "mcp", server_label: "docs", allowed_tools: { tool_names: ["search"] } }],
      max_tool_rounds: 4,
    });
    expect(params.tools).toEqual([own]);
    expect(options.toolServers).toEqual([
      { label: "docs", url: null, headers: {}, allowedTools: ["search"], approval: null, path: "tools[1]" },
    ]);
    expect(options.maxToolRounds).toBe(4);
    expect(source.rewritten.has("tools")).toBe(true);
    expect("tools" in parse({ tools: [{ type: "mcp", server_label: "docs" }] }).params).toBe(false);
  });

  test("may be null, which means not set, as everywhere", () => {
    expect(
      parseServer({
        server_url: null,
        headers: null,
        authorization: null,
        allowed_tools: null,
        require_approval: null,
        server_description: null,
      }),
    ).toEqual({ label: "docs", url: null, headers: {}, allowedTools: null, approval: null, path: "tools[0]" });
  });

  test("has a require_approval of always, never, or lists of names, in OpenAI's forms", () => {
    expect(parseServer({ require_approval: "always" }).approval).toBe("always");
    expect(parseServer({ require_approval: "never" }).approval).toBe("never");
    expect(parseServer({ require_approval: { never: { tool_names: ["a", "b"] } } }).approval).toEqual({
      neverFor: new Set(["a", "b"]),
      alwaysFor: new Set(),
    });
    expect(parseServer({ require_approval: { always: { tool_names: ["a"] } } }).approval).toEqual({
      neverFor: null,
      alwaysFor: new Set(["a"]),
    });
    expect(parseServer({ require_approval: {} }).approval).toBe(null);
  });

  test("is answered with 400 and the path of its mistakes", async () => {
    const wrong: readonly (readonly [entry: JsonObject, path: string])[] = [
      [{ server_label: "" }, ".server_label"],
      [{ server_label: "a b" }, ".server_label"],
      [{ server_label: "x".repeat(65) }, ".server_label"],
      [{ server_label: 5 }, ".server_label"],
      [{ server_label: null }, ".server_label"],
      [{ server_url: 5 }, ".server_url"],
      [{ server_url: "ftp://tools.test" }, ".server_url"],
      [{ server_url: "file:///etc/passwd" }, ".server_url"],
      [{ server_url: "https://user:word@tools.test" }, ".server_url"],
      [{ server_url: `https://tools.test/${"a".repeat(2000)}` }, ".server_url"],
      [{ headers: [] }, ".headers"],
      [{ headers: { "x-a": 5 } }, ".headers.x-a"],
      [{ headers: { "x-a": "b\r\nc: d" } }, ".headers.x-a"],
      [{ authorization: "abc" }, ".authorization"],
      [{ server_url: "https://tools.test", authorization: "a b" }, ".authorization"],
      [{ server_url: "https://tools.test", authorization: 5 }, ".authorization"],
      [{ allowed_tools: "search" }, ".allowed_tools"],
      [{ allowed_tools: [5] }, ".allowed_tools[0]"],
      [{ allowed_tools: [""] }, ".allowed_tools[0]"],
      [{ allowed_tools: {} }, ".allowed_tools.tool_names"],
      [{ allowed_tools: { tool_names: [], read_only: true } }, ".allowed_tools.read_only"],
      [{ allowed_tools: Array.from({ length: 1001 }, () => "a") }, ".allowed_tools"],
      [{ require_approval: "sometimes" }, ".require_approval"],
      [{ require_approval: { never: ["a"] } }, ".require_approval.never"],
      [{ require_approval: { never: { tool_names: "a" } } }, ".require_approval.never.tool_names"],
      [{ require_approval: { maybe: {} } }, ".require_approval.maybe"],
      [{ function: { name: "f" } }, ".function"],
      [{ connector_id: "connector_gmail" }, ".connector_id"],
      [{ __proto__x: 1 }, ".__proto__x"],
    ];
    for (const [entry, path] of wrong)
      expect([entry, await refusalOf(entry)]).toEqual([entry, `400 invalid_request tools[0]${path}`]);
  });

  test("[d2.10] has no headers that a caller may not set, nor those of the protocol", async () => {
    for (const name of [
      "Authorization",
      "api-key",
      "x-api-key",
      "x-goog-api-key",
      "X-Amz-Date",
      "OpenAI-Organization",
      "Host",
      "Cookie",
      "Content-Length",
      "Connection",
      "Mcp-Session-Id",
      "Accept",
      "Last-Event-ID",
    ])
      expect([name, (await refusalOf({ headers: { [name]: "a" } })).toLowerCase()]).toEqual([
        name,
        `400 header_not_allowed tools[0].headers.${name.toLowerCase()}`,
      ]);
    expect(parseServer({ headers: { "X-Team": "a" } }).headers).toEqual({ "x-team": "a" });
  });

  test("[d2.9] has a credential that goes to the address beside it, and to no other", async () => {
    expect(parseServer({ server_url: "https://tools.test/mcp", authorization: "abc.def" }).headers).toEqual({
      authorization: "Bearer abc.def",
    });
    expect(await refusalOf({ authorization: "abc.def" })).toBe("400 invalid_request tools[0].authorization");
  });

  test("has a label of its own, and there are at most 32", async () => {
    const server = (label: string): JsonObject => ({ type: "mcp", server_label: label });
    expect(await refusal({ tools: [server("a"), server("b"), server("a")] })).toBe(
      "400 invalid_request tools[2].server_label",
    );
    expect(await refusal({ tools: Array.from({ length: 33 }, (_, index) => server(`a${index}`)) })).toBe(
      "400 invalid_request tools[32]",
    );
  });

  test("comes with max_tool_rounds of 1 to 50, and with one choice only", async () => {
    const tools = [{ type: "mcp", server_label: "docs" }];
    for (const max_tool_rounds of [0, 51, 1.5, "3", true])
      expect([max_tool_rounds, await refusal({ tools, max_tool_rounds })]).toEqual([
        max_tool_rounds,
        "400 invalid_request max_tool_rounds",
      ]);
    for (const max_tool_rounds of [1, 50, null])
      expect([max_tool_rounds, await refusal({ tools, max_tool_rounds })]).toEqual([max_tool_rounds, "no failure"]);
    expect(await refusal({ tools, n: 2 })).toBe("400 invalid_request n");
  });
});

describe("[d10.1] permission and scope", () => {
  const search = [toolOf("search")];

  test("an address of the request's own, and headers to any server, need byo_endpoint", async () => {
    const bare = stubGateway({ permissions: [] });
    const outcome = async (entry: JsonObject): Promise<string> => {
      const answer = await bare.chat({
        model: "sandbox:echo",
        messages: [USER],
        tools: [{ type: "mcp", server_label: "docs", ...entry }],
      });
      const { error } = (await answer.json()) as { readonly error: Refusal };
      return `${answer.status} ${error.code} ${error.param}`;
    };
    expect(await outcome({ server_url: "https://tools.test/mcp" })).toBe("403 permission_required tools[0].server_url");
    expect(await outcome({ headers: { "x-team": "a" } })).toBe("403 permission_required tools[0].headers");
    expect(await outcome({})).toBe("404 tool_server_not_found tools[0].server_label");
  });

  test("a label is looked up among the servers of the project alone", async () => {
    const world = sessionWorld({ docs: { tools: search } });
    expect(await failureOf(world.open({ tools: [{ type: "mcp", server_label: "wiki" }] }))).toBe(
      "404 tool_server_not_found tools[0].server_label",
    );
    const elsewhere = sessionWorld({ docs: { tools: search } }, { principal: { ...PRINCIPAL, projectId: "other" } });
    expect(await failureOf(elsewhere.open({ tools: [{ type: "mcp", server_label: "docs" }] }))).toBe(
      "404 tool_server_not_found tools[0].server_label",
    );
    expect(elsewhere.listed).toEqual([]);
  });

  test("a server for higher roles is answered with 403 to others, before it is called", async () => {
    const servers = { docs: { tools: search, settings: { role: "maintainer" } } } as const;
    const low = sessionWorld(servers);
    expect(await failureOf(low.open({ tools: [{ type: "mcp", server_label: "docs" }] }))).toBe(
      "403 insufficient_role tools[0].server_label",
    );
    expect(low.listed).toEqual([]);
    const high = sessionWorld(servers, { principal: { ...PRINCIPAL, role: "maintainer" } });
    expect((await high.open({ tools: [{ type: "mcp", server_label: "docs" }] })).servers[0]!.tools).toHaveLength(1);
  });

  test("headers of a request go beside those of the configuration, never in their place, over a connection of their own", async () => {
    const world = sessionWorld({ docs: { tools: search } });
    expect(
      await failureOf(world.open({ tools: [{ type: "mcp", server_label: "docs", headers: { "X-Team": "mine" } }] })),
    ).toBe("400 header_not_allowed tools[0].headers.x-team");
    for (const headers of [undefined, { "x-page": "1" }, { "x-page": "2" }])
      await world.open({ tools: [{ type: "mcp", server_label: "docs", ...(headers && { headers }) }] });
    expect(world.listed.map(({ transport }) => "headers" in transport && transport.headers)).toEqual([
      { "x-team": "search" },
      { "x-team": "search", "x-page": "1" },
      { "x-team": "search", "x-page": "2" },
    ]);
    expect(new Set(world.listed.map(({ key }) => key)).size).toBe(3);
    const program = sessionWorld({
      docs: {
        tools: search,
        settings: { transport: { kind: "stdio", command: "docs", args: [], environment: {}, folder: null } },
      },
    });
    expect(
      await failureOf(program.open({ tools: [{ type: "mcp", server_label: "docs", headers: { "x-page": "1" } }] })),
    ).toBe("400 invalid_request tools[0].headers");
  });

  test("[d2.12] an address of the request's own is checked, waits for approval, and shares its connection with no other caller and no other credential", async () => {
    const entry = { type: "mcp", server_label: "own", server_url: "https://tools.test/mcp" };
    const keys = new Set<string>();
    for (const principal of [
      PRINCIPAL,
      { ...PRINCIPAL, tenantId: "other" },
      { ...PRINCIPAL, projectId: "other" },
      { ...PRINCIPAL, tokenId: "other" },
    ])
      for (const more of [
        {},
        { authorization: "a" },
        { authorization: "b" },
        { server_url: "https://other.test/mcp" },
      ]) {
        const world = sessionWorld({ own: { tools: search } }, { principal });
        const session = await world.open({ tools: [{ ...entry, ...more }] });
        expect(session.servers[0]).toMatchObject({
          label: "own",
          isRegistered: false,
          failure: null,
          tools: [{ tool: "search", name: "own__search", needsApproval: true }],
        });
        const [server] = world.listed;
        expect(server!.transport).toMatchObject({ kind: "auto", guarded: true, oauth: null });
        keys.add(server!.key);
      }
    expect(keys.size).toBe(16);
    expect([...keys].join(" ")).not.toContain("tools.test");
  });

  test("[d2.12] an address that may not be called is answered with 400, the path and the reason", async () => {
    const refused = await checkAddress("http://10.1.2.3/mcp", { allowPrivate: false, param: "url" }).catch(
      (thrown: unknown) => thrown as GatewayError,
    );
    const world = sessionWorld({ own: { tools: refused as GatewayError } });
    const error = await world
      .open({ tools: [{ type: "mcp", server_label: "own", server_url: "http://10.1.2.3/mcp" }] })
      .then(
        () => null,
        (thrown: unknown) => thrown as GatewayError,
      );
    expect([error!.entry.status, error!.code, error!.param, error!.message]).toEqual([
      400,
      "address_not_allowed",
      "tools[0].server_url",
      expect.stringMatching(/^The host of `tools\[0\]\.server_url` .*`providers\.allow_private_addresses: true`/),
    ]);
    // of a registered server the caller named no address, and it is one that could not be asked
    const registered = await world.open({ tools: [{ type: "mcp", server_label: "own" }] }).then(
      () => null,
      (thrown: unknown) => thrown as GatewayError,
    );
    expect([registered!.code, registered!.param, registered!.message]).toEqual([
      "tool_server_failed",
      "tools[0].server_label",
      expect.stringMatching(
        /Could not list the tools of the tool server own\. .*`providers\.allow_private_addresses: true`/,
      ),
    ]);
  });

  test("[d3.4] entries of fallbacks and model_list cannot change the tools of a call with tool servers, nor add any", async () => {
    const stub = stubGateway();
    const outcome = async (fields: JsonObject): Promise<string> => {
      const answer = await stub.chat({ model: "sandbox:echo", messages: [USER], ...fields });
      const body = (await answer.json()) as { readonly error?: Refusal };
      return body.error === undefined
        ? String(answer.status)
        : `${answer.status} ${body.error.code} ${body.error.param}`;
    };
    const mcp = { type: "mcp", server_label: "docs" };
    const own = { type: "function", function: { name: "f" } };
    expect(await outcome({ tools: [mcp], fallbacks: [{ model: "sandbox:tools", tools: [own] }] })).toBe(
      "400 invalid_request fallbacks[0].tools",
    );
    expect(await outcome({ tools: [mcp], fallbacks: [{ model: "sandbox:tools", functions: [{ name: "f" }] }] })).toBe(
      "400 invalid_request fallbacks[0].functions",
    );
    expect(await outcome({ fallbacks: [{ model: "sandbox:tools", tools: [mcp] }] })).toBe(
      "400 invalid_request fallbacks[0].tools",
    );
    expect(
      await outcome({
        model: "m",
        model_list: [{ model_name: "m", params: { model: "sandbox:tools", tools: [mcp] } }],
      }),
    ).toBe("400 invalid_request model_list[0].params.tools");
    expect(await outcome({ fallbacks: [{ model: "sandbox:tools", max_tool_rounds: 50 }] })).toBe(
      "400 invalid_request fallbacks[0].max_tool_rounds",
    );
    expect(await outcome({ fallbacks: [{ model: "sandbox:tools", tools: [own] }] })).toBe("200");
  });

  test("[d5.5] legacy functions are accepted beside tools that are tool servers alone, and beside no others", async () => {
    const { params, options } = parse({
      functions: [{ name: "own" }],
      function_call: { name: "own" },
      tools: [{ type: "mcp", server_label: "docs" }],
    });
    expect(params.tools).toEqual([{ type: "function", function: { name: "own" } }]);
    expect([params.tool_choice, params.parallel_tool_calls, options.legacyFunctions]).toEqual([
      { type: "function", function: { name: "own" } },
      false,
      true,
    ]);
    expect(options.toolServers.map(({ path }) => path)).toEqual(["tools[0]"]);
    expect(
      await refusal({
        functions: [{ name: "own" }],
        tools: [
          { type: "mcp", server_label: "docs" },
          { type: "function", function: { name: "g" } },
        ],
      }),
    ).toBe("400 invalid_request functions");
  });
});
