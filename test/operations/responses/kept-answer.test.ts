// Promise 8.5: what is kept of a stream for its last events is bounded, whatever a provider sends.
import { expect, test } from "bun:test";
import { handleCall } from "../../../src/engine/handle.ts";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { AnswerItems } from "../../../src/operations/responses/answer/answer-items.ts";
import { ItemEvents } from "../../../src/operations/responses/answer/item-events.ts";
import type { RequestMemo } from "../../../src/operations/responses/request-memo.ts";
import { PassedItems } from "../../../src/operations/responses/native/passed-items.ts";
import { PARTS } from "../../../src/providers/responses/stream-grammar.ts";
import { MAX_KEPT } from "../../../src/providers/content-blocks/turn-chunks.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { eventStream, openaiChunk } from "../../harness/servers/upstream.ts";
import { eventsOf, OPENAI, responsesGateway } from "./responses-calls.ts";

const MEMO: RequestMemo = {
  model: "m",
  repeated: {},
  tools: new Map(),
  allowed: null,
  listed: new Set(),
  showsLogprobs: false,
  showsCarriers: false,
  isBackground: false,
  mayBeKept: false,
  kept: null,
};
const PIECE = "x".repeat(MAX_KEPT / 4);

test.each<readonly [string, (items: AnswerItems) => void]>([
  ["text", (items) => items.addText("output_text", PIECE, [])],
  ["text that is like the text before it", (items) => items.grow(PIECE)],
  ["reasoning", (items) => items.addReasoning(PIECE)],
  ["arguments of a call", (items) => items.addArguments(0, PIECE)],
])("[d8.5] a stream of %s ends where it is longer than what is kept of it", (_what, add) => {
  const events = new ItemEvents("0");
  const items = new AnswerItems(MEMO, events);
  items.beginCall(0, "call_1", "f");
  for (let piece = 0; piece < 4; piece++) add(items);
  expect(() => add(items)).toThrow(`more than ${MAX_KEPT} characters`);
  // each round of tools goes on with what the rounds before have
  expect(() => add(new AnswerItems(MEMO, new ItemEvents("0"), items))).toThrow("more than");
});

test("[d8.5, d12.5] a stream that passes ends there too, also where its pieces pass without being read", () => {
  const items = new PassedItems({ own() {}, passed() {} });
  const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const event = { ...place, delta: "x", sequence_number: 1 };
  items.piece(PARTS.message.output_text, "response.output_text.delta", event, JSON.stringify(event));
  const growing = items.growing!;
  for (let number = 2; number < 5; number++) growing.grow(PIECE, number);
  expect(items.characters).toBe(1 + 3 * PIECE.length);
  expect(() => growing.grow(PIECE, 5)).toThrow(`more than ${MAX_KEPT} characters`);
});

test("[d8.5, d12.5] a stream of annotations or of items that only begin ends there too, where it passes", () => {
  const added = { type: "response.output_item.added", item: { type: "web_search_call", id: "ws_1", query: PIECE } };
  const cited = { type: "response.output_text.annotation.added", annotation: { type: "url_citation", url: PIECE } };
  for (const event of [added, cited]) {
    const items = new PassedItems({ own() {}, passed() {} });
    const pass = (number: number): void => {
      const sent = { output_index: event === added ? number : 0, ...event };
      if (event === added) items.added(sent, JSON.stringify(sent));
      else items.annotation(event.type, sent, JSON.stringify(sent));
    };
    for (let number = 0; number < 3; number++) pass(number);
    expect(() => pass(3)).toThrow(`more than ${MAX_KEPT} characters`);
  }
});

test.each<readonly [string, (items: AnswerItems) => void]>([
  ["citations", (items) => items.addCitations([{ type: "url_citation", url: PIECE }])],
  ["carriers", (items) => items.addCarrier(PIECE)],
  ["log probabilities without text", (items) => items.addText("output_text", "", [{ token: PIECE }])],
])("[d8.5] a stream of %s that is translated ends there too", (_what, add) => {
  const items = new AnswerItems({ ...MEMO, showsCarriers: true }, new ItemEvents("0"));
  items.addText("output_text", "x", []);
  for (let piece = 0; piece < 3; piece++) add(items);
  expect(() => {
    add(items);
  }).toThrow(`more than ${MAX_KEPT} characters`);
});

test("[d8.5, d12.5] a stream of log probabilities ends there too, where it passes", () => {
  const items = new PassedItems({ own() {}, passed() {} });
  const pass = (number: number): void => {
    const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
    const event = { ...place, delta: "x", sequence_number: number, logprobs: [{ token: PIECE }] };
    items.piece(PARTS.message.output_text, "response.output_text.delta", event, JSON.stringify(event));
  };
  for (let number = 1; number < 4; number++) pass(number);
  expect(() => pass(4)).toThrow(`more than ${MAX_KEPT} characters`);
});

test("[d8.5] a stream of parts or items without text ends where it has more of them than are kept", () => {
  const passed = new PassedItems({ own() {}, passed() {} });
  const answered = new AnswerItems(MEMO, new ItemEvents("0"));
  const ways: readonly ((number: number) => void)[] = [
    (number) => {
      const event = { item_id: "msg_1", output_index: 0, content_index: number, delta: "" };
      passed.piece(PARTS.message.output_text, "response.output_text.delta", event, JSON.stringify(event));
    },
    (number) => answered.addText(number % 2 === 0 ? "output_text" : "refusal", "x", []),
  ];
  for (const add of ways)
    expect(() => {
      for (let number = 0; number < 70_000; number++) add(number);
    }).toThrow("items and parts of items");
});

test("[d5.8] what is kept of a stream for its last events counts against the memory of bodies, and is released with the call", async () => {
  const limits = { maxHeldBytes: 400_000 };
  const pieces = Array.from({ length: 40 }, (_, number) => openaiChunk({ content: `${number} `.repeat(3000) }));
  const stub = responsesGateway({
    upstream: cannedUpstream({
      headers: { "content-type": "text/event-stream" },
      body: eventStream(...pieces, openaiChunk({}, "stop")),
      chunk: "event",
    }),
    limits,
  });
  const response = await stub.respond({ ...OPENAI, input: "One.", stream: true });
  const events = eventsOf(await response.text());
  expect(events.at(-2)).toMatchObject({ type: "error", code: "gateway_overloaded" });
  expect(events.at(-1)).toMatchObject({ type: "response.failed" });
  stub.context.traffic.held.hold("default", limits.maxHeldBytes / 2, limits);
  // chat completions keep nothing of a text
  const chat = await handleCall(
    CHAT_COMPLETIONS,
    new Request("http://gateway.test/api/v1/chat/completions", {
      method: "POST",
      headers: { authorization: stub.authorization, "content-type": "application/json" },
      body: JSON.stringify({ model: OPENAI.model, messages: [{ role: "user", content: "One." }], stream: true }),
    }),
    stub.context,
  );
  expect(await chat.text()).not.toContain("error");
});
