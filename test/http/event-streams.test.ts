// Promise 5.8: streams of events that are read take no place among the calls, and are bounded by themselves.
import { expect, test } from "bun:test";
import { EventStreams, MOST_STREAMS_OF_TOKEN } from "../../src/http/event-streams.ts";

const TOKEN = { tenantId: "acme", id: "AAAAAAAAAAAA" };

test("[d5.8] a token reads so many streams of events at once, and another when one has ended or its reader has left", async () => {
  const streams = new EventStreams();
  const open = (token = TOKEN, signal = new AbortController().signal) => {
    let isCancelled = false;
    const stream = new ReadableStream<string>(
      {
        pull(controller) {
          controller.enqueue("event: response.created\n\n");
          controller.close();
        },
        cancel: () => void (isCancelled = true),
      },
      { highWaterMark: 0 },
    );
    return { read: streams.counted(stream, token, signal), isCancelled: () => isCancelled };
  };
  const leaving = new AbortController();
  const first = open(TOKEN, leaving.signal);
  const others = Array.from({ length: MOST_STREAMS_OF_TOKEN - 1 }, () => open());
  const refused = (): unknown => {
    try {
      open();
      return null;
    } catch (thrown) {
      return thrown;
    }
  };
  expect(refused()).toMatchObject({ code: "gateway_overloaded" });
  // another token has its own
  open({ ...TOKEN, id: "BBBBBBBBBBBB" });
  // one that ends
  expect(await new Response(others[0]!.read as ReadableStream).text()).toBe("event: response.created\n\n");
  expect(refused()).toBeNull();
  expect(refused()).not.toBeNull();
  // one whose reader cancels
  await others[1]!.read.cancel();
  expect(refused()).toBeNull();
  expect(refused()).not.toBeNull();
  // one whose client has left before anything was read
  leaving.abort();
  expect(first.isCancelled()).toBe(true);
  expect(refused()).toBeNull();
  expect(refused()).not.toBeNull();
});
