// Turns of the event loop: one lets other calls run between two long pieces of work of one call, the other lets the
// sockets be read.

export function yieldToLoop(): Promise<void> {
  return new Promise((resume) => setImmediate(resume));
}

/** Calls `work` once what has arrived on the sockets so far has been read. */
export function afterSocketsRead(work: () => void): void {
  setImmediate(() => setImmediate(work));
}
