// Slots at a target: the bound holds, the queue is fair between tenants and first come first served within one, and no waiter is called twice or forgotten.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { openConcurrency, type Concurrency, type Ticket } from "../../../src/core/concurrency/slots.ts";
import { printedSeed } from "../../harness/time/chance.ts";

const KEY = "one:model";

/** Tells turns by name, in their order. */
function desk(
  max: number,
  queueMax: number,
): {
  readonly slots: Concurrency;
  readonly turns: string[];
  readonly enter: (name: string, tenant?: string) => string;
  readonly tickets: Map<string, Ticket>;
} {
  const slots = openConcurrency();
  const turns: string[] = [];
  const tickets = new Map<string, Ticket>();
  return {
    slots,
    turns,
    tickets,
    enter(name, tenant = "t") {
      const got = slots.enter({ key: KEY, tenant, max, queueMax }, (turn) => turns.push(`${name} ${turn}`));
      if (typeof got === "string") return got;
      tickets.set(name, got);
      return "waits";
    },
  };
}

describe("a target's concurrency", () => {
  test("has as many slots as its bound, then a queue, then it is full", () => {
    const { slots, turns, enter } = desk(2, 1);
    expect(["a", "b", "c", "d"].map((name) => enter(name))).toEqual(["entered", "entered", "waits", "full"]);
    expect(slots.waiting(KEY)).toBe(1);
    slots.leave(KEY);
    expect([turns, slots.waiting(KEY)]).toEqual([["c entered"], 0]);
    expect(slots.enter({ key: "another", tenant: "t", max: 2, queueMax: 1 }, () => undefined)).toBe("entered");
  });
  test("[d7.5] goes to an entry with a wide bound although one with a narrow bound waits before it", () => {
    const slots = openConcurrency();
    const turns: string[] = [];
    const enter = (name: string, max: number) =>
      slots.enter({ key: KEY, tenant: "t", max, queueMax: 10 }, (turn) => turns.push(`${name} ${turn}`));
    expect([enter("a", 3), enter("b", 3), enter("c", 3)]).toEqual(["entered", "entered", "entered"]);
    for (const [name, max] of [
      ["narrow", 1],
      ["wide", 3],
      ["wide too", 3],
    ] as const)
      enter(name, max);
    slots.leave(KEY);
    expect(turns).toEqual(["wide entered"]);
    for (let at = 0; at < 3; at++) slots.leave(KEY);
    // the narrow one has its turn once nobody else is at the target
    expect(turns).toEqual(["wide entered", "wide too entered"]);
    slots.leave(KEY);
    expect(turns.at(-1)).toBe("narrow entered");
    expect(slots.waiting(KEY)).toBe(0);
  });
  test("without a queue is taken or full", () => {
    const { enter } = desk(1, 0);
    expect([enter("a"), enter("b")]).toEqual(["entered", "full"]);
  });
  test("is shared among the tenants in turn, first come first served within one", () => {
    const { slots, turns, enter } = desk(1, 10);
    enter("x");
    for (const [name, tenant] of [
      ["a1", "a"],
      ["a2", "a"],
      ["a3", "a"],
      ["b1", "b"],
      ["c1", "c"],
      ["b2", "b"],
    ] as const)
      enter(name, tenant);
    for (let at = 0; at < 6; at++) slots.leave(KEY);
    expect(turns).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"].map((name) => `${name} entered`));
  });
  test("with a full queue drops a call of the tenant with the most in it for one with fewer", () => {
    const { slots, turns, enter } = desk(1, 3);
    enter("x");
    for (const name of ["a1", "a2", "a3"]) enter(name, "a");
    expect([enter("a4", "a"), enter("b1", "b"), enter("b2", "b"), enter("a5", "a")]).toEqual([
      "full",
      "waits",
      "full",
      "full",
    ]);
    expect(turns).toEqual(["a3 shed"]);
    for (let at = 0; at < 4; at++) slots.leave(KEY);
    expect(turns.slice(1)).toEqual(["a1 entered", "b1 entered", "a2 entered"]);
  });
  test("is not given to a caller that has left the queue", () => {
    const { slots, turns, enter, tickets } = desk(1, 3);
    for (const name of ["x", "a", "b"]) enter(name);
    tickets.get("a")!.cancel();
    tickets.get("a")!.cancel();
    slots.leave(KEY);
    tickets.get("b")!.cancel();
    expect([turns, slots.waiting(KEY)]).toEqual([["b entered"], 0]);
    slots.leave(KEY);
    slots.leave(KEY);
    expect([enter("c"), enter("d")]).toEqual(["entered", "waits"]);
  });
  test("may be bounded differently by two routes, and the stricter one does not stop the other", () => {
    const slots = openConcurrency();
    const turns: string[] = [];
    const enter = (name: string, max: number): string | Ticket =>
      slots.enter({ key: KEY, tenant: name, max, queueMax: 5 }, () => turns.push(name));
    expect([enter("a", 2), enter("b", 2)]).toEqual(["entered", "entered"]);
    enter("strict", 1);
    enter("lax", 2);
    slots.leave(KEY);
    expect(turns).toEqual(["lax"]);
    slots.leave(KEY);
    slots.leave(KEY);
    expect(turns).toEqual(["lax", "strict"]);
  });

  const seed = printedSeed("slots");
  test("holds its bounds, and every caller gets exactly one answer", () => {
    const doings = fc.array(
      fc.record({
        what: fc.constantFrom("enter", "enter", "enter", "leave", "cancel"),
        tenant: fc.constantFrom("a", "b", "c"),
        which: fc.nat(),
      }),
      { maxLength: 120 },
    );
    fc.assert(
      fc.property(doings, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 5 }), (steps, max, queueMax) => {
        const slots = openConcurrency();
        const answers: string[][] = [];
        const tickets: { readonly id: number; readonly ticket: Ticket }[] = [];
        let inside = 0;
        for (const { what, tenant, which } of steps) {
          if (what === "leave" && inside > 0) {
            inside -= 1;
            slots.leave(KEY);
          } else if (what === "cancel" && tickets.length > 0) {
            const { id, ticket } = tickets[which % tickets.length]!;
            if (answers[id]!.length === 0) answers[id]!.push("cancelled");
            ticket.cancel();
          } else if (what === "enter") {
            const id = answers.push([]) - 1;
            const got = slots.enter({ key: KEY, tenant, max, queueMax }, (turn) => {
              answers[id]!.push(turn);
              if (turn === "entered") inside += 1;
            });
            if (typeof got === "string") answers[id]!.push(got);
            else tickets.push({ id, ticket: got });
            if (got === "entered") inside += 1;
          }
          const waiting = answers.filter((each) => each.length === 0).length;
          expect(inside).toBeLessThanOrEqual(max);
          expect(slots.waiting(KEY)).toBe(waiting);
          expect(waiting).toBeLessThanOrEqual(queueMax);
          expect(waiting > 0 && inside < max).toBe(false);
        }
        for (; inside > 0; inside -= 1) slots.leave(KEY);
        expect(answers.every((each) => each.length === 1)).toBe(true);
        expect(slots.waiting(KEY)).toBe(0);
      }),
      { seed, numRuns: 2_000 },
    );
  });
});
