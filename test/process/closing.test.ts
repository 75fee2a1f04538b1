// What a process lets go of at its end.
import { expect, test } from "bun:test";
import { openClosing } from "../../src/process/closing.ts";

test("the last part is closed first, and parts beside each other at the same time", async () => {
  const said: string[] = [];
  const slow = (name: string) => async (): Promise<void> => {
    said.push(`${name} begins`);
    await Bun.sleep(5);
    said.push(`${name} ends`);
  };
  const closing = openClosing((fault) => said.push(String(fault)));
  closing.add(() => said.push("first"));
  closing.add(slow("a"));
  closing.beside(slow("b"));
  closing.add(slow("last"));
  await closing.close();
  expect(said).toEqual(["last begins", "last ends", "a begins", "b begins", "a ends", "b ends", "first"]);
});

test("a part that hangs is left behind after its time, and one that fails is told of; the others are closed all the same", async () => {
  const said: string[] = [];
  const closing = openClosing((fault) => said.push(String(fault)));
  closing.add(() => said.push("first"));
  closing.add(() => Promise.reject(new Error("rejects")));
  closing.beside(() => {
    throw new Error("throws");
  });
  closing.beside(() => said.push("beside them"));
  closing.add(() => new Promise(() => {}), 20);
  closing.add(() => said.push("last"));
  await closing.close();
  expect(said.toSorted()).toEqual(["Error: rejects", "Error: throws", "beside them", "first", "last"]);
  expect([said[0], said.at(-1)]).toEqual(["last", "first"]);
});

test("nothing is closed twice, and with nothing open there is nothing to do", async () => {
  let closed = 0;
  const closing = openClosing(() => {});
  await closing.close();
  closing.add(() => (closed += 1));
  await Promise.all([closing.close(), closing.close()]);
  await closing.close();
  expect(closed).toBe(1);
});
