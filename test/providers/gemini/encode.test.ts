// Requests to generateContent: address, parameters, tools, messages, signatures and pass-through fields, each from a
// request as a client sends it.
import { describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { capabilityOf } from "../../../src/core/capability.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { CommonParameter } from "../../../src/core/params.ts";
import type { Target } from "../../../src/core/target.ts";
import { gemini } from "../../../src/providers/gemini/provider.ts";
import { keyCredential, SIGN_CONTEXT, targetFor } from "../../harness/targets.ts";

const MODEL = "gemini-2.5-flash";
const hello = [{ role: "user", content: "Hello" }];

function targetOf(model: string, more: Partial<Target> = {}): Target {
  return targetFor(gemini, { model, ...more });
}
function encode(fields: JsonObject, model: string = MODEL, more: Partial<Target> = {}) {
  return gemini.encodeRequest(
    parseChatRequest(JSON.stringify({ model: `gemini:${model}`, messages: hello, ...fields })),
    targetOf(model, more),
  );
}
const encodeText = (fields: string) =>
  gemini.encodeRequest(
    parseChatRequest(`{"model":"gemini:m","messages":[{"role":"user","content":"x"}],${fields}}`),
    targetOf("m"),
  );
/** What is looked at by name; all else is compared whole. */
interface Sent extends JsonObject {
  readonly contents: readonly {
    readonly role: string;
    readonly parts: readonly (JsonObject & {
      readonly functionCall?: JsonObject;
      readonly functionResponse?: JsonObject;
    })[];
  }[];
  readonly generationConfig?: JsonObject;
  readonly tools?: readonly (JsonObject & {
    readonly functionDeclarations: readonly (JsonObject & {
      readonly parameters?: JsonObject & { readonly properties: JsonObject };
    })[];
  })[];
  readonly toolConfig?: JsonObject;
}
function bodyOf(fields: JsonObject, model: string = MODEL): Sent {
  return sentIn(encode(fields, model).request.body);
}
function sentIn(body: string): Sent {
  return JSON.parse(body) as Sent;
}
function refusal(fields: JsonObject, model: string = MODEL): { code: string; param: string | null } {
  try {
    encode(fields, model);
  } catch (thrown) {
    if (thrown instanceof GatewayError) return { code: thrown.code, param: thrown.param };
    throw thrown;
  }
  throw new Error("nothing was refused");
}
const ask = (...content: JsonObject[]): JsonObject => ({ messages: [{ role: "user", content }] });
const partOf = (block: JsonObject): unknown => bodyOf(ask(block)).contents[0]!.parts[0];
const tool = (name: string, parameters?: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "function",
  function: { name, ...(parameters !== undefined && { parameters }), ...more },
});
const cityTool = tool("weather", { type: "object", properties: { city: { type: "string" } } });
const call = (id: string, name: string, args: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: args },
  ...more,
});

describe("address and credential", () => {
  test("non-streaming and streamed calls have their own method", () => {
    expect(encode({}).request.url).toBe(
      "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
    );
    expect(encode({ stream: true }).request.url).toBe(
      "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    );
  });
  test("prefixes of model names are kept, and a name becomes encoded segments", () => {
    expect(encode({}, "models/gemini-3-flash").request.url).toEndWith("/v1beta/models/gemini-3-flash:generateContent");
    expect(encode({}, "tunedModels/my tune").request.url).toEndWith("/v1beta/tunedModels/my%20tune:generateContent");
    expect(encode({}, "odd?name#x").request.url).toEndWith("/v1beta/models/odd%3Fname%23x:generateContent");
  });
  test("the version is the target's, else the base address's, and never twice", () => {
    const url = (more: Partial<Target>): string => encode({}, "m", more).request.url;
    expect(url({ settings: { api_version: "v1alpha" } })).toBe(
      "https://generativelanguage.googleapis.com/v1alpha/models/m:generateContent",
    );
    expect(url({ baseUrl: "https://proxy.test/google/v1beta" })).toBe(
      "https://proxy.test/google/v1beta/models/m:generateContent",
    );
    expect(url({ baseUrl: "https://proxy.test/v1beta", settings: { api_version: "v1" } })).toBe(
      "https://proxy.test/v1/models/m:generateContent",
    );
  });
  test("the key goes into a header of its own, and only when the request is signed", async () => {
    const { request } = encode({}, MODEL, { headers: { "x-team": "blue" } });
    expect(request.headers).toEqual({ "x-team": "blue", "content-type": "application/json" });
    expect((await gemini.sign(request, keyCredential("k"), SIGN_CONTEXT)).headers["x-goog-api-key"]).toBe("k");
    expect(gemini.sign(request, null, SIGN_CONTEXT)).toEqual(request);
  });
});

describe("parameters", () => {
  test("each has its place in generationConfig", () => {
    const fields = {
      temperature: 0.25,
      top_p: 0.5,
      n: 2,
      stop: ["a", "b"],
      max_tokens: 9,
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      seed: 11,
      logprobs: true,
      top_logprobs: 4,
      modalities: ["text", "image"],
    };
    expect(bodyOf(fields).generationConfig).toEqual({
      temperature: 0.25,
      topP: 0.5,
      candidateCount: 2,
      stopSequences: ["a", "b"],
      maxOutputTokens: 9,
      presencePenalty: 0.5,
      frequencyPenalty: -0.5,
      seed: 11,
      responseLogprobs: true,
      logprobs: 4,
      responseModalities: ["TEXT", "IMAGE"],
    });
    expect(encode({ max_tokens: 9, stop: "x" }).mapped).toEqual([
      "max_completion_tokens -> generationConfig.maxOutputTokens",
      "max_tokens -> generationConfig.maxOutputTokens",
      "stop -> generationConfig.stopSequences",
    ]);
  });
  test("[d5.5] both names of the output bound have the same effect", () => {
    expect(bodyOf({ max_tokens: 5 })).toEqual(bodyOf({ max_completion_tokens: 5 }));
  });
  test("nothing is sent that was not requested", () => {
    expect(bodyOf({})).toEqual({ contents: [{ role: "user", parts: [{ text: "Hello" }] }] });
    expect(bodyOf({ user: "u", safety_identifier: "s" })).toEqual(bodyOf({}));
  });
  test("values that the API cannot take are refused with their path, not clamped", () => {
    expect(refusal({ seed: 2 ** 31 })).toEqual({ code: "unsupported_value", param: "seed" });
    expect(refusal({ stop: ["1", "2", "3", "4", "5", "6"] })).toEqual({ code: "unsupported_value", param: "stop" });
    expect(refusal({ modalities: ["smell"] })).toEqual({ code: "unsupported_value", param: "modalities" });
    expect(refusal({ web_search_options: { user_location: {} } })).toEqual({
      code: "unsupported_value",
      param: "web_search_options.user_location",
    });
    expect(refusal({ reasoning_effort: "none" }, "gemini-2.5-pro")).toEqual({
      code: "unsupported_value",
      param: "reasoning_effort",
    });
    expect(refusal({ reasoning_effort: "none" }, "gemini-3-flash-preview")).toEqual({
      code: "unsupported_value",
      param: "reasoning_effort",
    });
  });
  test("a seed beyond the precision of a double is refused too", () => {
    expect(() => encodeText(`"seed":12345678901234567890`)).toThrow("seed must be");
  });
  test("effort is a level from Gemini 3 on and a budget on 2.5", () => {
    const thinking = (reasoning_effort: string, model: string): unknown =>
      bodyOf({ reasoning_effort }, model).generationConfig!["thinkingConfig"];
    expect(thinking("medium", "gemini-2.5-flash")).toEqual({ thinkingBudget: 8192, includeThoughts: true });
    expect(thinking("none", "gemini-2.5-flash-lite")).toEqual({ thinkingBudget: 0 });
    expect(thinking("minimal", "gemini-3-flash-preview")).toEqual({ thinkingLevel: "minimal", includeThoughts: true });
    expect(thinking("minimal", "gemini-3.6-flash")).toEqual({ thinkingLevel: "minimal", includeThoughts: true });
    for (const model of ["gemini-3.7-flash", "gemini-3.8-flash"])
      expect(thinking("minimal", model)).toEqual({ thinkingLevel: "low", includeThoughts: true });
    expect(thinking("medium", "gemini-3-pro-preview")).toEqual({ thinkingLevel: "high", includeThoughts: true });
    expect(thinking("minimal", "models/gemini-3.1-pro-preview")).toEqual({
      thinkingLevel: "low",
      includeThoughts: true,
    });
    expect(thinking("high", "gemini-flash-latest")).toEqual({ thinkingLevel: "high", includeThoughts: true });
  });
  test("the capability table knows what models lack", () => {
    const support = (feature: CommonParameter, model: string): string =>
      capabilityOf(gemini.capabilities, feature, model).support;
    expect(support("reasoning_effort", "gemini-2.0-flash")).toBe("unsupported");
    expect(support("tools", "gemma-3-27b-it")).toBe("unsupported");
    expect(support("tools", "gemini-2.5-flash-image")).toBe("unsupported");
    expect(support("tools", "gemini-3-flash-preview")).toBe("mapped");
    expect(capabilityOf(gemini.capabilities, "reasoning_effort", "gemini-2.5-pro").values).not.toContain("none");
    expect(capabilityOf(gemini.capabilities, "reasoning_effort", "gemini-2.5-flash").values).toContain("none");
  });
  test("a schema for the answer is sent as JSON Schema, unchanged", () => {
    const schema = {
      $schema: "x",
      type: "object",
      properties: { a: { $ref: "#/$defs/A" } },
      $defs: { A: { const: 1 } },
      additionalProperties: false,
    };
    const config = bodyOf({
      response_format: { type: "json_schema", json_schema: { name: "n", schema } },
    }).generationConfig;
    expect(config).toEqual({ responseMimeType: "application/json", responseJsonSchema: schema });
    expect(
      bodyOf({
        response_format: {
          type: "json_schema",
          json_schema: { name: "n", description: "d", schema: { type: "object" } },
        },
      }).generationConfig!["responseJsonSchema"],
    ).toEqual({ type: "object", description: "d" });
    expect(bodyOf({ response_format: { type: "text" } }).generationConfig).toBeUndefined();
  });
  test("[d6.3] a format for the answer beside tools goes to models that take both", () => {
    const both = {
      tools: [{ type: "function", function: { name: "f" } }],
      response_format: { type: "json_object" },
    };
    for (const model of ["gemini-2.5-flash", "models/gemini-2.0-flash"])
      expect(refusal(both, model)).toEqual({ code: "unsupported_value", param: "response_format" });
    expect(bodyOf(both, "gemini-3-flash-preview")).toMatchObject({
      tools: [{ functionDeclarations: [{ name: "f" }] }],
      generationConfig: { responseMimeType: "application/json" },
    });
    expect(bodyOf({ ...both, response_format: { type: "text" } }, "gemini-2.5-flash").tools).toHaveLength(1);
  });
  test("speech: a prebuilt voice, and raw audio only", () => {
    const model = "gemini-2.5-flash-preview-tts";
    expect(
      bodyOf({ modalities: ["audio"], audio: { voice: "Kore", format: "pcm16" } }, model).generationConfig,
    ).toEqual({
      responseModalities: ["AUDIO"],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "Kore" } } },
    });
    expect(refusal({ audio: { voice: "Kore", format: "mp3" } }, model)).toEqual({
      code: "unsupported_value",
      param: "audio.format",
    });
  });
  test("service tiers have the vendor's names", () => {
    expect(bodyOf({ service_tier: "default" })["serviceTier"]).toBe("standard");
    expect(bodyOf({ service_tier: "auto" })["serviceTier"]).toBeUndefined();
    expect(refusal({ service_tier: "scale" }).code).toBe("unsupported_value");
  });
});

describe("tools", () => {
  test("functions are declared once, with JSON Schema, and with none where there are no parameters", () => {
    const tools = [
      tool("a", { type: "object", properties: {}, additionalProperties: false }),
      tool("b", undefined, { description: "" }),
      cityTool,
    ];
    expect(bodyOf({ tools }).tools).toEqual([
      {
        functionDeclarations: [
          { name: "a" },
          { name: "b", description: "" },
          { name: "weather", parametersJsonSchema: { type: "object", properties: { city: { type: "string" } } } },
        ],
      },
    ]);
  });
  test("parameters that take any members stay where they are JSON Schema, and the OpenAPI form has no word for them", () => {
    for (const others of [true, {}]) {
      const parameters = { type: "object", properties: {}, additionalProperties: others };
      expect(bodyOf({ tools: [tool("a", parameters)] }).tools).toEqual([
        { functionDeclarations: [{ name: "a", parametersJsonSchema: parameters }] },
      ]);
      expect(bodyOf({ tools: [tool("a", parameters)] }, "gemini-1.5-pro").tools).toEqual([
        { functionDeclarations: [{ name: "a" }] },
      ]);
    }
  });
  test("the vendor's own tools stand beside them", () => {
    const tools = [cityTool, { type: "google_search" }, { type: "file_search", names: ["s"] }];
    expect(bodyOf({ tools, web_search_options: {} }).tools!.slice(1) as readonly JsonObject[]).toEqual([
      { googleSearch: {} },
      { fileSearch: { names: ["s"] } },
      { googleSearch: {} },
    ]);
    expect(gemini.dialect.tools).toContain("google_search");
  });
  test("from Gemini 3 on, the vendor is asked to combine functions with tools that it runs", () => {
    const config = (fields: JsonObject, model = "gemini-3-flash-preview"): unknown => bodyOf(fields, model).toolConfig;
    const combined = { includeServerSideToolInvocations: true };
    const both = { tools: [cityTool], web_search_options: {} };
    expect(config(both)).toEqual(combined);
    expect(config({ tools: [cityTool, { type: "url_context" }], tool_choice: "required" })).toEqual({
      functionCallingConfig: { mode: "ANY" },
      ...combined,
    });
    const refusing = { includeServerSideToolInvocations: false };
    expect(config({ ...both, toolConfig: refusing })).toEqual(refusing);
    for (const alone of [{ tools: [cityTool] }, { web_search_options: {} }]) expect(config(alone)).toBeUndefined();
    expect(config({ tools: [cityTool, { type: "computer_use" }] })).toBeUndefined();
    expect(config(both, "gemini-2.5-flash")).toBeUndefined();
  });
  test("tool_choice becomes a mode", () => {
    const mode = (tool_choice: unknown, tools = [cityTool]): unknown =>
      bodyOf({ tools, tool_choice: tool_choice as string }).toolConfig?.["functionCallingConfig"];
    expect(mode("auto")).toEqual({ mode: "AUTO" });
    expect(mode("none")).toEqual({ mode: "NONE" });
    expect(mode("required")).toEqual({ mode: "ANY" });
    expect(mode({ type: "function", function: { name: "weather" } })).toEqual({
      mode: "ANY",
      allowedFunctionNames: ["weather"],
    });
    const allowed = (how: string): JsonObject => ({
      type: "allowed_tools",
      allowed_tools: { mode: how, tools: [{ type: "function", function: { name: "weather" } }] },
    });
    expect(mode(allowed("auto"))).toEqual({ mode: "VALIDATED", allowedFunctionNames: ["weather"] });
    expect(mode(allowed("required"))).toEqual({ mode: "ANY", allowedFunctionNames: ["weather"] });
    expect(bodyOf({ tools: [cityTool] }).toolConfig).toBeUndefined();
  });
  test("without functions no choice is sent", () => {
    expect(bodyOf({ tool_choice: "none" }).toolConfig).toBeUndefined();
    expect(refusal({ tool_choice: "required" })).toEqual({ code: "invalid_request", param: "tool_choice" });
  });
  test("[d6.2] the choice of no tool holds for Google's own tools too, which are left out", () => {
    const google = { type: "google_search" };
    const sent = (fields: JsonObject): unknown => bodyOf(fields).tools?.flatMap((each) => Object.keys(each));
    expect(sent({ tools: [google], tool_choice: "auto" })).toEqual(["googleSearch"]);
    expect(sent({ tools: [google], tool_choice: "none" })).toBeUndefined();
    expect(sent({ tools: [cityTool, google], tool_choice: "none" })).toEqual(["functionDeclarations"]);
    expect(sent({ web_search_options: {}, tool_choice: "none" })).toEqual(["googleSearch"]);
    expect(bodyOf({ tools: [cityTool, google], tool_choice: "none" }).toolConfig).toEqual({
      functionCallingConfig: { mode: "NONE" },
    });
  });
  test("strict functions request validated calls", () => {
    const strict = tool("f", { type: "object", properties: { a: { type: "string" } } }, { strict: true });
    expect(bodyOf({ tools: [strict] }).toolConfig).toEqual({ functionCallingConfig: { mode: "VALIDATED" } });
    expect(bodyOf({ tools: [strict, cityTool] }).toolConfig).toBeUndefined();
    expect(bodyOf({ tools: [strict] }, "gemini-2.0-flash").toolConfig).toBeUndefined();
  });
  test("a name that begins with a digit is renamed on the wire, and back in the answer", () => {
    const { request, memo } = encode({
      tools: [tool("2nd")],
      messages: [
        ...hello,
        { role: "assistant", tool_calls: [call("i", "2nd", "{}")] },
        { role: "tool", tool_call_id: "i", content: "x" },
      ],
    });
    const body = sentIn(request.body);
    expect(body.tools![0]!.functionDeclarations[0]!["name"]).toBe("_2nd");
    expect(body.contents[1]!.parts[0]!.functionCall!["name"]).toBe("_2nd");
    expect(body.contents[2]!.parts[0]!.functionResponse!["name"]).toBe("_2nd");
    const answer = gemini.decodeResponse(
      JSON.stringify({
        candidates: [{ content: { parts: [{ functionCall: { name: "_2nd" } }] }, finishReason: "STOP" }],
      }),
      { model: MODEL, memo },
    );
    expect(answer.choices[0]!.message.tool_calls![0]!.function.name).toBe("2nd");
  });
});

describe("messages", () => {
  test("[s:message.role] system and developer messages become the system instruction, wherever they stand", () => {
    const messages = [
      { role: "system", content: "A" },
      ...hello,
      { role: "developer", content: [{ type: "text", text: "B" }] },
    ];
    expect(bodyOf({ messages })).toEqual({
      systemInstruction: { parts: [{ text: "A" }, { text: "B" }] },
      contents: [{ role: "user", parts: [{ text: "Hello" }] }],
    });
    expect(
      refusal({
        messages: [{ role: "system", content: [{ type: "image_url", image_url: { url: "https://x.test/a.png" } }] }],
      }),
    ).toEqual({ code: "unsupported_content_block", param: "messages[0].content[0]" });
  });
  test("models without a system instruction get it at the start of the first turn", () => {
    const messages = [{ role: "system", content: "A" }, ...hello];
    expect(bodyOf({ messages }, "gemma-3-27b-it")).toEqual({
      contents: [{ role: "user", parts: [{ text: "A" }, { text: "Hello" }] }],
    });
  });
  test("neighbouring messages of one role become one turn, and empty texts are left out", () => {
    const messages = [
      { role: "user", content: "1" },
      {
        role: "user",
        content: [
          { type: "text", text: "" },
          { type: "text", text: "2" },
        ],
      },
      { role: "assistant", content: "3" },
      { role: "assistant", content: null, refusal: "no", tool_calls: [call("q", "f", "")] },
    ];
    expect(bodyOf({ messages }).contents).toEqual([
      { role: "user", parts: [{ text: "1" }, { text: "2" }] },
      { role: "model", parts: [{ text: "3" }, { text: "no" }, { functionCall: { id: "q", name: "f", args: {} } }] },
    ]);
  });
  test("the conversation is never empty, and never begins with a call", () => {
    expect(bodyOf({ messages: [{ role: "system", content: "A" }] }).contents).toEqual([
      { role: "user", parts: [{ text: "" }] },
    ]);
    expect(bodyOf({ messages: [{ role: "assistant", tool_calls: [call("q", "f", "{}")] }] }).contents[0]).toEqual({
      role: "user",
      parts: [{ text: "" }],
    });
  });
  test("images: bytes inline, addresses by reference with their type", () => {
    const picture = (url: string, more: JsonObject = {}): unknown =>
      partOf({ type: "image_url", image_url: { url, ...more } });
    expect(picture("data:image/png;base64,QUJD")).toEqual({ inlineData: { mimeType: "image/png", data: "QUJD" } });
    expect(picture("data:image/svg+xml,%3Csvg%2F%3E")).toEqual({
      inlineData: { mimeType: "image/svg+xml", data: Buffer.from("<svg/>").toString("base64") },
    });
    expect(picture("https://x.test/a/b.PNG?size=2.jpg")).toEqual({
      fileData: { mimeType: "image/png", fileUri: "https://x.test/a/b.PNG?size=2.jpg" },
    });
    expect(picture("gs://bucket/a.webp")).toEqual({
      fileData: { mimeType: "image/webp", fileUri: "gs://bucket/a.webp" },
    });
    expect(picture("https://x.test/view")).toEqual({
      fileData: { mimeType: "image/jpeg", fileUri: "https://x.test/view" },
    });
    expect(picture("https://x.test/view", { format: "image/heic" })).toEqual({
      fileData: { mimeType: "image/heic", fileUri: "https://x.test/view" },
    });
    expect(picture("files/abc-1")).toEqual({
      fileData: { fileUri: "https://generativelanguage.googleapis.com/v1beta/files/abc-1" },
    });
    expect(refusal(ask({ type: "image_url", image_url: { url: "ftp://x.test/a.png" } }))).toEqual({
      code: "invalid_request",
      param: "messages[0].content[0].image_url.url",
    });
    expect(refusal(ask({ type: "image_url", image_url: { url: "data:image/png" } })).code).toBe("invalid_request");
  });
  test("audio", () => {
    const sound = (data: string, format: string): unknown =>
      partOf({ type: "input_audio", input_audio: { data, format } });
    expect(sound("QUJD", "mp3")).toEqual({ inlineData: { mimeType: "audio/mp3", data: "QUJD" } });
    expect(sound("QUJD", "wav")).toEqual({ inlineData: { mimeType: "audio/wav", data: "QUJD" } });
    expect(sound("data:audio/ogg;base64,QUJD", "ogg")).toEqual({ inlineData: { mimeType: "audio/ogg", data: "QUJD" } });
    expect(refusal(ask({ type: "input_audio", input_audio: { data: "QUJD", format: "a/b" } })).param).toBe(
      "messages[0].content[0].input_audio.format",
    );
  });
  test("videos", () => {
    const film = (url: string): unknown => partOf({ type: "video_url", video_url: { url } });
    expect(film("https://www.youtube.com/watch?v=abc")).toEqual({
      fileData: { mimeType: "video/mp4", fileUri: "https://www.youtube.com/watch?v=abc" },
    });
    expect(film("https://generativelanguage.googleapis.com/v1beta/files/xyz")).toEqual({
      fileData: { fileUri: "https://generativelanguage.googleapis.com/v1beta/files/xyz" },
    });
    expect(film("data:video/mp4;base64,QUJD")).toEqual({ inlineData: { mimeType: "video/mp4", data: "QUJD" } });
  });
  test("files and documents", () => {
    expect(partOf({ type: "image_url", image_url: { url: "https://x.test/a.constructor" } })).toEqual({
      fileData: { mimeType: "image/jpeg", fileUri: "https://x.test/a.constructor" },
    });
    expect(partOf({ type: "file", file: { file_id: "https://x.test/a.pdf" } })).toEqual({
      fileData: { mimeType: "application/pdf", fileUri: "https://x.test/a.pdf" },
    });
    expect(partOf({ type: "file", file: { filename: "a.csv", file_data: "QUJD" } })).toEqual({
      inlineData: { mimeType: "text/csv", data: "QUJD" },
    });
    expect(partOf({ type: "file", file: { file_data: "data:application/pdf;base64,QUJD" } })).toEqual({
      inlineData: { mimeType: "application/pdf", data: "QUJD" },
    });
    expect(refusal(ask({ type: "file", file: { file_id: "file-123" } })).param).toBe(
      "messages[0].content[0].file.file_id",
    );
    expect(partOf({ type: "document", source: { type: "base64", media_type: "text/csv", data: "QUJD" } })).toEqual({
      inlineData: { mimeType: "text/csv", data: "QUJD" },
    });
    expect(partOf({ type: "document", source: { type: "text", media_type: "text/plain", data: "plain" } })).toEqual({
      text: "plain",
    });
    expect(partOf({ type: "document", source: { type: "url", url: "https://x.test/a.pdf" } })).toEqual({
      fileData: { mimeType: "application/pdf", fileUri: "https://x.test/a.pdf" },
    });
    expect(refusal(ask({ type: "document", source: { type: "content" } }))).toEqual({
      code: "unsupported_value",
      param: "messages[0].content[0].source.type",
    });
    expect(refusal(ask({ type: "document", source: { type: "base64", data: "QUJD" } })).param).toBe(
      "messages[0].content[0].source.media_type",
    );
  });
});

test("the gateway fetches images and documents for Gemini 2.0, which reads no addresses, and nothing for others", () => {
  for (const model of ["gemini-2.0-flash", "models/gemini-2.0-flash-lite-001"])
    expect([...gemini.inlines(model)].toSorted()).toEqual(["document", "image_url"]);
  for (const model of ["gemini-2.5-flash", "gemini-3-flash-preview", "gemini-flash-latest", "gemma-3-27b-it"])
    expect([...gemini.inlines(model)]).toEqual([]);
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  expect(bodyOf(ask(picture), "gemini-2.0-flash").contents[0]!.parts[0]).toEqual({
    inlineData: { mimeType: "image/png", data: "AAAA" },
  });
});

test("[d1.8] an invalid version does not get into the address", () => {
  for (const api_version of ["..", ".", "v1/..", "../v1", "beta", "v1?", "v1#"])
    expect(() => encode({}, "m", { settings: { api_version } })).toThrow(GatewayError);
});

describe("calls and their results", () => {
  const conversation = (
    results: JsonObject[],
    calls = [call("a", "weather", `{"city":"Rome"}`), call("b", "clock", "{}")],
  ): JsonObject => ({ messages: [...hello, { role: "assistant", content: null, tool_calls: calls }, ...results] });
  const result = (tool_call_id: string, content: unknown): JsonObject => ({
    role: "tool",
    tool_call_id,
    content: content as string,
  });

  test("[s:message.tool-call-id] a result finds the name of its call, and parallel results are one turn in the order of the calls", () => {
    const body = bodyOf(conversation([result("b", `{"time":"12:00"}`), result("a", "sunny")]));
    expect(body.contents.slice(1)).toEqual([
      {
        role: "model",
        parts: [
          { functionCall: { id: "a", name: "weather", args: { city: "Rome" } } },
          { functionCall: { id: "b", name: "clock", args: {} } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "a", name: "weather", response: { result: "sunny" } } },
          { functionResponse: { id: "b", name: "clock", response: { time: "12:00" } } },
        ],
      },
    ]);
  });
  test("a list, a number and broken JSON become text", () => {
    const response = (content: string): unknown =>
      bodyOf(conversation([result("a", content)])).contents[2]!.parts[0]!.functionResponse!["response"];
    expect(response("[1]")).toEqual({ result: "[1]" });
    expect(response("7")).toEqual({ result: "7" });
    expect(response(`{"a":`)).toEqual({ result: `{"a":` });
    expect(response(` {"a":1}`)).toEqual({ a: 1 });
  });
  test("large numbers keep their digits in arguments and results", () => {
    const { request } = encode(
      conversation([result("a", `{"n":98765432109876543210}`)], [call("a", "f", `{"n":12345678901234567890}`)]),
    );
    expect(request.body).toContain(`"args":{"n":12345678901234567890}`);
    expect(request.body).toContain(`"response":{"n":98765432109876543210}`);
  });
  test("ids that the gateway generated are not sent", () => {
    const made = gemini.decodeResponse(
      `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}]}`,
      { model: MODEL, memo: null },
    ).choices[0]!.message.tool_calls![0]!.id;
    const body = bodyOf(conversation([result(made, "x")], [call(made, "f", "{}")]));
    expect(body.contents[1]!.parts[0]!.functionCall).toEqual({ name: "f", args: {} });
    expect(body.contents[2]!.parts[0]!.functionResponse).toEqual({ name: "f", response: { result: "x" } });
  });
  test("[s:message.function-call] the deprecated form is encoded too", () => {
    const messages = [
      ...hello,
      { role: "assistant", content: null, function_call: { name: "f", arguments: `{"a":1}` } },
      { role: "function", name: "f", content: "ok" },
    ];
    const body = bodyOf({ messages, functions: [{ name: "f" }] });
    expect(body.contents[1]!.parts[0]!.functionCall).toMatchObject({ name: "f", args: { a: 1 } });
    expect(body.contents[2]!.parts[0]!.functionResponse).toMatchObject({ name: "f", response: { result: "ok" } });
  });
  test("a result whose call is unknown, and arguments that are not an object, are refused with their path", () => {
    expect(refusal(conversation([result("zzz", "x")]))).toEqual({
      code: "invalid_request",
      param: "messages[2].tool_call_id",
    });
    expect(refusal(conversation([], [call("a", "f", "[1]")]))).toEqual({
      code: "invalid_request",
      param: "messages[1].tool_calls[0].function.arguments",
    });
    expect(refusal(conversation([], [call("a", "f", `{"cut`)])).code).toBe("invalid_request");
  });
  test("media in a result stand inside it from Gemini 3 on, else beside it", () => {
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } };
    const sound = { type: "input_audio", input_audio: { data: "QUJD", format: "mp3" } };
    const fields = conversation(
      [result("a", [{ type: "text", text: "look" }, picture, sound])],
      [call("a", "f", "{}", { extra_content: { google: { thought_signature: "S" } } })],
    );
    const image = { inlineData: { mimeType: "image/png", data: "QUJD" } };
    const audio = { inlineData: { mimeType: "audio/mp3", data: "QUJD" } };
    expect(bodyOf(fields, "gemini-3-flash-preview").contents.slice(2)).toEqual([
      {
        role: "user",
        parts: [{ functionResponse: { id: "a", name: "f", response: { result: "look" }, parts: [image] } }],
      },
      { role: "user", parts: [audio] },
    ]);
    expect(bodyOf(fields).contents.slice(3)).toEqual([{ role: "user", parts: [image, audio] }]);
  });
});

describe("thought signatures", () => {
  const G3 = "gemini-3-pro-preview";
  const signed = (signature: string): JsonObject => ({ extra_content: { google: { thought_signature: signature } } });
  const modelParts = (assistant: JsonObject, model: string): readonly JsonObject[] =>
    bodyOf({ messages: [...hello, { role: "assistant", content: null, ...assistant }] }, model).contents.find(
      (turn) => turn.role === "model",
    )!.parts;

  test("each is sent back in the part with which it came", () => {
    const parts = modelParts(
      {
        content: "text",
        ...signed("T"),
        tool_calls: [call("a", "f", "{}", signed("C")), call("b", "f", "{}")],
        images: [{ type: "image_url", image_url: { url: "data:image/png;base64,QUJD" }, ...signed("I") }],
      },
      MODEL,
    );
    expect(parts.map((part) => part["thoughtSignature"])).toEqual(["T", "I", "C", undefined]);
    expect(modelParts({ content: "", ...signed("T") }, MODEL)).toEqual([{ text: "", thoughtSignature: "T" }]);
  });
  test("they are accepted as reasoning details too", () => {
    const detail = (data: string, more: JsonObject = {}): JsonObject => ({
      type: "reasoning.encrypted",
      format: "google-gemini-v1",
      data,
      ...more,
    });
    const calls = [call("a", "f", "{}"), call("b", "f", "{}")];
    expect(
      modelParts({ tool_calls: calls, reasoning_details: [detail("B", { id: "b" }), detail("A")] }, MODEL).map(
        (part) => part["thoughtSignature"],
      ),
    ).toEqual(["A", "B"]);
    expect(
      modelParts(
        {
          content: "t",
          reasoning_details: [detail("T"), { type: "reasoning.encrypted", format: "anthropic-claude-v1", data: "X" }],
        },
        MODEL,
      ),
    ).toEqual([{ text: "t", thoughtSignature: "T" }]);
  });
  test("an unsigned call of the current turn gets the documented value, from Gemini 3 on", () => {
    const assistant = { tool_calls: [call("a", "f", "{}"), call("b", "f", "{}")] };
    expect(modelParts(assistant, G3).map((part) => part["thoughtSignature"])).toEqual([
      "skip_thought_signature_validator",
      undefined,
    ]);
    expect(modelParts(assistant, MODEL).map((part) => part["thoughtSignature"])).toEqual([undefined, undefined]);
    const earlier = [
      ...hello,
      { role: "assistant", ...assistant },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "tool", tool_call_id: "b", content: "2" },
      { role: "user", content: "next" },
    ];
    expect(bodyOf({ messages: earlier }, G3).contents[1]!.parts[0]!["thoughtSignature"]).toBeUndefined();
  });
});

describe("pass-through", () => {
  test("[d6.5] unknown fields stand at the top level, unchanged", () => {
    const fields = {
      safetySettings: [{ category: "C", threshold: "OFF" }],
      cachedContent: "cachedContents/1",
      newField: { a: null },
    };
    expect(bodyOf(fields)).toMatchObject(fields);
    expect(bodyOf({ extra_body: { labels: { a: "b" } } })["labels"]).toEqual({ a: "b" });
  });
  test("[d6.5] objects are merged key by key, in either spelling, and members of generationConfig find it", () => {
    const fields = {
      temperature: 0.5,
      reasoning_effort: "low",
      generationConfig: { topK: 3, thinkingConfig: { includeThoughts: false } },
      tools: [cityTool],
      tool_choice: "required",
      tool_config: { retrieval_config: { x: 1 } },
    };
    const body = bodyOf(fields);
    expect(body.generationConfig).toEqual({
      temperature: 0.5,
      topK: 3,
      thinkingConfig: { thinkingBudget: 1024, includeThoughts: false },
    });
    expect(body.toolConfig).toEqual({ functionCallingConfig: { mode: "ANY" }, retrieval_config: { x: 1 } });
    expect(body["tool_config"]).toBeUndefined();
    expect(
      bodyOf({ temperature: 1, generation_config: { media_resolution: "LOW" }, top_k: 4 }).generationConfig,
    ).toEqual({ temperature: 1, media_resolution: "LOW", topK: 4 });
    expect(
      bodyOf({ audio_transcription_config: { a: 1 }, translationConfig: { b: 2 }, enable_affective_dialog: true })
        .generationConfig,
    ).toEqual({ audioTranscriptionConfig: { a: 1 }, translationConfig: { b: 2 }, enableAffectiveDialog: true });
    expect(bodyOf({ thinkingConfig: { thinkingBudget: 0 } }).generationConfig).toEqual({
      thinkingConfig: { thinkingBudget: 0 },
    });
  });
  test("[d6.5] what the gateway encodes is never overwritten", () => {
    expect(refusal({ generationConfig: { maxOutputTokens: 5 } })).toEqual({
      code: "reserved_parameter",
      param: "generationConfig.maxOutputTokens",
    });
    expect(refusal({ generation_config: { candidate_count: 5 } })).toEqual({
      code: "reserved_parameter",
      param: "generation_config.candidate_count",
    });
    expect(refusal({ toolConfig: { functionCallingConfig: { streamFunctionCallArguments: true } } }).code).toBe(
      "reserved_parameter",
    );
    expect(refusal({ temperature: 0.5, generationConfig: { temperature: 0.7 } })).toEqual({
      code: "reserved_parameter",
      param: "generationConfig.temperature",
    });
    expect(refusal({ service_tier: "flex", serviceTier: "priority" })).toEqual({
      code: "reserved_parameter",
      param: "serviceTier",
    });
    expect(bodyOf({ temperature: 0.5, generationConfig: { temperature: 0.5 } }).generationConfig).toEqual({
      temperature: 0.5,
    });
    for (const name of ["contents", "systemInstruction", "system_instruction", "tools", "model"])
      expect(gemini.reserved.has(name)).toBe(true);
  });
  test("a field named __proto__ is a field like any other", () => {
    const { request } = encodeText(`"__proto__":{"a":1},"generationConfig":{"__proto__":{"b":2}}`);
    expect(request.body).toContain(`"__proto__":{"a":1}`);
    expect(request.body).toContain(`"__proto__":{"b":2}`);
  });
});
