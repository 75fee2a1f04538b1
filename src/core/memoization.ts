// Keeps the results of pure functions, so that a caller cannot see whether a result was computed again. Modules keep
// nothing else: what changes belongs to an object that is opened and closed.
import { BoundedCache } from "./bounded-cache.ts";

/** Computes a result once for each object, which must not change. The result lives as long as the object. */
export function memoizePerObject<In extends object, Out>(compute: (input: In) => Out): (input: In) => Out {
  const results = new WeakMap<In, Out>();
  return (input) => {
    const known = results.get(input);
    if (known !== undefined) return known;
    const result = compute(input);
    results.set(input, result);
    return result;
  };
}

/** Keeps the results for `max` inputs, by their `keyOf`. Nothing is kept when `compute` throws. */
export function memoizeBounded<In, Out>(
  max: number,
  compute: (input: In) => Out,
  keyOf: (input: In) => In | string = (input) => input,
): (input: In) => Out {
  const results = new BoundedCache<In | string, Out>(max);
  return (input) => {
    const key = keyOf(input);
    const known = results.get(key);
    if (known !== undefined) return known;
    const result = compute(input);
    results.set(key, result);
    return result;
  };
}

/** Computes the value at its first use, for example by loading a library that few configurations need. */
export function lazy<Value extends object>(compute: () => Value): () => Value {
  let value: Value | null = null;
  return () => (value ??= compute());
}
