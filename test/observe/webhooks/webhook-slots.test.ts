// Concurrent deliveries: bounded by webhook, by tenant and altogether, and in turn.
import { expect, test } from "bun:test";
import type { Webhook } from "../../../src/core/record/event.ts";
import { webhookSlots } from "../../../src/observe/webhooks/webhook-slots.ts";

const hook = (id: string, tenantId: string | null): Webhook => ({ id, tenantId }) as Webhook;

test("[d11.4] four deliveries to a webhook run at a time, one after a failure, and four again after a success", () => {
  const slots = webhookSlots();
  const one = hook("one", "a");
  const ends = Array.from({ length: 4 }, () => slots.take(one));
  expect(slots.free(one)).toBe(0);
  ends.pop()!(false);
  expect(slots.free(one)).toBe(0);
  for (const end of ends.splice(0)) end(false);
  expect(slots.free(one)).toBe(1);
  slots.take(one)(true);
  expect(slots.free(one)).toBe(4);
});

test("[d11.4] a tenant has a bound of its own, and the file's global webhooks have another", () => {
  const slots = webhookSlots();
  for (let count = 0; count < 20; count++)
    for (let free = slots.free(hook(`a${count}`, "a")); free > 0; free--) slots.take(hook(`a${count}`, "a"));
  expect([slots.free(hook("a-new", "a")), slots.free(hook("b", "b")), slots.free(hook("file", null))]).toEqual([
    0, 4, 4,
  ]);
  for (let tenant = 0; tenant < 20; tenant++)
    for (let count = 0; count < 20; count++)
      for (let free = slots.free(hook(`${tenant} ${count}`, `t${tenant}`)); free > 0; free--)
        slots.take(hook(`${tenant} ${count}`, `t${tenant}`));
  expect(slots.free(hook("b", "b"))).toBe(0);
});

test("the longest waiting comes first; a removed webhook is forgotten, unless a delivery is in flight", () => {
  const slots = webhookSlots();
  const due = ["one", "two", "three"].map((webhookId) => ({ webhookId }));
  const end = slots.take(hook("one", "a"));
  slots.take(hook("two", "a"))(false);
  expect(slots.inTurn(due).map(({ webhookId }) => webhookId)).toEqual(["three", "one", "two"]);
  slots.forget(() => false);
  expect([slots.free(hook("two", "a")), slots.free(hook("one", "a"))]).toEqual([4, 3]);
  end(true);
  slots.forget(() => false);
  expect(slots.inTurn(due).map(({ webhookId }) => webhookId)).toEqual(["one", "two", "three"]);
});
