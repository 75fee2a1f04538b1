// The body of a long answer leaves in pieces.
import { expect, test } from "bun:test";
import { yieldToLoop } from "../../../src/core/concurrency/event-loop.ts";
import { answerBody } from "../../../src/engine/answer/reply-non-streaming.ts";

const MIB = 1024 * 1024;

test("[d5.8] a body of 12 MB leaves in pieces of a megabyte at most, with turns of others between them, and is whole", async () => {
  const bytes = new Uint8Array(12 * MIB + 17).map((_, index) => index % 251);
  const body = answerBody(bytes) as ReadableStream<Uint8Array>;
  let turns = 0;
  let isRead = false;
  const others = (async () => {
    while (!isRead) {
      await yieldToLoop();
      turns += 1;
    }
  })();
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  isRead = true;
  await others;
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(MIB);
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  expect(turns).toBeGreaterThanOrEqual(12);
});

test("a short body is sent as it is, with its length", () => {
  const bytes = new Uint8Array(10);
  expect(answerBody(bytes)).toBe(bytes);
  expect(answerBody("{}")).toBe("{}");
});
