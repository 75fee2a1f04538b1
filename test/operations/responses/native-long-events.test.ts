// Long events of servers that speak the Responses API themselves, the long ones that the gateway adds to them, and those
// of translated answers: each is written in a turn of the event loop of its own.
import { describe, expect, spyOn, test } from "bun:test";
import { handleCall } from "../../../src/engine/handle.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { eventsOf, type SentEvent } from "./responses-calls.ts";

type Event = JsonObject & { readonly type: string };

const TEXT = 'a "word" or 🍵 '.repeat(60_000);
const HEAD: JsonObject = { id: "r", object: "response", created_at: 1, model: "gpt-9", status: "in_progress" };
const CREATED: Event = { type: "response.created", response: { ...HEAD, output: [] } };
const COMPLETED: Event = { type: "response.completed", response: { ...HEAD, status: "completed", output: [] } };
const PLACE = { item_id: "i", output_index: 0, content_index: 0 };
const PART = { type: "output_text", text: TEXT, annotations: [], logprobs: [] };
const MESSAGE = { id: "i", type: "message", role: "assistant", status: "completed", content: [PART] };
const CALL = { id: "c", type: "function_call", status: "completed", call_id: "call", name: "f", arguments: TEXT };

interface Heard {
  readonly events: readonly SentEvent[];
  /** The turns of the event loop in which long texts were written. */
  readonly turns: readonly number[];
}

const heard = (events: readonly Event[], chunk: number): Promise<Heard> =>
  heardOf(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""), chunk);

async function heardOf(body: string, chunk: number, model = "openai:gpt-9"): Promise<Heard> {
  const upstream = cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk });
  const stub = stubGateway({ upstream });
  const turns: number[] = [];
  let turn = 0;
  let isOver = false;
  const tick = (): void => {
    turn += 1;
    if (!isOver) setImmediate(tick);
  };
  tick();
  const write = JSON.stringify.bind(JSON) as (value: unknown) => string;
  const spy = spyOn(JSON, "stringify").mockImplementation(((value: unknown) => {
    const text = write(value);
    if (text !== undefined && text.length >= TEXT.length) turns.push(turn);
    return text;
  }) as typeof JSON.stringify);
  try {
    const response = await handleCall(
      RESPONSES,
      new Request("http://gateway.test/api/v1/responses", {
        method: "POST",
        headers: { authorization: stub.authorization, "content-type": "application/json" },
        body: JSON.stringify({ model, input: "Why?", stream: true, store: false }),
      }),
      stub.context,
    );
    const text = await response.text();
    expect(response.status).toBe(200);
    return { events: eventsOf(text), turns };
  } finally {
    spy.mockRestore();
    isOver = true;
  }
}

/** The events with their texts, which are too long to be compared in full where they differ. */
function toldOf(events: readonly SentEvent[]): readonly string[] {
  return events.map((event) => {
    const count = JSON.stringify(event).split(JSON.stringify(TEXT).slice(1, -1)).length - 1;
    return `${event.sequence_number} ${event.type}${count === 0 ? "" : ` ${count}`}`;
  });
}

const ALL = [
  "0 response.created",
  "1 response.in_progress",
  "2 response.output_item.added",
  "3 response.content_part.added",
  "4 response.output_text.delta 1",
  "5 response.output_text.done 1",
  "6 response.content_part.done 1",
  "7 response.output_item.done 1",
  "8 response.completed 1",
];

describe("long events of servers that speak Responses", () => {
  for (const chunk of [65_536, 100_000_000])
    for (const [what, events, told] of [
      ["a delta that nothing repeats", [{ type: "response.output_text.delta", ...PLACE, delta: TEXT }, COMPLETED], ALL],
      [
        "a last event that alone has the answer",
        [{ ...COMPLETED, response: { ...HEAD, status: "completed", output: [MESSAGE] } }],
        ALL,
      ],
      [
        "short deltas that nothing repeats",
        [
          ...Array.from({ length: 60 }, () => ({
            type: "response.output_text.delta",
            ...PLACE,
            delta: TEXT.slice(0, TEXT.length / 60),
          })),
          COMPLETED,
        ],
        null,
      ],
      [
        "a call that comes at once",
        [{ type: "response.output_item.done", output_index: 0, item: CALL }, COMPLETED],
        [
          ...ALL.slice(0, 3),
          "3 response.function_call_arguments.delta 1",
          "4 response.function_call_arguments.done 1",
          "5 response.output_item.done 1",
          "6 response.completed 1",
        ],
      ],
    ] as const)
      test(`[d5.8 d12.5] each is written in a turn of its own: ${what}, in reads of ${chunk} bytes`, async () => {
        const { events: shown, turns } = await heard([CREATED, ...events], chunk);
        if (told === null)
          expect(
            toldOf(shown)
              .slice(-4)
              .map((one) => one.replace(/^\d+ /, "")),
          ).toEqual(ALL.slice(-4).map((one) => one.slice(2)));
        else expect(toldOf(shown)).toEqual(told);
        expect(turns.length).toBeGreaterThan(2);
        expect(new Set(turns).size).toBe(turns.length);
      });
});

test("[d5.8 d12.5] a text of many megabytes that nothing repeats is written while the client reads", async () => {
  const text = "word ".repeat(2_900_000);
  const { events } = await heard(
    [CREATED, { type: "response.output_text.delta", ...PLACE, delta: text }, COMPLETED],
    1e9,
  );
  expect(events.map(({ type }) => type)).toEqual(ALL.map((one) => one.split(" ")[1]!));
  const { response } = events.at(-1) as unknown as { readonly response: { readonly output: readonly JsonObject[] } };
  expect((response.output[0]!["content"] as readonly JsonObject[])[0]!["text"] === text).toBe(true);
});

describe("long events of translated answers", () => {
  const chunk = (delta: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const end = (reason: string): string => `${chunk({}, reason)}data: [DONE]\n\n`;
  const call = { index: 0, id: "call", type: "function", function: { name: "f", arguments: "" } };
  const pieces = (delta: (text: string) => object, text: string): string =>
    Array.from({ length: 60 }, (_, index) =>
      chunk(delta(text.slice((index * text.length) / 60, ((index + 1) * text.length) / 60))),
    ).join("");
  const ARGUMENTS = JSON.stringify({ a: "x".repeat(TEXT.length) });

  test.each([
    ["a text", pieces((content) => ({ content }), TEXT) + end("stop"), ALL.slice(5)],
    [
      "reasoning",
      pieces((text) => ({ reasoning_content: text }), TEXT) + end("stop"),
      [
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.completed",
      ],
    ],
    [
      "a call",
      chunk({ tool_calls: [call] }) +
        pieces((text) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] }), ARGUMENTS) +
        end("tool_calls"),
      ["response.function_call_arguments.done", "response.output_item.done", "response.completed"],
    ],
  ])("[d5.8 d12.4] each is written in a turn of its own: %s", async (_, body, last) => {
    const { events, turns } = await heardOf(body, 65_536, "custom:m");
    const types = last.map((one) => one.split(" ").find((word) => word.startsWith("response."))!);
    expect(events.slice(-types.length).map(({ type }) => type)).toEqual(types);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((__, index) => index));
    expect([turns.length, new Set(turns).size]).toEqual([types.length, types.length]);
  });
});
