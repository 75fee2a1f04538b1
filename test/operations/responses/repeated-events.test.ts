// Events of a stream that are written as earlier ones were, without being parsed: the client gets the same stream as one
// whose events are all parsed, whatever the texts say and however the reads cut it.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { drawCount } from "../../harness/time/long-run.ts";
import { eventStream, openaiChunk } from "../../harness/servers/upstream.ts";
import { answering, eventsOf, OPENAI, type SentEvent } from "./responses-calls.ts";

/** Each of these imitates a part of an event, of the provider's or of the client's. */
const HOSTILE = [
  '"},"finish_reason":"stop"}]}\n\n',
  "\n\ndata: [DONE]\n\n",
  '","logprobs":[]}\n\nevent: response.completed\ndata: {"type":"response.completed"',
  "\u0001\u0001",
  "\\u0001",
  "\u0001",
  '\\"',
  "é",
  "\u2028",
  "😀",
  "\ud83d",
];
const piece = fc.oneof(fc.string({ minLength: 1, maxLength: 8 }), fc.constantFrom(...HOSTILE));
const deltas = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: piece.map((content) => ({ content })) },
    { weight: 3, arbitrary: piece.map((text) => ({ reasoning_content: text })) },
    { weight: 1, arbitrary: piece.map((refusal) => ({ refusal })) },
    {
      weight: 1,
      arbitrary: fc.constant({
        annotations: [{ type: "url_citation", url_citation: { url: "https://a.example", title: "A" } }],
      }),
    },
  ),
  { minLength: 1, maxLength: 24 },
);

/** The events with what is random in them replaced by the order of its first occurrence. */
function comparable(events: readonly SentEvent[]): string {
  const known = new Map<string, string>();
  return JSON.stringify(events).replaceAll(/\b(?:resp|msg|rs)_[0-9a-f]{32}\b/g, (id) => {
    if (!known.has(id)) known.set(id, `id ${known.size}`);
    return known.get(id)!;
  });
}

async function eventsFor(
  chunks: readonly object[],
  chunk: number | "whole" | "event",
): Promise<{ readonly events: readonly SentEvent[]; readonly tokens: number | undefined }> {
  const gateway = answering({
    headers: { "content-type": "text/event-stream" },
    body: eventStream(...chunks, openaiChunk({}, "stop")),
    chunk,
  });
  const answer = await gateway.respond({ ...OPENAI, stream: true });
  return { events: eventsOf(await answer.text()), tokens: gateway.records[0]!.usage?.completion_tokens };
}

describe("events that are written as earlier ones were", () => {
  test("[d12.5] make the same stream as events that are parsed, with the same estimate", async () => {
    await fc.assert(
      fc.asyncProperty(deltas, fc.constantFrom(1, 7, 200, "whole" as const, "event" as const), async (drawn, chunk) => {
        const alike = drawn.map((delta) => openaiChunk(delta));
        // a member that differs each time, so that no event is like an earlier one
        const each = drawn.map((delta, number) => openaiChunk(delta, null, { number }));
        const [written, parsed] = [await eventsFor(alike, chunk), await eventsFor(each, "whole")];
        expect(comparable(written.events)).toBe(comparable(parsed.events));
        expect(written.tokens).toBe(parsed.tokens);
      }),
      { numRuns: drawCount(60, 2000) },
    );
  });

  test("[d12.5] end with a text that is what all of them brought", async () => {
    const pieces = Array.from({ length: 300 }, (_, index) => `${HOSTILE[index % 10]!}${index}`);
    const { events } = await eventsFor(
      pieces.map((content) => openaiChunk({ content })),
      500,
    );
    const whole = pieces.join("");
    const texts = events.flatMap(({ type, text, part, item, response }) =>
      type === "response.output_text.done"
        ? [text as string]
        : type === "response.content_part.done"
          ? [part.text as string]
          : type === "response.output_item.done"
            ? [item.content[0].text as string]
            : type === "response.completed"
              ? [response.output[0].content[0].text as string]
              : [],
    );
    expect(texts).toEqual([whole, whole, whole, whole]);
    expect(events.flatMap(({ type, delta }) => (type.endsWith(".delta") ? [delta as string] : []))).toEqual(pieces);
  });
});
