// Turns of the event loop: one for all other calls between two pieces of work that are long for one call, and the one in which the sockets are read.

export function nextTurn(): Promise<void> {
  return new Promise((resume) => setImmediate(resume));
}

/** Calls `work` once what has arrived on the sockets so far has been read. */
export function afterSocketsRead(work: () => void): void {
  setImmediate(() => setImmediate(work));
}
