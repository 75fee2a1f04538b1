// Exceptions of the rows of clouds, gateways and local servers, tested on the wire.
import { describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { capabilityOf } from "../../../src/core/capability.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Target } from "../../../src/core/target.ts";
import { targetFor } from "../../harness/targets.ts";
import { chunksOf, CONTEXT, encode, HELLO, provider, providerOf, thrownBy, wireBody } from "./calls.ts";

/** Encoded for a target of which some is said. */
function sentTo(id: string, body: JsonObject, target: Partial<Target>) {
  const by = provider(id);
  return by.encodeRequest(
    parseChatRequest(JSON.stringify({ model: `${id}:m`, messages: HELLO, ...body })),
    targetFor(by, { model: "m-1", ...target }),
  ).request;
}
const urlAt = (id: string, baseUrl: string, settings: Readonly<Record<string, string>> = {}): string =>
  sentTo(id, {}, { baseUrl, settings }).url;
const tools = ["f", "g"].map((name) => ({ type: "function", function: { name } }));
const named = { type: "function", function: { name: "g" } };
const failureOf = (id: string, status: number, body: JsonObject): string =>
  provider(id).classifyError({ status, body: JSON.stringify(body) }).class;

describe("addresses", () => {
  test("a host alone gets the vendor's path, an address with a path keeps its own", () => {
    expect(urlAt("databricks", "https://adb-1.azuredatabricks.net")).toBe(
      "https://adb-1.azuredatabricks.net/serving-endpoints/chat/completions",
    );
    expect(urlAt("databricks", "https://adb-1.azuredatabricks.net/serving-endpoints")).toBe(
      "https://adb-1.azuredatabricks.net/serving-endpoints/chat/completions",
    );
    expect(urlAt("databricks", "https://adb-1.azuredatabricks.net/ai-gateway/mlflow/v1")).toBe(
      "https://adb-1.azuredatabricks.net/ai-gateway/mlflow/v1/chat/completions",
    );
    expect(urlAt("heroku", "https://eu.inference.heroku.com")).toBe(
      "https://eu.inference.heroku.com/v1/chat/completions",
    );
    expect(urlAt("heroku", "https://us.inference.heroku.com/v1")).toBe(
      "https://us.inference.heroku.com/v1/chat/completions",
    );
    expect(encode(providerOf({}), {}).request.url).toBe("https://acme.example/v1/chat/completions");
  });
  test("accounts and regions stand where the vendor has them", () => {
    const addresses = ["cloudflare", "snowflake", "bedrock-mantle", "oci", "watsonx"].map(
      (id) => targetFor(provider(id)).baseUrl,
    );
    expect(addresses).toEqual([
      "https://api.cloudflare.com/client/v4/accounts/account-id/ai/v1",
      "https://account.snowflakecomputing.com/api/v2/cortex/v1",
      "https://bedrock-mantle.region.api.aws/v1",
      "https://inference.generativeai.region.oci.oraclecloud.com/openai/v1",
      "https://us-south.ml.cloud.ibm.com",
    ]);
  });
  test("Azure AI Foundry is called without a version at /openai/v1 and with one at /models", () => {
    const settings = { api_version: "2024-08-01" };
    expect(urlAt("azure_ai", "https://acme.services.ai.azure.com/openai/v1", settings)).toBe(
      "https://acme.services.ai.azure.com/openai/v1/chat/completions",
    );
    expect(urlAt("azure_ai", "https://acme.services.ai.azure.com", settings)).toBe(
      "https://acme.services.ai.azure.com/openai/v1/chat/completions",
    );
    expect(urlAt("azure_ai", "https://acme.services.ai.azure.com/models")).toBe(
      "https://acme.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview",
    );
    expect(urlAt("azure_ai", "https://acme.services.ai.azure.com/models", settings)).toBe(
      "https://acme.services.ai.azure.com/models/chat/completions?api-version=2024-08-01",
    );
    expect(urlAt("azure_ai", "https://phi.eastus.models.ai.azure.com")).toBe(
      "https://phi.eastus.models.ai.azure.com/chat/completions?api-version=2024-05-01-preview",
    );
    expect(sentTo("azure_ai", {}, {}).headers["extra-parameters"]).toBe("pass-through");
    expect(sentTo("azure_ai", {}, { headers: { "extra-parameters": "error" } }).headers["extra-parameters"]).toBe(
      "error",
    );
  });
  test("keys of Microsoft's services stand in api-key", async () => {
    for (const id of ["azure", "azure_ai"])
      expect(
        (
          await provider(id).sign(
            { url: "", headers: {}, body: "" },
            { kind: "key", secret: "k", fromCaller: false },
            { nowMs: 0, settings: {} },
          )
        ).headers,
      ).toEqual({ "api-key": "k" });
  });
});

describe("watsonx", () => {
  const project = { project_id: "p-1" };
  const body = (request: { readonly body: string }): JsonObject => JSON.parse(request.body) as JsonObject;
  test("names the model and the project in the body, and streams at an address of its own", () => {
    const plain = sentTo("watsonx", { temperature: 0.5 }, { model: "ibm/granite", settings: project });
    expect(plain.url).toBe("https://us-south.ml.cloud.ibm.com/ml/v1/text/chat?version=2024-10-08");
    expect(body(plain)).toEqual({ model_id: "ibm/granite", project_id: "p-1", messages: HELLO, temperature: 0.5 });
    const streamed = sentTo(
      "watsonx",
      { stream: true, stream_options: { include_usage: true } },
      { model: "ibm/granite", settings: { ...project, api_version: "2025-01-01" } },
    );
    expect(streamed.url).toBe("https://us-south.ml.cloud.ibm.com/ml/v1/text/chat_stream?version=2025-01-01");
    expect(body(streamed)).toEqual({ model_id: "ibm/granite", project_id: "p-1", messages: HELLO });
  });
  test("a space replaces a project, and a project takes precedence", () => {
    expect(body(sentTo("watsonx", {}, { settings: { space_id: "s-1" } }))).toMatchObject({ space_id: "s-1" });
    expect(body(sentTo("watsonx", {}, { settings: { space_id: "s-1", ...project } }))).not.toHaveProperty("space_id");
    expect(body(sentTo("watsonx", {}, { settings: {} }))).toEqual({ model_id: "m-1", messages: HELLO });
  });
  test("a deployment is called by its address alone, which its name cannot leave", () => {
    const request = sentTo("watsonx", {}, { model: "deployment/d-1", settings: project });
    expect(request.url).toBe("https://us-south.ml.cloud.ibm.com/ml/v1/deployments/d-1/text/chat?version=2024-10-08");
    expect(body(request)).toEqual({ messages: HELLO });
    expect(sentTo("watsonx", {}, { model: "deployment/a&b%2f", settings: {} }).url).toContain(
      "/deployments/a%26b%252f/text/chat?",
    );
    expect(sentTo("watsonx", {}, { model: "deployment/a/b", settings: {} }).url).toContain("/ml/v1/text/chat?");
  });
  test("an address that ends in /ml/v1 does not get it twice", () => {
    expect(urlAt("watsonx", "https://cpd.example/ml/v1")).toBe(
      "https://cpd.example/ml/v1/text/chat?version=2024-10-08",
    );
  });
  test("a choice of tools that is a keyword has a field of its own", () => {
    for (const word of ["auto", "none", "required"])
      expect(wireBody(provider("watsonx"), { tools, tool_choice: word })).toMatchObject({
        tools,
        tool_choice_option: word,
      });
    const forced = wireBody(provider("watsonx"), { tools, tool_choice: named });
    expect(forced).toMatchObject({ tool_choice: named });
    expect(forced).not.toHaveProperty("tool_choice_option");
  });
  test("its streams name their events and may end without a mark, and its errors are read", () => {
    const chunks = chunksOf(
      provider("watsonx"),
      { model_id: "m", choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: null }] },
      { model_id: "m", choices: [{ index: 0, delta: {}, finish_reason: "time_limit" }] },
    );
    expect(chunks.map(({ choices }) => choices[0]!.finish_reason)).toEqual([null, "length"]);
    expect(
      failureOf("watsonx", 401, {
        trace: "t",
        errors: [{ code: "authentication_token_expired", message: "expired" }],
        status_code: 401,
      }),
    ).toBe("authentication");
    expect(
      failureOf("watsonx", 400, {
        errors: [{ code: "model_not_supported", message: "no such thing" }],
        status_code: 400,
      }),
    ).toBe("not_found");
  });
});

describe("sampling", () => {
  test("[d6.3] Claude takes a temperature and top_p at Databricks until 4.6", () => {
    const supports = (model: string) =>
      (["temperature", "top_p"] as const).map(
        (name) => capabilityOf(provider("databricks").capabilities, name, model).support,
      );
    for (const model of ["databricks-claude-sonnet-4-6", "databricks-claude-haiku-4-5", "databricks-gpt-5-2"])
      expect(supports(model)).toEqual(["native", "native"]);
    for (const model of ["opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "fable-5"])
      expect(supports(`databricks-claude-${model}`)).toEqual(["unsupported", "unsupported"]);
  });
});

describe("reasoning", () => {
  const effort = (id: string, model: string, fields: JsonObject = {}) =>
    wireBody(provider(id), { reasoning_effort: "medium", ...fields }, model);
  test("is a budget for Claude and Gemini 2.5 at Databricks, within the bound of the answer", () => {
    for (const model of [
      "databricks-claude-3-7-sonnet",
      "databricks-claude-sonnet-4-5",
      "databricks-claude-opus-4-1",
      "databricks-gemini-2-5-pro",
    ]) {
      expect(effort("databricks", model)).toMatchObject({ thinking: { type: "enabled", budget_tokens: 8192 } });
      expect(effort("databricks", model)).not.toHaveProperty("reasoning_effort");
    }
    expect(effort("databricks", "databricks-claude-sonnet-4-5", { max_tokens: 5000 })).toMatchObject({
      max_tokens: 5000,
      thinking: { budget_tokens: 4000 },
    });
    expect(effort("databricks", "databricks-claude-sonnet-4-5", { reasoning_effort: "none" })).toMatchObject({
      thinking: { type: "disabled" },
    });
    expect(
      thrownBy(GatewayError, () => effort("databricks", "databricks-claude-sonnet-4-5", { max_tokens: 1024 })),
    ).toMatchObject({ code: "unsupported_value", param: "reasoning_effort" });
    expect(effort("databricks", "databricks-gpt-5-2")).toMatchObject({ reasoning_effort: "medium" });
    for (const model of ["databricks-claude-opus-4-8", "databricks-claude-opus-5"])
      expect(capabilityOf(provider("databricks").capabilities, "reasoning_effort", model).support).toBe("unsupported");
  });
  test("is an object for Vercel, and for Claude at Snowflake; the caller's own wins", () => {
    expect(effort("vercel", "openai/gpt-5")).toMatchObject({ reasoning: { effort: "medium" } });
    expect(effort("snowflake", "claude-sonnet-4-6")).toMatchObject({ reasoning: { effort: "medium" } });
    expect(effort("snowflake", "openai-gpt-5.2")).toMatchObject({ reasoning_effort: "medium" });
    expect(effort("vercel", "openai/gpt-5", { reasoning: { max_tokens: 9 } })).toMatchObject({
      reasoning: { max_tokens: 9 },
    });
  });
  test("is an argument of the template for Xinference", () => {
    expect(effort("xinference", "qwen3.8")).toMatchObject({ chat_template_kwargs: { reasoning_effort: "medium" } });
  });
  test("of Databricks is part of a list of content", () => {
    const content = [
      { type: "reasoning", summary: [{ type: "summary_text", text: "Think first.", signature: "c2ln" }] },
      { type: "text", text: "It is." },
    ];
    const answer = provider("databricks").decodeResponse(
      JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] }),
      CONTEXT,
    );
    expect(answer.choices[0]!.message).toMatchObject({ content: "It is.", reasoning_content: "Think first." });
    const [chunk] = chunksOf(provider("databricks"), {
      choices: [{ index: 0, delta: { role: "assistant", content: content.slice(0, 1) }, finish_reason: null }],
      usage: { prompt_tokens: 5, completion_tokens: null, total_tokens: null },
    });
    expect(chunk!.choices[0]!.delta).toMatchObject({
      reasoning_content: "Think first.",
      reasoning_details: [{ type: "reasoning.text", text: "Think first.", signature: "c2ln" }],
    });
  });
  test("[d5.4] Databricks gets no empty text for Claude, and others' as it is", () => {
    const calls = [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }];
    const text = (words: string) => ({ type: "text", text: words });
    const turns: readonly JsonObject[] = [
      { role: "user", content: [text(""), text("Hello")] },
      { role: "assistant", content: "" },
      ...["", null, [text("")]].map((content) => ({ role: "assistant", content, tool_calls: calls })),
      { role: "assistant", content: "So.", tool_calls: calls },
    ];
    const sent = (model: string) => wireBody(provider("databricks"), { messages: turns }, model)["messages"];
    expect(sent("databricks-claude-opus-4-8")).toEqual([
      { role: "user", content: [text("Hello")] },
      ...[" ", null, " ", "So."].map((content) => ({ role: "assistant", content, tool_calls: calls })),
    ]);
    expect(sent("databricks-gpt-5-2")).toEqual([...turns]);
    const reported = (model: string) => [...provider("databricks").leavesOutEmpty!(model)];
    expect(["databricks-claude-opus-4-8", "databricks-gpt-5-2"].map(reported)).toEqual([["assistant"], []]);
  });
  test("of Databricks is sent back unchanged with its signature, and not at all without one", () => {
    const piece = (text: string, signature?: string): JsonObject => ({
      type: "reasoning.text",
      text,
      ...(signature !== undefined && { signature }),
      index: 0,
    });
    const turn = (assistant: JsonObject): unknown =>
      (
        wireBody(provider("databricks"), { messages: [...HELLO, { role: "assistant", ...assistant }, ...HELLO] })[
          "messages"
        ] as JsonObject[]
      )[1];
    const block = { type: "reasoning", summary: [{ type: "summary_text", text: "Think first.", signature: "c2ln" }] };
    const details = [piece("Think "), piece("first."), piece("", "c2ln")];
    expect(turn({ content: "It is.", reasoning_content: "Think first.", reasoning_details: details })).toEqual({
      role: "assistant",
      content: [block, { type: "text", text: "It is." }],
    });
    const calls = [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }];
    expect(turn({ content: null, tool_calls: calls, reasoning_details: details })).toEqual({
      role: "assistant",
      content: [block],
      tool_calls: calls,
    });
    expect(
      turn({ content: "It is.", reasoning_content: "Think first.", reasoning_details: [piece("Think first.")] }),
    ).toEqual({ role: "assistant", content: "It is." });
  });
  test("of Copilot has a name of its own, in both directions", () => {
    const answer = provider("copilot").decodeResponse(
      JSON.stringify({
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "It is.", reasoning_text: "Think first.", reasoning_opaque: "b3A=" },
            finish_reason: "stop",
          },
        ],
      }),
      CONTEXT,
    );
    expect(answer.choices[0]!.message).toMatchObject({ reasoning_content: "Think first.", reasoning_opaque: "b3A=" });
    const messages = [
      ...HELLO,
      { role: "assistant", content: "It is.", reasoning_content: "Think first.", reasoning_opaque: "b3A=" },
      ...HELLO,
    ];
    expect((wireBody(provider("copilot"), { messages })["messages"] as JsonObject[])[1]).toEqual({
      role: "assistant",
      content: "It is.",
      reasoning_text: "Think first.",
      reasoning_opaque: "b3A=",
    });
  });
});

test("[d8.6] an answer of Claude that Copilot splits into choices, with text in one and calls in others, is one", () => {
  const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
  const choice = (index: number, message: JsonObject, reason: string) => ({
    index,
    message: { role: "assistant", ...message },
    finish_reason: reason,
  });
  const choices = [
    choice(0, { content: "I look." }, "tool_calls"),
    choice(1, { content: null, tool_calls: [call("a")] }, "tool_calls"),
    choice(2, { tool_calls: [call("b")] }, "tool_calls"),
  ];
  const decoded = (model: string, sent: readonly JsonObject[]) =>
    provider("copilot").decodeResponse(JSON.stringify({ choices: sent }), { model, memo: null }).choices;
  expect(decoded("claude-sonnet-4.6", choices)).toMatchObject([
    { index: 0, message: { content: "I look.", tool_calls: [call("a"), call("b")] }, finish_reason: "tool_calls" },
  ]);
  // several answers to one request stay apart
  expect(decoded("gpt-4.1", choices)).toHaveLength(3);
  const answers = [choice(0, { content: "a" }, "stop"), choice(1, { content: "b" }, "stop")];
  expect(decoded("claude-sonnet-4.6", answers)).toHaveLength(2);
});

test("Copilot gets the bound under the name that OpenAI's models that reason take", () => {
  for (const model of ["gpt-5", "gpt-5-mini", "gpt-5.2", "o4-mini"])
    expect([model, wireBody(provider("copilot"), { max_tokens: 9 }, model)]).toEqual([
      model,
      { model, messages: [...HELLO], max_completion_tokens: 9 },
    ]);
  for (const model of ["gpt-4.1", "claude-sonnet-4.6"])
    expect(wireBody(provider("copilot"), { max_tokens: 9 }, model)).toMatchObject({ max_tokens: 9 });
});

describe("headers of Copilot", () => {
  const headers = (body: JsonObject, own: Readonly<Record<string, string>> = {}) =>
    sentTo("copilot", body, { headers: own }).headers;
  test("name the client, the initiator, and whether there is an image", () => {
    expect(headers({})).toMatchObject({ "copilot-integration-id": "vscode-chat", "x-initiator": "user" });
    expect(headers({})["editor-version"]).toMatch(/^dragoman\/\d/);
    expect(headers({})).not.toHaveProperty("copilot-vision-request");
    expect(
      headers({
        messages: [
          ...HELLO,
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
          },
          { role: "tool", tool_call_id: "c", content: "1" },
        ],
      })["x-initiator"],
    ).toBe("agent");
    expect(
      headers({
        messages: [
          { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }] },
        ],
      })["copilot-vision-request"],
    ).toBe("true");
  });
  test("give way to the caller's own", () => {
    expect(headers({}, { "copilot-integration-id": "acme-chat", "editor-version": "acme/2" })).toMatchObject({
      "copilot-integration-id": "acme-chat",
      "editor-version": "acme/2",
    });
  });
});

describe("single parameters", () => {
  test("stop is a list where the schema knows nothing else", () => {
    for (const id of ["azure_ai", "heroku", "watsonx", "tgi"])
      expect(wireBody(provider(id), { stop: "END" })["stop"]).toEqual(["END"]);
  });
  test("the bound of the answer has the one name that the vendor knows", () => {
    for (const id of ["scaleway", "ovhcloud", "databricks", "huggingface", "tgi"])
      expect(wireBody(provider(id), { max_completion_tokens: 9 })).toMatchObject({ max_tokens: 9 });
    expect(wireBody(provider("snowflake"), { max_tokens: 9 })).toMatchObject({ max_completion_tokens: 9 });
  });
  test("JSON mode is a schema for any object at mistral.rs and TGI", () => {
    for (const id of ["mistralrs", "tgi"])
      expect(wireBody(provider(id), { response_format: { type: "json_object" } })["response_format"]).toEqual({
        type: "json_schema",
        json_schema: { name: "object", schema: { type: "object" } },
      });
  });
  test("TGI's named function has no type", () => {
    expect(wireBody(provider("tgi"), { tools, tool_choice: named })["tool_choice"]).toEqual({
      function: { name: "g" },
    });
    expect(wireBody(provider("tgi"), { tools, tool_choice: "required" })["tool_choice"]).toBe("required");
  });
  test("usage that is sent without a request is not requested", () => {
    for (const id of ["databricks", "watsonx"])
      expect(wireBody(provider(id), { stream: true })).not.toHaveProperty("stream_options");
  });
  test("names that reach an address or other models are privileged", () => {
    expect(provider("azure").privileged).toEqual(new Set(["data_sources"]));
    expect(provider("vercel").privileged).toEqual(new Set(["models", "providerOptions"]));
    expect(provider("litellm").privileged.has("user_config")).toBe(true);
    for (const name of ["model_id", "space_id"]) expect(provider("watsonx").reserved.has(name)).toBe(true);
  });
});

describe("errors", () => {
  test("Cloudflare's two reasons of a 429 are distinguished by their numbers", () => {
    const said = (code: number): JsonObject => ({
      result: null,
      success: false,
      errors: [{ code, message: "AiError" }],
      messages: [],
    });
    expect([3036, 3040, 9999].map((code) => failureOf("cloudflare", 429, said(code)))).toEqual([
      "quota",
      "overloaded",
      "rate_limit",
    ]);
    expect([5007, 5004].map((code) => failureOf("cloudflare", 400, said(code)))).toEqual([
      "not_found",
      "invalid_request",
    ]);
    expect(failureOf("cloudflare", 408, said(3007))).toBe("timeout");
  });
  test("Databricks' codes stand in error_code", () => {
    expect(
      failureOf("databricks", 400, { error_code: "RESOURCE_DOES_NOT_EXIST", message: "There is no such endpoint." }),
    ).toBe("not_found");
    expect(failureOf("databricks", 400, { error_code: "REQUEST_LIMIT_EXCEEDED", message: "Slow down." })).toBe(
      "rate_limit",
    );
    expect(failureOf("databricks", 400, { error_code: "BAD_REQUEST", message: "max_tokens is no number." })).toBe(
      "invalid_request",
    );
  });
  test("a model that does not exist is 404 also where the vendor answers 400 or 422", () => {
    expect(failureOf("scaleway", 422, { error: { message: "The model m is unknown here.", code: 422 } })).toBe(
      "not_found",
    );
    expect(failureOf("bedrock-mantle", 400, { error: { message: "model `m` isn't supported on this route" } })).toBe(
      "not_found",
    );
  });
  test("TGI reports overload with 429, and prompts that are too long with 422", () => {
    expect(failureOf("tgi", 429, { error: "Model is overloaded", error_type: "overloaded" })).toBe("overloaded");
    expect(
      failureOf("tgi", 422, {
        error: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
        error_type: "validation",
      }),
    ).toBe("context_length");
  });
});

describe("files of Vercel", () => {
  const partOf = (part: JsonObject): unknown =>
    (
      (wireBody(provider("vercel"), { messages: [{ role: "user", content: [part] }] })["messages"] as JsonObject[])[0]![
        "content"
      ] as JsonObject[]
    )[0];
  test("are bare data with their type beside it", () => {
    expect(partOf({ type: "file", file: { filename: "a.csv", file_data: "data:text/csv;base64,YQ==" } })).toEqual({
      type: "file",
      file: { filename: "a.csv", data: "YQ==", media_type: "text/csv" },
    });
    expect(partOf({ type: "file", file: { file_data: "JVBERi0=" } })).toEqual({
      type: "file",
      file: { data: "JVBERi0=", media_type: "application/pdf" },
    });
    expect(
      partOf({ type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } }),
    ).toEqual({ type: "file", file: { filename: "document", data: "JVBERi0=", media_type: "application/pdf" } });
    expect(partOf({ type: "document", source: { type: "text", media_type: "text/plain", data: "the text" } })).toEqual({
      type: "text",
      text: "the text",
    });
  });
  test("cannot be ids", () => {
    expect(thrownBy(GatewayError, () => partOf({ type: "file", file: { file_id: "file-1" } }))).toMatchObject({
      code: "unsupported_value",
      param: "messages[0].content[0].file",
    });
  });
});

describe("answers of Snowflake, which have every member of the form, empty where there is nothing", () => {
  const nothing = {
    audio: { data: "", expires_at: 0, id: "", transcript: "" },
    function_call: { arguments: "", name: "" },
    refusal: "",
  };
  const custom = { input: "", name: "" };
  const call = { id: "c", type: "function" as const, function: { name: "f", arguments: '{"a":1}' } };
  test("[d8.7] have only what stands in them", () => {
    const message = { role: "assistant", content: "", tool_calls: [{ ...call, custom }], ...nothing };
    const { choices } = provider("snowflake").decodeResponse(
      JSON.stringify({ choices: [{ index: 0, message, finish_reason: "" }] }),
      CONTEXT,
    );
    expect(choices[0]!.message).toEqual({ role: "assistant", content: "", tool_calls: [call] });
  });
  test("[d8.7] have it in a stream as well, in which a call of a function stays one", () => {
    const deltas = [
      { content: "Hi", ...nothing },
      { content: "", tool_calls: [{ index: 0, ...call, custom }], ...nothing },
      { content: "", tool_calls: [{ index: 0, function: { name: "", arguments: " " }, custom }], ...nothing },
    ];
    const events = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: "" }] }));
    const decoded = chunksOf(provider("snowflake"), ...events).flatMap(({ choices }) =>
      choices.map(({ delta }) => delta),
    );
    expect(decoded).toEqual([
      { content: "Hi" },
      { content: "", tool_calls: [{ index: 0, ...call }] },
      { content: "", tool_calls: [{ index: 0, function: { name: "", arguments: " " } }] },
    ]);
  });
  test("[d8.7] and a call of a custom tool stays one where an empty function stands beside it", () => {
    const made = { id: "c", type: "custom", custom: { name: "f", input: "x" } };
    const message = { role: "assistant", tool_calls: [{ ...made, function: { name: "", arguments: "" } }] };
    const { choices } = provider("snowflake").decodeResponse(
      JSON.stringify({ choices: [{ index: 0, message, finish_reason: "" }] }),
      CONTEXT,
    );
    expect(choices[0]!.message.tool_calls).toEqual([made as never]);
  });
});

describe("answers of Snowflake, which have no finish reason", () => {
  test("get one from their content", () => {
    const finishOf = (message: JsonObject, finish: string): unknown =>
      provider("snowflake").decodeResponse(
        JSON.stringify({ choices: [{ index: 0, message, finish_reason: finish }] }),
        CONTEXT,
      ).choices[0]!.finish_reason;
    expect(
      finishOf(
        { content: "", tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }] },
        "",
      ),
    ).toBe("tool_calls");
    expect(finishOf({ content: "Hi", tool_calls: null }, "")).toBe("stop");
    expect(finishOf({ content: "Hi" }, "length")).toBe("length");
  });
  const chunk = (index: number, delta: JsonObject, finish = ""): JsonObject => ({
    choices: [{ index, delta, finish_reason: finish }],
  });
  const usage = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } };
  const call = { tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "f", arguments: "{}" } }] };
  const reasons = (...events: readonly JsonObject[]) =>
    chunksOf(provider("snowflake"), ...events).flatMap(({ choices }) =>
      choices.map(({ index, finish_reason: finish }) => [index, finish]).filter(([, finish]) => finish !== null),
    );
  test("streams end with the usage, each choice by its content", () => {
    expect(
      reasons(chunk(0, { role: "assistant", content: "Hi" }), chunk(1, call), chunk(1, { content: "" }), usage),
    ).toEqual([
      [0, "stop"],
      [1, "tool_calls"],
    ]);
    expect(chunksOf(provider("snowflake"), chunk(0, { content: "Hi" }), usage).at(-1)!.usage).toMatchObject(
      usage.usage,
    );
  });
  test("streams keep a reason that is sent all the same, and end once", () => {
    expect(reasons(chunk(0, { content: "Hi" }), chunk(0, {}, "length"), usage, usage)).toEqual([[0, "length"]]);
  });
  test("[d8.3] streams that break off before the usage have none", () => {
    expect(reasons(chunk(0, { content: "Hi" }))).toEqual([]);
    expect(
      chunksOf(providerOf({}), chunk(0, { content: "Hi" }), usage).flatMap(({ choices }) =>
        choices.map((choice) => choice.finish_reason),
      ),
    ).toEqual([null]);
  });
});
