// Slots for concurrent calls of one tool server over all processes of a machine.
import { isPending } from "../core/maybe-promise.ts";
import type { Entered, Slots } from "../routing/concurrency.ts";
import type { CallSlots } from "./call-slots.ts";
import { ToolFault } from "./faults.ts";

/** Calls that wait for a slot; each waits for the `timeout_s` of its server at most. */
const MOST_WAITING = 10_000;

/** A call always has to ask, and its promise is rejected when there is no other process to ask. */
export function sharedCallSlots(slots: Slots, serverKey: string): CallSlots {
  const key = `tool server ${serverKey}`;
  /** What to do when a call stops waiting. */
  const waits = new WeakMap<Promise<void>, () => void>();
  let inUse = 0;

  const free = (): void => {
    inUse -= 1;
    slots.leave(key);
  };
  return {
    get inUse() {
      return inUse;
    },
    take(max) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      let isGivenUp = false;
      const enter = (): void => {
        inUse += 1;
        if (isGivenUp) return free();
        waits.set(promise, free);
        resolve();
      };
      const refuse = (): void => {
        waits.delete(promise);
        reject(new ToolFault("failed", "no slot of the tool server could be had from the supervisor"));
      };
      const asked = slots.enter(key, "", max, MOST_WAITING, (turn) => {
        if (turn === "entered") enter();
        else refuse();
      });
      const answered = (came: Entered): void => {
        if (came === "entered") enter();
        else if (came === "full") refuse();
        else if (isGivenUp) came.cancel();
        else waits.set(promise, () => came.cancel());
      };
      waits.set(promise, () => (isGivenUp = true));
      if (isPending(asked)) void asked.then(answered);
      else answered(asked);
      return promise;
    },
    giveUp(waiting) {
      const end = waits.get(waiting);
      waits.delete(waiting);
      end?.();
    },
    free,
  };
}
