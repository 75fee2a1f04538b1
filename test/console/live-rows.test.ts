// The live list of calls without a browser: events of a stream that comes in pieces, and rows that stay in order and few.
import { expect, test } from "bun:test";
import type { LoggedCall } from "../../console/src/api/types.ts";
import { eventsIn } from "../../console/src/live/call-stream.ts";
import { joinedRows, MOST_NEW, MOST_ROWS, NOTHING, withBatch } from "../../console/src/screens/calls/rows.ts";

const call = (number: number, minute = number): LoggedCall =>
  ({ trace_id: String(number).padStart(32, "0"), at: new Date(minute * 60_000).toISOString() }) as LoggedCall;

test("events are read from pieces of any size, with their ids, names and data", () => {
  const text =
    'retry: 1000\nid: a\n: hello\n\nevent: calls\nid: b\ndata: {"places":\ndata: []}\n\nevent: end\ndata: {}\n\n';
  for (const size of [1, 7, text.length]) {
    let rest = "";
    const events = [];
    for (let at = 0; at < text.length; at += size) {
      const read = eventsIn(rest + text.slice(at, at + size));
      rest = read.left;
      events.push(...read.events);
    }
    expect(events.map(({ id, event, data }) => [id, event, data])).toEqual([
      ["a", "message", ""],
      ["b", "calls", '{"places":\n[]}'],
      [null, "end", "{}"],
    ]);
  }
});

test("text of clients that contains a line separator, which JSON does not escape, is read as a part of its event", () => {
  const data = JSON.stringify({ end_user: "a\u2028b" });
  expect(eventsIn(`event: calls\ndata: ${data}\n\n`).events).toEqual([{ id: null, event: "calls", data }]);
});

test("new rows are joined in the order of the list, each once, and the oldest leave", () => {
  const rows = [call(5), call(3), call(1)];
  const joined = joinedRows([call(3), call(4), call(9), call(8, 9)], rows);
  expect(joined.map(({ trace_id }) => Number(trace_id))).toEqual([9, 8, 5, 4, 3, 1]);
  const many = Array.from({ length: MOST_ROWS }, (_, number) => call(number)).toReversed();
  const full = joinedRows([call(MOST_ROWS)], many);
  expect([full.length, Number(full[0]!.trace_id), Number(full.at(-1)!.trace_id)]).toEqual([MOST_ROWS, MOST_ROWS, 1]);
});

test("new calls that nobody lets in are counted up to a bound, and the last of them are kept, however long the list stays open", () => {
  const batch = (from: number, count: number, more = false) => ({
    place: "-/-",
    data: Array.from({ length: count }, (_, number) => call(from + number)),
    token_names: { [`t${from}`]: "name" },
    more,
  });
  const few = withBatch(withBatch(NOTHING, batch(0, 60)), batch(60, 40));
  expect([few.data.length, few.next_cursor]).toEqual([MOST_NEW, null]);
  let many = few;
  for (let from = 100; from < 5000; from += 50) many = withBatch(many, batch(from, 50));
  expect([many.data.length, many.next_cursor]).toEqual([MOST_NEW, "more"]);
  expect(Number(many.data.at(-1)!.trace_id)).toBe(4999);
  expect(withBatch(NOTHING, batch(0, 1, true)).next_cursor).toBe("more");
});
