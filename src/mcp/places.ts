// Places for calls that run at the same time: whoever finds none waits in turn.

export interface Places {
  /** Undefined: at once. Else resolves when it is one's turn; the promise has to be given up where nobody waits any more. */
  take(max: number): Promise<void> | undefined;
  /** Who waited has gone. True: it had its place already, which is free again. */
  giveUp(waiting: Promise<void>): void;
  free(): void;
  readonly taken: number;
}

export function openPlaces(): Places {
  let taken = 0;
  const queue = new Map<Promise<void>, () => void>();
  const places: Places = {
    get taken() {
      return taken;
    },
    take(max) {
      if (taken < max) {
        taken += 1;
        return undefined;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      queue.set(promise, resolve);
      return promise;
    },
    giveUp(waiting) {
      // not in the queue: the place was given while it went
      if (!queue.delete(waiting)) places.free();
    },
    free() {
      const [next] = queue;
      if (next === undefined) {
        taken -= 1;
        return;
      }
      queue.delete(next[0]);
      next[1]();
    },
  };
  return places;
}
