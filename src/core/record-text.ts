// The record of a call as JSON text. Its journal entry and what integrations receive are the same text, which is
// written once. A record never changes after it is published.
import { memoizePerObject } from "./memoization.ts";
import type { CallRecord } from "./record.ts";

/** The record must have ended. */
export const recordText = memoizePerObject((record: CallRecord): string => JSON.stringify(record));
