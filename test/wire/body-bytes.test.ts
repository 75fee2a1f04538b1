// Parts of a body are joined in turns of the event loop, and to the same bytes as at once.
import { expect, test } from "bun:test";
import { joinedBytes } from "../../src/wire/body-bytes.ts";

const MB = 1024 * 1024;

test.each([
  ["one byte", [1]],
  ["nothing", []],
  ["a part of several turns", [3, 25 * MB, 0, 7]],
  ["parts that end with a turn", [8 * MB, 8 * MB, 1]],
  ["many parts", Array.from({ length: 300 }, (_, index) => 65_536 + index)],
])("[d5.8] %s: parts are joined in turns, to the same bytes as at once", async (_, lengths: readonly number[]) => {
  const parts = lengths.map((length, index) => new Uint8Array(length).fill(index % 251));
  const length = lengths.reduce((sum, one) => sum + one, 0);
  let turns = 0;
  let isJoined = false;
  const count = (): void => {
    turns += 1;
    if (!isJoined) setImmediate(count);
  };
  setImmediate(count);
  const joined = await joinedBytes(parts, length);
  isJoined = true;
  expect(joined.length).toBe(length);
  expect(Buffer.concat(parts).equals(joined)).toBe(true);
  expect(turns).toBeGreaterThanOrEqual(Math.floor((length - 1) / (8 * MB)));
});
