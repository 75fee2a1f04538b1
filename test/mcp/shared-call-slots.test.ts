// Slots of a tool server that several processes share, against an independent count of holders.
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { CallSlots } from "../../src/mcp/call-slots.ts";
import { sharedCallSlots } from "../../src/mcp/shared-call-slots.ts";
import { askedSlots, type AskedSlots, openSharedSlots, type SlotAnswer } from "../../src/routing/shared-slots.ts";
import { drawCount } from "../harness/time/long-run.ts";

interface Process {
  readonly slots: CallSlots;
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
    return { slots: sharedCallSlots(asked[member]!, "server"), messages };
  });
  return processes;
}

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("[d13.1] no more calls of a tool server run than its bound over all processes, and no slot is lost, whoever stops waiting", async () => {
  const step = fc.record({
    what: fc.constantFrom("take", "take", "free", "giveUp", "deliver", "deliver", "deliver all", "turn and giveUp"),
    process: fc.nat(2),
    which: fc.nat(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 80, size: "max" }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, max) => {
        const processes = openProcesses(3);
        let running: Process[] = [];
        let waiting: { readonly process: Process; readonly promise: Promise<void>; isOver: boolean }[] = [];
        const take = (process: Process): void => {
          const wait = { process, promise: process.slots.take(max)!, isOver: false };
          waiting.push(wait);
          const began = (): void => {
            if (wait.isOver) return;
            wait.isOver = true;
            running.push(process);
          };
          void wait.promise.then(began);
        };
        const settle = async (): Promise<void> => {
          while (processes.some(({ messages }) => messages.length > 0)) {
            for (const { messages } of processes) messages.shift()?.();
            await turnOfLoop();
          }
          await turnOfLoop();
        };
        for (const { what, process: at, which } of steps) {
          const process = processes[at]!;
          if (what === "take") take(process);
          else if (what === "free" && running.length > 0) running.splice(which % running.length, 1)[0]!.slots.free();
          else if (what.endsWith("giveUp")) {
            // the slot and the end of the wait may come in one turn of the event loop
            if (what !== "giveUp") for (const deliver of process.messages.splice(0)) deliver();
            waiting = waiting.filter(({ isOver }) => !isOver);
            const wait = waiting[which % Math.max(1, waiting.length)];
            if (wait === undefined) continue;
            wait.isOver = true;
            wait.process.slots.giveUp(wait.promise);
          } else if (what === "deliver") process.messages.shift()?.();
          else if (what === "deliver all") for (const deliver of process.messages.splice(0)) deliver();
          await turnOfLoop();
          expect(running.length).toBeLessThanOrEqual(max);
        }
        await settle();
        while (running.length > 0) {
          const ending = running;
          running = [];
          for (const { slots } of ending) slots.free();
          await settle();
        }
        expect(waiting.filter(({ isOver }) => !isOver)).toEqual([]);
        for (let calls = 0; calls <= max; calls++) take(processes[calls % 3]!);
        await settle();
        expect(running).toHaveLength(max);
        expect(processes.reduce((sum, { slots }) => sum + slots.inUse, 0)).toBe(max);
      },
    ),
    { numRuns: drawCount(60, 1_000) },
  );
});

test("[d13.1] a call is refused when there is no supervisor to ask", async () => {
  const slots = sharedCallSlots(askedSlots({ enter: () => Promise.reject(new Error("closed")), leave: () => {} }), "x");
  expect(await slots.take(1)!.catch((thrown: unknown) => (thrown as Error).message)).toContain("supervisor");
});

test("[d13.2] a call that waits for a slot is refused when the process goes that has them", async () => {
  const answers: SlotAnswer[] = ["entered", "waits"];
  const asked = askedSlots({ enter: () => Promise.resolve(answers.shift()!), leave: () => {} });
  const slots = sharedCallSlots(asked, "server");
  await slots.take(1);
  const waiting = slots.take(1)!;
  await turnOfLoop();
  asked.lost();
  expect(await waiting.catch((thrown: unknown) => thrown)).toMatchObject({ message: expect.stringContaining("slot") });
  slots.giveUp(waiting);
  slots.free();
  expect(slots.inUse).toBe(0);
});
