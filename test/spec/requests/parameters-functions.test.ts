// Promise 6.6: the deprecated `functions` and `function_call` become tools and tool_choice on the way in and come back in the old form on the way out,
// at each wire family, plain and streamed.
import { describe, expect, test } from "bun:test";
import { capabilityOf } from "../../../src/core/capability.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { CONVERSING } from "../../harness/conversing.ts";
import { readStream } from "../../harness/sse.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/servers/upstream.ts";
import { answeringGateway, ask, FAMILIES, HELLO, MODELS, WEATHER } from "../chat-calls.ts";

const gateway = answeringGateway();
const ASKS = [{ role: "user", content: "Please call the function." }] as const;

/** What each family's request says about one function, a choice among functions, and one call a turn. */
const DECLARED: Readonly<Record<string, (wire: Readonly<Record<string, any>>) => unknown>> = {
  [MODELS.openai]: ({ tools, tool_choice: choice, parallel_tool_calls: parallel }) => [
    tools[0].function,
    choice?.function?.name ?? choice,
    parallel,
  ],
  [MODELS.anthropic]: ({ tools, tool_choice: choice }) => [
    { name: tools[0].name, description: tools[0].description, parameters: tools[0].input_schema },
    choice.name ?? choice.type,
    choice.disable_parallel_tool_use !== true,
  ],
  [MODELS.gemini]: ({ tools, toolConfig }) => {
    const { name, description, parametersJsonSchema: parameters } = tools[0].functionDeclarations[0];
    const config = toolConfig?.functionCallingConfig;
    return [
      { name, description, parameters },
      config?.allowedFunctionNames?.[0] ?? config?.mode.toLowerCase(),
      undefined,
    ];
  },
};

describe("in requests", () => {
  for (const model of FAMILIES) {
    test(`[d6.6] ${model}: functions become tools, function_call becomes tool_choice, and one call a turn is requested`, async () => {
      for (const [function_call, choice] of [
        [{ name: "weather" }, "weather"],
        ["none", "none"],
      ] as const) {
        const { outcome, wire } = await ask(gateway, { model, functions: [WEATHER], function_call });
        expect(outcome).toBe("200");
        // a family that has no word for one call a turn says nothing; where nothing may be called there is nothing to say
        const parallel = model === MODELS.openai ? false : model === MODELS.anthropic ? choice === "none" : undefined;
        expect(DECLARED[model]!(wire!)).toEqual([WEATHER, choice, parallel]);
        expect(Object.keys(wire!)).not.toContain("functions");
        expect(Object.keys(wire!)).not.toContain("function_call");
      }
    });

    test(`[d6.6] ${model}: calls and results of the old form in the conversation become tool calls and tool messages with one id`, async () => {
      const messages = [
        ...HELLO,
        { role: "assistant", content: null, function_call: { name: "weather", arguments: '{"city":"Paris"}' } },
        { role: "function", name: "weather", content: "sunny" },
      ];
      const { outcome, wire, request } = await ask(gateway, { model, functions: [WEATHER], messages });
      expect(outcome).toBe("200");
      expect(request!.body).not.toMatch(/"function_call"|"role":"function"/);
      const ids = [...request!.body.matchAll(/"(?:tool_call_id|tool_use_id|id)":"([^"]+)"/g)].map(([, id]) => id);
      expect(ids.length).toBe(2);
      expect(new Set(ids).size).toBe(1);
      expect(JSON.stringify(wire)).toContain("sunny");
    });
  }

  test("[d6.6] an empty function_call, or one beside tool calls, is none: the tool calls stay, and the answer is not in the old form", () => {
    const args = '{"city":"Paris"}';
    const calls = [{ id: "c", type: "function", function: { name: "weather", arguments: args } }];
    for (const function_call of [
      { name: "", arguments: "" },
      { name: "weather", arguments: args },
    ]) {
      const turn = { role: "assistant", content: "", tool_calls: calls };
      const result = { role: "tool", tool_call_id: "c", content: "sunny" };
      const { messages, options } = parseChatRequest(
        JSON.stringify({ model: MODELS.openai, messages: [...HELLO, { ...turn, function_call }, result] }),
      );
      expect(messages.slice(1)).toEqual([turn, result] as never);
      expect(options.legacyFunctions).toBe(false);
    }
  });

  test("[d6.6] a message with calls in both forms keeps all of them, and one that is said twice is one call", async () => {
    const weather = { name: "weather", arguments: '{"city":"Paris"}' };
    for (const [function_call, names] of [
      [{ name: "time", arguments: "{}" }, ["weather", "time"]],
      [weather, ["weather"]],
    ] as const) {
      const messages = [
        ...HELLO,
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_own", type: "function", function: weather }],
          function_call,
        },
        { role: "tool", tool_call_id: "call_own", content: "sunny" },
        ...(names.length > 1 ? [{ role: "function", name: "time", content: "noon" }] : []),
      ];
      const { outcome, wire } = await ask(gateway, { model: MODELS.openai, messages });
      expect(outcome).toBe("200");
      const [, turn, ...results] = wire!["messages"];
      const calls: readonly { readonly id: string; readonly function: { readonly name: string } }[] = turn.tool_calls;
      expect(calls.map((call) => call.function.name)).toEqual([...names]);
      expect(results.map((result: { readonly tool_call_id: string }) => result.tool_call_id)).toEqual(
        calls.map(({ id }) => id),
      );
    }
  });

  test("[d6.6] a model that does not take parallel_tool_calls is not sent it", async () => {
    for (const model of ["openai:o3", "openai:o4-mini-2025-04-16", "openai:o1", "azure:o3-mini"]) {
      const { outcome, wire, headers } = await ask(gateway, {
        model,
        functions: [WEATHER],
        function_call: { name: "weather" },
      });
      expect([model, outcome, headers.has("x-gateway-dropped-params"), Object.keys(wire!).toSorted()]).toEqual([
        model,
        "200",
        false,
        ["messages", "model", "tool_choice", "tools"],
      ]);
    }
    expect((await ask(gateway, { model: "openai:gpt-5", functions: [WEATHER] })).wire).toMatchObject({
      parallel_tool_calls: false,
    });
  });

  test("[d6.6] every provider with tools has functions", async () => {
    for (const { id, capabilities } of CONVERSING) {
      if (capabilityOf(capabilities, "tools", "m").support === "unsupported") continue;
      const { wire } = await ask(gateway, { model: `${id}:m`, functions: [WEATHER] });
      expect([id, JSON.stringify(wire).includes('"weather"')]).toEqual([id, true]);
    }
  });

  test("[d6.6] [d6.3] a provider without tools refuses functions under the name that was sent, or drops and reports them", async () => {
    const fields = { model: "perplexity:sonar", functions: [WEATHER], function_call: { name: "weather" } };
    const { outcome, error } = await ask(gateway, fields);
    expect(outcome).toBe("400 unsupported_parameter functions");
    expect(error!.message).toMatch(/functions, function_call with/);
    const dropped = await ask(gateway, { ...fields, drop_params: true });
    expect([dropped.outcome, dropped.headers.get("x-gateway-dropped-params")]).toEqual([
      "200",
      "functions,function_call",
    ]);
    expect(dropped.wire).toEqual({ model: "sonar", messages: [...HELLO] });
    expect(gateway.records.at(-1)!.dispositions).toEqual({ functions: "dropped", function_call: "dropped" });
  });
});

describe("in answers", () => {
  for (const model of FAMILIES) {
    test(`[d6.6] ${model}: a call comes back as function_call with the finish reason function_call, and without tool calls`, async () => {
      const { outcome, text } = await ask(gateway, { model, messages: ASKS, functions: [WEATHER] });
      expect(outcome).toBe("200");
      const [choice] = JSON.parse(text).choices;
      expect(choice).toMatchObject({
        finish_reason: "function_call",
        message: { role: "assistant", content: null, function_call: { name: "weather" } },
      });
      expect(JSON.parse(choice.message.function_call.arguments)).toEqual({ city: "Paris" });
      expect(text).not.toContain("tool_calls");
    });

    test(`[d6.6] ${model}: streamed, the call comes back in deltas of function_call, and without tool calls`, async () => {
      const { outcome, text } = await ask(gateway, { model, stream: true, messages: ASKS, functions: [WEATHER] });
      expect(outcome).toBe("200");
      const { events, done } = readStream(text);
      const choices = events.flatMap((event) => event["choices"]);
      const calls = choices.map((choice) => choice.delta.function_call).filter((call) => call !== undefined);
      expect([
        done,
        calls.map((call) => call.name).filter((name) => name !== undefined),
        JSON.parse(calls.map((call) => call.arguments ?? "").join("")),
      ]).toEqual([true, ["weather"], { city: "Paris" }]);
      expect(choices.map((choice) => choice.finish_reason).filter((reason) => reason !== null)).toEqual([
        "function_call",
      ]);
      expect(text).not.toContain("tool_calls");
    });

    test(`[d6.6] ${model}: a request in the new form is answered in the new form`, async () => {
      for (const stream of [false, true]) {
        const { text } = await ask(gateway, {
          model,
          stream,
          messages: ASKS,
          tools: [{ type: "function", function: WEATHER }],
        });
        expect(text).toContain('"finish_reason":"tool_calls"');
        expect(text).not.toContain("function_call");
      }
    });
  }

  test("[d6.6] one call at a time: the first of several calls comes back in the old form, and all of them where the request has tools, plain and streamed", async () => {
    const call = (index: number, city: string) => ({
      index,
      id: `call_${index}`,
      type: "function",
      function: { name: "weather", arguments: JSON.stringify({ city }) },
    });
    const both = [call(0, "Paris"), call(1, "Rome")];
    const stub = answeringGateway({
      upstream: cannedUpstream(({ body }) =>
        body.includes('"stream":true')
          ? {
              headers: { "content-type": "text/event-stream" },
              body: eventStream(
                openaiChunk({ role: "assistant", tool_calls: [both[0]] }),
                openaiChunk({ tool_calls: [both[1]] }),
                openaiChunk({}, "tool_calls"),
              ),
            }
          : {
              body: JSON.stringify(openaiAnswer(null, { finish_reason: "tool_calls", message: { tool_calls: both } })),
            },
      ),
    });
    for (const stream of [false, true]) {
      const { text } = await ask(stub, { stream, functions: [WEATHER] });
      expect(text).toContain("Paris");
      expect(text).not.toContain("Rome");
      // a conversation that began with functions and goes on with tools
      const messages = [
        ...HELLO,
        { role: "assistant", content: null, function_call: { name: "weather", arguments: "{}" } },
        { role: "function", name: "weather", content: "sunny" },
      ];
      const inNewForm = await ask(stub, { stream, messages, tools: [{ type: "function", function: WEATHER }] });
      expect(inNewForm.text).toContain("Paris");
      expect(inNewForm.text).toContain("Rome");
      expect(inNewForm.text).not.toContain("function_call");
      const inOldForm = await ask(stub, { stream, messages });
      expect(inOldForm.text).not.toContain("Rome");
    }
  });
});
