// A turn of the loop for everybody else, between two pieces of work that are long for one call.

export function nextTurn(): Promise<void> {
  return new Promise((resume) => setImmediate(resume));
}
