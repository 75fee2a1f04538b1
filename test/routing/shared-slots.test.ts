// Slots at a target that several processes share: the bound holds over all of them, also when messages are late and processes end.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isPending } from "../../src/core/maybe-promise.ts";
import type { Entered, Ticket } from "../../src/core/concurrency/slots.ts";
import { askedSlots, type AskedSlots, openSharedSlots, type SlotAnswer } from "../../src/routing/shared-slots.ts";
import { drawCount } from "../harness/time/long-run.ts";
import { printedSeed } from "../harness/time/chance.ts";

const KEY = "one:model";
const PLACE = { key: KEY, tenant: "t", max: 1, queueMax: 1 };

interface Member {
  readonly slots: AskedSlots;
  /** Messages that have not arrived yet, in their order. */
  readonly toDesk: (() => void)[];
  readonly fromDesk: (() => void)[];
  readonly tickets: Ticket[];
  /** Attempts of this process that run. */
  running: number;
  isOver: boolean;
}

/** An attempt as its process sees it, without the code under test. */
interface Counted {
  readonly of: Member;
  answers: number;
}

class World {
  readonly members: Member[] = [];
  readonly attempts: Counted[] = [];
  readonly shared = openSharedSlots<Member>((member, id, turn) => {
    member.fromDesk.push(() => member.slots.turned(id, turn));
  });

  begin(): Member {
    const toDesk: Member["toDesk"] = [];
    const fromDesk: Member["fromDesk"] = [];
    const slots = askedSlots({
      enter: (request) =>
        new Promise<SlotAnswer>((resolve) => {
          toDesk.push(() => {
            const answer = this.shared.enter(member, request);
            fromDesk.push(() => resolve(answer));
          });
        }),
      leave: (id) => void toDesk.push(() => this.shared.leave(member, id)),
    });
    const member: Member = { slots, toDesk, fromDesk, tickets: [], running: 0, isOver: false };
    this.members.push(member);
    return member;
  }

  enter(of: Member, tenant: string, max: number, queueMax: number): void {
    const attempt: Counted = { of, answers: 0 };
    this.attempts.push(attempt);
    const entered = (): void => {
      attempt.answers += 1;
      of.running += 1;
    };
    const asked = of.slots.enter({ key: KEY, tenant, max, queueMax }, (turn) => {
      if (turn === "entered") entered();
      else attempt.answers += 1;
    });
    if (!isPending(asked)) throw new Error("the slots are in another process");
    const answered = (came: Entered): void => {
      if (came === "entered") entered();
      else if (came === "full") attempt.answers += 1;
      else
        of.tickets.push({
          cancel() {
            if (attempt.answers === 0) attempt.answers += 1;
            came.cancel();
          },
        });
    };
    void asked.then(answered);
  }

  end(member: Member): void {
    member.isOver = true;
    this.members.splice(this.members.indexOf(member), 1);
    this.shared.end(member);
  }

  /** Delivers everything. */
  async settle(): Promise<void> {
    while (this.members.some(({ toDesk, fromDesk }) => toDesk.length + fromDesk.length > 0)) {
      for (const { toDesk, fromDesk } of this.members) {
        toDesk.shift()?.();
        fromDesk.shift()?.();
      }
      await Promise.resolve();
    }
    for (let turns = 0; turns < 5; turns++) await Promise.resolve();
  }

  running(): number {
    return this.members.reduce((sum, member) => sum + member.running, 0);
  }
}

describe("slots that processes share", () => {
  test("[d13.1] hold their bound, answer each attempt once, and lose no slot, whoever ends", async () => {
    const step = fc.record({
      what: fc.constantFrom(
        "enter",
        "enter",
        "enter",
        "leave",
        "leave",
        "cancel",
        "carry",
        "carry",
        "hear",
        "hear",
        "hear all",
        "end",
        "begin",
      ),
      member: fc.nat(5),
      tenant: fc.constantFrom("a", "b", "c"),
      which: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 150, size: "max" }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 0, max: 4 }),
        async (steps, max, queueMax) => {
          const world = new World();
          for (let at = 0; at < 3; at++) world.begin();
          for (const { what, member: at, tenant, which } of steps) {
            const member = world.members[at % world.members.length]!;
            if (what === "enter") world.enter(member, tenant, max, queueMax);
            else if (what === "leave" && member.running > 0) {
              member.running -= 1;
              member.slots.leave(KEY);
            } else if (what === "cancel" && member.tickets.length > 0)
              member.tickets.splice(which % member.tickets.length, 1)[0]!.cancel();
            else if (what === "carry") member.toDesk.shift()?.();
            else if (what === "hear") member.fromDesk.shift()?.();
            else if (what === "hear all") for (const take of member.fromDesk.splice(0)) take();
            else if (what === "end" && world.members.length > 1) world.end(member);
            else if (what === "begin" && world.members.length < 6) world.begin();
            await Promise.resolve();
            await Promise.resolve();
            expect(world.running()).toBeLessThanOrEqual(max);
          }
          await world.settle();
          for (let rounds = 0; world.running() > 0; rounds++) {
            expect(rounds).toBeLessThan(1_000);
            for (const member of world.members) for (; member.running > 0; member.running -= 1) member.slots.leave(KEY);
            await world.settle();
          }
          expect(world.attempts.filter(({ of, answers }) => !of.isOver && answers !== 1)).toEqual([]);
          for (const { slots } of world.members) expect(slots.waiting(KEY)).toBe(0);
          const last = world.begin();
          for (let at = 0; at < max + 1; at++) world.enter(last, "z", max, 0);
          await world.settle();
          expect(last.running).toBe(max);
        },
      ),
      { numRuns: drawCount(300, 5_000), seed: printedSeed("shared slots") },
    );
  });

  test("[d13.1] are refused when the process that has them cannot be reached", async () => {
    const slots = askedSlots({ enter: () => Promise.reject(new Error("closed")), leave: () => {} });
    expect(await slots.enter(PLACE, () => {})).toBe("full");
  });

  test("[d13.2] attempts that wait are refused when the process goes that has them", async () => {
    const answers: SlotAnswer[] = ["entered", "waits"];
    const slots = askedSlots({ enter: () => Promise.resolve(answers.shift()!), leave: () => {} });
    const turns: string[] = [];
    expect(await slots.enter(PLACE, (turn) => turns.push(turn))).toBe("entered");
    await slots.enter(PLACE, (turn) => turns.push(turn));
    slots.lost();
    expect([turns, slots.waiting(KEY)]).toEqual([["shed"], 0]);
  });
});
