// Models that speak the Responses API alone, reached from chat completions, streamed or not: reasoning is kept over
// rounds of tools, whether the client or the gateway runs them (promise 12.13).
import { describe, expect, test } from "bun:test";
import { handleCall } from "../../../src/engine/handle.ts";
import { isObject, type Json, type JsonObject } from "../../../src/core/json.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import type { UpstreamRequest } from "../../../src/wire/upstream.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import {
  type CannedAnswer,
  cannedUpstream,
  type Stub,
  stubGateway,
  type StubOptions,
} from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { call, eventsOf, message, reasoning, responseOf } from "../../providers/responses/events.ts";

/** What the model says in each round: the number of results that stand in the request. */
const ROUNDS: readonly (readonly JsonObject[])[] = [
  [
    reasoning("rs_1", ["I have to ask."], "Zmlyc3Q="),
    call("a", "sky__weather", '{"city":"Wien"}', { status: "completed" }),
    call("b", "sky__weather", '{"city":"Graz"}', { status: "completed" }),
  ],
  [reasoning("rs_2", ["And the time."], "c2Vjb25k"), call("c", "sky__clock", "{}")],
  [reasoning("rs_3", [], "dGhpcmQ="), message("msg_1", "It is warm, at noon.")],
];

function inputOf({ body }: Pick<UpstreamRequest, "body">): readonly JsonObject[] {
  return (JSON.parse(body) as { readonly input: readonly JsonObject[] }).input;
}

function answerTo(request: UpstreamRequest): CannedAnswer {
  const results = inputOf(request).filter(({ type }) => type === "function_call_output").length;
  const response = responseOf(ROUNDS[results === 0 ? 0 : results < 3 ? 1 : 2]!);
  const isStreamed = (JSON.parse(request.body) as JsonObject)["stream"] === true;
  return isStreamed
    ? {
        headers: { "content-type": "text/event-stream" },
        body: eventsOf(response)
          .map(({ event, data }) => `event: ${event}\ndata: ${data}\n\n`)
          .join(""),
      }
    : { body: JSON.stringify(response) };
}

function gateway(options: StubOptions = {}): Stub {
  return stubGateway({
    upstream: cannedUpstream(answerTo),
    providers: [providerSettings({ id: "openai", family: "openai", credentials: [storedKey("key")] })],
    ...options,
  });
}

const ASK = { role: "user", content: "How is it in Wien and Graz?" };
const tool = (name: string): JsonObject => ({ type: "function", function: { name, parameters: { type: "object" } } });

/** One round of a client: the message of the answer, as it sends it back. */
async function said(stub: Stub, messages: readonly Json[], stream: boolean): Promise<JsonObject> {
  const body = { model: "openai:gpt-5-codex", messages, tools: [tool("sky__weather"), tool("sky__clock")] };
  const response = await stub.chat(stream ? { ...body, stream, stream_options: { include_usage: true } } : body);
  expect(response.status).toBe(200);
  const text = await response.text();
  return stream ? assembled(text) : (JSON.parse(text).choices[0].message as JsonObject);
}

function assembled(text: string): JsonObject {
  const joined: Record<string, any> = { role: "assistant", content: "", reasoning_details: [], tool_calls: [] };
  const { events, done } = readStream(text);
  expect(done).toBe(true);
  for (const { choices } of events as readonly any[])
    for (const { delta } of choices) {
      joined["content"] += delta.content ?? "";
      joined["reasoning_details"].push(...(delta.reasoning_details ?? []));
      if (isObject(delta.extra_content)) joined["extra_content"] = delta.extra_content;
      for (const { index, ...piece } of delta.tool_calls ?? []) {
        const there = (joined["tool_calls"][index] ??= { ...piece, function: { ...piece.function, arguments: "" } });
        there.function.arguments += piece.function.arguments;
      }
    }
  if (joined["content"] === "") joined["content"] = null;
  if (joined["tool_calls"].length === 0) delete joined["tool_calls"];
  return joined;
}

const ITEMS = (items: readonly JsonObject[]): readonly JsonObject[] =>
  items.map(({ type, id, summary, encrypted_content: data, call_id: callId, name, arguments: text }) =>
    type === "reasoning"
      ? { type, id: id!, summary: summary!, encrypted_content: data! }
      : { type: type!, call_id: callId!, name: name!, arguments: text! },
  );

describe("[d12.13] reasoning over rounds of tools", () => {
  for (const stream of [false, true])
    test(`that the client runs, ${stream ? "streamed" : "plain"}`, async () => {
      const stub = gateway();
      const messages: Json[] = [ASK];
      for (const results of [2, 1, 0]) {
        const turn = await said(stub, messages, stream);
        messages.push(turn);
        const calls = (turn["tool_calls"] ?? []) as readonly JsonObject[];
        expect(calls).toHaveLength(results);
        for (const { id } of calls) messages.push({ role: "tool", tool_call_id: id!, content: "warm" });
      }
      expect(messages.at(-1)).toMatchObject({ content: "It is warm, at noon." });
      expect(stub.sent.map(({ url }) => new URL(url).pathname)).toEqual([
        "/v1/responses",
        "/v1/responses",
        "/v1/responses",
      ]);
      // each turn goes back as it came: reasoning first, then the calls that it led to, then their results
      const result = (id: string): JsonObject => ({ type: "function_call_output", call_id: id, output: "warm" });
      expect(inputOf(stub.sent[2]!)).toEqual([
        { type: "message", ...ASK },
        ...ITEMS(ROUNDS[0]!),
        result("call_a"),
        result("call_b"),
        ...ITEMS(ROUNDS[1]!),
        result("call_c"),
      ]);
      for (const { body } of stub.sent)
        expect(JSON.parse(body)).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
    });
  for (const stream of [false, true])
    test(`that the gateway runs, ${stream ? "streamed" : "plain"}`, async () => {
      const tools = fakeToolServers({
        sky: { weather: { run: () => says("warm") }, clock: { run: () => says("noon") } },
      });
      const stub = gateway({ tools });
      const response = await stub.chat({
        model: "openai:gpt-5-codex",
        messages: [ASK],
        tools: [{ type: "mcp", server_label: "sky" }],
        ...(stream && { stream }),
      });
      const text = await response.text();
      const content = stream ? assembled(text)["content"] : JSON.parse(text).choices[0].message.content;
      expect([response.status, content]).toEqual([200, "It is warm, at noon."]);
      const last = inputOf(stub.sent[2]!);
      expect(last.map(({ type }) => type)).toEqual([
        "message",
        "reasoning",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "reasoning",
        "function_call",
        "function_call_output",
      ]);
      expect(last.filter(({ type }) => type === "reasoning")).toEqual([
        ...ITEMS([ROUNDS[0]![0]!]),
        ...ITEMS([ROUNDS[1]![0]!]),
      ]);
    });
});

describe("the record and the answer", () => {
  test("usage, finish reason and the model that the vendor names are those of the answer", async () => {
    const stub = gateway();
    const answer = (await (await stub.chat({ model: "openai:gpt-5-codex", messages: [ASK] })).json()) as any;
    expect(answer).toMatchObject({
      object: "chat.completion",
      model: "openai:gpt-5-codex",
      choices: [{ finish_reason: "tool_calls", message: { reasoning_content: "I have to ask." } }],
      usage: {
        prompt_tokens: 30,
        completion_tokens: 12,
        total_tokens: 42,
        prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 7 },
      },
    });
    expect(stub.records[0]).toMatchObject({ status: 200, usageSource: "provider", providerModel: "m-1" });
  });
  test("a stream that is cut before its terminal event is an error, not an answer", async () => {
    const whole = eventsOf(responseOf(ROUNDS[2]!)).slice(0, -1);
    const body = whole.map(({ event, data }) => `event: ${event}\ndata: ${data}\n\n`).join("");
    const upstream = cannedUpstream({ headers: { "content-type": "text/event-stream" }, body });
    const response = await gateway({ upstream }).chat({ model: "openai:gpt-5-codex", messages: [ASK], stream: true });
    const text = await response.text();
    expect(text).toContain("upstream_incomplete");
    expect(text).not.toContain('"finish_reason":"stop"');
  });
  test("what the vendor refuses has its own message and a class", async () => {
    const refused = {
      error: { message: "Too long.", type: "invalid_request_error", code: "context_length_exceeded", param: "input" },
    };
    const upstream = cannedUpstream({ status: 400, body: JSON.stringify(refused) });
    const response = await gateway({ upstream }).chat({ model: "openai:gpt-5-codex", messages: [ASK] });
    expect([response.status, ((await response.json()) as any).error.code]).toEqual([400, "context_length_exceeded"]);
  });
});

describe("[d8.3, d12.13] a stream whose pieces are not what its whole begins with", () => {
  const events = eventsOf(responseOf([message("msg_1", "It is warm, at noon.")]));
  const pieces = events.flatMap(({ data }, at) => (data.includes('output_text.delta"') ? [at] : []));
  const deltaAt = (at: number): string => (JSON.parse(events[at]!.data) as { readonly delta: string }).delta;
  const swapped = events.map((event, at) => {
    const other = pieces[1 - pieces.indexOf(at)];
    if (!pieces.slice(0, 2).includes(at)) return event;
    return { ...event, data: event.data.replace(JSON.stringify(deltaAt(at)), JSON.stringify(deltaAt(other!))) };
  });
  const stub = gateway({
    upstream: cannedUpstream({
      headers: { "content-type": "text/event-stream" },
      body: swapped.map(({ event, data }) => `event: ${event}\ndata: ${data}\n\n`).join(""),
      chunk: "event",
    }),
  });
  const body = { model: "openai:gpt-5-codex", messages: [ASK], max_tokens: 100, stream: true };

  test("chat completions tell the failure and no finish reason", async () => {
    const { events: chunks } = readStream(await (await stub.chat(body)).text());
    expect((chunks as readonly any[]).at(-1)).toMatchObject({ error: { code: "upstream_invalid_response" } });
    const reasons = (chunks as readonly any[]).flatMap(({ choices = [] }) =>
      choices.map((one: any) => one.finish_reason),
    );
    expect(reasons.filter((reason: unknown) => reason !== null)).toEqual([]);
  });
  test("messages tell the failure and do not stop", async () => {
    const headers = { authorization: stub.authorization, "content-type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    const url = "http://gateway.test/api/v1/messages";
    const text = await (await handleCall(MESSAGES, new Request(url, request), stub.context)).text();
    expect(text).toContain("event: error");
    expect(text).toContain("other text than its pieces had");
    expect(text).not.toMatch(/message_stop|stop_reason":"/);
  });
});
