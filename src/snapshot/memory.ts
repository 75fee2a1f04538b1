// What was made for the snapshot before: made again only when something that it is made of is another object than it was.

export type Remember = <T>(name: string, inputs: readonly unknown[], make: () => T) => T;

const MAX_MADE = 100_000;

export function openMemory(): Remember {
  const made = new Map<string, { readonly inputs: readonly unknown[]; readonly value: unknown }>();
  return <T>(name: string, inputs: readonly unknown[], make: () => T): T => {
    const before = made.get(name);
    if (
      before !== undefined &&
      before.inputs.length === inputs.length &&
      before.inputs.every((input, index) => input === inputs[index])
    )
      return before.value as T;
    const value = make();
    // names of scopes that are gone would stay for ever
    if (made.size >= MAX_MADE) made.clear();
    made.set(name, { inputs, value });
    return value;
  };
}
