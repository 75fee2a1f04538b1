// Differences of Vertex AI from AI Studio for the same models: files, tools, tiers, tuned models, usage.
import { describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { capabilityOf } from "../../../src/core/capability.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { gemini } from "../../../src/providers/gemini/provider.ts";
import { vertex } from "../../../src/providers/vertex/provider.ts";
import { bodyOf, encode, HELLO, refusalOf, WEATHER } from "./calls.ts";

const MODEL = "gemini-3-flash-preview";
const TIER = "x-vertex-ai-llm-shared-request-type";
const asking = (...content: JsonObject[]): JsonObject => ({ messages: [{ role: "user", content }] });
const partOf = (block: JsonObject): unknown => bodyOf(MODEL, asking(block))["contents"][0].parts[0];
const refusedBlock = (block: JsonObject) => refusalOf(() => encode(MODEL, asking(block)));

describe("files", () => {
  test("addresses are sent with their media type, which Google requires here", () => {
    expect(partOf({ type: "image_url", image_url: { url: "gs://bucket/a.png" } })).toEqual({
      fileData: { mimeType: "image/png", fileUri: "gs://bucket/a.png" },
    });
    expect(partOf({ type: "image_url", image_url: { url: "https://files.test/a" } })).toEqual({
      fileData: { mimeType: "image/jpeg", fileUri: "https://files.test/a" },
    });
    expect(partOf({ type: "file", file: { file_id: "gs://bucket/a", format: "application/pdf" } })).toEqual({
      fileData: { mimeType: "application/pdf", fileUri: "gs://bucket/a" },
    });
    expect(partOf({ type: "document", source: { type: "url", url: "https://files.test/a.txt" } })).toEqual({
      fileData: { mimeType: "text/plain", fileUri: "https://files.test/a.txt" },
    });
  });
  test("an address of unknown type is refused, with the way to specify it", () => {
    expect(refusedBlock({ type: "file", file: { file_id: "gs://bucket/a" } })).toMatchObject({
      code: "invalid_request",
      param: "messages[0].content[0].file.file_id",
      message: expect.stringContaining("file.format"),
    });
    expect(refusedBlock({ type: "document", source: { type: "url", url: "https://files.test/a" } })).toMatchObject({
      code: "invalid_request",
      param: "messages[0].content[0].source.url",
      message: expect.stringContaining("source.media_type"),
    });
  });
  test("files of AI Studio do not exist here", () => {
    expect(refusedBlock({ type: "file", file: { file_id: "files/abc-123" } })).toMatchObject({
      code: "invalid_request",
      param: "messages[0].content[0].file.file_id",
    });
    const uploaded = "https://generativelanguage.googleapis.com/v1beta/files/abc-123";
    expect(refusedBlock({ type: "file", file: { file_id: uploaded } })).toMatchObject({
      code: "unsupported_value",
      param: "messages[0].content[0].file.file_id",
    });
    expect(refusedBlock({ type: "image_url", image_url: { url: uploaded } })).toMatchObject({
      code: "unsupported_value",
      param: "messages[0].content[0].image_url.url",
    });
  });
});

describe("tools and parameters", () => {
  test("functions stand beside Google's own tools without the member that only AI Studio has", () => {
    expect(bodyOf(MODEL, { tools: [WEATHER], web_search_options: {} })["toolConfig"]).toBeUndefined();
  });
  test("Google's own tools are those of Vertex", () => {
    expect(bodyOf(MODEL, { tools: [WEATHER, { type: "enterprise_web_search" }] })["tools"]).toEqual([
      { functionDeclarations: [{ name: "weather", parametersJsonSchema: WEATHER.function.parameters }] },
      { enterpriseWebSearch: {} },
    ]);
    expect(vertex.dialect.tools).toContain("enterprise_web_search");
    expect(vertex.dialect.tools).not.toContain("file_search");
    expect(gemini.dialect.tools).not.toContain("enterprise_web_search");
  });
  test("the tier of a call is a header, and is reported when it served", () => {
    const headers = (service_tier: string) => encode(MODEL, { service_tier }).request.headers;
    expect([headers("flex")[TIER], headers("priority")[TIER], headers("default")[TIER], headers("auto")[TIER]]).toEqual(
      ["flex", "priority", "standard", undefined],
    );
    expect(bodyOf(MODEL, { service_tier: "flex" })).not.toHaveProperty("serviceTier");
    expect(encode(MODEL, { service_tier: "flex" }).mapped).toEqual([`service_tier -> ${TIER}`]);
    const served = (trafficType: string) =>
      vertex.decodeResponse(
        JSON.stringify({
          candidates: [{ content: { parts: [{ text: "a" }] }, finishReason: "STOP" }],
          usageMetadata: { promptTokenCount: 1, trafficType },
        }),
        { model: MODEL, memo: null },
      )["service_tier"];
    expect(["ON_DEMAND", "ON_DEMAND_FLEX", "ON_DEMAND_PRIORITY", "PROVISIONED_THROUGHPUT"].map(served)).toEqual([
      "default",
      "flex",
      "priority",
      undefined,
    ]);
  });
  test("labels, safety settings and caches pass through at the top, and fields of the generation stand in it", () => {
    const passed = {
      labels: { team: "blue" },
      safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "OFF" }],
      cachedContent: "projects/p1/locations/eu/cachedContents/1",
    };
    expect(bodyOf(MODEL, { ...passed, audioTimestamp: true, top_k: 3 })).toEqual({
      contents: [{ role: "user", parts: [{ text: "Hello" }] }],
      ...passed,
      generationConfig: { audioTimestamp: true, topK: 3 },
    });
  });
  test("the end user is not sent as a billing label", () => {
    expect(
      JSON.stringify(
        encode(MODEL, { user: "end-user-7", safety_identifier: "safe-7", metadata: { who: "end-user-7" } }).request,
      ),
    ).not.toContain("-7");
  });
  test("capabilities by a model's name are the same with its maker before it", () => {
    for (const name of ["gemini-2.5-pro", "google/gemini-2.5-pro", "publishers/google/models/gemini-2.5-pro"]) {
      expect(bodyOf(name, { reasoning_effort: "low" })["generationConfig"]).toEqual({
        thinkingConfig: { thinkingBudget: 1024, includeThoughts: true },
      });
      expect(capabilityOf(vertex.capabilities, "reasoning_effort", name).values).not.toContain("none");
    }
    expect(bodyOf("endpoints/123", { reasoning_effort: "low" })["generationConfig"]).toEqual({
      thinkingConfig: { thinkingLevel: "low", includeThoughts: true },
    });
  });
  test("a conversation is encoded as for AI Studio, ids and signatures included", () => {
    const messages = [
      ...HELLO,
      {
        role: "assistant",
        content: null,
        tool_calls: [
          {
            id: "fc_1",
            type: "function",
            function: { name: "weather", arguments: '{"city":"Wien"}' },
            extra_content: { google: { thought_signature: "c2ln" } },
          },
        ],
      },
      { role: "tool", tool_call_id: "fc_1", content: '{"sky":"grey"}' },
    ];
    const target = {
      providerId: "gemini",
      family: "gemini",
      model: MODEL,
      baseUrl: gemini.baseUrl!,
      credential: null,
      settings: {},
      facts: { contextTokens: null, maxOutputTokens: null },
      headers: {},
      guardedField: null,
      isCallersAddress: false,
      sharesConnections: false,
    };
    const here = encode(MODEL, { messages, tools: [WEATHER] }).request.body;
    expect(here).toContain('"thoughtSignature":"c2ln"');
    expect(here).toContain('"functionResponse":{"id":"fc_1"');
    expect(here).toBe(gemini.encodeRequest(parsed({ messages, tools: [WEATHER] }), target).request.body);
  });
});

function parsed(fields: JsonObject) {
  return parseChatRequest(JSON.stringify({ model: "gemini:m", ...fields }));
}

describe("answers", () => {
  test("figures on the last event alone, with cached and thought tokens", () => {
    const decoder = vertex.openStream({ model: MODEL, memo: null });
    const event = (parts: JsonObject[], usageMetadata: JsonObject, more: JsonObject = {}) =>
      decoder.push({
        event: "",
        data: JSON.stringify({ candidates: [{ content: { role: "model", parts }, ...more }], usageMetadata }),
      });
    expect(event([{ text: "a" }], { trafficType: "ON_DEMAND" })[0]!.usage).toBeUndefined();
    const [last] = event(
      [{ text: "b" }],
      {
        promptTokenCount: 100,
        cachedContentTokenCount: 80,
        candidatesTokenCount: 2,
        thoughtsTokenCount: 5,
        totalTokenCount: 107,
        trafficType: "ON_DEMAND",
      },
      { finishReason: "STOP" },
    );
    expect(last!.usage).toEqual({
      prompt_tokens: 100,
      completion_tokens: 7,
      total_tokens: 107,
      prompt_tokens_details: { cached_tokens: 80 },
      completion_tokens_details: { reasoning_tokens: 5 },
    });
    expect(decoder.end()[0]!.choices[0]!.finish_reason).toBe("stop");
  });
});
