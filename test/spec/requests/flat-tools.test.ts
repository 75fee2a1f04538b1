// Tools in the flat form of the Responses API, which some editors send to chat completions (promise 12.13).
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

const MESSAGES = [{ role: "user", content: "Hello" }];
const PARAMETERS = { type: "object", properties: { city: { type: "string" } } };

function gateway(): Stub {
  const call = { id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } };
  const answer = {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_767_000_000,
    model: "m",
    choices: [
      { index: 0, message: { role: "assistant", content: null, tool_calls: [call] }, finish_reason: "tool_calls" },
    ],
    usage: { prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 },
  };
  return stubGateway({
    upstream: cannedUpstream({ body: JSON.stringify(answer) }),
    providers: [
      providerSettings({ id: "openai", family: "openai", credentials: [storedKey("key")] }),
      providerSettings({ id: "groq", family: "groq", credentials: [storedKey("key")] }),
    ],
  });
}
async function sent(fields: JsonObject, model = "openai:gpt-4o"): Promise<any> {
  const stub = gateway();
  const response = await stub.chat({ model, messages: MESSAGES, ...fields });
  const answer = await response.json();
  expect([response.status, answer]).toEqual([200, answer]);
  return JSON.parse(stub.sent[0]!.body);
}
async function refusal(fields: JsonObject, model?: string): Promise<any> {
  return (
    (await (await gateway().chat({ model: model ?? "openai:gpt-4o", messages: MESSAGES, ...fields })).json()) as any
  ).error;
}

describe("[d12.13] flat tools", () => {
  const flat = { type: "function", name: "weather", description: "Now", parameters: PARAMETERS, strict: false };
  const { type, ...definition } = flat;
  const nested = { type, function: definition };

  test("become functions of chat completions, beside others", async () => {
    const clock = { type: "function", function: { name: "clock" } };
    expect((await sent({ tools: [flat, clock] })).tools).toEqual([nested, clock]);
    expect((await sent({ tools: [flat] }, "groq:m")).tools).toEqual([nested]);
  });
  test("and the answer has the ordinary form", async () => {
    const stub = gateway();
    const answer = (await (
      await stub.chat({ model: "openai:gpt-4o", messages: MESSAGES, tools: [flat] })
    ).json()) as any;
    expect(answer.choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: { tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } }] },
    });
  });
  test("custom tools too, with their grammar", async () => {
    const format = { type: "grammar", syntax: "lark", definition: "start: x" };
    expect((await sent({ tools: [{ type: "custom", name: "patch", description: "P", format }] })).tools).toEqual([
      {
        type: "custom",
        custom: {
          name: "patch",
          description: "P",
          format: { type: "grammar", grammar: { syntax: "lark", definition: "start: x" } },
        },
      },
    ]);
    expect(await refusal({ tools: [{ type: "custom", name: "patch" }] }, "groq:m")).toMatchObject({
      code: "invalid_request",
      param: "tools[0].type",
    });
  });
  test("the choice among them is flat as well", async () => {
    const choice = async (given: JsonObject): Promise<unknown> =>
      (await sent({ tools: [flat], tool_choice: given })).tool_choice;
    expect(await choice({ type: "function", name: "weather" })).toEqual({
      type: "function",
      function: { name: "weather" },
    });
    expect(await choice({ type: "custom", name: "patch" })).toEqual({ type: "custom", custom: { name: "patch" } });
    expect(
      await choice({ type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "weather" }] }),
    ).toEqual({
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "weather" } }] },
    });
  });
  test("errors name the place in the client's own form", async () => {
    expect((await refusal({ tools: [{ type: "function", name: "no such name!" }] })).param).toBe("tools[0].name");
    expect((await refusal({ tools: [{ ...flat, parameters: "x" }] })).param).toBe("tools[0].parameters");
    expect((await refusal({ tools: [{ type: "function" }] })).param).toBe("tools[0].function");
  });
  test("tools in the ordinary form stay as they are", async () => {
    const clock = { type: "function", function: { name: "clock", description: "Now" } };
    expect((await sent({ tools: [clock] })).tools).toEqual([clock]);
  });
});
