// The port through which finished calls are published. An observer never throws and never waits.
import type { CallContent } from "../core/configured/content.ts";
import type { CallRecord } from "../core/record/record.ts";

export interface Observer {
  /** `content` is given when the tenant keeps it. */
  publish(record: CallRecord, content?: CallContent | null): void;
}

/** If an observer throws nevertheless, the other observers and the following records are not affected. */
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
