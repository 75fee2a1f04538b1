// The record of a call as JSON text: its row in the journal and what integrations are handed are the same text, written once. A record never changes when it is published.
import type { CallRecord } from "./record.ts";

const texts = new WeakMap<CallRecord, string>();

/** Of a record that has ended. */
export function recordText(record: CallRecord): string {
  const known = texts.get(record);
  if (known !== undefined) return known;
  const text = JSON.stringify(record);
  texts.set(record, text);
  return text;
}
