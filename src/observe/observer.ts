// The port through which a finished call is told. An observer never throws and never waits.
import type { CallRecord } from "../core/record.ts";

export interface Observer {
  publish(record: CallRecord): void;
}

export function observers(...all: readonly Observer[]): Observer {
  return {
    publish: (record) => {
      for (const observer of all) observer.publish(record);
    },
  };
}
