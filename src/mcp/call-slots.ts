// Slots for concurrent calls; a call without a free slot waits in a queue.

export interface CallSlots {
  /**
   * Undefined when a slot is free at once; otherwise resolves when it is the caller's turn. A caller that stops waiting
   * has to call `giveUp`.
   */
  take(max: number): Promise<void> | undefined;
  /** Called when a waiting call was cancelled. If it already had its slot, the slot is freed. */
  giveUp(waiting: Promise<void>): void;
  free(): void;
  readonly inUse: number;
}

export function openCallSlots(): CallSlots {
  let inUse = 0;
  const queue = new Map<Promise<void>, () => void>();
  const places: CallSlots = {
    get inUse() {
      return inUse;
    },
    take(max) {
      if (inUse < max) {
        inUse += 1;
        return undefined;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      queue.set(promise, resolve);
      return promise;
    },
    giveUp(waiting) {
      // The promise is no longer in the queue: it got its slot while the call was cancelled.
      if (!queue.delete(waiting)) places.free();
    },
    free() {
      const [next] = queue;
      if (next === undefined) {
        inUse -= 1;
        return;
      }
      queue.delete(next[0]);
      next[1]();
    },
  };
  return places;
}
