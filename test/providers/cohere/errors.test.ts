// Cohere's errors in their classes: https://docs.cohere.com/reference/errors
import { describe, expect, test } from "bun:test";
import { cohere } from "../../../src/providers/cohere/provider.ts";

const classify = (status: number, message: string) =>
  cohere.classifyError({ status, body: JSON.stringify({ id: "e1", message }) });

describe("classes", () => {
  test.each([
    [400, "invalid request: all elements in history must have a message.", "invalid_request"],
    [
      400,
      "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.",
      "context_length",
    ],
    [400, "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs.", "context_length"],
    [
      400,
      "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192.",
      "invalid_request",
    ],
    [401, "invalid api token", "authentication"],
    [400, "no api key supplied", "authentication"],
    [402, "Please add or update your payment method", "quota"],
    [403, "not allowed", "permission"],
    [
      404,
      "model 'x' not found, make sure the correct model ID was used and that you have access to the model.",
      "not_found",
    ],
    [422, "invalid request", "invalid_request"],
    [429, "You are using a Trial key, which is limited to 40 API calls / minute.", "rate_limit"],
    [429, "trial token rate limit exceeded, limit is 100000 tokens per minute", "rate_limit"],
    [429, "You are using a Trial key, which is limited to 1000 API calls / month.", "quota"],
    [498, "a word is not allowed", "content_policy"],
    [498, "invalid api token", "authentication"],
    [499, "request cancelled", "server"],
    [500, "internal server error", "server"],
    [501, "not implemented", "invalid_request"],
    [503, "try again", "overloaded"],
    [504, "timed out", "timeout"],
  ] as const)("%d %s is %s", (status, message, failureClass) => {
    expect(classify(status, message)).toMatchObject({ class: failureClass, message });
  });
  test("the field at fault is reported, and the vendor's own type", () => {
    expect(classify(400, "invalid request: temperature must be between 0 and 1.0 inclusive.").param).toBe(
      "temperature",
    );
    expect(classify(400, "invalid request: response_format is not supported with RAG.").param).toBe("response_format");
    expect(cohere.classifyError({ status: 400, body: '{"message":"m","error_type":"invalid_thing"}' })).toMatchObject({
      param: null,
      nativeCode: "invalid_thing",
    });
  });
});
