// Long events of servers that speak the Responses API themselves, and the long ones that the gateway adds to them: each
// is written in a turn of the event loop of its own.
import { describe, expect, spyOn, test } from "bun:test";
import { handleCall } from "../../../src/chat/handle.ts";
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

async function heard(events: readonly Event[], chunk: number): Promise<Heard> {
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
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
        body: '{"model":"openai:gpt-9","input":"Why?","stream":true,"store":false}',
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
