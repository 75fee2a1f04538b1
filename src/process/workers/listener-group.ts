// The workers that listen on the port, in the order that the kernel has: by the time when they began to listen. When one
// stops, the last one takes its index. One worker at a time begins to listen, so that this order is known here.
import { messageOf } from "../../core/thrown.ts";
import { weightsOf } from "./steering.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** A worker that does not answer is not waited for. */
const STEER_MS = 1000;
/** Weights that differ by less than this part are left as they are. */
const NOTABLE = 0.25;

export class ListenerGroup {
  readonly #onUnsteerable: (why: string) => void;
  readonly #workers: WorkerProcess[] = [];
  /** The weights that the kernel has; `null` when the group has changed since. */
  #weights: readonly number[] | null = null;
  #isUnsteerable = false;

  /** `onUnsteerable` is called once, when the system does not let listeners be steered. */
  constructor(onUnsteerable: (why: string) => void) {
    this.#onUnsteerable = onUnsteerable;
  }

  get workers(): readonly WorkerProcess[] {
    return this.#workers;
  }

  async add(worker: WorkerProcess): Promise<void> {
    this.#workers.push(worker);
    this.#weights = null;
    await this.steer();
  }

  async remove(worker: WorkerProcess): Promise<void> {
    const index = this.#workers.indexOf(worker);
    if (index < 0) return;
    const last = this.#workers.pop()!;
    if (last !== worker) this.#workers[index] = last;
    this.#weights = null;
    await this.steer();
  }

  /** Gives new connections to the workers by their load; those that leave or are silent get none. Never rejects. */
  async steer(): Promise<void> {
    const weights = weightsOf(
      this.#workers.map(({ callsInFlight, isSilent, isLeaving }) => ({
        callsInFlight,
        isAvoided: isSilent || isLeaving,
      })),
    );
    // Any worker that stays can do it; the last one is the least likely to be busy.
    const channel = this.#workers.findLast(({ isSilent, isLeaving }) => !isSilent && !isLeaving)?.channel;
    if (channel == null || this.#isUnsteerable || !isNotable(weights, this.#weights)) return;
    this.#weights = weights;
    try {
      await Promise.race([channel.request("steer", { weights }), Bun.sleep(STEER_MS)]);
    } catch (fault) {
      if (channel.isClosed) return;
      this.#isUnsteerable = true;
      this.#onUnsteerable(messageOf(fault));
    }
  }
}

function isNotable(weights: readonly number[], before: readonly number[] | null): boolean {
  if (before === null || before.length !== weights.length) return true;
  return weights.some((weight, index) => {
    const earlier = before[index]!;
    return (weight === 0) !== (earlier === 0) || Math.abs(weight - earlier) > NOTABLE * earlier;
  });
}
