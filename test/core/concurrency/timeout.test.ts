// A timeout that reads the sockets first: what has come in time ends it, also where the process was busy meanwhile.
import { afterEach, expect, jest, test } from "bun:test";
import { startTimeout } from "../../../src/core/concurrency/timeout.ts";

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
