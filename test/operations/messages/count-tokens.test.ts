// Counts of tokens before a call (promise 12.11).
import { expect, test } from "bun:test";
import { COUNT_TOKENS } from "../../../src/operations/messages/count-tokens.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";

const BODY = { messages: [{ role: "user", content: "Hello" }], tools: [{ name: "look", input_schema: {} }] };

test("[d12.11] a count is that of the provider, which is asked with what the client wrote, and costs nothing", async () => {
  const gateway = stubGateway({ upstream: cannedUpstream({ body: '{"input_tokens":1234}' }) });
  const response = await gateway.call(COUNT_TOKENS, { ...BODY, model: "anthropic:claude-sonnet-4-5" });
  expect([response.status, await response.json()]).toEqual([200, { input_tokens: 1234 }]);
  const [sent] = gateway.sent;
  expect(sent!.url).toBe("https://api.anthropic.com/v1/messages/count_tokens");
  expect(JSON.parse(sent!.body)).toEqual({ ...BODY, model: "claude-sonnet-4-5" });
  const [record] = gateway.records;
  expect(record).toMatchObject({ operation: "messages.count_tokens", status: 200 });
  expect(record!.cost?.nanoUsd ?? 0).toBe(0);
});

test("[d12.11] what is no whole number of tokens is no count", async () => {
  for (const count of ["-1", "1.5", '"9"']) {
    const gateway = stubGateway({ upstream: cannedUpstream({ body: `{"input_tokens":${count}}` }) });
    const response = await gateway.call(COUNT_TOKENS, { ...BODY, model: "anthropic:claude-sonnet-4-5" });
    expect(response.status).toBe(502);
  }
});

test("[d12.11] where the provider has no count there is none: 501, which clients do not repeat, and nothing is sent", async () => {
  const gateway = stubGateway();
  const response = await gateway.call(COUNT_TOKENS, { ...BODY, model: "groq:m" });
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([501, "false"]);
  expect(await response.json()).toMatchObject({ type: "error", error: { type: "not_supported" } });
  expect(gateway.sent).toEqual([]);
});

test("[d12.6 d12.11] a request that the form does not allow is refused with its path", async () => {
  const gateway = stubGateway();
  const response = await gateway.call(COUNT_TOKENS, { model: "groq:m" });
  expect([response.status, response.headers.get("x-gateway-error-param")]).toEqual([400, "messages"]);
});
