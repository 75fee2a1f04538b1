// Errors of OpenAI-shaped providers: every form of body has a message, and every wording its class.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FailureClass, UpstreamFailure } from "../../../src/providers/interface/upstream-failure.ts";
import { openaiCompatibleProviders } from "../../../src/providers/registry.ts";
import { vectorsFolder } from "../../traffic/cases.ts";
import { provider, providerOf } from "./calls.ts";

function classify(status: number, body: unknown, id = "custom"): UpstreamFailure {
  return provider(id).classifyError({ status, body: typeof body === "string" ? body : JSON.stringify(body) });
}
const openaiError = (message: string, code: string | number | null = null, type = "invalid_request_error") => ({
  error: { message, type, param: null, code },
});

describe("body forms", () => {
  test("an object: message, param, code", () => {
    expect(
      classify(400, {
        error: {
          message: "Bad temperature",
          type: "invalid_request_error",
          param: "temperature",
          code: "decimal_above_max_value",
        },
      }),
    ).toEqual({
      class: "invalid_request",
      message: "Bad temperature",
      param: "temperature",
      nativeCode: "decimal_above_max_value",
    });
  });
  test("a list, a bare string, a flat object", () => {
    expect(classify(400, [{ error: { code: 400, message: "listed" } }]).message).toBe("listed");
    expect(classify(422, '"just words"').message).toBe("just words");
    expect(classify(422, "Failed to deserialize: missing field").message).toBe("Failed to deserialize: missing field");
    expect(
      classify(400, { object: "error", message: "flat", type: "BadRequestError", param: null, code: 400 }),
    ).toMatchObject({ class: "invalid_request", message: "flat", nativeCode: "400" });
    expect(classify(400, { error: "words", error_type: "template_error" })).toEqual({
      class: "invalid_request",
      message: "words",
      param: null,
      nativeCode: "template_error",
    });
    expect(classify(400, { success: false, errors: [{ code: 7003, message: "No route" }] })).toMatchObject({
      message: "No route",
      nativeCode: "7003",
    });
  });
  test("detail of FastAPI servers, as text and as a list", () => {
    expect(classify(401, { detail: "Invalid key" })).toMatchObject({ class: "authentication", message: "Invalid key" });
    const list = [
      { loc: ["body", "messages", 0, "role"], msg: "field required", type: "missing" },
      { loc: ["body", "top_p"], msg: "too large", type: "value_error" },
    ];
    expect(classify(422, { detail: list })).toEqual({
      class: "invalid_request",
      message: "messages.0.role: field required; top_p: too large",
      param: "messages.0.role",
      nativeCode: null,
    });
    expect(
      classify(404, { status: 404, title: "Not Found", detail: "Function 'x': Not found for account" }, "nvidia"),
    ).toMatchObject({ class: "not_found", message: "Function 'x': Not found for account" });
  });
  test("HTML and an empty body get a message of the gateway", () => {
    expect(classify(502, "<html><head><title>502 Bad Gateway</title></head></html>")).toEqual({
      class: "server",
      message:
        'The provider, or a proxy in front of it, answered with status 502 and a web page titled "502 Bad Gateway".',
      param: null,
      nativeCode: null,
    });
    expect(classify(503, "")).toMatchObject({
      class: "overloaded",
      message: "The provider, or a proxy in front of it, answered with status 503 and an empty body.",
    });
    expect(classify(500, "{}").message).toBe(
      "The provider, or a proxy in front of it, answered with status 500 and no message: {}",
    );
  });
  test("the message of the provider behind it", () => {
    const raw = JSON.stringify({
      error: { message: "prompt is too long: 9 tokens > 8 maximum", type: "invalid_request_error" },
    });
    expect(
      classify(
        400,
        { error: { message: "Provider returned error", code: 400, metadata: { raw, provider_name: "X" } } },
        "openrouter",
      ),
    ).toMatchObject({
      class: "context_length",
      message: "Provider returned error: prompt is too long: 9 tokens > 8 maximum",
    });
  });
  test("a very long message is cut", () => {
    expect(classify(400, openaiError("x".repeat(100_000))).message).toHaveLength(4_096);
  });
});

describe("classes", () => {
  const CASES: readonly (readonly [FailureClass, number, unknown, string?])[] = [
    ["authentication", 401, ""],
    ["authentication", 401, openaiError("Bad", "invalid_api_key")],
    ["authentication", 401, { error: "Unauthorized" }, "vllm"],
    [
      "authentication",
      400,
      { code: "Client specified an invalid argument", error: "Incorrect API key provided: x***y." },
      "xai",
    ],
    [
      "authentication",
      401,
      { error: { message: "Authentication Fails", type: "authentication_error", code: "invalid_request_error" } },
      "deepseek",
    ],
    ["permission", 403, { error: { message: "Forbidden", code: "forbidden" } }],
    [
      "content_policy",
      403,
      {
        code: "The caller does not have permission",
        error: "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_X",
      },
      "xai",
    ],
    [
      "content_policy",
      403,
      { error: { code: 403, message: 'Your input was flagged for "violence"', metadata: { reasons: ["violence"] } } },
      "openrouter",
    ],
    ["content_policy", 400, openaiError("Content Exists Risk", "invalid_request_error"), "deepseek"],
    ["content_policy", 400, openaiError("Invalid prompt: your prompt was flagged", "invalid_prompt"), "openai"],
    ["content_policy", 400, openaiError("The response was filtered", "content_filter")],
    ["not_found", 404, openaiError("The model `x` does not exist", "model_not_found")],
    ["not_found", 400, { error: { code: 400, message: "acme/x is not a valid model ID" } }, "openrouter"],
    ["not_found", 400, { message: "Invalid model: x", type: "invalid_model", code: "1500" }],
    ["not_found", 400, openaiError("Model Not Exist", "invalid_request_error"), "deepseek"],
    [
      "not_found",
      400,
      openaiError("The supported API model names are a or b, but you passed c.", "invalid_request_error"),
      "deepseek",
    ],
    ["not_found", 410, openaiError("The model was removed"), "sambanova"],
    ["rate_limit", 429, ""],
    [
      "rate_limit",
      429,
      openaiError(
        "Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 50000.",
        "rate_limit_exceeded",
        "tokens",
      ),
    ],
    // another target may have room for it
    [
      "rate_limit",
      413,
      openaiError("Request too large for model on tokens per minute", "rate_limit_exceeded", "tokens"),
      "groq",
    ],
    [
      "invalid_request",
      400,
      openaiError(
        "`max_tokens` must be less than or equal to `32768`, the maximum value for `max_tokens` is less than the `context_window` for this model",
        null,
        "invalid_request_error",
      ),
      "groq",
    ],
    ["context_length", 400, openaiError("Please reduce the length of the messages or completion.", null), "groq"],
    [
      "permission",
      400,
      openaiError("The model requires terms acceptance.", "model_terms_required", "invalid_request_error"),
      "groq",
    ],
    [
      "overloaded",
      400,
      { status: 400, title: "Bad Request", detail: "Function id 'a': DEGRADED function cannot be invoked" },
      "nvidia",
    ],
    ["invalid_request", 400, { status: 400, title: "Bad Request", detail: "Inference error" }, "nvidia"],
    ["quota", 400, openaiError("Budget has been exceeded! Current cost: 5.1, Max budget: 5.0", 400), "litellm"],
    ["quota", 429, openaiError("Over it", 429, "budget_exceeded"), "litellm"],
    ["not_found", 401, openaiError("Key not allowed to access model.", 401, "key_model_access_denied"), "litellm"],
    [
      "context_length",
      400,
      {
        errors: [
          {
            code: "invalid_input_argument",
            message: "the number of input tokens 4098 cannot exceed the total tokens limit 4096 for this model",
          },
        ],
      },
      "watsonx",
    ],
    [
      "not_found",
      400,
      openaiError("The chatCompletion operation does not work with the specified model.", "OperationNotSupported"),
      "azure",
    ],
    [
      "rate_limit",
      429,
      {
        message: "Requests per minute limit exceeded",
        type: "too_many_requests_error",
        param: "quota",
        code: "request_quota_exceeded",
      },
      "cerebras",
    ],
    [
      "quota",
      429,
      openaiError(
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota",
      ),
    ],
    [
      "quota",
      402,
      { error: { message: "Insufficient Balance", type: "unknown_error", code: "invalid_request_error" } },
      "deepseek",
    ],
    ["quota", 402, ""],
    ["quota", 412, { error: { message: "Account is suspended due to unpaid invoices" } }, "fireworks"],
    ["overloaded", 503, openaiError("Loading model", 503, "unavailable_error"), "llamacpp"],
    ["overloaded", 529, ""],
    ["overloaded", 500, { error: { message: "Overloaded", type: "overloaded_error" } }],
    ["server", 500, openaiError("tools param requires --jinja flag", 500, "server_error"), "llamacpp"],
    ["server", 502, "upstream connect error"],
    ["timeout", 504, ""],
    ["timeout", 408, openaiError("Request timed out")],
    [
      "invalid_request",
      400,
      openaiError(
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        "unsupported_value",
      ),
    ],
    [
      "invalid_request",
      400,
      openaiError("Tool call validation failed: parameters for tool f did not match schema", "tool_use_failed"),
      "groq",
    ],
    ["invalid_request", 422, openaiError("Input should be a valid string")],
  ];
  for (const [want, status, body, id] of CASES)
    test(`${status} ${typeof body === "string" ? body : JSON.stringify(body).slice(0, 90)}`, () =>
      expect(classify(status, body, id).class).toBe(want));
});

describe("what is not the request's fault, in each vendor's own words", () => {
  const CASES: readonly (readonly [FailureClass, string, number, unknown])[] = [
    [
      "quota",
      "xai",
      429,
      { code: "exhausted", error: "Your team has either used all available credits or reached its spending limit." },
    ],
    ["quota", "xai", 403, { code: "no permission", error: "Your newly created team doesn't have any credits yet." }],
    ["quota", "openrouter", 403, { error: { message: "Key limit exceeded (total limit).", code: 403 } }],
    ["quota", "novita", 403, { code: 403, reason: "NOT_ENOUGH_BALANCE", message: "not enough balance" }],
    ["quota", "siliconflow", 403, { code: 1, message: "Sorry, your account balance is insufficient" }],
    ["quota", "custom", 403, openaiError("You have no credits remaining.")],
    ["quota", "custom", 403, openaiError("用户额度不足", "insufficient_user_quota", "new_api_error")],
    ["quota", "watsonx", 403, { errors: [{ code: "token_quota_reached", message: "No tokens." }], status_code: 403 }],
    ["permission", "groq", 400, openaiError("Organization has been restricted.", "organization_restricted")],
    ["not_found", "groq", 400, openaiError("The model `m` is no longer supported.", "model_decommissioned")],
    ["not_found", "huggingface", 400, openaiError("No provider has the model.", "model_not_supported")],
    ["not_found", "copilot", 400, openaiError("The requested model is not supported.", "model_not_supported")],
    ["not_found", "azure_ai", 400, openaiError("No access to that", "unavailable_model")],
    ["overloaded", "groq", 498, openaiError("Flex tier capacity exceeded", "capacity_exceeded", "capacity_exceeded")],
  ];
  test.each(CASES)("[d7.3] %s: %s %d %j", (want, id, status, body) => {
    expect(classify(status, body, id).class).toBe(want);
  });
  test("[d7.8] a message inside of a detail, or under the name of a description, is kept", () => {
    expect(classify(404, { detail: { error: "The model `m` does not exist" } }, "deepinfra")).toMatchObject({
      class: "not_found",
      message: "The model `m` does not exist",
    });
    expect(
      classify(404, { extras: null, errors: [{ description: "Model not found", key: "fail.not.found" }] }, "writer"),
    ).toMatchObject({ class: "not_found", message: "Model not found" });
  });
});

test("[s:errors.5xx] what a vendor's filter stopped is told as such", () => {
  for (const text of [
    "The request was blocked by the content filter",
    "Blocked: PROHIBITED_CONTENT",
    "Output data may contain inappropriate content.",
  ])
    expect(classify(400, openaiError(text)).class).toBe("content_policy");
});

describe("a conversation that is too long, in each vendor's wording", () => {
  const TEXTS: readonly (readonly [string, number, unknown])[] = [
    [
      "openai",
      400,
      openaiError(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "context_length_exceeded",
      ),
    ],
    ["openai", 400, openaiError("Your input exceeds the context window of this model.")],
    ["groq", 400, openaiError("Please reduce the length of the messages or completion.", "context_length_exceeded")],
    [
      "xai",
      400,
      {
        code: "Client specified an invalid argument",
        error: "This model's maximum prompt length is 100 but the request contains 120 tokens.",
      },
    ],
    [
      "deepseek",
      400,
      openaiError(
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens",
        "invalid_request_error",
      ),
    ],
    [
      "openrouter",
      400,
      {
        error: {
          code: 400,
          message: "This endpoint's maximum context length is 100 tokens. However, you requested about 200 tokens",
        },
      },
    ],
    [
      "cerebras",
      400,
      {
        message: "Please reduce the length of the messages or completion. Current length is 9 while limit is 8",
        type: "invalid_request_error",
        code: "wrong_api_format",
      },
    ],
    [
      "sambanova",
      400,
      openaiError("The maximum context length of m is 100. However, answering your request will take 200 tokens"),
    ],
    [
      "perplexity",
      400,
      { error: { message: "Prompt has too many tokens", type: "too_many_prompt_tokens", code: 400 } },
    ],
    [
      "llamacpp",
      400,
      {
        error: {
          code: 400,
          message: "request (20 tokens) exceeds the available context size (5 tokens), try increasing it",
          type: "exceed_context_size_error",
        },
      },
    ],
    [
      "vllm",
      400,
      {
        error: {
          message: "The decoder prompt (length 20) is longer than the maximum model length of 10.",
          type: "BadRequestError",
          param: null,
          code: 400,
        },
      },
    ],
    [
      "together",
      403,
      openaiError(
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 100. Given: 90 `inputs` tokens and 20 `max_new_tokens`",
      ),
    ],
    ["custom", 422, { error: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 100." }],
    ["huggingface", 422, { error: "Input validation error: `inputs` must have less than 100 tokens. Given: 200" }],
    ["azure_ai", 413, openaiError("Request body too large. Max size: 8000 tokens.", "tokens_limit_reached")],
    ["sglang", 400, { message: "Input length (200 tokens) exceeds the maximum allowed length (100 tokens)." }],
    ["openrouter", 400, openaiError("Input length 200 exceeds the maximum allowed input length of 100 tokens.")],
    ["custom", 400, openaiError("prompt token count of 200 exceeds the limit of 100")],
  ];
  for (const [id, status, body] of TEXTS)
    test(`${id}: ${JSON.stringify(body).slice(0, 80)}`, () =>
      expect(classify(status, body, id).class).toBe("context_length"));
});

test("[s:errors.5xx] an error inside an answer is the request's fault where its type says so and its text says nothing more", () => {
  const classOf = (message: string, type: string, status = 200) => classify(status, { error: { message, type } }).class;
  for (const type of ["invalid_request_error", "BadRequestError", "INVALID_ARGUMENT", "invalid_parameter_error"])
    expect(classOf("No such tool", type)).toBe("invalid_request");
  expect(classOf("maximum context length is 9 tokens", "invalid_request_error")).toBe("context_length");
  expect(classOf("Something broke", "server_error")).toBe("server");
  // a status of its own says more
  expect(classOf("Something broke", "invalid_request_error", 500)).toBe("server");
});

test("a row's own rules come before the common ones, codes before texts", () => {
  const row = providerOf({
    errors: [
      { class: "quota", codes: ["rate_limit_exceeded"], text: /monthly/ },
      { class: "overloaded", text: /does not exist/ },
    ],
  });
  const classOf = (message: string, code: string | null) =>
    row.classifyError({ status: 404, body: JSON.stringify(openaiError(message, code)) }).class;
  expect(classOf("monthly limit", "rate_limit_exceeded")).toBe("quota");
  expect(classOf("hourly limit", "rate_limit_exceeded")).toBe("rate_limit");
  expect(classOf("The model does not exist", "model_not_found")).toBe("not_found");
  expect(classOf("The model does not exist", null)).toBe("overloaded");
});

interface Reported {
  readonly provider: string;
  readonly status: number;
  readonly kind: string;
  readonly body?: unknown;
  readonly text?: string;
}
const reportedFile = join(vectorsFolder, "errors-reported-in-issues.json");

test.skipIf(!existsSync(reportedFile))("errors from public reports have their class", () => {
  const known = new Set(openaiCompatibleProviders.map(({ id }) => id));
  const reported = (JSON.parse(readFileSync(reportedFile, "utf8")) as readonly Reported[]).filter(
    ({ provider: id, body, text }) => known.has(id) && (body ?? text) !== undefined,
  );
  expect(reported.length).toBeGreaterThan(3);
  for (const { provider: id, status, kind, body, text } of reported)
    expect([id, classify(status, body ?? text, id).class]).toEqual([
      id,
      kind === "context_window" ? "context_length" : "server",
    ]);
});
if (!existsSync(reportedFile)) console.log(`skipped: no error vectors at ${reportedFile}`);
