// Promise 8.5: what the decoder of the Responses form keeps of a stream is bounded, whatever a provider sends.
import { expect, test } from "bun:test";
import { MAX_KEPT } from "../../../src/providers/content-blocks/turn-chunks.ts";
import { openStream } from "../../../src/providers/responses/decode-stream.ts";
import { RULES } from "./events.ts";

const QUARTER = "x".repeat(MAX_KEPT / 4);

function opened() {
  const decoder = openStream(RULES);
  return (event: object) => decoder.push({ event: "", data: JSON.stringify(event) });
}

test("[d8.5] a stream of parts ends where it has more of them than are kept", () => {
  const push = opened();
  expect(() => {
    for (let part = 0; part < 70_000; part++)
      push({ type: "response.output_text.delta", output_index: 0, content_index: part, delta: "x" });
  }).toThrow("items and parts of items");
});

test("[d8.5] arguments that wait for the names of their calls are bounded together, and so are ids of items", () => {
  const ways: readonly ((number: number) => object)[] = [
    (number) => ({ type: "response.function_call_arguments.delta", output_index: number, delta: QUARTER }),
    (number) => ({ type: "response.output_text.delta", item_id: QUARTER + number, content_index: 0, delta: "x" }),
  ];
  for (const eventOf of ways) {
    const push = opened();
    for (let number = 0; number < 3; number++) push(eventOf(number));
    expect(() => {
      push(eventOf(3));
      push(eventOf(4));
    }).toThrow(`more than ${MAX_KEPT} characters`);
  }
});

test("[d12.5] a long event that comes twice is known again", () => {
  const push = opened();
  const piece = (text: string, number: number): object => ({
    type: "response.output_text.delta",
    output_index: 0,
    content_index: 0,
    delta: text,
    sequence_number: number,
  });
  for (const length of [100, 5000, 200_000]) {
    const event = piece("y".repeat(length), length);
    expect(push(event)).toHaveLength(1);
    expect(push(event)).toHaveLength(0);
  }
});
