// Turns of the event loop: one lets other calls run between two long pieces of work of one call, the other lets the
// sockets be read.

/**
 * In bytes of JSON, which can hold some ten thousand values. Each step of the work on such a text takes milliseconds, so
 * that other calls have their turns between the steps.
 */
export const TURNS_BYTES = 65_536;

/**
 * Those that wait for a turn, in the order of their coming. One goes on in each turn of the event loop: if all of them
 * did, as many pieces of work would hold up the other calls together as one call has parts, such as requests for its
 * choices.
 */
class Turns {
  readonly #waiting: (() => void)[] = [];

  next(): Promise<void> {
    return new Promise((resume) => {
      if (this.#waiting.push(resume) === 1) setImmediate(this.#resumeFirst);
    });
  }

  readonly #resumeFirst = (): void => {
    const resume = this.#waiting.shift()!;
    if (this.#waiting.length > 0) setImmediate(this.#resumeFirst);
    resume();
  };
}

const turns = new Turns();

/** Resolves in a later turn of the event loop, in which no other waits for this ends. */
export function yieldToLoop(): Promise<void> {
  return turns.next();
}

/** Calls `work` once what has arrived on the sockets so far has been read. */
export function afterSocketsRead(work: () => void): void {
  setImmediate(() => setImmediate(work));
}
