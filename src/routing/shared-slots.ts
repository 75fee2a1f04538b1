// The slots at targets for all processes of a machine. One process has them (SharedSlots), and the others ask it
// (askedSlots). The slots of a process that ends are free again.
import type { MaybePromise } from "../core/maybe-promise.ts";
import {
  type Concurrency,
  type Entered,
  openConcurrency,
  type SlotPlace,
  type Slots,
  type QueueOutcome,
} from "../core/concurrency/slots.ts";

/** What a process asks for. It chooses the `id`, by which it names the slot later. */
export interface SlotRequest extends SlotPlace {
  readonly id: number;
}

/** `waits`: a turn follows. */
export type SlotAnswer = "entered" | "full" | "waits";

type Held = { readonly key: string; readonly cancel: (() => void) | null };

/** `onTurn` reports the turn of an attempt that waits. */
export function openSharedSlots<Member>(onTurn: (member: Member, id: number, turn: QueueOutcome) => void) {
  const concurrency: Concurrency = openConcurrency();
  const held = new Map<Member, Map<number, Held>>();

  const leave = (of: Map<number, Held>, id: number): void => {
    const one = of.get(id);
    if (one === undefined) return;
    of.delete(id);
    if (one.cancel === null) concurrency.leave(one.key);
    else one.cancel();
  };

  return {
    enter(member: Member, { id, ...place }: SlotRequest): SlotAnswer {
      const { key } = place;
      const own = held.getOrInsertComputed(member, () => new Map<number, Held>());
      const entered = concurrency.enter(place, (turn) => {
        if (turn === "entered") own.set(id, { key, cancel: null });
        else own.delete(id);
        onTurn(member, id, turn);
      });
      if (entered === "full") return "full";
      own.set(id, { key, cancel: entered === "entered" ? null : () => entered.cancel() });
      return entered === "entered" ? "entered" : "waits";
    },
    /** Leaves the slot, or the queue. Without effect when neither is the case any more. */
    leave(member: Member, id: number): void {
      const own = held.get(member);
      if (own !== undefined) leave(own, id);
    },
    /** A process has ended. */
    end(member: Member): void {
      const own = held.get(member);
      held.delete(member);
      if (own === undefined) return;
      for (const id of own.keys()) leave(own, id);
    },
  };
}

/** The way to the process that has the slots. */
export interface SlotDesk {
  /** Rejects when that process cannot be reached. */
  enter(request: SlotRequest): Promise<SlotAnswer>;
  leave(id: number): void;
}

export interface AskedSlots extends Slots {
  /** The other process reports the turn of an attempt that waits. */
  turned(id: number, turn: QueueOutcome): void;
  /** The other process has gone: the turns of attempts that wait never come. */
  lost(): void;
}

interface Asking {
  readonly key: string;
  readonly onTurn: (turn: QueueOutcome) => void;
  /** The turn may come before the answer that the attempt waits. */
  turn: QueueOutcome | null;
  isWaiting: boolean;
}

/** Without the other process there are no slots: an attempt that asks for one is refused as if there were no room. */
export function askedSlots(desk: SlotDesk): AskedSlots {
  const asking = new Map<number, Asking>();
  const inside = new Map<string, number[]>();
  let lastId = 0;

  const entered = (id: number, key: string): void => {
    asking.delete(id);
    inside.getOrInsertComputed(key, () => []).push(id);
  };
  const ask = async (request: SlotRequest, one: Asking): Promise<Entered> => {
    const { id, key } = request;
    let answer: SlotAnswer;
    try {
      answer = await desk.enter(request);
    } catch {
      answer = "full";
    }
    if (answer === "entered" || one.turn === "entered") {
      entered(id, key);
      return "entered";
    }
    if (answer === "full" || one.turn === "shed") {
      asking.delete(id);
      return "full";
    }
    one.isWaiting = true;
    return {
      cancel() {
        if (asking.delete(id)) desk.leave(id);
      },
    };
  };

  return {
    enter(place, onTurn): MaybePromise<Entered> {
      const one: Asking = { key: place.key, onTurn, turn: null, isWaiting: false };
      const id = ++lastId;
      asking.set(id, one);
      return ask({ id, ...place }, one);
    },
    leave(key) {
      const ids = inside.get(key);
      const id = ids?.pop();
      if (id === undefined) return;
      if (ids!.length === 0) inside.delete(key);
      desk.leave(id);
    },
    waiting(key) {
      let waiting = 0;
      for (const one of asking.values()) if (one.isWaiting && one.key === key) waiting += 1;
      return waiting;
    },
    turned(id, turn) {
      const one = asking.get(id);
      // The attempt has left the queue meanwhile, and the other process learns of it.
      if (one === undefined) return;
      if (!one.isWaiting) {
        one.turn = turn;
        return;
      }
      if (turn === "entered") entered(id, one.key);
      else asking.delete(id);
      one.onTurn(turn);
    },
    lost() {
      for (const [id, one] of asking) {
        if (!one.isWaiting) one.turn ??= "shed";
        else {
          asking.delete(id);
          one.onTurn("shed");
        }
      }
    },
  };
}
