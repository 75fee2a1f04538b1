// Threads of the Messages API: what the vendor's own library does at targets that have none (promise 12.15).
import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "bun:test";
import { handleCall } from "../../../src/engine/handle.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";

type Body = Record<string, any>;

const JSON_HEAD = { "content-type": "application/json" };
const CALL = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Wien"}' } };
const SCHEMA = { type: "object" as const, properties: { city: { type: "string" } } };
const ASKED = { max_tokens: 99, messages: [{ role: "user" as const, content: "How warm is it?" }] };

function gateway() {
  return stubGateway({
    upstream: cannedUpstream(({ body }) => {
      const isDone = (JSON.parse(body) as Body)["messages"].some(({ role }: Body) => role === "tool");
      const calls = { message: { tool_calls: [CALL] }, finish_reason: "tool_calls" };
      return { headers: JSON_HEAD, body: JSON.stringify(isDone ? openaiAnswer("Warm.") : openaiAnswer(null, calls)) };
    }),
  });
}

test("[d12.15] the tool runner of the vendor's library goes on without a thread at a translated model", async () => {
  const stub = gateway();
  const statuses: number[] = [];
  const sent: Body[] = [];
  const client = new Anthropic({
    baseURL: "http://gateway.test/api",
    apiKey: null,
    authToken: stub.authorization.replace("Bearer ", ""),
    maxRetries: 0,
    fetch: async (url, init) => {
      sent.push(JSON.parse(init!.body as string) as Body);
      const response = await handleCall(MESSAGES, new Request(url as string, init), stub.context);
      statuses.push(response.status);
      return response;
    },
  });
  const ran: unknown[] = [];
  const weather = {
    name: "weather",
    input_schema: SCHEMA,
    run: (input: unknown) => {
      ran.push(input);
      return "12 degrees";
    },
    parse: (input: unknown) => input,
  };
  const runner = client.beta.messages.toolRunner({ ...ASKED, model: "groq:m", tools: [weather] });
  const last = await runner.runUntilDone();
  expect(last.content).toMatchObject([{ type: "text", text: "Warm." }]);
  expect(ran).toEqual([{ city: "Wien" }]);
  // the refusal names no part of the call but the thread, which is sent once
  expect(sent[0]!["thread"]).toEqual({ type: "create" });
  expect(statuses).toEqual([400, 200, 200]);
});

test.each([
  ["a translated model", "groq:m"],
  ["a model of another vendor that speaks the form", "deepseek:deepseek-chat"],
])("[d12.15] a thread at %s is refused in the vendor's words, and never dropped", async (_, model) => {
  for (const more of [{}, { x_gateway: { drop_params: true } }]) {
    const stub = gateway();
    const response = await stub.call(MESSAGES, { ...ASKED, model, thread: { type: "create" }, ...more });
    expect(response.status).toBe(400);
    expect(((await response.json()) as Body)["error"]).toMatchObject({
      type: "invalid_request_error",
      details: { error_code: "thread_unsupported_request" },
    });
    expect(stub.sent).toHaveLength(0);
  }
});

test("[d12.15] the vendor's own refusal of a thread passes, so that its library begins another", async () => {
  const details = { error_code: "thread_not_found" };
  const error = { type: "error", error: { type: "not_found_error", message: "No such thread.", details } };
  const stub = stubGateway({
    upstream: cannedUpstream({ status: 404, headers: JSON_HEAD, body: JSON.stringify(error) }),
  });
  const response = await stub.call(MESSAGES, { ...ASKED, model: "anthropic:claude-x", thread: { type: "create" } });
  expect(response.status).toBe(404);
  expect(((await response.json()) as Body)["error"].details).toEqual(details);
});
