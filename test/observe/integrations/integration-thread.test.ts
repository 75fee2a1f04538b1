// One thread as the serving thread sees it: lines on the way are bounded, and each call that was handed over is
// accounted for, whatever happens to it.
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import { systemClock } from "../../../src/core/clock.ts";
import { sharedFigures } from "../../../src/observe/integrations/integration-figures.ts";
import {
  IntegrationThread,
  type IntegrationThreadOptions,
} from "../../../src/observe/integrations/integration-thread.ts";
import { integrationsSection } from "../../../src/observe/integrations/integration-settings.ts";
import type { IntegrationSetup } from "../../../src/observe/integrations/integration-worker.ts";
import { until } from "../../harness/time/until.ts";

const INTEGRATIONS = integrationsSection.parse({
  one: { type: "json_lines", path: "/a" },
  two: { type: "json_lines", path: "/b" },
});

/** A thread that does what a test says, and by itself nothing. */
function setUp(options: Partial<IntegrationThreadOptions> = {}) {
  const begun: {
    readonly setup: IntegrationSetup;
    readonly messages: unknown[];
    readonly worker: EventEmitter;
    isTerminated: boolean;
  }[] = [];
  const lost: string[] = [];
  const begin = (setup: IntegrationSetup): Worker => {
    const messages: unknown[] = [];
    const worker = new EventEmitter();
    const one = { setup, messages, worker, isTerminated: false };
    begun.push(one);
    return Object.assign(worker, {
      unref: () => {},
      postMessage: (message: unknown) => void messages.push(message),
      terminate: async () => void (one.isTerminated = true),
    }) as unknown as Worker;
  };
  const thread = new IntegrationThread({
    integrations: INTEGRATIONS,
    clock: systemClock,
    begin,
    hangMs: 1000,
    maxHeapBytes: null,
    onNews: () => {},
    onLost: (why) => lost.push(why),
    firstWaitMs: 20,
    ...options,
  });
  const figures = () => sharedFigures(2, begun.at(-1)!.setup.figures);
  return { thread, begun, lost, figures };
}

test("[d11.4] waiting lines are bounded by number and size; the excess is dropped and counted, for each sink that wanted it", async () => {
  const { thread, begun, figures } = setUp({ maxCalls: 10, maxUnits: 1000 });
  for (let count = 0; count < 15; count++) thread.add(0b11, "x".repeat(10));
  thread.add(0b01, "x".repeat(10));
  expect(thread.sums().map(({ handover }) => handover)).toEqual([6, 5]);
  await until(() => begun[0]!.messages.length > 0);
  thread.add(0b11, "x".repeat(10));
  expect(thread.sums().map(({ handover }) => handover)).toEqual([7, 6]);
  figures().addShared("callsRead", 10);
  figures().addShared("unitsRead", 109);
  thread.add(0b11, "x".repeat(10));
  thread.add(0b11, "x".repeat(1200));
  expect(thread.sums().map(({ handover }) => handover)).toEqual([8, 7]);
  await thread.end(0);
});
test("lines are sent together in one message, after a short wait at the latest", async () => {
  const { thread, begun } = setUp();
  for (const line of ["a", "b", "c"]) thread.add(0b11, line);
  expect(begun[0]!.messages).toEqual([]);
  await until(() => begun[0]!.messages.length > 0);
  expect(begun[0]!.messages).toEqual(["a\nb\nc"]);
  for (let count = 0; count < 256; count++) thread.add(0b11, "d");
  expect(begun[0]!.messages).toHaveLength(2);
  await thread.end(0);
});
test("[d11.4] the end of a thread loses exactly the calls that it held, and later calls wait for the next thread", async () => {
  const { thread, begun, lost, figures } = setUp();
  for (let count = 0; count < 20; count++) thread.add(count < 5 ? 0b10 : 0b11, "x");
  await until(() => begun[0]!.messages.length > 0);
  figures().add(0, "delivered", 4);
  figures().add(0, "queue_full", 3);
  figures().add(1, "refused", 20);
  begun[0]!.worker.emit("exit", 7);
  begun[0]!.worker.emit("error", new Error("told twice"));
  expect(lost).toEqual(["it ended with code 7"]);
  expect(
    thread
      .sums()
      .map(({ thread_ended: ended, delivered, queue_full: full, refused }) => [ended, delivered, full, refused]),
  ).toEqual([
    [8, 4, 3, 0],
    [0, 0, 0, 20],
  ]);
  thread.add(0b11, "later");
  await until(() => begun.length > 1 && begun[1]!.messages.length > 0);
  expect(begun).toHaveLength(2);
  expect(begun[1]!.messages).toEqual(["later"]);
  figures().add(0, "delivered", 1);
  expect(thread.sums()[0]!.delivered).toBe(5);
  expect(thread.restarts).toBe(1);
  await thread.end(0);
  expect(thread.sums().map(({ shutdown }) => shutdown)).toEqual([0, 1]);
});
test("[d11.4] what a thread has said is not heard any more once it is given up", async () => {
  const heard: string[] = [];
  const { thread, begun } = setUp({ onNews: ({ kind }) => heard.push(kind) });
  const { worker } = begun[0]!;
  worker.emit("message", { kind: "back", integration: 0, what: "calls" });
  worker.emit("exit", 7);
  worker.emit("message", { kind: "failing", integration: 0, what: "calls", message: "late" });
  expect(heard).toEqual(["back"]);
  await thread.end(0);
});
test("[d11.4] calls that wait until the thread is restarted, or in a message to it, are counted as queued", async () => {
  const { thread, begun, figures } = setUp({ firstWaitMs: 60_000 });
  for (let count = 0; count < 256; count++) thread.add(0b11, "x");
  figures().add(0, "delivered", 6);
  expect(thread.sums().map(({ queued }) => queued)).toEqual([250, 256]);
  begun[0]!.worker.emit("exit", 7);
  for (let count = 0; count < 300; count++) thread.add(count < 100 ? 0b01 : 0b11, "x");
  expect(thread.sums().map(({ queued, thread_ended: lost }) => [queued, lost])).toEqual([
    [300, 250],
    [200, 256],
  ]);
  await thread.end(0);
  expect(thread.sums().map(({ queued, shutdown }) => [queued, shutdown])).toEqual([
    [0, 300],
    [0, 200],
  ]);
});
test("[d11.4] deliveries of a thread that was already written off are counted once", async () => {
  const { thread, begun, figures } = setUp({ firstWaitMs: 60_000 });
  for (let count = 0; count < 256; count++) thread.add(0b11, "x");
  figures().add(0, "delivered", 56);
  begun[0]!.worker.emit("error", new Error("it seemed to hang"));
  figures().add(0, "delivered", 200);
  expect(thread.sums().map(({ thread_ended: ended, delivered }) => [ended, delivered])).toEqual([
    [200, 56],
    [256, 0],
  ]);
  await thread.end(0);
});
test("[d11.4] a thread that does not respond, or whose heap is too large, is terminated and restarted; waits grow", async () => {
  const { thread, begun, lost, figures } = setUp({ maxHeapBytes: 100 * 1024 * 1024 });
  figures().addShared("beats", 1);
  await until(() => begun.length >= 2);
  expect([lost, begun[0]!.isTerminated]).toEqual([["no sign of life for 1 s"], true]);
  const beating = setInterval(() => figures().addShared("beats", 1), 100);
  figures().setShared("heapMib", 101);
  await until(() => begun.length >= 3);
  clearInterval(beating);
  expect(lost[1]).toBe("its heap has grown to 101 MiB");
  await thread.end(0);
});
test("32-bit counters that wrap continue", async () => {
  const { thread, figures } = setUp();
  for (let count = 0; count < 3; count++) {
    figures().add(0, "delivered", 2 ** 30);
    thread.sums();
  }
  expect(thread.sums()[0]!.delivered).toBe(3 * 2 ** 30);
  await thread.end(0);
});
