// Divides long work of the thread that serves calls into short parts, with rests between them in which calls are served.
import type { Clock } from "../core/clock.ts";

/** A call waits at most this long for a part of the work. */
const PART_MS = 2;
/** The work takes at most half of the thread's time. */
const REST_MS = 2;

export interface Pace {
  /** Whether the present part may go on. */
  mayGoOn(): boolean;
  /** Waits, and begins another part. */
  rest(): Promise<void>;
}

export function openPace({ monotonic }: Pick<Clock, "monotonic">): Pace {
  let endsMs = monotonic() + PART_MS;
  return {
    mayGoOn: () => monotonic() < endsMs,
    async rest() {
      await new Promise((resolve) => setTimeout(resolve, REST_MS));
      endsMs = monotonic() + PART_MS;
    },
  };
}

/** Does something with each item, in parts. */
export async function eachInParts<T>(
  items: readonly T[],
  pace: Pace,
  work: (item: T, index: number) => void,
): Promise<void> {
  for (const [index, item] of items.entries()) {
    if (!pace.mayGoOn()) await pace.rest();
    work(item, index);
  }
}
