// How much of a provider's stream is handled in one turn of the event loop, whatever arrives at once.
import { describe, expect, spyOn, test } from "bun:test";
import { LONG_TEXT } from "../../../src/engine/long-bodies/read-in-turns.ts";
import { TURN_BYTES } from "../../../src/engine/stream/answer-stream.ts";
import type { Operation } from "../../../src/engine/operation.ts";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

const EVENTS = 5_000;
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const named = (type: string, members: object): string => `event: ${type}\n${data({ type, ...members })}`;

const choice = (delta: object, finish: string | null): string =>
  data({
    id: "x",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
const CHAT = `${choice({ content: "word " }, null).repeat(EVENTS)}${choice({}, "stop")}data: [DONE]\n\n`;

const usage = { input_tokens: 1, output_tokens: 1 };
const NATIVE_MESSAGES = [
  named("message_start", { message: { id: "m", type: "message", role: "assistant", model: "m", content: [], usage } }),
  named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
  named("content_block_delta", { index: 0, delta: { type: "text_delta", text: "word " } }).repeat(EVENTS),
  named("content_block_stop", { index: 0 }),
  named("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage }),
  named("message_stop", {}),
].join("");

const response = (output: readonly object[]): object => ({
  response: { id: "r", object: "response", created_at: 1, status: "completed", model: "m", output, usage },
});
const place = { item_id: "i", output_index: 0, content_index: 0 };
const item = (content: readonly object[]): object => ({
  item: { type: "message", id: "i", role: "assistant", content },
});
const NATIVE_RESPONSES = [
  named("response.created", { sequence_number: 0, ...response([]) }),
  named("response.output_item.added", { output_index: 0, ...item([]) }),
  named("response.content_part.added", { ...place, part: { type: "output_text", text: "", annotations: [] } }),
  ...Array.from({ length: EVENTS }, (_, index) =>
    named("response.output_text.delta", { ...place, sequence_number: index + 3, logprobs: [], delta: "word " }),
  ),
  named("response.completed", response([])),
].join("");

const CASES: readonly (readonly [string, Operation, string, object, object])[] = [
  ["chat completions", CHAT_COMPLETIONS, CHAT, { messages: [{ role: "user", content: "x" }] }, {}],
  ["messages, translated", MESSAGES, CHAT, { messages: [{ role: "user", content: "x" }], max_tokens: 9 }, {}],
  ["responses, translated", RESPONSES, CHAT, { input: "x" }, {}],
  [
    "messages, native",
    MESSAGES,
    NATIVE_MESSAGES,
    { messages: [{ role: "user", content: "x" }], max_tokens: 9 },
    { family: "anthropic" },
  ],
  ["responses, native", RESPONSES, NATIVE_RESPONSES, { input: "x" }, { native: ["responses"] }],
];

function gatewayOf(body: string, settings: object = {}, chunk: "whole" | "event" = "whole"): Stub {
  return stubGateway({
    upstream: cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk }),
    providers: [
      providerSettings({
        id: "up",
        family: "custom",
        baseUrl: "https://provider.test/v1",
        credentials: [storedKey("stored-key")],
        ...settings,
      }),
    ],
  });
}

describe("a stream of which much arrives at once", () => {
  test.each(CASES)(
    "[d5.8] %s: is handled in turns, between which other calls have theirs",
    async (_, operation, body, ask, settings) => {
      const gateway = gatewayOf(body, settings);
      const answer = await gateway.call(operation, { model: "up:m", stream: true, ...ask });
      let turns = 0;
      let isOver = false;
      const count = (): void => {
        turns += 1;
        if (!isOver) setImmediate(count);
      };
      setImmediate(count);
      let words = 0;
      let longest = 0;
      for await (const bytes of answer.body!) {
        longest = Math.max(longest, bytes.length);
        words += Buffer.from(bytes).toString().split("word ").length - 1;
      }
      isOver = true;
      const parts = Math.floor(body.length / TURN_BYTES);
      expect(parts).toBeGreaterThan(5);
      // the first part is read before the head leaves
      expect([words >= EVENTS, turns >= parts - 1, longest <= 4 * TURN_BYTES]).toEqual([true, true, true]);
    },
  );
});

describe("a call in many pieces, beside which another waits", () => {
  const piece = (index: number, text: string, start: object = {}): string =>
    choice(
      { tool_calls: [{ index, ...start, function: { ...("id" in start && { name: "f" }), arguments: text } }] },
      null,
    );
  const LIST = 2_000;
  const body = [
    piece(0, `{"a":"${"x".repeat(20_000)}","b":[`, { id: "c0", type: "function" }),
    piece(1, "{}", { id: "c1", type: "function" }),
    "{},"
      .repeat(LIST)
      .split(/(?<=,)/)
      .map((text) => piece(0, text) + piece(0, "{}") + piece(0, ","))
      .join(""),
    piece(0, "{}]}"),
    choice({}, "tool_calls"),
    "data: [DONE]\n\n",
  ].join("");

  test.each(CASES.slice(0, 3))(
    "[d5.8] %s: its input is not read anew for each piece",
    async (_, operation, __, ask) => {
      const read = spyOn(JSON, "parse");
      try {
        const answer = await gatewayOf(body).call(operation, { model: "up:m", stream: true, ...ask });
        const text = await answer.text();
        const long = read.mock.calls.filter(([given]) => given.length > 15_000).length;
        expect([answer.status, text.includes('"c1"'), long <= 3]).toEqual([200, true, true]);
      } finally {
        read.mockRestore();
      }
    },
  );
});

describe("a long event between pieces of text", () => {
  const call = { id: "c0", type: "function", function: { name: "f", arguments: `{"a":"${"x".repeat(LONG_TEXT)}"}` } };
  const pieces = choice({ content: "word " }, null).repeat(4);
  const long = choice({ tool_calls: [{ index: 0, ...call }] }, null);
  const body = `${pieces}${long}${pieces}${choice({}, "tool_calls")}data: [DONE]\n\n`;

  test.each(CASES.slice(1, 3))(
    "[d5.8] %s: the pieces after it belong to a part that is open",
    async (_, operation, __, ask) => {
      const answer = await gatewayOf(body, {}, "event").call(operation, { model: "up:m", stream: true, ...ask });
      const open = new Set<number>();
      const places: number[] = [];
      for (const line of (await answer.text()).split("\n").filter((one) => one.startsWith("data: {"))) {
        const {
          type,
          index,
          output_index: at = index,
        } = JSON.parse(line.slice(6)) as {
          readonly type: string;
          readonly index: number;
          readonly output_index?: number;
        };
        if (/^(content_block_start|response\.output_item\.added)$/.test(type)) open.add(at);
        if (/^(content_block_stop|response\.output_item\.done)$/.test(type)) open.delete(at);
        if (line.includes('"word "') && type.endsWith("delta")) places.push(open.has(at) ? at : -1);
      }
      expect(places).toEqual([0, 0, 0, 0, 2, 2, 2, 2]);
    },
  );
});
