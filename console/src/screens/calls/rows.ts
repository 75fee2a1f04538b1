// The rows of the list of calls in their order, and never more than a page can hold.
import type { LoggedCall } from "../../api/types.ts";

/** More are not kept in the page: one narrows the range instead. */
export const MOST_ROWS = 2000;

/** Of calls that arrived at once, the ids decide, as in the list. */
export function newestFirst(calls: readonly LoggedCall[]): readonly LoggedCall[] {
  return calls.toSorted((one, other) =>
    one.at === other.at ? (one.trace_id < other.trace_id ? 1 : -1) : one.at < other.at ? 1 : -1,
  );
}

/** Each call once, the newest of them. */
export function joinedRows(added: readonly LoggedCall[], rows: readonly LoggedCall[]): readonly LoggedCall[] {
  const known = new Set(rows.map(({ trace_id }) => trace_id));
  return newestFirst([...added.filter(({ trace_id }) => !known.has(trace_id)), ...rows]).slice(0, MOST_ROWS);
}
