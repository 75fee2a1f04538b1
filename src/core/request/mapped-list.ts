// Changes the items of a list without copying a list that stays as it is.

/** Returns the same list when `change` returns every item unchanged. */
export function mappedList<T>(list: readonly T[], change: (item: T, index: number) => T): readonly T[] {
  let changed: T[] | null = null;
  for (let index = 0; index < list.length; index++) {
    const item = list[index]!;
    const other = change(item, index);
    if (other !== item) (changed ??= [...list])[index] = other;
  }
  return changed ?? list;
}
