// Parses the JSON text of a record. The gateway's own numbers are doubles; a client's metadata may hold numbers that a
// double cannot represent.
import { EMPTY_ATTEMPT, EMPTY_RECORD } from "../../core/record/empty-record.ts";
import type { JsonObject } from "../../core/json.ts";
import type { CallRecord } from "../../core/record/record.ts";
import { parseOwnJson } from "./json.ts";

/**
 * `text` is a text that JSON.stringify wrote. A number that a double would change becomes a RawNumber. Throws
 * SyntaxError.
 */
export function parseRecord<T extends { readonly metadata?: JsonObject | null }>(text: string): T {
  const record = JSON.parse(text) as T;
  const { metadata } = record;
  // Metadata that serializes to the same text has lost nothing. This check is much faster than checking each number.
  if (metadata == null || text.includes(`"metadata":${JSON.stringify(metadata)}`)) return record;
  return parseOwnJson(text) as unknown as T;
}

/**
 * Parses the record of a call: the text of one that has ended (`recordText`), or an opening entry (`openingText`), of
 * any version of the gateway. Members that the text does not have are empty. Throws SyntaxError.
 */
export function parseCallRecord(text: string): CallRecord {
  const record = { ...EMPTY_RECORD, ...parseRecord<CallRecord>(text) };
  return { ...record, attempts: record.attempts.map((attempt) => ({ ...EMPTY_ATTEMPT, ...attempt })) };
}
