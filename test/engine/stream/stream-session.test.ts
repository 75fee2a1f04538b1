// The life of one streamed reply where its call ends before it begins.
import { expect, test } from "bun:test";
import { Cancellation } from "../../../src/core/concurrency/cancellation.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { Call } from "../../../src/engine/call/call.ts";
import { type Sending, StreamSession } from "../../../src/engine/stream/stream-session.ts";
import { CHAT_ANSWERS } from "../../../src/operations/chat/chat-completions.ts";

test("[d7.4, d8.3] a stream that begins once the time of its call is over is released, and the call fails before any head", async () => {
  const signal = new Cancellation();
  const published: string[] = [];
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
    snapshot: { limits: { headHoldMs: 60_000, keepAliveMs: 60_000 } },
    context: { integrations: null },
    won: () => published.push("won"),
  } as unknown as Call;
  const released: string[] = [];
  const begun = Promise.withResolvers<Sending>();
  const session = new StreamSession(begun.promise, call, CHAT_ANSWERS.stream);
  const head = session.holdHead();
  const late = new GatewayError("upstream_timeout", "The call did not finish within its timeout of 1 s.");
  signal.abort(late);
  begun.resolve({
    held: "data: {}\n\n",
    cancel: () => released.push("cancelled"),
    settle: (outcome: string) => released.push(outcome),
  } as unknown as Sending);
  const failure = await head.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(failure).toBe(late);
  expect(released).toEqual(["cancelled", "cancelled"]);
  expect(published).toEqual(["upstream_timeout", "published"]);
});
