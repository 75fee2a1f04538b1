// Turns of the event loop: what waits for one gets one that it shares with none of the others.
import { expect, test } from "bun:test";
import { yieldToLoop } from "../../../src/core/concurrency/event-loop.ts";

test("[d5.8] of several pieces of work that wait for a turn of the event loop, each gets one of its own, in their order", async () => {
  let turn = 0;
  let isDone = false;
  const count = (): void => {
    turn += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const seen: { readonly piece: string; readonly turn: number }[] = [];
  const work = async (name: string): Promise<void> => {
    for (let piece = 1; piece <= 3; piece++) {
      await yieldToLoop();
      seen.push({ piece: `${name}${piece}`, turn });
    }
  };
  await Promise.all([work("a"), work("b"), work("c")]);
  isDone = true;
  expect(seen.map(({ piece }) => piece)).toEqual(["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"]);
  expect(new Set(seen.map((one) => one.turn)).size).toBe(seen.length);
});

test("[d5.8] what begins to wait after all others had their turn gets one as well", async () => {
  await yieldToLoop();
  await Promise.all([yieldToLoop(), yieldToLoop()]);
  expect(await yieldToLoop()).toBeUndefined();
});
