// Open models and Mistral's on Vertex AI, what each maker's models alone understand, and errors in the three forms that come from there.
import { describe, expect, test } from "bun:test";
import { capabilityOf } from "../../../src/core/capability.ts";
import { vertex } from "../../../src/providers/vertex/provider.ts";
import { answeringGateway, ask } from "../../spec/chat-calls.ts";
import { bodyOf, HELLO } from "./calls.ts";

const LLAMA = "meta/llama-4-maverick-17b-128e-instruct-maas";

describe("models that speak OpenAI's form", () => {
  test("open models keep their maker's name, and the usage is requested", () => {
    expect(bodyOf(LLAMA, { temperature: 0.5, stream: true, max_tokens: 9 })).toEqual({
      model: LLAMA,
      messages: HELLO,
      temperature: 0.5,
      stream: true,
      max_tokens: 9,
      stream_options: { include_usage: true },
    });
  });
  test("Mistral's are sent without it, and have two names of their own", () => {
    expect(bodyOf("mistralai/mistral-medium-3", { seed: 7, max_completion_tokens: 9 })).toEqual({
      model: "mistral-medium-3",
      messages: HELLO,
      random_seed: 7,
      max_tokens: 9,
    });
    // it refuses what it does not know, and sends the usage unasked
    expect(
      bodyOf("codestral-2", {
        stream: true,
        messages: [...HELLO, { role: "assistant", content: "a", reasoning_content: "b" }, ...HELLO],
      }),
    ).toEqual({
      model: "codestral-2",
      stream: true,
      messages: [...HELLO, { role: "assistant", content: "a" }, ...HELLO],
    });
  });
  test("answers, plain and streamed", () => {
    const context = { model: LLAMA, memo: null };
    expect(
      vertex.decodeResponse(
        JSON.stringify({
          id: "c1",
          choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        }),
        context,
      ),
    ).toMatchObject({ choices: [{ message: { content: "Hello" }, finish_reason: "stop" }] });
    const decoder = vertex.openStream(context);
    const chunks = [
      { choices: [{ index: 0, delta: { role: "assistant", content: "Hello" } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    ].flatMap((chunk) => decoder.push({ event: "", data: JSON.stringify(chunk) }));
    expect([...chunks, ...decoder.end()].flatMap(({ choices }) => choices)).toMatchObject([
      { delta: { content: "Hello" } },
      { finish_reason: "stop" },
    ]);
  });
  test("the table of one maker's models does not apply to another's", () => {
    const support = (model: string) =>
      (["seed", "logit_bias", "reasoning_effort", "video_url"] as const).map(
        (name) => capabilityOf(vertex.capabilities, name, model).support,
      );
    expect(support(LLAMA)).toEqual(["native", "native", "native", "unsupported"]);
    expect(support("mistral-medium-3")).toEqual(["mapped", "unsupported", "native", "unsupported"]);
    expect(support("claude-3-5-haiku@20241022")).toEqual(["unsupported", "unsupported", "unsupported", "unsupported"]);
    expect(support("gemini-2.0-flash")).toEqual(["mapped", "unsupported", "unsupported", "mapped"]);
    // an open model may be called like another maker's
    expect(support("someone/claude-3-5-distilled")).toEqual(support(LLAMA));
  });
});

describe("[d5.7] forms that one maker's models alone understand", () => {
  test("are refused for the others with their path, and nothing is sent", async () => {
    const refused = async (model: string, fields: object) => {
      const { outcome, request } = await ask(answeringGateway(), {
        model: `vertex:${model}`,
        vertex_project: "p1",
        ...fields,
      });
      expect(request).toBeNull();
      return outcome;
    };
    const claudeSearch = { tools: [{ type: "web_search_20250305", name: "web_search" }] };
    const googleSearch = { tools: [{ type: "google_search" }] };
    const ofTool = "400 invalid_request tools[0].type";
    expect(await refused("gemini-2.5-flash", claudeSearch)).toBe(ofTool);
    expect(await refused("claude-opus-4-6", googleSearch)).toBe(ofTool);
    expect(await refused(LLAMA, googleSearch)).toBe(ofTool);
    const result = { type: "search_result", source: "s", title: "t", content: [] };
    expect(await refused("gemini-2.5-flash", { messages: [{ role: "user", content: [result] }] })).toBe(
      "400 invalid_request messages[0].content[0].type",
    );
  });
  test("are accepted for that maker, through the gateway", async () => {
    const gateway = answeringGateway();
    expect(
      (
        await ask(gateway, {
          model: "vertex:claude-opus-4-6",
          vertex_project: "p1",
          tools: [{ type: "web_search_20250305", name: "web_search" }],
        })
      ).wire!["tools"],
    ).toEqual([{ type: "web_search_20250305", name: "web_search" }]);
    expect(
      (await ask(gateway, { model: "vertex:gemini-3-flash-preview", tools: [{ type: "google_search" }] })).wire![
        "tools"
      ],
    ).toEqual([{ googleSearch: {} }]);
  });
});

describe("errors", () => {
  const RPC = "type.googleapis.com/google.rpc.";
  test.each([
    [
      "Google's",
      429,
      {
        error: {
          code: 429,
          message:
            "Quota exceeded for aiplatform.googleapis.com/generate_content_requests_per_minute_per_project_per_base_model.",
          status: "RESOURCE_EXHAUSTED",
        },
      },
      "rate_limit",
      "RESOURCE_EXHAUSTED",
    ],
    [
      "Google's, in a list",
      429,
      [{ error: { code: 429, message: "Resource exhausted.", status: "RESOURCE_EXHAUSTED" } }],
      "rate_limit",
      "RESOURCE_EXHAUSTED",
    ],
    [
      "Google's: no right",
      403,
      {
        error: {
          code: 403,
          message: "Permission 'aiplatform.endpoints.predict' denied on resource (or it may not exist).",
          status: "PERMISSION_DENIED",
          details: [{ "@type": `${RPC}ErrorInfo`, reason: "IAM_PERMISSION_DENIED" }],
        },
      },
      "permission",
      "IAM_PERMISSION_DENIED",
    ],
    [
      "Google's: no such model",
      404,
      {
        error: {
          code: 404,
          message:
            "Publisher Model `projects/p1/locations/eu/publishers/google/models/x` was not found or your project does not have access to it.",
          status: "NOT_FOUND",
        },
      },
      "not_found",
      "NOT_FOUND",
    ],
    [
      "Google's: an old token",
      401,
      {
        error: {
          code: 401,
          message: "Request had invalid authentication credentials.",
          status: "UNAUTHENTICATED",
          details: [{ "@type": `${RPC}ErrorInfo`, reason: "ACCESS_TOKEN_EXPIRED" }],
        },
      },
      "authentication",
      "ACCESS_TOKEN_EXPIRED",
    ],
    [
      "Google's: a bad key",
      400,
      {
        error: {
          code: 400,
          message: "API key not valid.",
          status: "INVALID_ARGUMENT",
          details: [{ "@type": `${RPC}ErrorInfo`, reason: "API_KEY_INVALID" }],
        },
      },
      "authentication",
      "API_KEY_INVALID",
    ],
    [
      "Google's: too long",
      400,
      {
        error: {
          code: 400,
          message: "The input token count (1200) exceeds the maximum number of tokens allowed (1000).",
          status: "INVALID_ARGUMENT",
        },
      },
      "context_length",
      "INVALID_ARGUMENT",
    ],
    [
      "Google's: not allowed to fetch",
      400,
      { error: { code: 400, message: "Cannot fetch content from the provided URL.", status: "INVALID_ARGUMENT" } },
      "invalid_request",
      "INVALID_ARGUMENT",
    ],
    [
      "Claude's",
      400,
      {
        type: "error",
        error: { type: "invalid_request_error", message: "prompt is too long: 1200 tokens > 1000 maximum" },
        request_id: "req_vrtx_1",
      },
      "context_length",
      "invalid_request_error",
    ],
    [
      "Claude's: overloaded",
      529,
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      "overloaded",
      "overloaded_error",
    ],
    [
      "a server of open models",
      400,
      {
        object: "error",
        message: "This model's maximum context length is 1000 tokens.",
        type: "BadRequestError",
        code: 400,
      },
      "context_length",
      null,
    ],
    [
      "a server of open models, by its code alone",
      400,
      { error: { message: "Too much.", type: "BadRequestError", code: "context_length_exceeded" } },
      "context_length",
      "context_length_exceeded",
    ],
  ] as const)("%s %d", (_, status, body, expected, code) => {
    const failure = vertex.classifyError({ status, body: JSON.stringify(body) });
    const [first] = Array.isArray(body) ? body : [body];
    expect(failure.class).toBe(expected);
    expect(failure.message).toBe((first.error ?? first).message as string);
    if (code !== null) expect(failure.nativeCode).toBe(code);
  });
  test("Claude names the field at the start of its message", () => {
    expect(
      vertex.classifyError({
        status: 400,
        body: JSON.stringify({
          type: "error",
          error: { type: "invalid_request_error", message: "tools.0.name: too long" },
        }),
      }).param,
    ).toBe("tools.0.name");
  });
  test("a proxy's page and an empty body give a message too", () => {
    expect(vertex.classifyError({ status: 502, body: "<html><title>502 Bad Gateway</title></html>" })).toMatchObject({
      class: "server",
      message: expect.stringContaining("502 Bad Gateway"),
    });
    expect(vertex.classifyError({ status: 503, body: "" })).toMatchObject({
      class: "overloaded",
      message: expect.stringContaining("empty body"),
    });
  });
});
