// Counts with the noun that they count, as sentences for people have them.

/** Returns `1 call`, `0 calls`, `2 calls`. `many` is the plural where it is not the noun with an `s`. */
export function counted(count: number | bigint | string, one: string, many = `${one}s`): string {
  return `${count} ${String(count) === "1" ? one : many}`;
}
