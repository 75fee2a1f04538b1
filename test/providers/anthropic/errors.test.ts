// Errors of the Messages API and of what stands before it.
import { describe, expect, test } from "bun:test";
import { anthropic } from "../../../src/providers/anthropic/provider.ts";

const error = (type: string, message: string): string =>
  JSON.stringify({ type: "error", error: { type, message }, request_id: "req_1" });
const classOf = (status: number, body: string): string => anthropic.classifyError({ status, body }).class;

describe("classes", () => {
  test.each([
    [400, "invalid_request_error", "max_tokens: Field required", "invalid_request"],
    [401, "authentication_error", "invalid x-api-key", "authentication"],
    [402, "billing_error", "Pay first", "quota"],
    [403, "permission_error", "Not yours", "permission"],
    [404, "not_found_error", "model: claude-0", "not_found"],
    [413, "request_too_large", "Request exceeds the maximum size", "invalid_request"],
    [429, "rate_limit_error", "This request would exceed your rate limit", "rate_limit"],
    [500, "api_error", "Internal server error", "server"],
    [500, "api_error", "Overloaded", "overloaded"],
    [504, "timeout_error", "Timed out", "timeout"],
    [529, "overloaded_error", "Overloaded", "overloaded"],
    // the type decides over the status, which a proxy may have changed
    [500, "rate_limit_error", "Slow down", "rate_limit"],
    // a type says less than its text
    [400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context_length"],
    [
      400,
      "invalid_request_error",
      "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000",
      "context_length",
    ],
    [400, "invalid_request_error", "Your credit balance is too low to access the API.", "quota"],
    [400, "invalid_request_error", "Output blocked by content filtering policy", "content_policy"],
    [400, "invalid_request_error", "This organization has been disabled.", "permission"],
    // only where the type leaves it open
    [429, "rate_limit_error", "prompt is too long for your tier", "rate_limit"],
  ])("%d %s %j is %s", (status, type, message, expected) => {
    expect(anthropic.classifyError({ status, body: error(type, message) })).toMatchObject({
      class: expected,
      message,
      nativeCode: type,
    });
  });

  test.each([
    [429, "rate_limit_error", "contract_spend_limit_reached", "quota"],
    [429, "rate_limit_error", "enforced_spend_limit_reached", "quota"],
    [429, "rate_limit_error", "ramp_limit_exceeded", "rate_limit"],
    [400, "invalid_request_error", "organization_on_hold", "permission"],
    [400, "invalid_request_error", "cmek_key_disabled", "permission"],
    [400, "invalid_request_error", "image_dimensions_too_large", "invalid_request"],
  ])("%d %s with the code %s is %s", (status, type, code, expected) => {
    const body = JSON.stringify({ type: "error", error: { type, message: "No.", details: { error_code: code } } });
    expect(anthropic.classifyError({ status, body })).toMatchObject({ class: expected, nativeCode: type });
  });

  test("without an error type of the vendor's the status decides", () => {
    const statuses = {
      invalid_request: [400, 409, 413, 422],
      authentication: [401],
      quota: [402],
      permission: [403],
      not_found: [404],
      timeout: [408, 504],
      rate_limit: [429],
      overloaded: [503, 529],
      server: [500, 502, 520, 200, 302],
    };
    for (const [expected, group] of Object.entries(statuses))
      for (const status of group) expect(classOf(status, "")).toBe(expected);
    expect(classOf(400, '{"error":{"message":"prompt is too long: 5 tokens > 4 maximum"}}')).toBe("context_length");
    expect(classOf(529, error("error_of_tomorrow", "Soon"))).toBe("overloaded");
  });
});

describe("the field", () => {
  test.each([
    ["tools.0.custom.input_schema.type: Field required", "tools.0.custom.input_schema.type"],
    ["messages.3.content.0: bad", "messages.3.content.0"],
    ["model: claude-0", "model"],
    ["prompt is too long: 5 tokens > 4 maximum", null],
    ["Error: something", null],
  ])("%j names %p", (message, param) => {
    expect(anthropic.classifyError({ status: 400, body: error("invalid_request_error", message) }).param).toBe(param);
  });
});

describe("bodies that are not the vendor's error", () => {
  const messageOf = (status: number, body: string): string => anthropic.classifyError({ status, body }).message;
  test.each([
    [529, "", "The provider, or a proxy in front of it, answered with status 529 and an empty body."],
    [502, " \n", "The provider, or a proxy in front of it, answered with status 502 and an empty body."],
    [
      413,
      "<html>\n<head><title>413 Request Entity Too Large</title></head></html>",
      'The provider, or a proxy in front of it, answered with status 413 and a web page titled "413 Request Entity Too Large".',
    ],
    [
      502,
      "<!DOCTYPE html><p>oops",
      "The provider, or a proxy in front of it, answered with status 502 and a web page instead of an answer.",
    ],
    [
      503,
      "upstream connect error\nor disconnect",
      "The provider, or a proxy in front of it, answered with status 503: upstream connect error or disconnect",
    ],
    [500, '{"message":"boom"}', "boom"],
    [500, '{"detail":"no such thing"}', "no such thing"],
    [500, '{"error":"boom"}', "boom"],
    [500, '[{"error":{"message":"listed"}}]', "listed"],
    [
      500,
      '{"error":{"code":17}}',
      'The provider, or a proxy in front of it, answered with status 500 and no message: {"error":{"code":17}}',
    ],
    [500, '"bare"', "bare"],
    [
      422,
      '{"detail":[{"loc":["body"],"msg":"bad"}]}',
      'The provider, or a proxy in front of it, answered with status 422 and no message: {"detail":[{"loc":["body"],"msg":"bad"}]}',
    ],
  ])("%d %j gives a message with something to act on", (status, body, message) => {
    expect(messageOf(status, body)).toBe(message);
  });
  test("any bytes give a class and a message of bounded length", () => {
    for (const body of [
      "\u0000\u0001�",
      "{".repeat(2_000),
      "null",
      "[]",
      "true",
      '{"error":null}',
      '{"type":"error"}',
      `<h1>${"x".repeat(100_000)}`,
      "x".repeat(100_000),
      '{"error":{"message":""}}',
      '{"error":{"message":17,"type":null}}',
    ]) {
      const failure = anthropic.classifyError({ status: 500, body });
      expect(failure.class).toBe("server");
      expect(failure.message.length).toBeGreaterThan(0);
      expect(failure.message.length).toBeLessThan(500);
    }
  });
});
