// What was made for the snapshot before: made again only when something that it is made of is another object than it was.
import { BoundedCache } from "../core/bounded-cache.ts";

export type Remember = <T>(name: string, inputs: readonly unknown[], make: () => T) => T;

const MAX_MADE = 100_000;

export function openMemory(): Remember {
  // names of scopes that are gone would stay for ever
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
