// The non-streaming answer of the specification, and what a client receives for every way in which a provider can fail
// (promises 5.1, 7.8; s:errors.5xx).
import { describe, expect, test } from "bun:test";
import type { UpstreamClient, UpstreamFaultKind } from "../../../src/wire/upstream.ts";
import { UpstreamFault } from "../../../src/wire/upstream.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { eventStream, openaiAnswer } from "../../harness/servers/upstream.ts";
import { chunk } from "./played-stream.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

const MESSAGES = [{ role: "user", content: "Say it." }];
const MODELS = {
  openai: "openai:gpt-4o-mini",
  anthropic: "anthropic:claude-sonnet-4-5",
  gemini: "gemini:gemini-2.5-flash",
} as const;
type Family = keyof typeof MODELS;
const FAMILIES = Object.keys(MODELS) as readonly Family[];
const OWN_KEY = "stored-key";
const CALLERS_KEY = "sk-callers-own-1234";

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, any>;
  readonly record: Record<string, any>;
}

async function ask(upstream: UpstreamClient, request: object = {}): Promise<Answer> {
  const stub = stubGateway({ upstream });
  const response = await stub.chat({ model: MODELS.openai, messages: MESSAGES, ...request });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, any>,
    record: stub.records[0]!,
  };
}
const json = (body: object, status = 200, headers: Readonly<Record<string, string>> = {}): UpstreamClient =>
  cannedUpstream({ status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });

describe("a plain answer", () => {
  test("[s:response.id, s:response.object, s:response.created, s:response.choices] has the provider's id, its object, its time and its choices", async () => {
    const { status, headers, body } = await ask(json(openaiAnswer("Hello")));
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(body).toMatchObject({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1_767_000_000,
      choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
    });
  });

  test("[s:response.route, s:response.model] names the route that served the call and the model as <provider>:<model_name>, also when the request wrote it with a slash", async () => {
    for (const model of ["openai:gpt-4o-mini", "openai/gpt-4o-mini"])
      expect((await ask(json(openaiAnswer()), { model })).body).toMatchObject({
        route: "direct",
        model: "openai:gpt-4o-mini",
      });
  });

  test("[s:response.usage, d8.9] has the provider's complete usage, including its total", async () => {
    const said = {
      prompt_tokens: 5,
      completion_tokens: 2,
      total_tokens: 9,
      completion_tokens_details: { reasoning_tokens: 2, audio_tokens: null },
    };
    const { body, record, headers } = await ask(json({ ...openaiAnswer(), usage: said }));
    expect(body["usage"]).toEqual({ ...said, completion_tokens_details: { reasoning_tokens: 2 } });
    expect([record["usageSource"], headers.get("x-gateway-warnings")]).toEqual(["provider", null]);
  });

  test("[s:response.usage, d8.9] has an estimate where the provider gives no figures, and marks it as one", async () => {
    for (const usage of [undefined, null, {}, { prompt_tokens: "5" }]) {
      const { body, record, headers } = await ask(json({ ...openaiAnswer("four or five words here"), usage }));
      const { prompt_tokens, completion_tokens, total_tokens } = body["usage"];
      expect(prompt_tokens).toBeGreaterThan(0);
      expect(completion_tokens).toBeGreaterThan(0);
      expect(total_tokens).toBe(prompt_tokens + completion_tokens);
      expect([record["usageSource"], headers.get("x-gateway-warnings")]).toEqual(["estimated", "usage_estimated"]);
    }
  });

  test("[s:response.x-gateway-trace-id, d5.1] carries the trace id in the body and in both headers, a new one for each call, whatever the caller sends", async () => {
    const stub = stubGateway({ upstream: json(openaiAnswer()) });
    const ids = await Promise.all(
      [0, 1].map(async () => {
        const response = await stub.chat(
          { model: MODELS.openai, messages: MESSAGES },
          { headers: { "x-request-id": "theirs", "x-gateway-trace-id": "theirs" } },
        );
        const { x_gateway_trace_id: id } = (await response.json()) as Record<string, string>;
        expect([response.headers.get("x-request-id"), response.headers.get("x-gateway-trace-id")]).toEqual([id!, id!]);
        return id;
      }),
    );
    expect(new Set([...ids, "theirs"]).size).toBe(3);
    expect(stub.records.map((record) => record.clientRequestId)).toEqual(["theirs", "theirs"]);
  });

  test("[s:response.choices] carries the same content in every provider family's own form", async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    const bodies: Readonly<Record<Family, object>> = {
      openai: openaiAnswer("Hello"),
      anthropic: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: [{ type: "text", text: "Hello" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 5, output_tokens: 2 },
      },
      gemini: {
        responseId: "r",
        candidates: [{ index: 0, content: { role: "model", parts: [{ text: "Hello" }] }, finishReason: "STOP" }],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
      },
    };
    for (const family of FAMILIES) {
      const { body } = await ask(json(bodies[family]), { model: MODELS[family] });
      expect(body).toMatchObject({
        model: MODELS[family],
        object: "chat.completion",
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "Hello", refusal: null },
            logprobs: null,
            finish_reason: "stop",
          },
        ],
        usage,
      });
    }
  });

  test("[d8.6, d8.7] with calls of tools ends with tool_calls where the provider names no reason, in each form (S13)", async () => {
    const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
    const message = { role: "assistant", content: null, tool_calls: [call] };
    const whole = { ...openaiAnswer(), choices: [{ index: 0, message }] };
    const definition = { name: "f", parameters: { type: "object", properties: {} } };
    const tools = [{ type: "function", function: definition }];
    const finishOf = async (more: object): Promise<string> => {
      const stub = stubGateway({ upstream: json(whole) });
      const text = await (await stub.chat({ model: MODELS.openai, messages: MESSAGES, ...more })).text();
      return /"finish_reason":"(\w+)"/.exec(text)?.[1] ?? "";
    };
    expect(await finishOf({ tools })).toBe("tool_calls");
    expect(await finishOf({ tools, stream: true })).toBe("tool_calls");
    expect(await finishOf({ functions: [definition] })).toBe("function_call");
  });

  test("[d8.8] omits a service tier that the schema does not have, and any null fields of the vendor", async () => {
    const { body } = await ask(
      json({ ...openaiAnswer(), service_tier: "turbo", system_fingerprint: null, x_vendor: { kept: true } }),
    );
    expect(["service_tier" in body, "system_fingerprint" in body, body["x_vendor"]]).toEqual([
      false,
      false,
      { kept: true },
    ]);
  });
});

interface Refusal {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}
const openaiError = (
  status: number,
  message: string,
  code: string | null,
  type = "invalid_request_error",
  param: string | null = null,
): Refusal => ({ status, body: { error: { message, type, param, code } } });
const anthropicError = (status: number, type: string, message: string): Refusal => ({
  status,
  body: { type: "error", error: { type, message }, request_id: "req_1" },
});
const geminiError = (code: number, status: string, message: string, details: readonly object[] = []): Refusal => ({
  status: code,
  body: { error: { code, message, status, details } },
});

interface FailureCase {
  /** What the client sees when our key was used, and when it brought its own. */
  readonly own: readonly [status: number, code: string];
  readonly callers: readonly [status: number, code: string];
  readonly refusals: Readonly<Record<Family, Refusal>>;
}

const FAILURES: Readonly<Record<string, FailureCase>> = {
  "a key that is refused": {
    own: [502, "upstream_authentication"],
    callers: [401, "credential_rejected"],
    refusals: {
      openai: openaiError(
        401,
        "Incorrect API key provided: KEY. You can find your key at the account page.",
        "invalid_api_key",
      ),
      anthropic: anthropicError(401, "authentication_error", "invalid x-api-key KEY"),
      gemini: geminiError(400, "INVALID_ARGUMENT", "API key not valid: KEY. Please pass a valid API key.", [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID", domain: "googleapis.com" },
      ]),
    },
  },
  "a key that may not do this": {
    own: [502, "upstream_authentication"],
    callers: [403, "credential_forbidden"],
    refusals: {
      openai: openaiError(
        403,
        "Your country, region, or territory is not supported. KEY",
        "unsupported_country_region_territory",
        "request_forbidden",
      ),
      anthropic: anthropicError(
        403,
        "permission_error",
        "Your API key KEY does not have permission to use the specified resource.",
      ),
      gemini: geminiError(403, "PERMISSION_DENIED", "The caller KEY does not have permission."),
    },
  },
  "an account without money": {
    own: [502, "upstream_quota"],
    callers: [429, "insufficient_quota"],
    refusals: {
      openai: openaiError(
        429,
        "You exceeded your current quota, please check your plan and billing details. KEY",
        "insufficient_quota",
        "insufficient_quota",
      ),
      anthropic: anthropicError(400, "invalid_request_error", "Your credit balance is too low to access the API. KEY"),
      gemini: geminiError(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota. KEY", [
        {
          "@type": "type.googleapis.com/google.rpc.QuotaFailure",
          violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }],
        },
      ]),
    },
  },
  "a rate limit": {
    own: [429, "rate_limit_exceeded"],
    callers: [429, "rate_limit_exceeded"],
    refusals: {
      openai: openaiError(429, "Rate limit reached for requests per min.", "rate_limit_exceeded", "requests"),
      anthropic: anthropicError(
        429,
        "rate_limit_error",
        "Number of request tokens has exceeded your per-minute rate limit.",
      ),
      gemini: geminiError(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    },
  },
  "a conversation that is too long": {
    own: [400, "context_length_exceeded"],
    callers: [400, "context_length_exceeded"],
    refusals: {
      openai: openaiError(
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "context_length_exceeded",
        "invalid_request_error",
        "messages",
      ),
      anthropic: anthropicError(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
      gemini: geminiError(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
      ),
    },
  },
  "content that is refused": {
    own: [400, "content_policy_violation"],
    callers: [400, "content_policy_violation"],
    refusals: {
      openai: openaiError(
        400,
        "The response was filtered due to the prompt triggering the content management policy.",
        "content_filter",
      ),
      anthropic: anthropicError(400, "invalid_request_error", "Output blocked by content filtering policy"),
      gemini: geminiError(400, "INVALID_ARGUMENT", "The prompt was blocked by safety filters."),
    },
  },
  "a model that is not there": {
    own: [404, "model_not_found"],
    callers: [404, "model_not_found"],
    refusals: {
      openai: openaiError(404, "The model `gone` does not exist or you do not have access to it.", "model_not_found"),
      anthropic: anthropicError(404, "not_found_error", "model: gone"),
      gemini: geminiError(404, "NOT_FOUND", "models/gone is not found for API version v1beta."),
    },
  },
  "a request that is refused": {
    own: [400, "upstream_invalid_request"],
    callers: [400, "upstream_invalid_request"],
    refusals: {
      openai: openaiError(
        400,
        "Invalid value for 'temperature'.",
        "invalid_value",
        "invalid_request_error",
        "temperature",
      ),
      anthropic: anthropicError(400, "invalid_request_error", "temperature: Input should be less than or equal to 1"),
      gemini: geminiError(400, "INVALID_ARGUMENT", "Invalid value at 'generation_config.temperature'"),
    },
  },
  "an overload": {
    own: [503, "upstream_overloaded"],
    callers: [503, "upstream_overloaded"],
    refusals: {
      openai: openaiError(503, "The engine is currently overloaded.", null, "server_error"),
      anthropic: anthropicError(529, "overloaded_error", "Overloaded"),
      gemini: geminiError(503, "UNAVAILABLE", "The model is overloaded."),
    },
  },
  "a failure of the server": {
    own: [502, "upstream_error"],
    callers: [502, "upstream_error"],
    refusals: {
      openai: openaiError(500, "The server had an error.", null, "server_error"),
      anthropic: anthropicError(500, "api_error", "Internal server error"),
      gemini: geminiError(500, "INTERNAL", "An internal error has occurred."),
    },
  },
  "a time that ran out there": {
    own: [504, "upstream_timeout"],
    callers: [504, "upstream_timeout"],
    refusals: {
      openai: openaiError(504, "Gateway timeout.", null, "server_error"),
      anthropic: anthropicError(504, "timeout_error", "Request timed out."),
      gemini: geminiError(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
    },
  },
};

const messageOf = (refusal: Refusal): string => (refusal.body as { error: { message: string } }).error.message;
const withKey = (refusal: Refusal, key: string): Refusal => ({
  ...refusal,
  body: JSON.parse(JSON.stringify(refusal.body).replaceAll("KEY", key)) as object,
});
const refuse = ({ status, body, headers }: Refusal): UpstreamClient => json(body, status, headers);
const CASES = Object.entries(FAILURES).flatMap(([name, failure]) =>
  FAMILIES.map((family) => [name, family, failure] as const),
);

describe("a provider's refusal", () => {
  test.each(CASES)(
    "[d7.8, s:errors.5xx, d5.1] by %s of %s has its status and code, for the operator's key and for the caller's",
    async (_, family, { own, callers, refusals }) => {
      for (const [[status, code], key, credential] of [
        [own, OWN_KEY, {}],
        [callers, CALLERS_KEY, { api_key: CALLERS_KEY }],
      ] as const) {
        for (const stream of [false, true]) {
          const refusal = withKey(refusals[family], key);
          const answer = await ask(refuse(refusal), { model: MODELS[family], stream, ...credential });
          expect([answer.status, answer.body["error"].code]).toEqual([status, code]);
          expect(answer.headers.get("content-type")).toBe("application/json");
          expect(Object.keys(answer.body).toSorted()).toEqual(["error", "x_gateway_trace_id"]);
          const { message, type, param } = answer.body["error"];
          expect([typeof message, typeof type, param === null || typeof param === "string"]).toEqual([
            "string",
            "string",
            true,
          ]);
          expect(answer.headers.get("x-request-id")).toBe(answer.body["x_gateway_trace_id"]);
          expect(JSON.stringify(answer.body)).not.toContain(key);
          expect(answer.record).toMatchObject({
            status,
            code,
            attempts: [{ code, status: refusal.status }],
            usage: null,
          });
          const secret = code === "upstream_authentication" || code === "upstream_quota";
          const words = messageOf(refusals[family])
            .split("KEY")[0]!
            .replace(/[.\s]+$/, "");
          if (secret) {
            expect(message).not.toContain(words);
            expect(answer.record["errorDetail"]).toContain(words);
            expect(answer.record["errorDetail"]).not.toContain(key);
          } else expect(message).toContain(words);
        }
      }
    },
  );

  test.each(FAMILIES)(
    "[d7.8] by a rate limit of %s gives the time to wait, the provider's or the gateway's own, also in the message",
    async (family) => {
      const refusal = FAILURES["a rate limit"]!.refusals[family];
      for (const [headers, seconds, ms] of [
        [{}, "1", "1000"],
        [{ "retry-after": "7" }, "7", "7000"],
        [{ "retry-after-ms": "1500" }, "2", "1500"],
      ] as const) {
        const { headers: got, body } = await ask(refuse({ ...refusal, headers }), { model: MODELS[family] });
        expect([got.get("retry-after"), got.get("retry-after-ms"), got.get("x-should-retry")]).toEqual([
          seconds,
          ms,
          null,
        ]);
        expect(body["error"].message).toMatch(new RegExp(`try again in ${seconds} s`));
      }
    },
  );

  test.each(FAMILIES)("[d7.8] by the context length of %s says maximum context length exactly once", async (family) => {
    const { body } = await ask(refuse(FAILURES["a conversation that is too long"]!.refusals[family]), {
      model: MODELS[family],
    });
    expect(body["error"].message.match(/maximum context length/g)).toHaveLength(1);
  });

  test("[d7.8] has x-should-retry: false where another try cannot help, and no such header where it can", async () => {
    const told = await Promise.all(
      Object.entries(FAILURES).map(
        async ([name, { refusals }]) =>
          [name, (await ask(refuse(refusals.openai))).headers.get("x-should-retry")] as const,
      ),
    );
    const retryable = new Set(["a rate limit", "an overload", "a failure of the server", "a time that ran out there"]);
    for (const [name, header] of told) expect([name, header]).toEqual([name, retryable.has(name) ? null : "false"]);
  });

  test("[d7.8] of a request without a key is the operator's error where the address is the operator's, and the caller's where the caller brought the address", async () => {
    const refusal = FAILURES["a key that is refused"]!.refusals.openai;
    const providers = [providerSettings({ id: "local", family: "openai", baseUrl: "http://127.0.0.1:9/v1" })];
    const stub = stubGateway({ upstream: refuse(refusal), providers });
    const operators = await stub.chat({ model: "local:m", messages: MESSAGES });
    expect([operators.status, operators.headers.get("www-authenticate")]).toEqual([502, null]);
    expect(await operators.json()).toMatchObject({ error: { code: "upstream_authentication" } });
    const callers = await stub.chat({ model: "local:m", messages: MESSAGES, base_url: "http://127.0.0.1:9/other" });
    expect(callers.status).toBe(401);
    expect(await callers.json()).toMatchObject({
      error: { code: "credential_rejected", message: expect.stringContaining("Incorrect API key") },
    });
  });

  test("[d7.8] with status 402 stays 402 for a caller's account, and becomes 502 for the operator's", async () => {
    const refusal = openaiError(402, "Insufficient Balance", null, "unknown_error");
    const own = await ask(refuse(refusal));
    const callers = await ask(refuse(refusal), { api_key: CALLERS_KEY });
    expect([own.status, own.body["error"].code, callers.status, callers.body["error"].code]).toEqual([
      502,
      "upstream_quota",
      402,
      "payment_required",
    ]);
  });

  test("[d7.8] shows no internal address", async () => {
    const providers = [
      providerSettings({
        id: "inner",
        family: "openai",
        baseUrl: "http://llm.internal.test:8000/v1",
        credentials: [storedKey("k".repeat(20))],
      }),
    ];
    const response = await stubGateway({
      upstream: json({ error: { message: "no route to http://llm.internal.test:8000/v1 (llm.internal.test)" } }, 500),
      providers,
    }).chat({ model: "inner:m", messages: MESSAGES });
    expect(JSON.stringify(await response.json())).not.toContain("llm.internal");
  });

  test("[d5.1, d7.8] inside a 200 answer is still an error", async () => {
    const inside: Readonly<Record<Family, object>> = {
      openai: { error: { message: "Rate limit reached.", code: 429 } },
      anthropic: { type: "error", error: { type: "rate_limit_error", message: "Rate limit reached." } },
      gemini: { error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "Rate limit reached." } },
    };
    for (const family of FAMILIES) {
      const { status, body, headers } = await ask(json(inside[family]), { model: MODELS[family] });
      expect([family, status, body["error"].code, headers.get("retry-after")]).toEqual([
        family,
        429,
        "rate_limit_exceeded",
        "1",
      ]);
    }
  });
});

describe("a provider that gives no answer", () => {
  const FAULTS: readonly (readonly [UpstreamFaultKind, number, string])[] = [
    ["connection", 502, "upstream_connection"],
    ["timeout", 504, "upstream_timeout"],
    ["malformed", 502, "upstream_invalid_response"],
    ["cut", 502, "upstream_incomplete"],
    ["too_large", 502, "upstream_invalid_response"],
  ];
  test.each(FAULTS)("[s:errors.5xx, d7.8] because of a fault of kind %s is a %d", async (kind, status, code) => {
    for (const stream of [false, true]) {
      const { body, ...answer } = await ask(
        { send: () => Promise.reject(new UpstreamFault(kind, "the address 192.0.2.1 said nothing")) },
        { stream },
      );
      expect([answer.status, body["error"].code, answer.headers.get("content-type")]).toEqual([
        status,
        code,
        "application/json",
      ]);
      if (kind !== "timeout") expect(body["error"].message).not.toContain("192.0.2.1");
      expect(answer.record).toMatchObject({ status, code, errorDetail: expect.stringContaining("said nothing") });
    }
  });

  const BODIES: readonly (readonly [what: string, body: string])[] = [
    ["nothing", ""],
    ["white space", " \n"],
    ["a page of HTML", "<!DOCTYPE html><title>Sign in</title>"],
    ["garbage", "\u0000\u0001{["],
    ["half an answer", '{"id":"x","choices":[{"mess'],
    ["a number", "7"],
    ["a list", "[]"],
    ["null", "null"],
    ["an answer without choices", '{"id":"x"}'],
    ["an answer of no choices", '{"choices":[]}'],
  ];
  for (const family of FAMILIES)
    test.each(BODIES)(
      `[s:errors.5xx] but %s with status 200 from ${family} is a 502, plain and streamed`,
      async (what, text) => {
        for (const stream of [false, true])
          for (const type of ["application/json", "text/html", "text/event-stream"]) {
            const { status, body } = await ask(cannedUpstream({ headers: { "content-type": type }, body: text }), {
              model: MODELS[family],
              stream,
            });
            expect([what, type, stream, status]).toEqual([what, type, stream, 502]);
            expect(body["error"].code).toMatch(/^upstream_(invalid_response|incomplete|error)$/);
            expect(body["error"].message.length).toBeGreaterThan(10);
          }
      },
    );

  for (const family of FAMILIES)
    test.each([
      ["nothing", ""],
      ["a page of HTML", "<html><head><title>502 Bad Gateway</title></head></html>"],
      ["garbage", "%PDF-1.4 \u0001"],
    ])(`[s:errors.5xx] but %s with an error status from ${family} has the class of the status`, async (_, text) => {
      for (const [theirs, ours, code] of [
        [500, 502, "upstream_error"],
        [502, 502, "upstream_error"],
        [503, 503, "upstream_overloaded"],
        [504, 504, "upstream_timeout"],
        [429, 429, "rate_limit_exceeded"],
        [404, 404, "model_not_found"],
        [400, 400, "upstream_invalid_request"],
        [401, 502, "upstream_authentication"],
      ] as const) {
        const { status, body } = await ask(
          cannedUpstream({ status: theirs, headers: { "content-type": "text/html" }, body: text }),
          { model: MODELS[family] },
        );
        expect([theirs, status, body["error"].code]).toEqual([theirs, ours, code]);
        expect(body["error"].message).not.toContain("<html>");
      }
    });

  test("[s:errors.5xx] but a redirect is a 502 that asks for the final address", async () => {
    const { status, body } = await ask(
      cannedUpstream({ status: 307, headers: { location: "https://elsewhere.test/" }, body: "" }),
    );
    expect([status, body["error"].code]).toEqual([502, "upstream_invalid_response"]);
    expect(body["error"].message).not.toContain("elsewhere");
  });

  test("[s:errors.5xx] because the gateway itself fails is a 500 whose details stay in the log", async () => {
    const { status, body, record } = await ask({ send: () => Promise.reject(new TypeError("secret internals")) });
    expect([status, body["error"].code, body["error"].type]).toEqual([500, "internal_error", "server_error"]);
    expect(JSON.stringify(body)).not.toContain("secret internals");
    expect(record["errorDetail"]).toContain("secret internals");
  });

  test("[s:errors.5xx] within the time of the whole call is a 504, and the upstream request ends", async () => {
    const { status, body } = await ask(
      { send: () => Promise.reject(new Error("not asked")) },
      { model: "sandbox:stall", timeout: 0.05 },
    );
    expect([status, body["error"].code]).toEqual([504, "upstream_timeout"]);
    const cut = stubGateway({
      upstream: cannedUpstream({
        headers: { "content-type": "text/event-stream" },
        body: eventStream(chunk({ content: "x" })),
        cutAt: 10,
      }),
    });
    expect((await cut.chat({ model: MODELS.openai, messages: MESSAGES, stream: true })).status).toBe(502);
  });
});
