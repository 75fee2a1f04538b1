// A timeout that reads the sockets first: what has come in time ends it, also where the process was busy meanwhile.
import { afterEach, expect, jest, test } from "bun:test";
import type { CancelSignal } from "../../../src/core/concurrency/cancellation.ts";
import { LATE, startTimeout, within, withCancellation } from "../../../src/core/concurrency/timeout.ts";

afterEach(() => void jest.useRealTimers());

test("[d7.2] a timeout that is stopped while the sockets are read ends nothing, and any other ends once", async () => {
  jest.useFakeTimers();
  const ended: string[] = [];
  const stop = startTimeout(1000, () => ended.push("stopped"));
  startTimeout(1000, () => ended.push("over"));
  jest.advanceTimersByTime(1000);
  expect(ended).toEqual([]);
  stop();
  for (let turn = 0; turn < 4; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  expect(ended).toEqual(["over"]);
});

test("[d7.2] work that ends while the sockets are read is in time, and its signal is not aborted", async () => {
  jest.useFakeTimers();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<string>();
  const read = async (signal: CancelSignal): Promise<string> => {
    const answer = await arrived;
    signal.throwIfAborted();
    return answer;
  };
  const answers = [within(arrived, 1000), withCancellation(read, 1000, () => new Error("late"))];
  jest.advanceTimersByTime(1000);
  arrive("here");
  expect(await Promise.all(answers)).toEqual(["here", "here"]);
});

test("[d7.2] work that does not end is late, and its signal is aborted", async () => {
  jest.useFakeTimers();
  const aborted = async (signal: CancelSignal): Promise<void> => {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    signal.throwIfAborted();
  };
  const late = within(new Promise(() => {}), 1000);
  const cancelled = withCancellation(aborted, 1000, () => new Error("late")).catch((thrown: unknown) => thrown);
  jest.advanceTimersByTime(1000);
  expect(await late).toBe(LATE);
  expect(await cancelled).toEqual(new Error("late"));
});
