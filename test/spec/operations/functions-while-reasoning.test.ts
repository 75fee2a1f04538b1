// Conversations with tools at models whose chat completions refuse functions while they reason: they are asked for by the
// Responses API, whatever the form in which the client wrote them (promise 12.13).
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import type { ProviderSettings } from "../../../src/core/snapshot.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { call, message, reasoning, responseOf } from "../../providers/responses/events.ts";

const FUNCTION = { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } };
const TOOLS = [{ type: "function", function: FUNCTION }];
const ASK = { role: "user", content: "What is there?" };
const CHAT = "/v1/chat/completions";
const BY_RESPONSES = "/v1/responses";

/** Answers at both paths; by the Responses API, with a call of `look` until its result stands in the request. */
const upstream = cannedUpstream(({ url, body }) => {
  if (!url.includes("/responses")) return { body: JSON.stringify(openaiAnswer("By chat completions.")) };
  const [first, last] = [reasoning("rs_1", [], "gAAAsealed"), message("msg_1", "A lake.")];
  const output = body.includes("function_call_output") ? [last] : [first, call("a", "look", "{}")];
  return { body: JSON.stringify(responseOf(output)) };
});

function gateway(more: Partial<ProviderSettings> = {}, options: StubOptions = {}): Stub {
  const credentials = [storedKey("key")];
  return stubGateway({
    upstream,
    providers: [
      providerSettings({ id: "openai", family: "openai", credentials, ...more }),
      providerSettings({ id: "azure", family: "azure", credentials, baseUrl: "https://r.openai.azure.com" }),
    ],
    ...options,
  });
}

const pathsOf = ({ sent }: Stub): readonly string[] => sent.map(({ url }) => new URL(url).pathname);
const bodyOf = (stub: Stub, at = 0): Record<string, any> => JSON.parse(stub.sent[at]!.body);

describe("[d12.13] which conversations", () => {
  const effort = (name: string): JsonObject => ({ reasoning_effort: name });
  test.each<[model: string, more: JsonObject, path: string]>([
    // it reasons only when it is asked to
    ["gpt-5.4", {}, CHAT],
    ["gpt-5.4", effort("none"), CHAT],
    ["gpt-5.4", effort("low"), BY_RESPONSES],
    ["gpt-5.4-mini-2026-03-17", effort("high"), BY_RESPONSES],
    // these reason unless they are asked not to
    ["gpt-5.5", {}, BY_RESPONSES],
    ["gpt-5.5", effort("none"), CHAT],
    ["gpt-5.6-sol", {}, BY_RESPONSES],
    ["gpt-5.10", {}, BY_RESPONSES],
    ["ft:gpt-5.6:org::id", {}, BY_RESPONSES],
    ["gpt-6-luna", effort("low"), BY_RESPONSES],
    ["gpt-6-luna", effort("none"), CHAT],
    // chat completions of earlier models and of models for chats take both
    ["gpt-5.2", effort("high"), CHAT],
    ["gpt-5.1", effort("high"), CHAT],
    ["gpt-5", {}, CHAT],
    ["gpt-5.5-chat-latest", {}, CHAT],
    ["gpt-4.1", {}, CHAT],
  ])("%s with %j and tools: %s", async (model, more, path) => {
    const stub = gateway();
    const response = await stub.chat({ model: `openai:${model}`, messages: [ASK], tools: TOOLS, ...more });
    expect([response.status, pathsOf(stub)]).toEqual([200, [path]]);
  });
  test("the effort max is asked for by the Responses API without tools too", async () => {
    const stub = gateway();
    for (const model of ["gpt-5.6", "gpt-6-astra", "gpt-5.2"])
      await stub.chat({ model: `openai:${model}`, messages: [ASK], ...effort("max") });
    expect(pathsOf(stub)).toEqual([BY_RESPONSES, BY_RESPONSES, CHAT]);
    expect(bodyOf(stub)["reasoning"]).toEqual({ effort: "max" });
  });
  test("without tools, chat completions are asked", async () => {
    const stub = gateway();
    await stub.chat({ model: "openai:gpt-5.6", messages: [ASK], reasoning_effort: "high" });
    await stub.chat({ model: "openai:gpt-5.6", messages: [ASK], tools: [] });
    expect(pathsOf(stub)).toEqual([CHAT, CHAT]);
  });
  test("at Azure as at OpenAI", async () => {
    const stub = gateway();
    const response = await stub.chat({ model: "azure:gpt-5.6", messages: [ASK], tools: TOOLS });
    expect([response.status, pathsOf(stub)]).toEqual([200, ["/openai/v1/responses"]]);
  });
});

describe("[d12.3, d12.13] where the provider speaks the Responses API", () => {
  const AT = "https://models.example.com/v1";
  test.each<[what: string, settings: Partial<ProviderSettings>, path: string]>([
    ["at an address that is not the vendor's", { baseUrl: AT, isElsewhere: true }, CHAT],
    ["where the operator says that it does", { baseUrl: AT, isElsewhere: true, native: ["responses"] }, BY_RESPONSES],
    ["where the operator says that it does not", { native: [] }, CHAT],
  ])("%s: %#", async (_what, settings, path) => {
    const stub = gateway(settings);
    const response = await stub.chat({ model: "openai:gpt-5.6", messages: [ASK], tools: TOOLS });
    expect([response.status, pathsOf(stub)]).toEqual([200, [path]]);
  });
});

describe("[d12.13] a conversation with tools at GPT-5.6", () => {
  test("says the same in the other form, and its answer is a chat completion", async () => {
    const stub = gateway();
    const asked = { model: "openai:gpt-5.6", tools: TOOLS, reasoning_effort: "high", max_tokens: 500, user: "u" };
    const first = (await (await stub.chat({ ...asked, messages: [ASK] })).json()) as any;
    expect(bodyOf(stub)).toEqual({
      model: "gpt-5.6",
      input: [{ type: "message", ...ASK }],
      store: false,
      include: ["reasoning.encrypted_content"],
      user: "u",
      max_output_tokens: 500,
      tools: [{ type: "function", ...FUNCTION, strict: false }],
      reasoning: { effort: "high" },
    });
    const [{ finish_reason: finish, message: said }] = first.choices;
    expect([first.object, first.model, finish]).toEqual(["chat.completion", "openai:gpt-5.6", "tool_calls"]);
    expect(first.usage).toMatchObject({ prompt_tokens: 30, completion_tokens: 12 });
    const result = { role: "tool", tool_call_id: said.tool_calls[0].id, content: "a lake" };
    const second = (await (await stub.chat({ ...asked, messages: [ASK, said, result] })).json()) as any;
    expect(second.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "A lake." } });
    // the reasoning goes back before the call that it led to
    expect(bodyOf(stub, 1)["input"]).toEqual([
      { type: "message", ...ASK },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAsealed" },
      { type: "function_call", call_id: "call_a", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "call_a", output: "a lake" },
    ]);
    expect(stub.records.map(({ status, usageSource }) => [status, usageSource])).toEqual([
      [200, "provider"],
      [200, "provider"],
    ]);
  });
  test("from a client without reasoning_details, the calls go back alone", async () => {
    const stub = gateway();
    const calls = [{ id: "call_a", type: "function", function: { name: "look", arguments: "{}" } }];
    const messages = [
      ASK,
      { role: "assistant", content: null, tool_calls: calls },
      { role: "tool", tool_call_id: "call_a", content: "a lake" },
    ];
    const response = await stub.chat({ model: "openai:gpt-5.6", messages, tools: TOOLS });
    expect(response.status).toBe(200);
    expect((bodyOf(stub)["input"] as readonly JsonObject[]).map(({ type }) => type)).toEqual([
      "message",
      "function_call",
      "function_call_output",
    ]);
  });
  test("[d12.1] from the Messages API", async () => {
    const stub = gateway();
    const { name, description, parameters: schema } = FUNCTION;
    const tools = [{ name, description, input_schema: schema }];
    const response = await stub.call(MESSAGES, { model: "openai:gpt-5.6", max_tokens: 50, messages: [ASK], tools });
    const answer = (await response.json()) as any;
    expect([response.status, pathsOf(stub), answer.stop_reason]).toEqual([200, [BY_RESPONSES], "tool_use"]);
    expect(answer.content.at(-1)).toMatchObject({ type: "tool_use", name: "look", input: {} });
  });
  test("[d12.3] from the Responses API, where a guard needs the translation", async () => {
    const policies = policiesFor({ name: "words", guard: { patterns: ["never said"], on: "output", action: "block" } });
    const stub = gateway({}, { snapshot: { policies } });
    const tools = [{ type: "function", ...FUNCTION }];
    const response = await stub.call(RESPONSES, { model: "openai:gpt-5.6", input: [ASK], tools });
    const answer = (await response.json()) as any;
    expect([response.status, pathsOf(stub), answer.output.at(-1).type]).toEqual([200, [BY_RESPONSES], "function_call"]);
  });
  test("[d10.1] with tools that the gateway runs", async () => {
    const tools = fakeToolServers({ sky: { look: { run: () => says("a lake") } } });
    const output = (body: string): readonly JsonObject[] =>
      body.includes("function_call_output") ? [message("msg_1", "A lake.")] : [call("a", "sky__look", "{}")];
    const stub = gateway(
      {},
      { tools, upstream: cannedUpstream(({ body }) => ({ body: JSON.stringify(responseOf(output(body))) })) },
    );
    const response = await stub.call(CHAT_COMPLETIONS, {
      model: "openai:gpt-5.6",
      messages: [ASK],
      tools: [{ type: "mcp", server_label: "sky" }],
    });
    const { choices } = (await response.json()) as any;
    expect([choices[0].message.content, pathsOf(stub)]).toEqual(["A lake.", [BY_RESPONSES, BY_RESPONSES]]);
  });
  test("[d6.2] a parameter that only chat completions have is refused, or dropped and named", async () => {
    const stub = gateway();
    const body = { model: "openai:gpt-5.6", messages: [ASK], tools: TOOLS, stop: ["x"] };
    const refused = await stub.chat(body);
    const { error } = (await refused.json()) as any;
    expect([refused.status, error.code, error.param]).toEqual([400, "unsupported_parameter", "stop"]);
    expect(error.message).toContain(
      "OpenAI (Responses API) does not support stop with the model openai:gpt-5.6 (no counterpart in the Responses API).",
    );
    expect(stub.sent).toEqual([]);
    const dropped = await stub.chat({ ...body, drop_params: true });
    expect([dropped.status, dropped.headers.get("x-gateway-dropped-params")]).toEqual([200, "stop"]);
  });
  test("[d5.2, d12.6] a field that the provider names is that of the client's own form", async () => {
    const error = { message: "Not here.", type: "invalid_request_error", param: "reasoning.effort" };
    const headers = { "content-type": "application/json" };
    const refusing = cannedUpstream({ status: 400, headers, body: JSON.stringify({ error }) });
    const stub = gateway({}, { upstream: refusing });
    const asked = { model: "openai:gpt-5.6", messages: [ASK] };
    const chat = await stub.chat({ ...asked, tools: TOOLS, reasoning_effort: "high" });
    const messages = await stub.call(MESSAGES, {
      ...asked,
      max_tokens: 9,
      tools: [{ name: "look", input_schema: { type: "object" } }],
      output_config: { effort: "high" },
    });
    expect(pathsOf(stub)).toEqual([BY_RESPONSES, BY_RESPONSES]);
    expect([chat, messages].map((answer) => answer.headers.get("x-gateway-error-param"))).toEqual([
      "reasoning_effort",
      "output_config.effort",
    ]);
  });
  test("[d6.3, d12.2, d12.6] a client of another form is told its own names of what is refused, and where it sets drop_params", async () => {
    const stub = gateway();
    const refused = await stub.call(MESSAGES, {
      model: "openai:gpt-5.6",
      max_tokens: 9,
      messages: [ASK],
      tools: [{ name: "look", input_schema: { type: "object" } }],
      stop_sequences: ["x"],
    });
    expect([refused.status, refused.headers.get("x-gateway-error-param")]).toEqual([400, "stop_sequences"]);
    const { error } = (await refused.json()) as any;
    expect(error.message).toContain("does not support stop_sequences with the model openai:gpt-5.6");
    expect(error.message).toEndWith("Leave it out, or set drop_params to true in x_gateway to drop it.");
    expect(stub.sent).toEqual([]);
  });
});
