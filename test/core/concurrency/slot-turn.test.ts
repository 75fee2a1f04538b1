// The wait for a slot, in one process and over several, against an independent count of holders.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { openConcurrency, type Slots } from "../../../src/core/concurrency/slots.ts";
import { askedSlots, type AskedSlots, openSharedSlots, type SlotAnswer } from "../../../src/routing/shared-slots.ts";
import { type SlotTurn, takeTurn } from "../../../src/core/concurrency/slot-turn.ts";
import { drawCount } from "../../harness/time/long-run.ts";

const take = (slots: Slots, max: number, { tenant = "acme", queueMax = 100 } = {}): SlotTurn =>
  takeTurn(slots, { key: "server", tenant, max, queueMax });

interface Process {
  readonly slots: Slots;
  readonly messages: (() => void)[];
}

/** Processes whose messages arrive when the test says so. */
function openProcesses(count: number): readonly Process[] {
  const shared = openSharedSlots<number>((member, id, turn) =>
    processes[member]!.messages.push(() => asked[member]!.turned(id, turn)),
  );
  const asked: AskedSlots[] = [];
  const processes = Array.from({ length: count }, (_, member): Process => {
    const messages: (() => void)[] = [];
    asked.push(
      askedSlots({
        enter: (request) =>
          new Promise<SlotAnswer>((resolve) => {
            messages.push(() => {
              const answer = shared.enter(member, request);
              messages.push(() => resolve(answer));
            });
          }),
        leave: (id) => messages.push(() => shared.leave(member, id)),
      }),
    );
    return { slots: asked[member]!, messages };
  });
  return processes;
}

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the turn for a slot", () => {
  test("is there at once where a slot is free, and where the queue is full", () => {
    const slots = openConcurrency();
    expect(take(slots, 1, { queueMax: 0 }).came).toBe(true);
    expect(take(slots, 1, { queueMax: 0 }).came).toBe(false);
  });

  test("that is given to somebody who has left meanwhile goes to the next", async () => {
    const slots = openConcurrency();
    const holder = take(slots, 1);
    const [left, next] = [take(slots, 1), take(slots, 1)];
    holder.leave();
    // the slot is the first one's by now, who leaves without having seen it
    left.leave();
    expect(await next.came).toBe(true);
    expect(take(slots, 1, { queueMax: 0 }).came).toBe(false);
    next.leave();
    expect(take(slots, 1, { queueMax: 0 }).came).toBe(true);
  });

  test("is left once, whatever is called how often", async () => {
    const slots = openConcurrency();
    const [first, second] = [take(slots, 1), take(slots, 1)];
    first.leave();
    first.leave();
    expect(await second.came).toBe(true);
    expect(take(slots, 1, { queueMax: 0 }).came).toBe(false);
  });

  test("[d5.8] [d16.4] is one tenant's after the other's, however much work one of them has", async () => {
    const piece = fc.tuple(fc.constantFrom("a", "b", "c"), fc.boolean(), fc.nat(3));
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 40 }), async (pieces) => {
        const slots = openConcurrency();
        const done: string[] = [];
        let running = 0;
        const work = async ([tenant, isGivenUp, waits]: (typeof pieces)[number], index: number): Promise<void> => {
          const turn = take(slots, 1, { tenant });
          // whoever stops waiting does not change whose turn it is
          if (isGivenUp && index > 0) return turn.leave();
          await turn.came;
          running += 1;
          expect(running).toBe(1);
          for (let wait = 0; wait < waits; wait++) await Promise.resolve();
          running -= 1;
          done.push(tenant);
          turn.leave();
        };
        await Promise.all(pieces.map(work));
        // the first begins at once; the rest is dealt like cards, one to each tenant that still has some
        const left = new Map<string, number>();
        for (const [tenant, isGivenUp] of pieces.slice(1))
          if (!isGivenUp) left.set(tenant, (left.get(tenant) ?? 0) + 1);
        const expected: string[] = [pieces[0]![0]];
        while (left.size > 0)
          for (const [tenant, count] of Array.from(left)) {
            expected.push(tenant);
            if (count === 1) left.delete(tenant);
            else left.set(tenant, count - 1);
          }
        expect(done).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  test("[d13.1] comes to no more than the bound over all processes, and no slot is lost, whoever stops waiting", async () => {
    const step = fc.record({
      what: fc.constantFrom("take", "take", "free", "give up", "deliver", "deliver", "deliver all", "deliver, give up"),
      process: fc.nat(2),
      which: fc.nat(),
    });
    /** One process has its slots itself, and three ask another one. */
    const worlds = fc.constantFrom(
      () => [{ slots: openConcurrency(), messages: [] }],
      () => openProcesses(3),
    );
    await fc.assert(
      fc.asyncProperty(
        worlds,
        fc.array(step, { maxLength: 80, size: "max" }),
        fc.integer({ min: 1, max: 3 }),
        async (open, steps, max) => {
          const processes: readonly Process[] = open();
          const running = new Set<SlotTurn>();
          const waiting = new Set<SlotTurn>();
          const begin = ({ slots }: Process): void => {
            const turn = take(slots, max);
            waiting.add(turn);
            const came = (isOurs: boolean): void => {
              if (!waiting.delete(turn)) return;
              expect(isOurs).toBe(true);
              running.add(turn);
            };
            void Promise.resolve(turn.came).then(came);
          };
          const settle = async (): Promise<void> => {
            await turnOfLoop();
            while (processes.some(({ messages }) => messages.length > 0)) {
              for (const { messages } of processes) messages.shift()?.();
              await turnOfLoop();
            }
          };
          for (const { what, process: at, which } of steps) {
            const process = processes[at % processes.length]!;
            if (what === "take") begin(process);
            else if (what === "free" && running.size > 0) {
              const turn = [...running][which % running.size]!;
              running.delete(turn);
              turn.leave();
            } else if (what.endsWith("give up")) {
              // the slot and the end of the wait may come in one turn of the event loop
              if (what !== "give up") for (const deliver of process.messages.splice(0)) deliver();
              const turn = [...waiting][which % Math.max(1, waiting.size)];
              if (turn === undefined) continue;
              waiting.delete(turn);
              turn.leave();
            } else if (what === "deliver") process.messages.shift()?.();
            else if (what === "deliver all") for (const deliver of process.messages.splice(0)) deliver();
            await turnOfLoop();
            expect(running.size).toBeLessThanOrEqual(max);
          }
          await settle();
          while (running.size > 0) {
            const ending = [...running];
            running.clear();
            for (const turn of ending) turn.leave();
            await settle();
          }
          expect(waiting.size).toBe(0);
          for (let calls = 0; calls <= max; calls++) begin(processes[calls % processes.length]!);
          await settle();
          expect([running.size, waiting.size]).toEqual([max, 1]);
        },
      ),
      { numRuns: drawCount(120, 2_000) },
    );
  });

  test("settles when it is given up, so that nothing waits for it any longer", async () => {
    const slots = openConcurrency();
    const holder = take(slots, 1);
    const waiting = take(slots, 1);
    waiting.leave();
    expect(await waiting.came).toBe(false);
    holder.leave();
    expect(take(slots, 1, { queueMax: 0 }).came).toBe(true);
  });

  test("is left where it came before the answer that there is a wait", async () => {
    const local = openConcurrency();
    const holder = take(local, 1);
    const answer = Promise.withResolvers<void>();
    const late: Slots = {
      ...local,
      enter: async (...place) => {
        const entered = local.enter(...place);
        await answer.promise;
        return entered;
      },
    };
    const waiting = take(late, 1);
    holder.leave();
    expect(await waiting.came).toBe(true);
    answer.resolve();
    await turnOfLoop();
    waiting.leave();
    expect(take(local, 1, { queueMax: 0 }).came).toBe(true);
  });

  test("takes no room in the queue when it is given up before the supervisor has answered", async () => {
    const left: number[] = [];
    const slots = askedSlots({ enter: () => Promise.resolve("waits"), leave: (id) => left.push(id) });
    take(slots, 1).leave();
    await turnOfLoop();
    expect(left).toHaveLength(1);
  });

  test("[d13.1] does not come when there is no supervisor to ask", async () => {
    const slots = askedSlots({ enter: () => Promise.reject(new Error("closed")), leave: () => {} });
    expect(await take(slots, 1).came).toBe(false);
  });

  test("[d13.2] does not come to somebody who waits when the process goes that has the slots", async () => {
    const answers: SlotAnswer[] = ["entered", "waits"];
    const left: number[] = [];
    const slots = askedSlots({ enter: () => Promise.resolve(answers.shift()!), leave: (id) => left.push(id) });
    const [holder, waiting] = [take(slots, 1), take(slots, 1)];
    expect(await holder.came).toBe(true);
    await turnOfLoop();
    slots.lost();
    expect(await waiting.came).toBe(false);
    waiting.leave();
    expect(left).toEqual([]);
    holder.leave();
    expect(left).toHaveLength(1);
  });
});
