// `parallel_tool_calls: false` where the vendor has no switch for it: the first call of an answer is passed on, and no
// further one, plain and streamed, in every form.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { type CannedAnswer, cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/servers/upstream.ts";
import { HELLO, TOOL, WEATHER } from "../chat-calls.ts";

const JSON_TYPE = { "content-type": "application/json" };
const STREAM_TYPE = { "content-type": "text/event-stream" };

const gatewayOf = (answer: CannedAnswer): Stub => stubGateway({ upstream: cannedUpstream(answer) });

const call = (id: string, city: string): JsonObject => ({
  id,
  type: "function",
  function: { name: "weather", arguments: JSON.stringify({ city }) },
});
const TWO_CALLS: CannedAnswer = {
  headers: JSON_TYPE,
  body: JSON.stringify(
    openaiAnswer("Looking.", {
      message: { tool_calls: [call("a", "Bern"), call("b", "Rome")] },
      finish_reason: "tool_calls",
    }),
  ),
};
const piece = (index: number, text: string): JsonObject => ({ tool_calls: [{ index, function: { arguments: text } }] });
const opening = (index: number, id: string): JsonObject => ({
  tool_calls: [{ index, id, type: "function", function: { name: "weather", arguments: "" } }],
});
/** Two calls whose pieces come in turns. */
const TWO_STREAMED: CannedAnswer = {
  headers: STREAM_TYPE,
  body: eventStream(
    openaiChunk({ role: "assistant", content: "Looking." }),
    openaiChunk(opening(0, "a")),
    openaiChunk(opening(1, "b")),
    openaiChunk(piece(0, '{"city":')),
    openaiChunk(piece(1, '{"city":"Rome"}')),
    openaiChunk(piece(0, '"Bern"')),
    openaiChunk(piece(0, "}")),
    openaiChunk({}, "tool_calls"),
  ),
};
const GEMINI_PARTS = ["Bern", "Rome"].map((city) => ({ functionCall: { name: "weather", args: { city } } }));
const gemini = (parts: readonly JsonObject[]): string =>
  JSON.stringify({
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 9, totalTokenCount: 14 },
  });
const GEMINI: CannedAnswer = { headers: JSON_TYPE, body: gemini(GEMINI_PARTS) };
const GEMINI_STREAMED: CannedAnswer = { headers: STREAM_TYPE, body: `data: ${gemini(GEMINI_PARTS)}\n\n` };

const ASK = { messages: HELLO, tools: [TOOL], parallel_tool_calls: false };
const AT_TOGETHER = { ...ASK, model: "together:m" };
const AT_GEMINI = { ...ASK, model: "gemini:gemini-3-pro" };

async function plain(gateway: Stub, body: JsonObject) {
  const response = await gateway.chat(body);
  const { choices, usage } = (await response.json()) as Record<string, any>;
  return { warnings: response.headers.get("x-gateway-warnings"), usage, ...choices[0] };
}

describe("parallel_tool_calls false without a switch of the vendor", () => {
  test("[d6.2] a plain answer has its first call alone, which is told, and its usage is the provider's", async () => {
    for (const [body, answer, total] of [
      [AT_TOGETHER, TWO_CALLS, 7],
      [AT_GEMINI, GEMINI, 14],
    ] as const) {
      const gateway = gatewayOf(answer);
      const { message, finish_reason: finish, warnings, usage } = await plain(gateway, body);
      const calls = message.tool_calls.map((one: any) => JSON.parse(one.function.arguments).city);
      expect([calls, finish, warnings]).toEqual([["Bern"], "tool_calls", "parallel_tool_calls_emulated"]);
      expect(usage.total_tokens).toBe(total);
      expect(gateway.sent[0]!.body).not.toContain("parallel");
      expect(gateway.records[0]!.dispositions["parallel_tool_calls"]).toBe("emulated");
    }
  });

  test("[d6.2] a stream has the pieces of its first call alone, in one strict call that is complete", async () => {
    for (const [body, answer] of [
      [AT_TOGETHER, TWO_STREAMED],
      [AT_GEMINI, GEMINI_STREAMED],
    ] as const) {
      const response = await gatewayOf(answer).chat({ ...body, stream: true });
      expect(response.headers.get("x-gateway-warnings")).toBe("parallel_tool_calls_emulated");
      const text = await response.text();
      expect(text).not.toContain("Rome");
      const { events, done, error } = readStream(text);
      const choices = events.flatMap(({ choices: all }) => all as Record<string, any>[]);
      const deltas = choices.flatMap(({ delta }) => (delta.tool_calls ?? []) as Record<string, any>[]);
      expect([done, error, [...new Set(deltas.map(({ index }) => index as number))]]).toEqual([true, null, [0]]);
      expect(JSON.parse(deltas.map((delta) => delta["function"].arguments).join(""))).toEqual({ city: "Bern" });
      expect(choices.map((choice) => choice["finish_reason"]).filter((one) => one !== null)).toEqual(["tool_calls"]);
    }
  });

  test("[d6.2] it changes nothing where one tool is forced or none may be called, and true asks for nothing", async () => {
    const forced = { tool_choice: { type: "function", function: { name: "weather" } } };
    for (const fields of [forced, { tool_choice: "none" }]) {
      const { message, warnings } = await plain(gatewayOf(GEMINI), { ...AT_GEMINI, ...fields });
      expect([message.tool_calls.length, warnings]).toEqual([1, null]);
    }
    const both = await plain(gatewayOf(GEMINI), { ...AT_GEMINI, parallel_tool_calls: true });
    expect([both.message.tool_calls.length, both.warnings]).toEqual([2, null]);
  });

  test("[d6.2 d12.4] messages and responses have one call as well", async () => {
    const messages = await gatewayOf(GEMINI).call(MESSAGES, {
      model: "gemini:gemini-3-pro",
      max_tokens: 99,
      messages: HELLO,
      tools: [{ name: "weather", input_schema: WEATHER.parameters }],
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
    });
    const { content, stop_reason: reason } = (await messages.json()) as Record<string, any>;
    expect([content.filter(({ type }: any) => type === "tool_use").length, reason]).toEqual([1, "tool_use"]);
    expect(messages.headers.get("x-gateway-warnings")).toBe("parallel_tool_calls_emulated");

    const responses = await gatewayOf(GEMINI_STREAMED).call(RESPONSES, {
      model: "gemini:gemini-3-pro",
      input: "Hello",
      stream: true,
      tools: [{ type: "function", ...WEATHER }],
      parallel_tool_calls: false,
    });
    const text = await responses.text();
    expect([text.includes("Bern"), text.includes("Rome"), text.includes("response.completed")]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test("[d6.3] a model without tools refuses it as before", async () => {
    const response = await gatewayOf(TWO_CALLS).chat({
      model: "perplexity:sonar",
      messages: HELLO,
      parallel_tool_calls: false,
    });
    const { error } = (await response.json()) as Record<string, any>;
    expect([response.status, error.code, error.param]).toEqual([400, "unsupported_parameter", "parallel_tool_calls"]);
  });
});
