// Reuses what was made for earlier snapshots: a value is made again only when one of its inputs is another object than
// before.
import { BoundedCache } from "../core/bounded-cache.ts";

export type Memoize = <T>(name: string, inputs: readonly unknown[], make: () => T) => T;

const MAX_MADE = 100_000;

export function openMemoizer(): Memoize {
  // Bounded, because names of scopes that no longer exist would otherwise stay forever.
  const made = new BoundedCache<string, { readonly inputs: readonly unknown[]; readonly value: unknown }>(MAX_MADE);
  return <T>(name: string, inputs: readonly unknown[], make: () => T): T => {
    const before = made.get(name);
    if (
      before !== undefined &&
      before.inputs.length === inputs.length &&
      before.inputs.every((input, index) => input === inputs[index])
    )
      return before.value as T;
    const value = make();
    made.set(name, { inputs, value });
    return value;
  };
}
