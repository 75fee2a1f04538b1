// The gate in front of work for people: what is urgent goes first, and keeps nobody else from a turn.
import { expect, test } from "bun:test";
import { openGate } from "../../../src/core/concurrency/gate.ts";

test("[d9.9] urgent work of one tenant that never ends keeps the work of another one waiting for a few turns only", async () => {
  const turn = openGate(2, "Too many reports are being read");
  let turns = 0;
  let isRead = false;
  const search = async (): Promise<void> => {
    while (!isRead && turns < 200)
      await turn(
        async () => {
          turns += 1;
          await Bun.sleep(0);
        },
        "busy",
        true,
      );
  };
  const searches = Array.from({ length: 20 }, search);
  await turn(() => Promise.resolve((isRead = true)), "other");
  const before = turns;
  await Promise.all(searches);
  expect(before).toBeLessThan(10);
});

test("[d9.9] urgent work goes before what waits, turn and turn about", async () => {
  const turn = openGate(1, "Too many reports are being read");
  const order: string[] = [];
  const work = (name: string, tenant: string, isUrgent = false) =>
    turn(() => Promise.resolve(void order.push(name)), tenant, isUrgent);
  await Promise.all([
    work("first", "acme"),
    work("sum 1", "acme"),
    work("sum 2", "beta"),
    work("list 1", "acme", true),
    work("list 2", "acme", true),
    work("list 3", "acme", true),
  ]);
  expect(order).toEqual(["first", "list 1", "sum 1", "list 2", "sum 2", "list 3"]);
});
