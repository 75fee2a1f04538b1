// Google's errors in their classes, whatever form the body has.
import { describe, expect, test } from "bun:test";
import type { Json } from "../../../src/core/json.ts";
import { gemini } from "../../../src/providers/gemini/provider.ts";

const RPC = "type.googleapis.com/google.rpc.";
const classify = (status: number, error: Json) => gemini.classifyError({ status, body: JSON.stringify({ error }) });

describe("classes", () => {
  test.each([
    [400, "INVALID_ARGUMENT", "Request contains an invalid argument.", "invalid_request"],
    [
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200) exceeds the maximum number of tokens allowed (1000).",
      "context_length",
    ],
    [
      400,
      "INVALID_ARGUMENT",
      "Unable to submit request because the input token count is 40 but model only supports up to 30.",
      "context_length",
    ],
    [
      400,
      "INVALID_ARGUMENT",
      "This prompt contains words that violate Google's Responsible AI practices.",
      "content_policy",
    ],
    [400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", "authentication"],
    [400, "FAILED_PRECONDITION", "User location is not supported for the API use.", "invalid_request"],
    [
      400,
      "FAILED_PRECONDITION",
      "Publisher Model `projects/p/locations/us-central1/publishers/google/models/m` is not servable in region us-central1.",
      "not_found",
    ],
    [400, "FAILED_PRECONDITION", "Project `1` is not allowed to use Publisher Model `m`.", "permission"],
    [401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", "authentication"],
    [402, "FAILED_PRECONDITION", "Billing is not enabled for this account.", "quota"],
    [402, "PERMISSION_DENIED", "Payment required.", "quota"],
    [403, "PERMISSION_DENIED", "The API is disabled.", "permission"],
    [403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers.", "authentication"],
    [403, "PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key.", "authentication"],
    [404, "NOT_FOUND", "models/x is not found for API version v1beta.", "not_found"],
    [429, "RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later.", "rate_limit"],
    [429, "RESOURCE_EXHAUSTED", "Quota exceeded for requests per day, limit: 20", "quota"],
    [429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.", "quota"],
    [499, "CANCELLED", "The operation was cancelled.", "server"],
    [500, "INTERNAL", "An internal error has occurred.", "server"],
    [503, "UNAVAILABLE", "The model is overloaded. Please try again later.", "overloaded"],
    [504, "DEADLINE_EXCEEDED", "The request timed out.", "timeout"],
  ] as const)("%d %s: %s", (code, status, message, expected) => {
    expect(classify(code, { code, status, message })).toEqual({
      class: expected,
      message,
      param: null,
      nativeCode: status,
    });
  });
  test("a bad key is a 400 with a reason", () => {
    const details = [{ "@type": `${RPC}ErrorInfo`, reason: "API_KEY_INVALID", domain: "googleapis.com" }];
    expect(classify(400, { code: 400, status: "INVALID_ARGUMENT", message: "API key not valid.", details })).toEqual({
      class: "authentication",
      message: "API key not valid.",
      param: null,
      nativeCode: "API_KEY_INVALID",
    });
  });
  test("[d7.8] a project without billing is out of quota", () => {
    const details = [{ "@type": `${RPC}ErrorInfo`, reason: "BILLING_DISABLED", domain: "googleapis.com" }];
    const message = "This API method requires billing to be enabled.";
    expect(classify(403, { code: 403, status: "PERMISSION_DENIED", message, details }).class).toBe("quota");
  });
  test("a daily quota is distinguished from one per minute", () => {
    const quota = (quotaId: string): Json => ({
      code: 429,
      status: "RESOURCE_EXHAUSTED",
      message: "You exceeded your current quota, please check your plan and billing details.",
      details: [
        { "@type": `${RPC}QuotaFailure`, violations: [{ quotaId }] },
        { "@type": `${RPC}RetryInfo`, retryDelay: "34s" },
      ],
    });
    expect(classify(429, quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")).class).toBe("rate_limit");
    expect(classify(429, quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier")).class).toBe("quota");
  });
  test("the field that a violation names is the parameter", () => {
    const details = [
      {
        "@type": `${RPC}BadRequest`,
        fieldViolations: [{ field: "generation_config.top_k", description: "Must be positive." }],
      },
    ];
    expect(classify(400, { code: 400, status: "INVALID_ARGUMENT", message: "Invalid value", details }).param).toBe(
      "generation_config.top_k",
    );
  });
  test("without a status name the HTTP status decides", () => {
    const expected = {
      401: "authentication",
      403: "permission",
      404: "not_found",
      408: "timeout",
      413: "invalid_request",
      418: "invalid_request",
      429: "rate_limit",
      500: "server",
      502: "server",
      503: "overloaded",
      504: "timeout",
    };
    for (const [status, name] of Object.entries(expected))
      expect(gemini.classifyError({ status: Number(status), body: "" }).class as string).toBe(name);
  });
});

describe("every form of body gives a message with something to act on", () => {
  test.each([
    [`[{"error":{"code":400,"message":"In a list.","status":"INVALID_ARGUMENT"}}]`, "In a list."],
    [`{"error":"As a string."}`, "As a string."],
    [`{"message":"Without a frame."}`, "Without a frame."],
    [`{"detail":"FastAPI's way."}`, "FastAPI's way."],
    [`"Bare text."`, "Bare text."],
    [`{"error":{"code":400,"details":[{"@type":"${RPC}LocalizedMessage","message":"Localised."}]}}`, "Localised."],
    [
      `<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>`,
      'The provider, or a proxy in front of it, answered with status 400 and a web page titled "502 Bad Gateway".',
    ],
    [
      `<b>upstream</b>\n connect error`,
      "The provider, or a proxy in front of it, answered with status 400: upstream connect error",
    ],
    ["", "The provider, or a proxy in front of it, answered with status 400 and an empty body."],
    ["{}", "The provider, or a proxy in front of it, answered with status 400 and no message: {}"],
  ])("%s", (body, message) => {
    expect(gemini.classifyError({ status: 400, body }).message).toBe(message);
  });
});
