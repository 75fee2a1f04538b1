// The providers whose models speak an operation themselves: where they are asked, with which body and headers, and that
// the page lists them.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { readEnvironment } from "../../src/config/environment.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { LEAST_BODY_BOUNDS } from "../../src/core/request/body-bounds.ts";
import type { ChatRequest } from "../../src/core/chat.ts";
import type { OperationName } from "../../src/core/operation.ts";
import type { NativeOperation } from "../../src/providers/interface/native-operation.ts";
import type { Provider } from "../../src/providers/interface/provider.ts";
import { providers } from "../../src/providers/registry.ts";
import { translatedForm } from "../../src/engine/request/translated-form.ts";
import { targetFor } from "../harness/targets.ts";

const FORM = translatedForm({
  names: {},
  translate: ({ model, stream }) => ({
    chat: {
      ...(model !== undefined && { model }),
      ...(stream !== undefined && { stream }),
      messages: [{ role: "user", content: "?" }],
    },
    origins: { messages: [], tools: [] },
    untranslated: [],
    memo: null,
  }),
});

const request = (body: string): ChatRequest => FORM.parse(body, LEAST_BODY_BOUNDS);
const BODY = '{"model":"x:m","max_tokens":1.0,"new":[ ]}';

/** A model of the provider that speaks the operation, with how it is called. */
function spoken(
  provider: Provider,
  operation: (typeof BY_OPERATION)[number][0],
): { readonly model: string; readonly native: NativeOperation } | null {
  for (const model of ["m", "claude-m", "anthropic.claude-m-v1:0", "anthropic.claude-m", "openai.gpt-oss-m"]) {
    const native = provider.native?.(operation, model, "row") ?? null;
    if (native !== null) return { model, native };
  }
  return null;
}

/** Addresses of messages by provider, with the settings that stand in them. */
const MESSAGES: Readonly<Record<string, string>> = {
  anthropic: "https://api.anthropic.com/v1/messages",
  bedrock: "https://bedrock-runtime.region.amazonaws.com/model/anthropic.claude-m-v1%3A0/invoke",
  vertex:
    "https://aiplatform.googleapis.com/v1/projects/project/locations/global/publishers/anthropic/models/claude-m:rawPredict",
  ollama: "http://localhost:11434/v1/messages",
  deepseek: "https://api.deepseek.com/anthropic/v1/messages",
  moonshot: "https://api.moonshot.ai/anthropic/v1/messages",
  zai: "https://api.z.ai/api/anthropic/v1/messages",
  minimax: "https://api.minimax.io/anthropic/v1/messages",
  dashscope: "https://dashscope-intl.aliyuncs.com/apps/anthropic/v1/messages",
  openrouter: "https://openrouter.ai/api/v1/messages",
  vercel: "https://ai-gateway.vercel.sh/v1/messages",
  vllm: "http://localhost:8000/v1/messages",
  lmstudio: "http://localhost:1234/v1/messages",
  llamacpp: "http://localhost:8080/v1/messages",
  azure_ai: "https://resource.services.ai.azure.com/anthropic/v1/messages",
  "bedrock-mantle": "https://bedrock-mantle.region.api.aws/anthropic/v1/messages",
};

/** The same for responses. */
const RESPONSES: Readonly<Record<string, string>> = {
  openai: "https://api.openai.com/v1/responses",
  azure: "https://resource.openai.azure.com/openai/v1/responses",
  azure_ai: "https://resource.services.ai.azure.com/openai/v1/responses",
  xai: "https://api.x.ai/v1/responses",
  deepseek: "https://api.deepseek.com/responses",
  dashscope: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/responses",
  groq: "https://api.groq.com/openai/v1/responses",
  fireworks: "https://api.fireworks.ai/inference/v1/responses",
  openrouter: "https://openrouter.ai/api/v1/responses",
  vercel: "https://ai-gateway.vercel.sh/v1/responses",
  huggingface: "https://router.huggingface.co/v1/responses",
  ollama: "http://localhost:11434/v1/responses",
  vllm: "http://localhost:8000/v1/responses",
  lmstudio: "http://localhost:1234/v1/responses",
  llamacpp: "http://localhost:8080/v1/responses",
  "bedrock-mantle": "https://bedrock-mantle.region.api.aws/v1/responses",
};
const BY_OPERATION = [
  ["messages", MESSAGES],
  ["responses", RESPONSES],
  ["responses.input_tokens", { openai: "https://api.openai.com/v1/responses/input_tokens" }],
] as const satisfies readonly (readonly [OperationName, Readonly<Record<string, string>>])[];

for (const [operation, addresses] of BY_OPERATION) {
  test(`[d12.3] the providers whose rows say that they speak ${operation} are asked at these addresses, and no other`, () => {
    const found = Object.fromEntries(
      [...providers.values()].flatMap((provider) => {
        const one = spoken(provider, operation);
        if (one === null) return [];
        const encoded = one.native.encodeRequest(request(BODY), targetFor(provider, { model: one.model }));
        return [[provider.id, encoded.request.url]];
      }),
    );
    expect(found).toEqual({ ...addresses });
  });

  test(`the page lists each provider of ${operation} with its source`, () => {
    const page = readFileSync(new URL("../../docs/native-operations.md", import.meta.url), "utf8");
    for (const id of Object.keys(addresses)) {
      const { native } = spoken(providers.get(id)!, operation)!;
      expect(page).toMatch(
        new RegExp(String.raw`^\| \`${id}\` \| ${RegExp.escape(operation)} \|.*${RegExp.escape(native.source)}`, "m"),
      );
    }
  });
}

test("[d12.3] a row says nothing of another address, and the operator may say it of every provider of its form", () => {
  const openai = providers.get("openai")!;
  const deepseek = providers.get("deepseek")!;
  expect(openai.native!("messages", "m", "row")).toBeNull();
  expect(deepseek.native!("messages", "m", "elsewhere")).toBeNull();
  const set = openai.native!("messages", "m", "set")!;
  expect(set.encodeRequest(request(BODY), targetFor(openai, { baseUrl: "https://own.test/v1" })).request.url).toBe(
    "https://own.test/v1/messages",
  );
});

test("[d12.3] models of Bedrock without open weights are asked for responses at another path than those with them", () => {
  const provider = providers.get("bedrock-mantle")!;
  const urlOf = (model: string, baseUrl: string): string =>
    provider.native!("responses", model, "row")!.encodeRequest(request(BODY), targetFor(provider, { model, baseUrl }))
      .request.url;
  for (const base of ["https://own.test/v1", "https://own.test/openai/v1"]) {
    expect(urlOf("openai.gpt-5.5", base)).toBe("https://own.test/openai/v1/responses");
    expect(urlOf("openai.gpt-oss-20b", base)).toBe("https://own.test/v1/responses");
  }
  expect(provider.native!("responses", "deepseek.v3.1", "row")).toBeNull();
});

test("[d12.3] an operation is below the same base address as chat completions", () => {
  const urlAt = (id: string, baseUrl: string): string => {
    const provider = providers.get(id)!;
    const target = targetFor(provider, { baseUrl });
    return provider.native!("messages", "m", "set")!.encodeRequest(request(BODY), target).request.url;
  };
  expect(urlAt("ollama", "https://ollama.com/api")).toBe("https://ollama.com/v1/messages");
  expect(urlAt("databricks", "https://adb-1.test")).toBe("https://adb-1.test/serving-endpoints/messages");
  expect(urlAt("databricks", "https://adb-1.test/v1")).toBe("https://adb-1.test/v1/messages");
});

test("[d12.3] an entry of the configuration says which operations its models speak, of those that its form has", () => {
  const entryOf = (id: string, text: string) =>
    parseConfiguration({
      file: "f",
      text: `providers:\n  ${id}: ${text}\n`,
      families: [...providers.values()],
      environment: readEnvironment({}),
    }).providers.entries.get(id)!;
  const entry = entryOf(
    "openai",
    '{api_key: k, native: [responses, messages], hosted_tools: [web_search*, {type: code_execution, price: "0.05"}], vendor_store: true}',
  );
  expect(entry).toMatchObject({
    native: ["responses", "messages"],
    hostedTools: [
      { type: "web_search*", nanoUsd: null },
      { type: "code_execution", nanoUsd: 50_000_000 },
    ],
    vendorStore: true,
  });
  expect(entryOf("anthropic", "{api_key: k, native: []}").native).toEqual([]);
  expect(entryOf("anthropic", "{api_key: k}")).toMatchObject({ native: null, hostedTools: null });
  expect(() => entryOf("anthropic", '{api_key: k, hosted_tools: [{type: x, price: "12.5"}]}')).toThrow();
  for (const id of ["anthropic", "bedrock", "vertex"])
    expect(entryOf(id, "{native: [messages]}").native).toEqual(["messages"]);
  expect(() => entryOf("anthropic", "{api_key: k, native: [responses]}")).toThrow("native[0]");
  expect(() => entryOf("gemini", "{api_key: k, native: [messages]}")).toThrow("native[0]");
});

describe("platforms of Claude", () => {
  test("[d12.3] Bedrock has the model in the address, and version and beta features in the body, in their order", () => {
    const bedrock = providers.get("bedrock")!;
    const { native, model } = spoken(bedrock, "messages")!;
    const target = targetFor(bedrock, {
      model,
      headers: { "anthropic-beta": "b-2,advanced-tool-use-2025-11-20", "anthropic-version": "2026-10-21" },
    });
    const plain = native.encodeRequest(request(BODY), target).request;
    expect(plain.body).toBe(
      '{"max_tokens":1.0,"new":[ ],"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["b-2","tool-search-tool-2025-10-19"]}',
    );
    expect(plain.headers).toEqual({ "content-type": "application/json" });
    const streamed = native.encodeRequest(request('{"model":"x:m","stream":true,"max_tokens":1}'), target).request;
    expect(streamed.url).toEndWith("/invoke-with-response-stream");
    expect(streamed.body).not.toContain("stream");
  });

  test("[d12.5] Bedrock's messages hold the events of the Messages API, and its exceptions fail", () => {
    const { native } = spoken(providers.get("bedrock")!, "messages")!;
    const data = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hé"}}';
    const held = { event: "chunk", data: JSON.stringify({ bytes: Buffer.from(data).toString("base64"), p: "ab" }) };
    expect(native.eventIn!(held)).toEqual({ event: "content_block_delta", data });
    const stream = native.openStream({ model: "m", memo: null });
    expect(stream.push(held)[0]!.choices[0]!.delta).toEqual({ content: "Hé" });
    expect(() => stream.push({ event: "throttlingException", data: '{"message":"slow"}' })).toThrow("slow");
    expect(stream.push({ event: "other", data: "{}" })).toEqual([]);
  });

  test("[d12.6] a refusal of Bedrock keeps its wording in the form of the operation", () => {
    const { native } = spoken(providers.get("bedrock")!, "messages")!;
    expect(JSON.parse(native.refusalIn!('{"message":"Input is too long."}')!)).toEqual({
      type: "error",
      error: { type: "invalid_request_error", message: "Input is too long." },
    });
    expect(native.refusalIn!("no JSON")).toBeNull();
  });

  test("[d12.3] Vertex AI has the model in the address, the version in the body and beta features in the header", () => {
    const vertex = providers.get("vertex")!;
    const { native, model } = spoken(vertex, "messages")!;
    const target = targetFor(vertex, {
      model,
      headers: { "anthropic-beta": "b-2, a-1", "anthropic-version": "2026-10-21" },
    });
    const { url, body, headers } = native.encodeRequest(
      request('{"model":"x:m","stream":true,"a":1.0}'),
      target,
    ).request;
    expect(url).toEndWith("claude-m:streamRawPredict");
    expect(body).toBe('{"stream":true,"a":1.0,"anthropic_version":"vertex-2023-10-16"}');
    expect(headers).toEqual({ "anthropic-beta": "b-2,a-1", "content-type": "application/json" });
  });
});
