// Promise 8.5: what is kept of the calls of a stream is bounded for all of them together.
import { expect, test } from "bun:test";
import {
  addDelta,
  CallRoom,
  callOf,
  type CallState,
  isWholeCall,
} from "../../../src/engine/stream/tool-call-deltas.ts";

test("[d8.5] arguments of calls that have no room together with those before count as incomplete, in any choice", () => {
  const room = new CallRoom();
  const text = JSON.stringify("x".repeat(3 * 1024 * 1024));
  const whole: boolean[] = [];
  for (let choice = 0; choice < 8; choice++) {
    const calls: CallState[] = [];
    const delta = { index: 0, id: `call_${choice}`, function: { name: "f", arguments: text } };
    const call = callOf(calls, delta, room);
    expect(addDelta(call, delta, room)).toBe(text);
    whole.push(isWholeCall(call));
  }
  expect(whole).toEqual([true, true, true, true, true, false, false, false]);
});

test("[d8.5] ids and names of calls that have no room are refused", () => {
  const room = new CallRoom();
  const calls: CallState[] = [];
  expect(() => {
    for (let number = 0; number < 1000; number++)
      callOf(calls, { index: number, id: `${"x".repeat(65_000)}${number}` }, room);
  }).toThrow("whose id is too long");
});
