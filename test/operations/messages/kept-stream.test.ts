// Promise 8.5: what is kept of a streamed message for its later events is bounded, whatever a provider sends.
import { expect, test } from "bun:test";
import type { ChunkDelta } from "../../../src/core/chat.ts";
import { nativeMessages } from "../../../src/operations/messages/native-answers.ts";
import { MessageWriter } from "../../../src/operations/messages/message-stream.ts";
import { MAX_KEPT } from "../../../src/providers/content-blocks/turn-chunks.ts";

const PIECE = "x".repeat(MAX_KEPT / 4);
const BEGUN = { tool_calls: [{ index: 0, id: "call_1", function: { name: "look", arguments: '{"at":"' } }] };

test.each<readonly [string, ChunkDelta]>([
  ["the arguments of a call", { tool_calls: [{ index: 0, function: { arguments: PIECE } }] }],
  ["a refusal", { refusal: PIECE }],
  ["text behind a call that has no end", { content: PIECE }],
  ["reasoning behind a call that has no end", { reasoning_details: [{ type: "reasoning.encrypted", data: PIECE }] }],
  [
    "calls behind a call that has no end",
    { tool_calls: [{ index: 1, id: "b", function: { name: "f", arguments: PIECE } }] },
  ],
  ["citations of no text", { annotations: [{ type: "url_citation", url_citation: { url: PIECE } }] }],
])("[d8.5, d12.5] a stream of %s ends where it is longer than what is kept of it", (_what, delta) => {
  const writer = new MessageWriter({ id: "msg_1", model: "m", toolNames: {}, promptTokens: 1 });
  const write = (one: ChunkDelta): string => writer.write({ choices: [{ index: 0, delta: one }] });
  write(BEGUN);
  for (let piece = 0; piece < 3; piece++) write(delta);
  expect(() => write(delta)).toThrow(`more than ${MAX_KEPT} characters`);
});

test("[d8.5, d12.5] of the pings before a message that passes, one is kept", () => {
  const events = nativeMessages("m", "msg_1").stream(null as never, false);
  for (let sent = 0; sent < 3; sent++) events.pass({ event: "ping", data: '{"type":"ping"}' });
  events.pass({ event: "message_start", data: '{"type":"message_start","message":{"id":"msg_2"}}' });
  expect(events.opening.match(/^event: .*$/gm)).toEqual(["event: ping", "event: message_start"]);
});

test("[d8.5, d12.5] the ends of a message that passes are put together once, and are bounded", () => {
  const events = nativeMessages("m", "msg_1").stream(null as never, false);
  events.pass({ event: "message_start", data: '{"type":"message_start","message":{"id":"msg_2"}}' });
  const ended = (members: object): string =>
    events.pass({ event: "message_delta", data: JSON.stringify({ type: "message_delta", ...members }) });
  ended({ delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } });
  ended({ usage: { output_tokens: 2 } });
  const note = "x".repeat(Math.ceil(MAX_KEPT / 3));
  for (let sent = 0; sent < 2; sent++) expect(ended({ [`note_${sent}`]: note })).toBe("");
  expect(() => ended({ note_2: note })).toThrow(`more than ${MAX_KEPT} characters`);
  const end = events.pass({ event: "message_stop", data: '{"type":"message_stop"}' });
  expect(end).toContain('"stop_reason":"end_turn"');
  expect(end).toContain('"output_tokens":2');
});

test("[d8.5] a round of tools leaves its refusal and the citations of no text to the next one", () => {
  const first = new MessageWriter({ id: "msg_1", model: "m", toolNames: {}, promptTokens: 1 });
  const citation = { type: "url_citation", url_citation: { url: "https://one.test" } };
  for (const delta of [{ annotations: [citation] }, { refusal: "No." }])
    first.write({ choices: [{ index: 0, delta }] });
  const second = first.continued();
  const text = second.write({ choices: [{ index: 0, delta: { content: "Hi" } }] });
  expect([...text.matchAll(/"delta":\{"type":"(\w+)"/g)].map(([, type]) => type)).toEqual([
    "text_delta",
    "citations_delta",
  ]);
  const total = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const end = second.end({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }, total);
  expect(end).toContain('"stop_reason":"refusal"');
  expect(end).toContain('"explanation":"No."');
});
