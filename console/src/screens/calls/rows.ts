// The rows of the list of calls in their order, and never more than a page can hold.
import type { LoggedCall, LogPage, NewCallsOfPlace } from "../../api/types.ts";

/** More are not kept in the page: one narrows the range instead. */
export const MOST_ROWS = 2000;

/** More new ones are not counted: the list is then read anew. */
export const MOST_NEW = 100;
export const NOTHING: LogPage = { data: [], next_cursor: null, looked_to: null, token_names: {} };

/** The new calls with further ones of the stream. Where there are more than are counted, the last of them are kept, so that a page may stay open. */
export function withBatch(before: LogPage, batch: NewCallsOfPlace): LogPage {
  const data = [...before.data, ...batch.data];
  return {
    ...before,
    data: data.slice(-MOST_NEW),
    token_names: { ...before.token_names, ...batch.token_names },
    next_cursor: batch.more || data.length > MOST_NEW ? "more" : before.next_cursor,
  };
}

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
