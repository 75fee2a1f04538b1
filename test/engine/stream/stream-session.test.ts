// The life of one streamed reply where its call ends before it begins.
import { expect, test } from "bun:test";
import { Cancellation } from "../../../src/core/concurrency/cancellation.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { Call } from "../../../src/engine/call/call.ts";
import { type Sending, StreamSession } from "../../../src/engine/stream/stream-session.ts";
import { CHAT_ANSWERS } from "../../../src/operations/chat/chat-completions.ts";

function stage(headHoldMs: number) {
  const signal = new Cancellation();
  const published: string[] = [];
  const released: string[] = [];
  const nothing = (): void => {};
  const call = {
    signal,
    traceId: "0".repeat(32),
    record: { attempts: [] },
    recorder: {
      failed: ({ code }: GatewayError) => published.push(code),
      attemptsEnded: nothing,
      firstContent: nothing,
    },
    lifetime: { publish: () => published.push("published"), heldUp: null, written: null },
    objects: { save: () => null },
    snapshot: { limits: { headHoldMs, keepAliveMs: 60_000 } },
    context: { integrations: null },
    won: () => published.push("won"),
    located: (thrown: unknown) => thrown,
  } as unknown as Call;
  const begun = Promise.withResolvers<Sending>();
  const head = new StreamSession(begun.promise, call, CHAT_ANSWERS.stream).holdHead();
  return {
    signal,
    published,
    released,
    begins: () =>
      begun.resolve({
        held: "data: {}\n\n",
        cancel: () => released.push("cancelled"),
        settle: (outcome: string) => released.push(outcome),
      } as unknown as Sending),
    failure: head.then(
      () => null,
      (thrown: unknown) => thrown,
    ),
  };
}

test("[d7.4, d8.3] a stream that begins once the time of its call is over is released, and the call fails before any head", async () => {
  const { signal, published, released, begins, failure } = stage(60_000);
  const late = new GatewayError("upstream_timeout", "The call did not finish within its timeout of 1 s.");
  signal.abort(late);
  begins();
  expect(await failure).toBe(late);
  expect(released).toEqual(["cancelled", "cancelled"]);
  expect(published).toEqual(["upstream_timeout", "published"]);
});

test("[d7.4, d7.7] a stream whose client has left before its head is released when it begins, and the call fails", async () => {
  const left = new GatewayError("client_closed", "The client disconnected before the answer was complete.");
  const begun = stage(60_000);
  begun.signal.abort(left);
  begun.begins();
  expect(await begun.failure).toBe(left);
  expect(begun.released).toEqual(["cancelled", "cancelled"]);
  // what is in flight may take longer to end than the head is held back
  const late = stage(1);
  late.signal.abort(left);
  expect(await late.failure).toBe(left);
  late.begins();
  await Promise.resolve();
  expect(late.released).toEqual(["cancelled", "cancelled"]);
});
