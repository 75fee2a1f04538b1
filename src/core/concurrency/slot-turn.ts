// The wait for one of the slots that bound work of one kind, in this process or over all processes of the machine, and
// the slot itself once it has come.
import { isPending, type MaybePromise } from "../maybe-promise.ts";
import type { Entered, SlotPlace, Slots } from "./slots.ts";

export interface SlotTurn {
  /**
   * True once the slot is the caller's; false when the queue was full, the wait was shed, or the process that has the
   * slots has gone. It is there at once when the slots are in this process and need no wait. Never rejects.
   */
  readonly came: MaybePromise<boolean>;
  /**
   * Leaves the slot, or the queue, or the question for one, and settles `came` where it has not: nothing that waits for it
   * stays behind. It has an effect only once.
   */
  leave(): void;
}

/** `leave` has to be called in every case. */
export function takeTurn(slots: Slots, place: SlotPlace): SlotTurn {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let came: MaybePromise<boolean> = promise;
  let hasLeft = false;
  let undo = (): void => {};
  const settle = (isOurs: boolean): void => resolve((came = isOurs));
  const entered = (): void => {
    if (hasLeft) return slots.leave(place.key);
    undo = () => slots.leave(place.key);
    settle(true);
  };
  const refused = (): void => {
    undo = () => {};
    settle(false);
  };
  const answered = (answer: Entered): void => {
    if (answer === "entered") entered();
    else if (answer === "full") refused();
    else if (hasLeft) answer.cancel();
    // the turn may have come before the answer that there is a wait
    else if (came === promise) undo = () => answer.cancel();
  };
  const asked = slots.enter(place, (turn) => (turn === "entered" ? entered() : refused()));
  if (isPending(asked)) void asked.then(answered);
  else answered(asked);
  return {
    came,
    leave() {
      if (hasLeft) return;
      hasLeft = true;
      undo();
      settle(false);
    },
  };
}

/**
 * Runs work in a slot once it has come, at once where none has to be waited for. `bounded` may end the wait. Throws
 * `refused()` when no slot comes.
 */
export async function inTurn<T>(
  slots: Slots,
  place: SlotPlace,
  refused: () => Error,
  work: () => Promise<T>,
  bounded: (coming: Promise<boolean>) => Promise<boolean> = (coming) => coming,
): Promise<T> {
  const turn = takeTurn(slots, place);
  try {
    const { came } = turn;
    if (!(isPending(came) ? await bounded(came) : came)) throw refused();
    return await work();
  } finally {
    turn.leave();
  }
}
