// Promises 10.2 and 10.4, the request's side: tools of servers as functions, the choice among them, one run of a tool,
// and what the model reads of it.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { FUNCTION_NAME } from "../../../src/core/params.ts";
import type { ToolDefinition, ToolResult } from "../../../src/core/configured/tool.ts";
import { labelPrefix, offeredNames, toolPlace } from "../../../src/engine/tools/offered-tools.ts";
import { fitRequest } from "../../../src/engine/fit/fit.ts";
import { providers } from "../../../src/providers/registry.ts";
import { CONVERSING } from "../../harness/conversing.ts";
import { targetFor } from "../../harness/targets.ts";
import { callOf, failureOf, PRINCIPAL, saysText, sessionWorld, toolOf } from "../../harness/tools/tool-sessions.ts";

const DOCS = { type: "mcp", server_label: "docs" } as const;
const WIKI = { type: "mcp", server_label: "wiki" } as const;
const own = (name: string): JsonObject => ({ type: "function", function: { name } });
const namesIn = (params: { readonly tools?: readonly JsonObject[] }): readonly unknown[] =>
  (params.tools ?? []).map((tool) => (tool["function"] as JsonObject)["name"]);

describe("[d10.2] names of functions", () => {
  test("are <server_label>__<tool>, behind the client's own functions", async () => {
    const world = sessionWorld({
      docs: { tools: [toolOf("search"), toolOf("read")] },
      wiki: { tools: [toolOf("search")] },
    });
    const { request } = await world.open({ tools: [WIKI, own("mine"), DOCS] });
    expect(namesIn(request.params)).toEqual(["mine", "wiki__search", "docs__search", "docs__read"]);
    expect(world.listed.map(({ label }) => label)).toEqual(["wiki", "docs"]);
  });

  test("are shortened with a hash where they are too long or hold other characters, and stay the same from call to call", async () => {
    const long = "x".repeat(80);
    const world = sessionWorld({
      docs: { tools: [toolOf(long), toolOf(`${long}y`), toolOf("größe/länge"), toolOf("a.b")] },
    });
    const names = namesIn((await world.open({ tools: [DOCS] })).request.params);
    expect(names).toEqual([
      expect.stringMatching(/^docs__x{49}_[0-9a-f]{8}$/),
      expect.stringMatching(/^docs__x{49}_[0-9a-f]{8}$/),
      expect.stringMatching(/^docs__gr__e_l_nge_[0-9a-f]{8}$/),
      expect.stringMatching(/^docs__a_b_[0-9a-f]{8}$/),
    ]);
    expect(new Set(names).size).toBe(4);
    expect(namesIn((await world.open({ tools: [DOCS] })).request.params)).toEqual(names);
  });

  test("[d10.1] of a server that is registered under a name with a dot are its tools' too, and no client's", async () => {
    const world = sessionWorld({ "acme.docs": { tools: [toolOf("search")] } });
    const session = await world.open({ tools: [{ type: "mcp", server_label: "acme.docs" }, own("mine")] });
    const [, name] = namesIn(session.request.params);
    expect(name).toMatch(/^acme_docs__search_[0-9a-f]{8}$/);
    const calls = [name as string, "acme_docs__made_up", "mine"].map((one) => callOf("a", one));
    expect(calls.map((call) => session.ownerOf(call))).toEqual(["gateway", "gateway", "client"]);
    const { message, server } = await session.run(calls[1]!, 1, () => {}, null);
    expect([message.content, server]).toEqual(['Error: Unknown tool "acme_docs__made_up".', "acme.docs"]);
  });

  test("are valid, distinct and independent of the order, whatever the names of labels and tools", () => {
    const part = fc.oneof(
      fc.constantFrom("a", "b", "a_", "_b", "a__b", "b__c", "__"),
      fc.string({ minLength: 1, maxLength: 80, unit: "binary" }),
    );
    const label = fc.oneof(fc.constantFrom("a", "a_", "a__b", "a__b__c"), fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/));
    const tools = fc.uniqueArray(fc.record({ label, tool: part }), {
      selector: (one) => toolPlace(one.label, one.tool),
      maxLength: 12,
    });
    fc.assert(
      fc.property(tools, (all) => {
        const names = offeredNames(all);
        expect(names.size).toBe(all.length);
        for (const name of names.values()) expect(name).toMatch(FUNCTION_NAME);
        expect(new Set(names.values()).size).toBe(all.length);
        // a name shows which servers may have its tool, and their tools alone have the same names
        for (const [place, name] of names) {
          const isOf = ({ label: one }: { readonly label: string }): boolean => name.startsWith(labelPrefix(one));
          const some = all.filter(isOf);
          expect(some.map((one) => toolPlace(one.label, one.tool))).toContain(place);
          expect(offeredNames(some).get(place)).toBe(name);
        }
        expect(Object.fromEntries(offeredNames(all.toReversed()))).toEqual(Object.fromEntries(names));
      }),
      { seed: 20_261_120, numRuns: 500 },
    );
  });

  test("that collide with a function of the client are answered with 400 and the function's path, also among tool servers and in the deprecated form", async () => {
    const world = sessionWorld({ docs: { tools: [toolOf("search")] } });
    expect(await failureOf(world.open({ tools: [own("docs__search"), DOCS] }))).toBe(
      "400 invalid_request tools[0].function.name",
    );
    expect(await failureOf(world.open({ tools: [DOCS, own("mine"), own("docs__search")] }))).toBe(
      "400 invalid_request tools[2].function.name",
    );
    expect(
      await failureOf(world.open({ tools: [DOCS], functions: [{ name: "mine" }, { name: "docs__search" }] })),
    ).toBe("400 invalid_request functions[1].name");
  });

  test("are narrowed by allowed_tools, and a name that the server does not have is reported", async () => {
    const world = sessionWorld({ docs: { tools: [toolOf("search"), toolOf("read")] } });
    const { request } = await world.open({ tools: [{ ...DOCS, allowed_tools: ["read"] }] });
    expect([namesIn(request.params), request.warnings]).toEqual([["docs__read"], []]);
    const other = await world.open({ tools: [{ ...DOCS, allowed_tools: { tool_names: ["read", "write"] } }] });
    expect([namesIn(other.request.params), other.request.warnings]).toEqual([
      ["docs__read"],
      ["allowed_tool_not_found"],
    ]);
    expect(namesIn((await world.open({ tools: [{ ...DOCS, allowed_tools: [] }] })).request.params)).toEqual([]);
  });
});

describe("[d10.2] what a model receives of a tool", () => {
  const functionOf = async (tool: ToolDefinition): Promise<JsonObject | undefined> => {
    const { request } = await sessionWorld({ docs: { tools: [tool] } }).open({ tools: [DOCS] });
    return request.params.tools?.[0]?.["function"] as JsonObject | undefined;
  };

  test("its description, and a schema of an object with properties, without the schema's dialect", async () => {
    expect(
      await functionOf(
        toolOf("search", {
          $schema: "https://json-schema.org/draft/2020-12/schema",
          type: "object",
          required: ["q"],
          properties: { q: { type: "string" } },
          additionalProperties: false,
        }),
      ),
    ).toEqual({
      name: "docs__search",
      description: "Does search.",
      parameters: {
        type: "object",
        properties: { q: { type: "string" } },
        required: ["q"],
        additionalProperties: false,
      },
    });
    expect(await functionOf({ ...toolOf("now", {}), description: null, title: "The time" })).toEqual({
      name: "docs__now",
      description: "The time",
      parameters: { type: "object", properties: {} },
    });
  });

  test("[d10.2] a description that is too long is cut, and not in the middle of a character", async () => {
    const long = { ...toolOf("search"), description: `a${"\u{1f600}".repeat(10_000)}` };
    const session = await sessionWorld({ docs: { tools: [long] } }).open({ tools: [DOCS] });
    const [offered] = session.request.params.tools as unknown as { function: { description: string } }[];
    expect(offered!.function.description).toHaveLength(16_384);
    expect(offered!.function.description.isWellFormed()).toBe(true);
  });

  test("[d5.8] all tools of a call together have a bound, and those without room are left out", async () => {
    const tools = Array.from({ length: 60 }, (_, at) => toolOf(`t${at}`, { description: "a".repeat(100_000) }));
    const world = sessionWorld({ docs: { tools }, wiki: { tools } });
    const { request } = await world.open({ tools: [DOCS, WIKI] });
    const names = namesIn(request.params);
    expect(names).toHaveLength(83);
    expect(names.at(-1)).toBe("wiki__t22");
    expect(request.warnings.slice(0, 2)).toEqual(["tool_left_out", "tool_left_out:wiki__t23"]);
  });

  test("[d10.5] a tool whose schema is contradictory, too deep or too long, or has an invalid x-mcp-header, is left out with a report that names it, and the others are offered", async () => {
    const deep = Array.from({ length: 10_000 }).reduce<JsonObject>((inner) => ({ items: inner }), {});
    for (const schema of [
      { type: "string" },
      { type: ["object"] },
      { properties: 5 },
      deep,
      { description: "a".repeat(200_000) },
      { properties: { city: { type: "string", "x-mcp-header": "City Name" } } },
    ] as readonly JsonObject[]) {
      const session = await sessionWorld({ docs: { tools: [toolOf("bad", schema), toolOf("good")] } }).open({
        tools: [DOCS],
      });
      expect([namesIn(session.request.params), session.request.warnings]).toEqual([
        ["docs__good"],
        ["tool_left_out", "tool_left_out:docs__bad"],
      ]);
      expect(session.ownerOf(callOf("a", "docs__bad"))).toBe("gateway");
    }
  });

  test("a server that lists a name twice offers it once", async () => {
    const { request } = await sessionWorld({
      docs: { tools: [toolOf("a"), { ...toolOf("a"), description: "another" }] },
    }).open({ tools: [DOCS] });
    expect(namesIn(request.params)).toEqual(["docs__a"]);
    expect(request.params.tools![0]!["function"]).toMatchObject({ description: "Does a." });
  });
});

describe("[d10.2] tool_choice", () => {
  const servers = { docs: { tools: [toolOf("search"), toolOf("a.b")] } };
  const choiceOf = async (tool_choice: JsonObject | string | undefined) => {
    const session = await sessionWorld(servers).open({
      tools: [DOCS, own("mine")],
      ...(tool_choice !== undefined && { tool_choice }),
    });
    const { request: later } = session.next(
      session.request,
      { role: "assistant", content: null, tool_calls: [callOf("a", "docs__search")] },
      [],
      false,
    );
    const { request: last } = session.next(
      later,
      { role: "assistant", content: null, tool_calls: [callOf("b", "docs__search")] },
      [],
      true,
    );
    return [session.request, later, last].map(({ params }) => params.tool_choice);
  };
  const named = (name: string) => ({ type: "function", function: { name } });

  test("forces a call in the first round alone, and the last round calls nothing", async () => {
    expect(await choiceOf(undefined)).toEqual([undefined, undefined, "none"]);
    expect(await choiceOf("auto")).toEqual(["auto", "auto", "none"]);
    expect(await choiceOf("none")).toEqual(["none", "none", "none"]);
    expect(await choiceOf("required")).toEqual(["required", undefined, "none"]);
    expect(await choiceOf("any")).toEqual(["any", undefined, "none"]);
    expect(await choiceOf(named("mine"))).toEqual([named("mine"), undefined, "none"]);
    const allowed = (mode: string) => ({ type: "allowed_tools", allowed_tools: { mode, tools: [named("mine")] } });
    expect(await choiceOf(allowed("required"))).toEqual([allowed("required"), allowed("auto"), "none"]);
  });

  test("counts a single round as the last", async () => {
    const { request, maxRounds } = await sessionWorld(servers).open({
      tools: [DOCS],
      tool_choice: "required",
      max_tool_rounds: 1,
    });
    expect([request.params.tool_choice, maxRounds]).toEqual(["none", 1]);
    expect((await sessionWorld(servers).open({ tools: [DOCS] })).maxRounds).toBe(10);
  });

  test("names a tool as the function as which it is offered, or as OpenAI names tools of servers", async () => {
    expect(await choiceOf(named("docs__search"))).toEqual([named("docs__search"), undefined, "none"]);
    expect(await choiceOf({ type: "mcp", server_label: "docs", name: "search" })).toEqual([
      named("docs__search"),
      undefined,
      "none",
    ]);
    expect((await choiceOf({ type: "mcp", server_label: "docs", name: "a.b" }))[0]).toEqual(
      named(namesIn((await sessionWorld(servers).open({ tools: [DOCS] })).request.params)[1] as string),
    );
  });

  test("for a tool that is not offered is answered with 400 and the path", async () => {
    const open = (tool_choice: JsonObject): Promise<unknown> =>
      Promise.resolve().then(() => sessionWorld(servers).open({ tools: [DOCS], tool_choice }));
    expect(await failureOf(open({ type: "mcp", server_label: "docs", name: "write" }))).toBe(
      "400 invalid_request tool_choice.name",
    );
    expect(await failureOf(open({ type: "mcp", server_label: "docs" }))).toBe("400 invalid_request tool_choice.name");
    expect(await failureOf(open({ type: "mcp", server_label: "wiki", name: "search" }))).toBe(
      "400 invalid_request tool_choice.server_label",
    );
  });

  test("of the last round is supported by every provider that has any choice of tools", () => {
    let known = 0;
    for (const { id, capabilities } of CONVERSING)
      for (const cell of [
        capabilities.cells.tool_choice,
        ...capabilities.exceptions.flatMap(({ cells }) => cells.tool_choice ?? []),
      ]) {
        if (cell.support === "unsupported") continue;
        known += 1;
        expect([id, cell.values?.includes("none") ?? true]).toEqual([id, true]);
      }
    expect(known).toBeGreaterThan(20);
  });

  test("of the last round gives way where a provider cannot express it, and the client's own choice never does", async () => {
    const session = await sessionWorld(servers).open({ tools: [DOCS] });
    const { request: last } = session.next(
      session.request,
      { role: "assistant", content: null, tool_calls: [callOf("a", "docs__search")] },
      [{ ...OUTCOME, message: RESULT, shown: RESULT }],
      true,
    );
    const bedrock = providers.get("bedrock")!;
    const target = { ...targetFor(bedrock), model: "anthropic.claude-3-haiku-20240307-v1:0" };
    const fitted = fitRequest(last, bedrock, target, { dropParams: false, disableStopSequenceLimit: false }, PRINCIPAL);
    const { toolConfig } = JSON.parse(bedrock.encodeRequest(fitted.request, target).request.body) as {
      readonly toolConfig: { readonly tools: readonly unknown[]; readonly toolChoice?: unknown };
    };
    expect([toolConfig.tools.length, toolConfig.toolChoice]).toEqual([2, undefined]);
    const asked = { ...last, offered: { ...last.offered!, choice: "asked" as const } };
    expect(() => bedrock.encodeRequest(asked, target)).toThrow("tool_choice");
  });
});
const RESULT = { role: "tool", tool_call_id: "a", content: "b" } as const;
const OUTCOME = {
  call: callOf("a", "docs__search"),
  images: [],
  server: "docs",
  tool: "search",
  code: null,
  isError: false,
  bytes: 1,
};

describe("[d10.4] a tool server that is down", () => {
  const down = new GatewayError("tool_server_failed", "It is down.");

  test("is answered with 502 when no tool can be listed, and names the label and nothing else of it", async () => {
    const world = sessionWorld({ docs: { tools: down }, wiki: { tools: [] } });
    const failure = await world.open({ tools: [DOCS] }).catch((thrown: unknown) => thrown as GatewayError);
    expect(failure).toMatchObject({
      code: "tool_server_failed",
      param: "tools[0].server_label",
      message: "Could not list the tools of the tool server docs.",
    });
    expect(await failureOf(world.open({ tools: [WIKI, DOCS] }))).toBe("502 tool_server_failed tools[1].server_label");
  });

  test("does not stop the others, and is reported", async () => {
    const session = await sessionWorld({ docs: { tools: down }, wiki: { tools: [toolOf("search")] } }).open({
      tools: [DOCS, WIKI],
    });
    expect(namesIn(session.request.params)).toEqual(["wiki__search"]);
    expect(session.request.warnings).toEqual(["tool_server_failed"]);
    expect(session.servers.map(({ label, failure }) => [label, failure])).toEqual([
      ["docs", "tool_server_failed"],
      ["wiki", null],
    ]);
  });

  test("is not the same as a server without tools, and an internal error of the gateway is not reported as a server's", async () => {
    const session = await sessionWorld({ docs: { tools: [] } }).open({ tools: [DOCS] });
    expect(session.request.params.tools).toBeUndefined();
    const broken = sessionWorld({ docs: { tools: new GatewayError("internal_error", "a fault") } });
    expect(await failureOf(broken.open({ tools: [DOCS] }))).toBe("500 internal_error -");
  });

  test("is no longer waited for when the call ends, which keeps its own reason", async () => {
    const world = sessionWorld({ docs: { tools: down } });
    const opening = world.open({ tools: [DOCS] });
    world.cancellation.abort(new GatewayError("client_closed", "The client left."));
    expect(await failureOf(opening)).toBe("499 client_closed -");
  });
});

describe("[d10.4] one run of a tool", () => {
  const schema = {
    type: "object",
    properties: { q: { type: "string" }, n: { type: "integer", minimum: 1 } },
    required: ["q"],
    additionalProperties: false,
  };
  const ran = async (
    run: (tool: string, args: JsonObject) => ToolResult | Promise<ToolResult>,
    argumentsText = '{"q":"a"}',
  ) => {
    const world = sessionWorld({ docs: { tools: [toolOf("search", schema)], run } });
    const session = await world.open({ tools: [DOCS] });
    const outcome = await session.run(
      { id: "call_1", type: "function", function: { name: "docs__search", arguments: argumentsText } },
      2,
      ({ activity }) => world.told.push(activity),
      null,
    );
    return { ...outcome, text: outcome.message.content as string, told: world.told, called: world.called };
  };

  test("its text answers the call, and the client is notified of start and end", async () => {
    const { message, told, called, isError, code, bytes, server, tool } = await ran((_tool, { q }) =>
      saysText(`found ${q as string}`),
    );
    expect(message).toEqual({ role: "tool", tool_call_id: "call_1", content: "found a" });
    expect(called.map(({ tool: name, args }) => [name, args])).toEqual([["search", { q: "a" }]]);
    expect({ isError, code, bytes, server, tool }).toEqual({
      isError: false,
      code: null,
      bytes: 7,
      server: "docs",
      tool: "search",
    });
    const place = { call_id: "call_1", server_label: "docs", tool: "search", round: 2 };
    expect(told).toEqual([
      { type: "tool_start", ...place },
      { type: "tool_end", ...place, duration_ms: 0 },
    ]);
  });

  test("arguments that are not JSON, not an object, or do not fit the schema are reported to the model, and the server is not called", async () => {
    for (const [text, words] of [
      ['{"q":', "not JSON"],
      ["[]", "JSON object"],
      ["5", "JSON object"],
      ["{}", 'required property "q"'],
      ['{"q":5}', "#/q"],
      ['{"q":"a","n":0.5}', "#/n"],
      ['{"q":"a","x":1}', "schema"],
    ] as const) {
      const { text: told, isError, called, told: activity } = await ran(() => saysText("ran"), text);
      expect([
        text,
        told.startsWith("Error: "),
        told.includes(words),
        isError,
        called.length,
        activity.map(({ type }) => type),
      ]).toEqual([text, true, true, true, 0, ["tool_start", "tool_error"]]);
    }
    const { called } = await ran(() => saysText("ran"), '{"q":"a","n":3}');
    expect(called).toHaveLength(1);
  });

  test("a turn whose arguments were no JSON goes back in a form that every provider takes", async () => {
    const session = await sessionWorld({ docs: { tools: [toolOf("search")] } }).open({ tools: [DOCS] });
    const wrong = ['{"q":', "[1]", ""].map((text, index) => ({
      id: `c${index}`,
      type: "function" as const,
      function: { name: "docs__search", arguments: text },
    }));
    const mine = { id: "m", type: "function" as const, function: { name: "mine", arguments: "{" } };
    const outcomes = await Promise.all(wrong.map((call) => session.run(call, 1, () => {}, null)));
    const { request: next } = session.next(
      session.request,
      { role: "assistant", content: null, tool_calls: [...wrong, mine] },
      outcomes,
      false,
    );
    expect(next.messages[1]!.tool_calls!.map((call) => call.function.arguments)).toEqual([
      JSON.stringify({ INVALID_JSON: '{"q":' }),
      JSON.stringify({ INVALID_JSON: "[1]" }),
      "{}",
      "{",
    ]);
    const { request: sent } = session.next(
      session.request,
      { role: "assistant", content: null, tool_calls: wrong },
      outcomes,
      false,
    );
    for (const id of ["gemini", "ollama", "anthropic", "cohere"])
      expect(providers.get(id)!.encodeRequest(sent, targetFor(providers.get(id)!)).request.body).toContain(
        "INVALID_JSON",
      );
  });

  test("a failure is text for the model, without any text of the server's, and the call goes on", async () => {
    const secret = new GatewayError("tool_server_failed", "http://10.0.0.5/mcp refused the key sk-123", {
      detail: "10.0.0.5",
    });
    const failed = await ran(() => Promise.reject(secret));
    expect([failed.text, failed.code, failed.isError, failed.bytes]).toEqual([
      "Error: The tool server failed or could not be reached.",
      "tool_server_failed",
      true,
      null,
    ]);
    const late = await ran(() => Promise.reject(new GatewayError("tool_timeout", "late")));
    expect([late.text, late.code]).toEqual(["Error: The tool did not answer within 5 s.", "tool_timeout"]);
    const itself = await ran(() => ({ ...saysText("no such page"), isError: true }));
    expect([itself.text, itself.code, itself.isError, itself.told[1]!.error]).toEqual([
      "Error: no such page",
      null,
      true,
      "The tool reported an error.",
    ]);
  });

  test("a call of a server's function that was not offered is reported to the model; any other belongs to the client", async () => {
    const world = sessionWorld({ docs: { tools: [toolOf("search")] } });
    const session = await world.open({ tools: [DOCS, own("docs__mine"), own("mine")] });
    expect(
      ["docs__search", "docs__made_up", "docs__mine", "mine", "made_up"].map((name) =>
        session.ownerOf(callOf("a", name)),
      ),
    ).toEqual(["gateway", "gateway", "client", "client", "client"]);
    const { message, isError, server, tool } = await session.run(callOf("a", "docs__made_up"), 1, () => {}, null);
    expect([message.content, isError, server, tool]).toEqual([
      'Error: Unknown tool "docs__made_up".',
      true,
      "docs",
      "docs__made_up",
    ]);
  });

  test("an internal error of the gateway, and the end of the call, end the call", async () => {
    expect(await failureOf(ran(() => Promise.reject(new GatewayError("internal_error", "a fault"))))).toBe(
      "500 internal_error -",
    );
    const leave = (): Promise<ToolResult> => {
      leaving.cancellation.abort(new GatewayError("client_closed", "The client left."));
      return Promise.reject(new Error("aborted"));
    };
    const leaving = sessionWorld({ docs: { tools: [toolOf("search")], run: leave } });
    const session = await leaving.open({ tools: [DOCS] });
    expect(await failureOf(session.run(callOf("a", "docs__search"), 1, () => {}, null))).toBe("499 client_closed -");
  });

  test("structured content is passed on as JSON where no text contains it", async () => {
    const result = (text: string | null, structured: JsonObject): ToolResult => ({
      parts: text === null ? [] : [{ kind: "text", text }],
      blocks: text === null ? [] : [{ type: "text", text }],
      structured,
      isError: false,
      bytes: 1,
    });
    expect((await ran(() => result(null, { a: [1, 2] }))).text).toBe('{"a":[1,2]}');
    expect((await ran(() => result('{ "a": [1, 2] }', { a: [1, 2] }))).text).toBe('{ "a": [1, 2] }');
    expect((await ran(() => result("a is two numbers", { a: [1, 2] }))).text).toBe('a is two numbers\n{"a":[1,2]}');
    expect((await ran(() => ({ parts: [], blocks: [], structured: undefined, isError: false, bytes: 0 }))).text).toBe(
      "(no content)",
    );
  });

  test("images follow all results in a message of the user, for models that take images; others get a line in the result", async () => {
    const image = {
      parts: [
        { kind: "text", text: "a chart" },
        { kind: "image", mediaType: "image/png", base64: "AAAA" },
        { kind: "image", mediaType: "image/svg+xml", base64: "AAAA" },
        { kind: "image", mediaType: "image/png", base64: "not base64" },
      ],
      blocks: [],
      structured: undefined,
      isError: false,
      bytes: 9,
    } as const satisfies ToolResult;
    const world = sessionWorld({ docs: { tools: [toolOf("search")], run: () => image } });
    const session = await world.open({ tools: [DOCS] });
    const calls = ["a", "b"].map((id) => callOf(id, "docs__search"));
    const outcomes = await Promise.all(calls.map((call) => session.run(call, 1, () => {}, null)));
    const { request: next } = session.next(
      session.request,
      { role: "assistant", content: null, tool_calls: calls, refusal: null, annotations: [] },
      outcomes,
      false,
    );
    const url = { url: "data:image/png;base64,AAAA" };
    const label = { type: "text", text: "[image 1 of docs__search]" };
    expect(next.messages.slice(1)).toEqual([
      { content: null, role: "assistant", tool_calls: calls },
      ...["a", "b"].map((id) => ({
        role: "tool" as const,
        tool_call_id: id,
        content:
          "a chart\n[image 1 of docs__search: image/png, shown below to models that take images]\n[an image of type image/svg+xml, which cannot be shown]\n[an image of type image/png, which cannot be shown]",
      })),
      {
        role: "user",
        content: [label, { type: "image_url", image_url: url }, label, { type: "image_url", image_url: url }],
      },
    ]);
    const sentTo = (id: string, model: string): string => {
      const provider = providers.get(id)!;
      const target = { ...targetFor(provider), model };
      return provider.encodeRequest(
        fitRequest(next, provider, target, { dropParams: true, disableStopSequenceLimit: false }, PRINCIPAL).request,
        target,
      ).request.body;
    };
    for (const [id, model] of [
      ["openai", "gpt-5"],
      ["anthropic", "claude-sonnet-4-5"],
      ["gemini", "gemini-2.5-flash"],
    ] as const)
      expect([id, sentTo(id, model).split("AAAA").length]).toEqual([id, 3]);
    // a model that takes none, and a vendor that allows only the assistant's messages after results
    for (const [id, model] of [
      ["deepseek", "deepseek-chat"],
      ["mistral", "mistral-large-latest"],
    ] as const)
      expect([id, sentTo(id, model).includes("AAAA"), sentTo(id, model).includes("image 1 of docs__search")]).toEqual([
        id,
        false,
        true,
      ]);
  });
});
