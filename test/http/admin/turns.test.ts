// Turns of requests with one idempotency key over several processes, when the process goes that has them.
import { expect, test } from "bun:test";
import { openTurns } from "../../../src/http/admin/turns.ts";
import { askedSlots, type SlotAnswer } from "../../../src/routing/shared-slots.ts";

test("[d13.2] a request that waits for its turn is refused when the supervisor goes, and does not run beside another one", async () => {
  const answers: SlotAnswer[] = ["entered", "waits"];
  const slots = askedSlots({ enter: () => Promise.resolve(answers.shift()!), leave: () => {} });
  const turns = openTurns(slots);
  const held = Promise.withResolvers<string>();
  const began: string[] = [];
  const ask = (name: string, work: Promise<string>): Promise<string> =>
    turns("key", () => {
      began.push(name);
      return work;
    });
  const first = ask("first", held.promise);
  const second = ask("second", Promise.resolve("made"));
  await Promise.resolve();
  slots.lost();
  expect(await second.catch((thrown: unknown) => thrown)).toMatchObject({ code: "gateway_overloaded" });
  held.resolve("made");
  expect([await first, began]).toEqual(["made", ["first"]]);
});
