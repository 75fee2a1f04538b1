// The port through which finished calls are published, and how they are: in batches. Writing a line and counting costs a
// call two to three times as much when code and data have to be brought back into the processor's caches for each call
// (measured: 15 to 20 µs for a single call, 6 to 7 in batches of 32).
import type { CallContent } from "../core/configured/content.ts";
import type { CallRecord } from "../core/record/record.ts";

/** It never throws and never waits. */
export interface Observer {
  /** `content` is given when the tenant keeps it. */
  publish(record: CallRecord, content?: CallContent | null): void;
}

/** Publishing a batch takes about a fifth of a millisecond. */
const BATCH = 32;
const MAX_WAIT_MS = 20;

/** If an observer throws nevertheless, the other observers and the following records are not affected. */
export function batched(observers: readonly Observer[], onFault: (fault: unknown) => void) {
  let collected: [record: CallRecord, content: CallContent | null | undefined][] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;

  const flush = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const records = collected;
    collected = [];
    for (const [record, content] of records)
      for (const observer of observers) {
        try {
          observer.publish(record, content);
        } catch (fault) {
          onFault(fault);
        }
      }
    // a list that has outlived a collection of young garbage keeps what it refers to until the next one of all garbage
    records.length = 0;
  };

  return {
    /** Publishes the collected records at once: before a scrape, and at the end. */
    flush,
    publish(record: CallRecord, content?: CallContent | null): void {
      collected.push([record, content]);
      if (collected.length >= BATCH) flush();
      else timer ??= setTimeout(flush, MAX_WAIT_MS);
    },
  };
}
