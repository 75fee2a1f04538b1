// The path, below the scope, of the list of calls that a figure sums or a link speaks of.

import type { TimeRange } from "./range.ts";

/** Times in UTC as the API writes them, or a range by its name; the default range, if left out. */
export type CallsTime = { readonly from: string; readonly to: string } | { readonly range: string };

/** The terms are those of the filter (`filter.ts`); the same one may occur twice. */
export function callsPath(terms: readonly string[], time?: CallsTime): string {
  const query = new URLSearchParams({ ...(terms.length > 0 && { q: [...new Set(terms)].join(" ") }), ...time });
  return query.size === 0 ? "/calls" : `/calls?${query.toString()}`;
}

/** Sums count neither explanations nor copies for mirrors, and lists show both. */
export const IN_SUMS: readonly string[] = ["explained:false", "copy:false"];

/** The path of the list of the calls that a figure sums. */
export function summedPath(terms: readonly string[], time?: CallsTime): string {
  return callsPath([...terms, ...IN_SUMS], time);
}

/** The range of a page whose figures lead to the list. */
export function timeOfRange({ name, fromMs, toMs }: TimeRange): CallsTime {
  if (toMs === null) return { range: name! };
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

/** A time that ends with the moment of the last call, which the list would otherwise leave out. */
export function throughLast(from: string, last: string): CallsTime {
  return { from, to: new Date(Date.parse(last) + 1).toISOString() };
}
