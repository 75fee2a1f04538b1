// The port through which a finished call is told. An observer never throws and never waits.
import type { CallContent } from "../core/content.ts";
import type { CallRecord } from "../core/record.ts";

export interface Observer {
  /** `content`: what was said, where the tenant keeps it. */
  publish(record: CallRecord, content?: CallContent | null): void;
}

/** Should one of them throw in spite of all, the others are told the same, and so are the records behind this one. */
export function observers(all: readonly Observer[], onFault: (fault: unknown) => void): Observer {
  return {
    publish: (record, content) => {
      for (const observer of all) {
        try {
          observer.publish(record, content);
        } catch (fault) {
          onFault(fault);
        }
      }
    },
  };
}
