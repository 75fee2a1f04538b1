// Promise 5.5 through the whole gateway: synonyms, the deprecated form beside the new one, tools and the choice among
// them.
import { describe, expect, test } from "bun:test";
import { answeringGateway, ask, FAMILIES, MODELS, TOOL, WEATHER } from "../chat-calls.ts";

const gateway = answeringGateway();
const outcomeOf = async (fields: Readonly<Record<string, unknown>>): Promise<string> =>
  (await ask(gateway, fields)).outcome;

describe("synonyms", () => {
  /** Where each family says its bound. */
  const boundOf = (model: string, wire: Readonly<Record<string, any>>): unknown =>
    model === MODELS.gemini
      ? wire["generationConfig"]?.maxOutputTokens
      : (wire["max_tokens"] ?? wire["max_completion_tokens"]);
  const TARGETS = [...FAMILIES, "openai:gpt-5", "groq:m", "deepseek:deepseek-chat", "custom:m"];

  test("[d5.5] max_tokens and max_completion_tokens are one bound for every provider, which gets it once", async () => {
    for (const model of TARGETS) {
      for (const fields of [
        { max_tokens: 77 },
        { max_completion_tokens: 77 },
        { max_tokens: 77, max_completion_tokens: 77 },
      ]) {
        const { outcome, wire, request } = await ask(gateway, { model, ...fields });
        expect([
          model,
          outcome,
          boundOf(model, wire!),
          request!.body.match(/max_\w*tokens|maxOutputTokens/g)!.length,
        ]).toEqual([model, "200", 77, 1]);
      }
    }
  });

  test("[d5.5] both set to different values are answered with 400", async () => {
    for (const model of FAMILIES)
      expect(await outcomeOf({ model, max_tokens: 5, max_completion_tokens: 6 })).toBe(
        "400 invalid_request max_tokens",
      );
  });

  test("[d5.5] -1 means not set, alone and beside the other one", async () => {
    for (const model of TARGETS) {
      const without = await ask(gateway, { model });
      for (const fields of [
        { max_tokens: -1 },
        { max_completion_tokens: -1 },
        { max_tokens: -1, max_completion_tokens: -1 },
      ]) {
        const { outcome, request } = await ask(gateway, { model, ...fields });
        expect([model, outcome, request]).toEqual([model, "200", without.request!]);
      }
      for (const fields of [
        { max_tokens: -1, max_completion_tokens: 50 },
        { max_tokens: 50, max_completion_tokens: -1 },
        { max_tokens: null, max_completion_tokens: 50 },
        { max_completion_tokens: null, max_tokens: 50 },
      ]) {
        const { outcome, wire, request } = await ask(gateway, { model, ...fields });
        expect([
          model,
          fields,
          outcome,
          boundOf(model, wire!),
          request!.body.match(/max_\w*tokens|maxOutputTokens/g)!.length,
        ]).toEqual([model, fields, "200", 50, 1]);
      }
    }
    for (const name of ["max_tokens", "max_completion_tokens"])
      for (const value of [-2, 1.5, "50", 1e30])
        expect([value, await outcomeOf({ [name]: value })]).toEqual([value, `400 invalid_request ${name}`]);
  });

  test("[d5.5] base_url and api_base are synonyms: either is called, and different values are answered with 400", async () => {
    const own = { model: "custom:m", api_key: "sk-own" };
    for (const fields of [
      { base_url: "http://127.0.0.1:9/v1" },
      { api_base: "http://127.0.0.1:9/v1" },
      { base_url: "http://127.0.0.1:9/v1", api_base: "http://127.0.0.1:9/v1" },
    ])
      expect((await ask(gateway, { ...own, ...fields })).request!.url).toBe("http://127.0.0.1:9/v1/chat/completions");
    expect(await outcomeOf({ ...own, base_url: "http://127.0.0.1:9/v1", api_base: "http://127.0.0.1:8/v1" })).toBe(
      "400 invalid_request base_url",
    );
  });
});

describe("functions beside tools", () => {
  test("[d5.5] functions beside tools, or beside parameters of tools, are answered with 400", async () => {
    for (const beside of [{ tools: [TOOL] }, { tool_choice: "auto" }, { parallel_tool_calls: true }, { tools: [] }])
      expect(await outcomeOf({ functions: [WEATHER], ...beside })).toBe("400 invalid_request functions");
  });

  test("[d5.5] function_call beside tool_choice is answered with 400; beside tools alone it is the choice among them", async () => {
    expect(await outcomeOf({ tools: [TOOL], tool_choice: "auto", function_call: "none" })).toBe(
      "400 invalid_request function_call",
    );
    const { wire } = await ask(gateway, { model: MODELS.anthropic, tools: [TOOL], function_call: { name: "weather" } });
    expect(wire!["tool_choice"]).toEqual({ type: "tool", name: "weather" });
  });

  test("[d5.5] function_call is none, auto or an object with a name", async () => {
    for (const function_call of ["none", "auto", { name: "weather" }])
      expect(await outcomeOf({ functions: [WEATHER], function_call })).toBe("200");
    for (const function_call of ["required", "weather", {}, { name: 5 }, 5, []])
      expect([function_call, await outcomeOf({ functions: [WEATHER], function_call })]).toEqual([
        function_call,
        "400 invalid_request function_call",
      ]);
  });
});

describe("tools", () => {
  const withFunction = (definition: unknown): unknown => ({ type: "function", function: definition });

  test("[d5.5] a tool of type function needs function; mistakes are named by their path", async () => {
    const wrong: readonly (readonly [tool: unknown, path: string])[] = [
      ["x", ""],
      [null, ""],
      [[], ""],
      [{}, ".type"],
      [{ type: 5 }, ".type"],
      [{ type: "magic" }, ".type"],
      [{ type: "function" }, ".function"],
      [{ type: "function", function: null }, ".function"],
      [withFunction("f"), ".function"],
      [withFunction({}), ".function.name"],
      [withFunction({ name: 5 }), ".function.name"],
      [withFunction({ name: "f", description: 5 }), ".function.description"],
      [withFunction({ name: "f", parameters: "{}" }), ".function.parameters"],
      [withFunction({ name: "f", parameters: [] }), ".function.parameters"],
      [withFunction({ name: "f", strict: "yes" }), ".function.strict"],
    ];
    for (const [tool, path] of wrong)
      expect([tool, await outcomeOf({ tools: [TOOL, tool] })]).toEqual([tool, `400 invalid_request tools[1]${path}`]);
  });

  test("[d5.5] [s:limits.function-name-length] a function's name is 1 to 64 letters, digits, underscores and dashes, in tools, functions and tool_choice", async () => {
    for (const name of ["f", "get_weather-2", "A", "x".repeat(64)]) {
      for (const model of FAMILIES)
        expect([
          model,
          name,
          await outcomeOf({
            model,
            tools: [withFunction({ name })],
            tool_choice: { type: "function", function: { name } },
          }),
        ]).toEqual([model, name, "200"]);
      expect([name, await outcomeOf({ functions: [{ name }], function_call: { name } })]).toEqual([name, "200"]);
    }
    for (const name of ["", "x".repeat(65), "a b", "a.b", "größe", "a/b", "a\n", null, 5]) {
      expect([name, await outcomeOf({ tools: [withFunction({ name })] })]).toEqual([
        name,
        "400 invalid_request tools[0].function.name",
      ]);
      expect([name, await outcomeOf({ functions: [{ name }] })]).toEqual([
        name,
        "400 invalid_request functions[0].name",
      ]);
      expect([name, await outcomeOf({ tools: [TOOL], tool_choice: { type: "function", function: { name } } })]).toEqual(
        [name, "400 invalid_request tool_choice.function.name"],
      );
    }
  });

  test("[d5.5] tool_choice is none, auto, required or one function", async () => {
    for (const tool_choice of ["none", "auto", "required", { type: "function", function: { name: "weather" } }])
      for (const model of FAMILIES)
        expect([model, tool_choice, await outcomeOf({ model, tools: [TOOL], tool_choice })]).toEqual([
          model,
          tool_choice,
          "200",
        ]);
    const wrong: readonly (readonly [choice: unknown, path: string])[] = [
      [5, ""],
      [[], ""],
      [true, ""],
      ["always", ""],
      [{}, ".type"],
      [{ type: 5 }, ".type"],
      [{ type: "magic" }, ".type"],
      [{ type: "function" }, ".function"],
      [{ type: "function", function: {} }, ".function.name"],
    ];
    for (const [tool_choice, path] of wrong)
      expect([tool_choice, await outcomeOf({ tools: [TOOL], tool_choice })]).toEqual([
        tool_choice,
        `400 invalid_request tool_choice${path}`,
      ]);
  });

  test("[d5.7] a value or type of tool_choice that no vendor has is refused everywhere, also for servers that pass requests on", async () => {
    for (const model of ["custom:m", "litellm:m", "openrouter:m", "together:m", "openai:gpt-4o", MODELS.anthropic]) {
      for (const tool_choice of ["xxx", "", "AUTO", "weather"])
        expect([model, await outcomeOf({ model, tools: [TOOL], tool_choice })]).toEqual([
          model,
          "400 invalid_request tool_choice",
        ]);
      expect([model, await outcomeOf({ model, tools: [TOOL], tool_choice: { type: "xxx" } })]).toEqual([
        model,
        "400 invalid_request tool_choice.type",
      ]);
    }
    for (const tool_choice of [
      "any",
      { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [] } },
      { type: "custom", custom: { name: "x" } },
    ])
      expect([tool_choice, await outcomeOf({ model: "custom:m", tools: [TOOL], tool_choice })]).toEqual([
        tool_choice,
        "200",
      ]);
  });

  test("[d5.7] Hugging Face names a function without a type, which is refused with the path for others", async () => {
    const tool_choice = { function: { name: "weather" } };
    const { outcome, wire } = await ask(gateway, { model: "huggingface:m", tools: [TOOL], tool_choice });
    expect([outcome, wire!["tool_choice"]]).toEqual(["200", tool_choice]);
    for (const model of FAMILIES)
      expect(await outcomeOf({ model, tools: [TOOL], tool_choice })).toBe("400 invalid_request tool_choice.type");
    expect(
      await outcomeOf({ model: "huggingface:m", tools: [TOOL], tool_choice: { function: { name: "not a name" } } }),
    ).toBe("400 invalid_request tool_choice.function.name");
    expect(await outcomeOf({ model: "huggingface:m", tools: [TOOL], tool_choice: {} })).toBe(
      "400 invalid_request tool_choice.type",
    );
  });

  test("[d5.5] the default of tool_choice, none without tools and auto with them, is never sent", async () => {
    for (const model of FAMILIES)
      for (const fields of [{}, { tools: [TOOL] }])
        expect((await ask(gateway, { model, ...fields })).request!.body).not.toMatch(
          /tool_?[cC]hoice|function_?[cC]all/,
        );
    for (const model of [MODELS.openai, MODELS.gemini])
      expect((await ask(gateway, { model, functions: [WEATHER] })).request!.body).not.toMatch(
        /tool_?[cC]hoice|function_?[cC]all/,
      );
  });
});

describe("tool servers", () => {
  test("[d10.1 d6.1] a tool of type mcp is handled by the gateway: an unregistered label is answered with 404 and its path, alone and beside others, whatever the provider", async () => {
    const mcp = { type: "mcp", server_label: "docs" };
    expect(await outcomeOf({ tools: [mcp] })).toBe("404 tool_server_not_found tools[0].server_label");
    for (const model of FAMILIES)
      expect(await outcomeOf({ model, tools: [TOOL, mcp], drop_params: true })).toBe(
        "404 tool_server_not_found tools[1].server_label",
      );
  });
});
