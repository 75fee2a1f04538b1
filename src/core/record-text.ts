// The record of a call as JSON text. Its journal entry and what integrations receive are the same text, which is
// written once. A record never changes after it is published.
import type { CallRecord } from "./record.ts";

const texts = new WeakMap<CallRecord, string>();

/** The record must have ended. */
export function recordText(record: CallRecord): string {
  const known = texts.get(record);
  if (known !== undefined) return known;
  const text = JSON.stringify(record);
  texts.set(record, text);
  return text;
}
