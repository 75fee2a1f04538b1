// Calls that a simulation names as examples of what it has found.

const MOST_EXAMPLES = 5;

export interface ExampleCalls {
  readonly calls: number;
  /** Of some of them, the newest first. */
  readonly traceIds: readonly string[];
}

/** `traceIds` are in the order in which the calls were made. A call that is among them several times counts once. */
export function examplesOf(traceIds: Iterable<string>): ExampleCalls {
  const distinct = [...new Set(traceIds)];
  return { calls: distinct.length, traceIds: distinct.slice(-MOST_EXAMPLES).toReversed() };
}
