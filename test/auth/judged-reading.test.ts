// Content whose reader is judged again while it is made.
import { expect, test } from "bun:test";
import { judgedParts, streamOf } from "../../src/auth/judged-reading.ts";

test("[d2.6] a part that was made is not given to a reader whose right has ended, and nothing more is made", async () => {
  const made: number[] = [];
  const ended = Promise.withResolvers<void>();
  async function* parts(): AsyncGenerator<number, void, void> {
    try {
      for (let at = 1; ; at++) {
        made.push(at);
        yield at;
      }
    } finally {
      ended.resolve();
    }
  }
  let mayRead = true;
  const judged = judgedParts(parts(), async () => {
    if (!mayRead) throw new Error("the right has ended");
  });
  const reader = streamOf(judged).getReader();
  expect([(await reader.read()).value, (await reader.read()).value]).toEqual([1, 2]);
  mayRead = false;
  expect(await reader.read().catch(String)).toBe("Error: the right has ended");
  await ended.promise;
  expect(made).toEqual([1, 2, 3]);
});

test("[d2.6] a reader is judged also while no part comes", async () => {
  let asked = 0;
  async function* parts(): AsyncGenerator<string, void, void> {
    yield await new Promise<string>(() => {});
  }
  const judged = judgedParts(parts(), async () => {
    if (++asked === 2) throw new Error("the right has ended");
  });
  expect(await judged.next().catch(String)).toBe("Error: the right has ended");
  expect(asked).toBe(2);
});

test("a reader that leaves ends what makes the parts", async () => {
  const ended = Promise.withResolvers<void>();
  async function* parts(): AsyncGenerator<string, void, void> {
    try {
      yield "first";
      yield "second";
    } finally {
      ended.resolve();
    }
  }
  const reader = streamOf(judgedParts(parts(), async () => {})).getReader();
  expect((await reader.read()).value).toBe("first");
  await reader.cancel();
  await ended.promise;
});
