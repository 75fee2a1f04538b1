// A change of a document in words: one sentence for each field that is set, changed or removed.
import { type Fields, isFields } from "./merge-patch.ts";

const MOST = 20;
const MOST_CHARACTERS = 80;

export function changeWords(before: Fields, after: Fields): readonly string[] {
  const words = differences(before, after, "");
  return words.length <= MOST ? words : [...words.slice(0, MOST), `${words.length - MOST} further fields change.`];
}

function differences(before: unknown, after: unknown, path: string): readonly string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (before === undefined) return [`${path} is set to ${shown(after)}.`];
  if (after === undefined) return [`${path} is removed; it was ${shown(before)}.`];
  if (isFields(before) && isFields(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => differences(before[name], after[name], path === "" ? name : `${path}.${name}`));
  }
  if (Array.isArray(before) && Array.isArray(after)) return listDifferences(before, after, path);
  return [`${path} changes from ${shown(before)} to ${shown(after)}.`];
}

function listDifferences(before: readonly unknown[], after: readonly unknown[], path: string): readonly string[] {
  const texts = (list: readonly unknown[]): readonly string[] => list.map((entry) => JSON.stringify(entry));
  const [old, next] = [texts(before), texts(after)];
  const added = after.filter((_, index) => !old.includes(next[index]!));
  const removed = before.filter((_, index) => !next.includes(old[index]!));
  if (added.length === 0 && removed.length === 0)
    return [
      before.length === after.length ? `${path} is in another order.` : `${path} repeats its entries differently.`,
    ];
  if (before.length === after.length && added.length === removed.length)
    return before.flatMap((entry, index) => differences(entry, after[index], `${path}[${index}]`));
  return [
    ...removed.map((entry) => `${path} no longer has ${shown(entry)}.`),
    ...added.map((entry) => `${path} has ${shown(entry)} now.`),
  ];
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}…`;
}
