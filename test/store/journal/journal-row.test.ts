// The operation of a call in the journal, also in entries of versions that served only one.
import { expect, test } from "bun:test";
import type { RecordedOperation } from "../../../src/core/operation.ts";
import { recordText } from "../../../src/core/record/record-text.ts";
import { closingText, openingText, rowOf } from "../../../src/store/journal/journal-row.ts";
import { recordOfKilledCall } from "../../../src/store/journal/journal-recovery.ts";
import { recordOf } from "../../contract/store/call-records.ts";

test.each(["chat.completions", "unserved"] satisfies RecordedOperation[])(
  "[d11.1] an entry of a call keeps its operation: %s",
  (operation) => {
    const record = recordOf({ operation });
    expect(rowOf(Buffer.from(closingText(record)), true).record.operation).toBe(operation);
    expect(recordOfKilledCall(openingText(record)).operation).toBe(operation);
  },
);

test("[d11.1] an entry without an operation is one of chat completions", () => {
  const { operation: _operation, ...earlier } = JSON.parse(recordText(recordOf({ operation: "unserved" }))) as Record<
    string,
    unknown
  >;
  const text = JSON.stringify(earlier);
  expect(rowOf(Buffer.from(text), true).record.operation).toBe("chat.completions");
  expect(recordOfKilledCall(text).operation).toBe("chat.completions");
});
