// The port through which a finished call is told. An observer never throws and never waits.
import type { CallRecord } from "../core/record.ts";

export interface Observer {
  publish(record: CallRecord): void;
}

/** Should one of them throw in spite of all, the others are told the same, and so are the records behind this one. */
export function observers(all: readonly Observer[], onFault: (fault: unknown) => void): Observer {
  return {
    publish: (record) => {
      for (const observer of all) {
        try {
          observer.publish(record);
        } catch (fault) {
          onFault(fault);
        }
      }
    },
  };
}
