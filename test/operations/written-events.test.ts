// Events that the gateway has written are read back for the content log, and where a call runs in the background.
import { expect, test } from "bun:test";
import { dataLines, objectsOfEvents } from "../../src/operations/written-events.ts";

test("[d11.3, d12.5] data that a provider has written in several lines is read back as it was written", () => {
  const data = '{"type":"content_block_delta",\n "delta":{"text":"a\\nb"}}';
  const events = `event: ping\ndata: {"type":"ping"}\n\nevent: content_block_delta\ndata: ${dataLines(data)}\n\ndata: [DONE]\n\n`;
  expect(events).toContain("\ndata:  ");
  expect(objectsOfEvents(events)).toEqual([{ type: "ping" }, { type: "content_block_delta", delta: { text: "a\nb" } }]);
});
