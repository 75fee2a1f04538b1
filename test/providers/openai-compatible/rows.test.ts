// The exceptions of each row, tested on the wire.
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { capabilityOf } from "../../../src/core/capability.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { openaiCompatibleProviders } from "../../../src/providers/registry.ts";
import { encode, provider, providerOf, thrownBy, wireBody } from "./calls.ts";

const DOCUMENT = { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } };
const TEXT_DOCUMENT = { type: "document", source: { type: "text", media_type: "text/plain", data: "the text" } };
const withPart = (part: JsonObject): JsonObject => ({
  messages: [{ role: "user", content: [{ type: "text", text: "Read this" }, part] }],
});
const partOf = (body: JsonObject): unknown => ((body["messages"] as JsonObject[])[0]!["content"] as JsonObject[])[1];
const history = (assistant: JsonObject): JsonObject => ({
  messages: [
    { role: "user", content: "a" },
    { role: "assistant", content: "b", ...assistant },
    { role: "user", content: "c" },
  ],
});
const turnOf = (body: JsonObject): JsonObject => (body["messages"] as JsonObject[])[1]!;

const ROWS_FOLDER = join(import.meta.dir, "../../../src/providers/openai-compatible/rows");
const ROW_TEXT = /^(?:export )?const (\w+): OpenAICompatibleRow = \{[\s\S]*?^\};/gm;

describe("every row", () => {
  test("describes a provider in at most 70 lines", () => {
    const rows = readdirSync(ROWS_FOLDER).flatMap((file) =>
      [...readFileSync(join(ROWS_FOLDER, file), "utf8").matchAll(ROW_TEXT)].map(([text, name]) => ({
        name,
        lines: text.split("\n").length,
      })),
    );
    expect(rows.length).toBeGreaterThan(55);
    expect(rows.filter(({ lines }) => lines > 70)).toEqual([]);
  });
  test("has the gateway fetch the pictures of a model that takes bytes alone, and says so", () => {
    const cells = openaiCompatibleProviders.map((one) => ({
      id: one.id,
      fetched: one.inlines("m").has("image_url"),
      text: capabilityOf(one.capabilities, "image_url", "m").note ?? "",
    }));
    expect(cells.filter(({ fetched }) => fetched).length).toBeGreaterThan(4);
    for (const { id, fetched, text } of cells)
      expect([id, fetched, text.includes("the gateway fetches URLs")]).toEqual([id, /base64/.test(text), fetched]);
  });
  test("ids are unique, pages are addresses, keys have names of environment variables", () => {
    expect(new Set(openaiCompatibleProviders.map(({ id }) => id)).size).toBe(openaiCompatibleProviders.length);
    for (const each of openaiCompatibleProviders) {
      expect(each.docs).toMatch(/^https:\/\//);
      expect(each.id).toMatch(/^[a-z0-9_-]+$/);
      for (const name of each.keyVariables) expect(name).toMatch(/^[A-Z][A-Z0-9_]+$/);
      if (each.baseUrl !== null) expect(each.baseUrl).toMatch(/^https?:\/\/.*[^/]$/);
      expect(each.sameShape).toBe(true);
    }
  });
  test("all providers have one", () => {
    const ids = openaiCompatibleProviders.map(({ id }) => id);
    expect(ids).toEqual(
      expect.arrayContaining([
        "openai",
        "groq",
        "together",
        "fireworks",
        "deepseek",
        "xai",
        "openrouter",
        "cerebras",
        "sambanova",
        "perplexity",
        "nvidia",
        "deepinfra",
        "llamacpp",
        "vllm",
        "lmstudio",
        "custom",
      ]),
    );
  });
});

describe("reasoning of earlier turns", () => {
  const details = [{ type: "reasoning.text", text: "why", signature: "s" }];
  test("is left out for OpenAI, which has no place for it", () => {
    expect(
      turnOf(wireBody(provider("openai"), history({ reasoning_content: "why", reasoning_details: details }))),
    ).toEqual({ role: "assistant", content: "b" });
    expect(turnOf(wireBody(provider("openai"), history({ reasoning_details: details })))).toEqual({
      role: "assistant",
      content: "b",
    });
  });
  test("has the vendor's own name", () => {
    for (const id of ["groq", "cerebras"])
      expect(turnOf(wireBody(provider(id), history({ reasoning_content: "why", reasoning_details: details })))).toEqual(
        { role: "assistant", content: "b", reasoning: "why" },
      );
    for (const id of ["deepseek", "fireworks", "xai"])
      expect(turnOf(wireBody(provider(id), history({ reasoning: "why" })))).toEqual({
        role: "assistant",
        content: "b",
        reasoning_content: "why",
      });
  });
  test("OpenRouter gets its details back unchanged", () => {
    expect(
      turnOf(wireBody(provider("openrouter"), history({ reasoning_content: "why", reasoning_details: details }))),
    ).toEqual({ role: "assistant", content: "b", reasoning: "why", reasoning_details: details });
  });
  test("GLM at Cerebras has it inside the content", () => {
    expect(turnOf(wireBody(provider("cerebras"), history({ reasoning_content: "why" }), "zai-glm-4.7"))).toEqual({
      role: "assistant",
      content: "<think>why</think>b",
    });
  });
  test("is kept unchanged where the row does not mention it", () => {
    expect(turnOf(wireBody(provider("custom"), history({ reasoning_content: "why", reasoning: "x" })))).toEqual({
      role: "assistant",
      content: "b",
      reasoning_content: "why",
      reasoning: "x",
    });
  });
});

describe("the developer role", () => {
  const body = {
    messages: [
      { role: "developer", content: "Be brief." },
      { role: "user", content: "a" },
    ],
  };
  test("becomes system where the vendor does not know it", () => {
    for (const id of ["deepseek", "together", "perplexity", "nvidia"])
      expect((wireBody(provider(id), body)["messages"] as JsonObject[])[0]).toEqual({
        role: "system",
        content: "Be brief.",
      });
  });
  test("stays for OpenAI, OpenRouter, Groq and custom", () => {
    for (const id of ["openai", "openrouter", "groq", "custom"])
      expect((wireBody(provider(id), body)["messages"] as JsonObject[])[0]!["role"]).toBe("developer");
  });
});

test("Baseten keeps the name of the function in the result of a call", () => {
  const called = { id: "call_1", type: "function", function: { name: "root", arguments: "{}" } };
  const result = { role: "tool", tool_call_id: "call_1", name: "root", content: "4" };
  const messages = [{ role: "user", content: "a" }, { role: "assistant", tool_calls: [called] }, result];
  expect((wireBody(provider("baseten"), { messages })["messages"] as JsonObject[])[2]).toEqual(result);
});

describe("documents and files", () => {
  const file = { type: "file", file: { filename: "document.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } };
  test("a document is a file for OpenAI and OpenRouter, and a text document is text", () => {
    for (const id of ["openai", "openrouter"]) {
      expect(partOf(wireBody(provider(id), withPart(DOCUMENT)))).toEqual(file);
      expect(partOf(wireBody(provider(id), withPart(TEXT_DOCUMENT)))).toEqual({ type: "text", text: "the text" });
    }
  });
  test("a source without a form there is refused with its path", () => {
    const body = withPart({ type: "document", source: { type: "url", url: "https://x.example/a.pdf" } });
    const refusal = thrownBy(GatewayError, () => wireBody(provider("openai"), body));
    expect([refusal.code, refusal.param]).toEqual(["unsupported_value", "messages[0].content[1].source"]);
  });
  test("Groq takes text documents alone", () => {
    expect(partOf(wireBody(provider("groq"), withPart(TEXT_DOCUMENT)))).toEqual({ type: "text", text: "the text" });
    expect(thrownBy(GatewayError, () => wireBody(provider("groq"), withPart(DOCUMENT))).code).toBe("unsupported_value");
  });
  test("Fireworks inlines them", () => {
    expect(partOf(wireBody(provider("fireworks"), withPart(DOCUMENT)))).toEqual({
      type: "image_url",
      image_url: { url: "data:application/pdf;base64,JVBERi0=#transform=inline" },
    });
  });
  test("Perplexity has file_url, with bare base64", () => {
    const perplexity = provider("perplexity");
    expect(partOf(wireBody(perplexity, withPart(file)))).toEqual({
      type: "file_url",
      file_url: { url: "JVBERi0=" },
      file_name: "document.pdf",
    });
    expect(
      partOf(wireBody(perplexity, withPart({ type: "file", file: { file_id: "https://x.example/a.pdf" } }))),
    ).toEqual({ type: "file_url", file_url: { url: "https://x.example/a.pdf" } });
    expect(partOf(wireBody(perplexity, withPart(DOCUMENT)))).toEqual({
      type: "file_url",
      file_url: { url: "JVBERi0=" },
    });
    const refusal = thrownBy(GatewayError, () =>
      wireBody(perplexity, withPart({ type: "file", file: { file_id: "file-1" } })),
    );
    expect(refusal.param).toBe("messages[0].content[1].file");
  });
  test("an address in file_id is sent in the vendor's form, and an id stays", () => {
    const address = { type: "file", file: { file_id: "https://x.example/d/a.pdf?v=1" } };
    expect(partOf(wireBody(provider("openrouter"), withPart(address)))).toEqual({
      type: "file",
      file: { filename: "a.pdf", file_data: "https://x.example/d/a.pdf?v=1" },
    });
    expect(partOf(wireBody(provider("xai"), withPart(address)))).toEqual({
      type: "file",
      file: { url: "https://x.example/d/a.pdf?v=1" },
    });
    const id = { type: "file", file: { file_id: "file-1" } };
    for (const each of ["openrouter", "xai", "openai"])
      expect(partOf(wireBody(provider(each), withPart(id)))).toEqual(id);
  });
  test("SambaNova names audio differently", () => {
    expect(
      partOf(
        wireBody(
          provider("sambanova"),
          withPart({ type: "input_audio", input_audio: { data: "UklG", format: "wav" } }),
        ),
      ),
    ).toEqual({ type: "audio_content", audio_content: { content: "UklG" } });
  });
});

describe("single parameters", () => {
  test("stop is a list where the schema knows nothing else", () => {
    for (const id of ["together", "xai"]) expect(wireBody(provider(id), { stop: "END" })["stop"]).toEqual(["END"]);
    expect(encode(provider("together"), { stop: ["a", "b"] }).request.body).toContain('"stop":["a","b"]');
    expect(wireBody(provider("openai"), { stop: "END" })["stop"]).toBe("END");
  });
  test("Together's logprobs is a number and there is no top_logprobs", () => {
    const body = wireBody(provider("together"), { logprobs: true, top_logprobs: 4 });
    expect(body["logprobs"]).toBe(4);
    expect(body).not.toHaveProperty("top_logprobs");
    expect(wireBody(provider("together"), { logprobs: true })["logprobs"]).toBe(1);
    expect(wireBody(provider("together"), { logprobs: false })).not.toHaveProperty("logprobs");
  });
  test("DeepSeek's user_id accepts some characters only, and the caller's own user_id takes precedence", () => {
    expect(wireBody(provider("deepseek"), { user: "team-1_a" })).toMatchObject({ user_id: "team-1_a" });
    const other = wireBody(provider("deepseek"), { user: "a@b.example" });
    expect(other).not.toHaveProperty("user");
    expect(other).not.toHaveProperty("user_id");
    expect(encode(provider("deepseek"), { user: "a", user_id: "b" }).request.body).toEndWith('"user_id":"b"}');
  });
  test("a vendor's name that the caller sent is not overwritten by one that is mapped to it", () => {
    const row = providerOf({ renames: { user: "user_id" } });
    expect(encode(row, { user: "a", user_id: "b" }).request.body).toEndWith('"user_id":"b"}');
    expect(encode(row, { user: "a" }).mapped).toEqual(["user -> user_id"]);
  });
  test("JSON mode is a schema for any object where the server wants one", () => {
    for (const id of ["perplexity", "lmstudio"])
      expect(wireBody(provider(id), { response_format: { type: "json_object" } })["response_format"]).toEqual({
        type: "json_schema",
        json_schema: { name: "object", schema: { type: "object" } },
      });
    const schema = { type: "json_schema", json_schema: { name: "a", schema: {} } };
    expect(wireBody(provider("perplexity"), { response_format: schema })["response_format"]).toEqual(schema);
  });
  test("llama.cpp is given only the named tool, and required", () => {
    const tools = ["f", "g"].map((name) => ({ type: "function", function: { name } }));
    const encoded = encode(provider("llamacpp"), { tools, tool_choice: { type: "function", function: { name: "g" } } });
    expect(JSON.parse(encoded.request.body)).toMatchObject({ tools: [tools[1]], tool_choice: "required" });
    expect(encoded.mapped).toEqual([
      "tool_choice -> tools",
      "tool_choice -> for a named function, only that tool is sent, with required",
    ]);
    expect(wireBody(provider("llamacpp"), { tools, tool_choice: "auto" })).toMatchObject({
      tools,
      tool_choice: "auto",
    });
  });
  test("Mistral models at NVIDIA get text as one string and no stream_options", () => {
    const body = wireBody(
      provider("nvidia"),
      {
        stream: true,
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "a" },
              { type: "text", text: "b" },
            ],
          },
        ],
      },
      "mistralai/mistral-small",
    );
    expect(body).toEqual({
      model: "mistralai/mistral-small",
      stream: true,
      messages: [{ role: "user", content: "a\nb" }],
    });
    expect(wireBody(provider("nvidia"), { stream: true }, "meta/llama")).toHaveProperty("stream_options");
  });
  test("the end user's identifiers are sent where the provider has a field for them and are never refused", () => {
    expect(wireBody(provider("openai"), { user: "u", safety_identifier: "s" })).toMatchObject({
      user: "u",
      safety_identifier: "s",
    });
    expect(wireBody(provider("groq"), { user: "u", safety_identifier: "s" })).not.toHaveProperty("safety_identifier");
    expect(wireBody(provider("together"), { user: "u" })).not.toHaveProperty("user");
  });
});

test("[d6.3] levels of reasoning that a model does not take are refused by name", () => {
  const levels = (id: string, model: string): readonly string[] | undefined =>
    capabilityOf(provider(id).capabilities, "reasoning_effort", model).values;
  expect([levels("xai", "grok-4.5"), levels("xai", "grok-4.6")]).toEqual([
    ["low", "medium", "high"],
    ["low", "medium", "high", "xhigh"],
  ]);
  expect([levels("mistral", "mistral-medium-latest"), levels("mistral", "zai-glm-5-3")]).toEqual([
    ["none", "high"],
    undefined,
  ]);
  expect([levels("groq", "openai/gpt-oss-120b"), levels("groq", "qwen/qwen3-32b")]).toEqual([
    ["low", "medium", "high"],
    ["none", "default"],
  ]);
});

describe("capability cells", () => {
  const support = (id: string, feature: Parameters<typeof capabilityOf>[1], model = "m") =>
    capabilityOf(provider(id).capabilities, feature, model).support;
  test("differ by model", () => {
    expect(support("openai", "top_p", "gpt-4o")).toBe("native");
    expect(support("openai", "top_p", "o3")).toBe("unsupported");
    expect(support("openai", "stop", "o3")).toBe("unsupported");
    expect(support("openai", "stop", "o3-mini")).toBe("native");
    expect(support("openai", "presence_penalty", "gpt-5.4")).toBe("native");
    expect(support("openai", "temperature", "gpt-5-nano")).toBe("unsupported");
    expect(support("xai", "presence_penalty", "grok-4.3")).toBe("unsupported");
    expect(support("xai", "presence_penalty", "grok-4-fast-non-reasoning")).toBe("native");
    expect(support("xai", "reasoning_effort", "grok-4-0709")).toBe("unsupported");
    expect(support("xai", "reasoning_effort", "grok-4.3")).toBe("native");
    expect(support("xai", "presence_penalty", "grok-4.20-0309-non-reasoning")).toBe("unsupported");
    for (const model of ["grok-3", "grok-code-fast-1", "grok-4-1-fast-reasoning"])
      expect([model, support("xai", "reasoning_effort", model)]).toEqual([model, "unsupported"]);
    expect(support("xai", "reasoning_effort", "grok-3-mini")).toBe("native");
    expect(support("mistral", "reasoning_effort", "mistral-large-latest")).toBe("unsupported");
    expect(support("mistral", "reasoning_effort", "mistral-medium-3-5")).toBe("native");
    expect(support("deepseek", "image_url", "deepseek-chat")).toBe("unsupported");
    expect(support("deepseek", "image_url", "deepseek-flash")).toBe("native");
  });
  test("contain values and ranges", () => {
    expect(capabilityOf(provider("zai").capabilities, "top_p", "m").range).toEqual([0.01, 1]);
    expect(capabilityOf(provider("deepseek").capabilities, "response_format", "m").values).toEqual([
      "text",
      "json_object",
    ]);
    expect(capabilityOf(provider("cerebras").capabilities, "temperature", "m").range).toEqual([0, 1.5]);
    expect(support("perplexity", "tools")).toBe("unsupported");
    expect(support("custom", "document")).toBe("native");
    expect(support("openai", "document")).toBe("mapped");
  });
  test("custom is unverified, and a verified row names its source", () => {
    expect(provider("custom").capabilities.verified).toBe("unverified");
    expect(provider("groq").capabilities.verified).toMatchObject({ date: "2026-11-20" });
  });
  test("[d5.7] dialects name what only the vendor accepts", () => {
    expect(provider("openai").dialect.tools).toContain("custom");
    expect(provider("groq").dialect.tools).toEqual(["browser_search", "code_interpreter"]);
    expect(provider("deepseek").dialect).toEqual({ blocks: [], tools: [], toolChoices: [], messageRules: [] });
  });
  test("names that widen the choice of model are privileged", () => {
    expect(provider("openrouter").privileged).toEqual(new Set(["models", "provider", "route", "preset", "plugins"]));
    expect(provider("llamacpp").reserved.has("n_predict")).toBe(true);
  });
});
