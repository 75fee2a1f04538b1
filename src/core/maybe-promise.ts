// A value that is usually there at once, and has to be awaited only now and then: `await` on a value that is there
// costs a turn of the microtask queue, which every call would pay. Only steps that every call takes return such values;
// everything else is async.

export type MaybePromise<T> = T | Promise<T>;

export function isPending<T>(value: MaybePromise<T>): value is Promise<T> {
  return value instanceof Promise;
}

/** Calls `use` with the value: at once if it is there, otherwise when it comes. */
export function whenReady<T, Next>(value: MaybePromise<T>, use: (value: T) => MaybePromise<Next>): MaybePromise<Next> {
  return isPending(value) ? value.then(use) : use(value);
}
