// Closes the parts of a process in the reverse order of their opening, each within a time limit. A part that hangs or
// fails does not hold up the others.
import { within } from "../core/concurrency/timeout.ts";

/** May be asynchronous. What it throws or rejects with is passed to `onFault`. */
export type Close = () => unknown;

export type Closing = ReturnType<typeof openClosing>;

interface Part {
  readonly close: Close;
  readonly withinMs: number;
}

const WITHIN_MS = 3000;

export function openClosing(onFault: (fault: unknown) => void) {
  const stages: Part[][] = [];
  return {
    /** Adds a part that is closed after all parts that are added later have been closed or have run out of time. */
    add: (close: Close, withinMs: number = WITHIN_MS) => void stages.push([{ close, withinMs }]),
    /** Adds a part that is closed at the same time as the one added before it: neither needs the other. */
    beside: (close: Close, withinMs: number = WITHIN_MS) => void stages.at(-1)!.push({ close, withinMs }),
    /** Closes all parts; never rejects. A second call does not close a part again. */
    async close(): Promise<void> {
      for (const parts of stages.splice(0).toReversed()) await Promise.all(parts.map((part) => closed(part, onFault)));
    },
  };
}

async function closed({ close, withinMs }: Part, onFault: (fault: unknown) => void): Promise<void> {
  try {
    await within(Promise.resolve(close()), withinMs);
  } catch (fault) {
    onFault(fault);
  }
}
