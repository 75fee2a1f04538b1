// The text of a record: written once, the same for the journal and for integrations, and still true of the record when integrations receive it.
import { expect, test } from "bun:test";
import { emptyAttempt } from "../../src/core/record/empty-record.ts";
import type { CallRecord } from "../../src/core/record/record.ts";
import { recordText } from "../../src/core/record/record-text.ts";
import { closingText } from "../../src/store/journal/journal-row.ts";
import { noLedger } from "../../src/store/journal/ledger.ts";
import { parseCallRecord } from "../../src/wire/json/record-json.ts";
import { attemptOf, bareRecord, recordOf } from "../contract/store/call-records.ts";
import { type Fault, OK, status } from "../harness/faults.ts";
import { routedGateway, routeOf } from "../harness/routed.ts";

test("the text equals the row of the journal, which is cut where the record is too long for it, and the text is not", () => {
  const record = recordOf();
  expect(closingText(record)).toBe(recordText(record));
  const long = recordOf({ metadata: { text: "x".repeat(8_000_000) } });
  expect(parseCallRecord(closingText(long)).metadata).toBe(null);
  expect(parseCallRecord(recordText(long)).metadata).toEqual(long.metadata);
});

/** A value other than the one with which a member begins. */
function something(empty: unknown): unknown {
  if (empty === null) return "something";
  if (typeof empty === "number") return empty + 7;
  if (typeof empty === "boolean") return !empty;
  if (typeof empty === "string") return `${empty}something`;
  return Array.isArray(empty) ? ["something"] : { some: "thing" };
}
function filled<T extends object>(empty: T): T {
  return Object.fromEntries(Object.entries(empty).map(([name, value]) => [name, something(value)])) as T;
}

test("[d11.1] every member is read back as it was written, also one that says nothing and is left out", () => {
  const bare = bareRecord({ attempts: [attemptOf()] });
  const full = { ...filled(bareRecord()), metadata: { some: "thing" }, attempts: [filled(attemptOf())] };
  const begun = bareRecord({ attempts: [emptyAttempt({ ...attemptOf(), vendor: null, spanId: null })] });
  for (const record of [bare, full, begun, recordOf()])
    expect(parseCallRecord(recordText(record))).toStrictEqual(record);
  expect(recordText(begun)).not.toContain("null");
});

const SLOW: Fault = { kind: "ok", delayMs: 100 };
const CASES: readonly (readonly [string, readonly Fault[], readonly Fault[]])[] = [
  ["a call that goes well", [OK], [OK]],
  ["a call whose first attempt fails", [status(503)], [OK]],
  ["a call whose first attempt is left behind and goes on", [SLOW], [OK]],
  ["a call that fails", [status(500)], [status(500)]],
];

test.each(
  CASES.flatMap(([what, up0, up1]) => [
    [what, up0, up1, false] as const,
    [`${what}, streamed`, up0, up1, true] as const,
  ]),
)("[d11.1] a record does not change after its end: %s", async (_, up0, up1, stream) => {
  const closed: (readonly [CallRecord, string])[] = [];
  const close = (_entry: unknown, record: CallRecord): Promise<void> => {
    closed.push([record, recordText(record)]);
    return Promise.resolve();
  };
  const ledger = { ...noLedger, close };
  const gateway = routedGateway(
    [routeOf("r", ["up0:m", "up1:m"], { hedge: { after: 20, maxExtra: 1 } })],
    { up0, up1 },
    { ledger },
  );
  await (
    await gateway.chat({ route: "r", messages: [{ role: "user", content: "Hello" }], num_retries: 0, stream })
  ).text();
  await Bun.sleep(150);
  expect(closed).toHaveLength(1);
  for (const [record, text] of closed) {
    expect(parseCallRecord(text)).toEqual(record);
    // also of one that was left behind
    for (const { totalMs } of record.attempts) expect(totalMs).toBeNumber();
  }
});
