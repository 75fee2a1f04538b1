// Timeouts on a busy machine: an answer that has arrived in time is not late because it was not read in time.
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
import { WaitClock } from "../../../src/wire/http/wait-clock.ts";

/** A server in a thread of its own, which answers while the loop of the test is held. Gives its port, and then a message for each answer that has been sent. */
const ANSWERS = `
const { createServer } = require("node:net");
const { parentPort } = require("node:worker_threads");
const answered = new Int32Array(new SharedArrayBuffer(4));
createServer((socket) => socket.on("data", () => socket.write("here", () => Atomics.store(answered, 0, 1))))
  .listen(0, "127.0.0.1", function () { parentPort.postMessage({ port: this.address().port, answered }); });
`;

test("[d7.2] an answer that arrived while the process was busy is read before its wait expires", async () => {
  const server = new Worker(ANSWERS, { eval: true });
  const { port, answered } = await new Promise<{ readonly port: number; readonly answered: Int32Array }>((resolve) =>
    server.once("message", resolve),
  );
  const socket = connect(port, "127.0.0.1");
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  const outcome = await new Promise<string>((resolve) => {
    const clock = new WaitClock({ expired: () => resolve("expired") }, 20);
    socket.once("data", (bytes) => {
      clock.close();
      resolve(String(bytes));
    });
    socket.write("ask", () => {
      const startedMs = clock.start(20);
      // the loop is held until the answer is there and the wait is over
      while (Atomics.load(answered, 0) === 0 || performance.now() - startedMs < 60);
    });
  });
  socket.destroy();
  await server.terminate();
  expect(outcome).toBe("here");
});

test("[d7.2] a wait with zero time expires, and one that was closed does not", async () => {
  const expired: string[] = [];
  const closed = new WaitClock({ expired: () => expired.push("closed") }, 5);
  closed.start(5);
  closed.close();
  await new Promise<void>((resolve) => new WaitClock({ expired: () => resolve() }, 10).start(10));
  expect(expired).toEqual([]);
});
