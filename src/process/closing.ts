// Closes the parts of a process in the reverse order of their opening, each within a time limit. A part that hangs or
// fails does not hold up the others.
import { within } from "../core/concurrency/timeout.ts";

/** May be asynchronous. What it throws or rejects with is passed to `onFault`. */
export type Close = () => unknown;

export interface Closing {
  /** Adds a part that is closed after all parts that are added later have been closed or have run out of time. */
  add(close: Close, withinMs?: number): void;
  /** Adds a part that is closed at the same time as the one added before it: neither needs the other. */
  beside(close: Close, withinMs?: number): void;
  /** Closes all parts; never rejects. A second call does not close a part again. */
  close(): Promise<void>;
}

interface Part {
  readonly close: Close;
  readonly withinMs: number;
}

const WITHIN_MS = 3000;

export function openClosing(onFault: (fault: unknown) => void): Closing {
  const stages: Part[][] = [];
  return {
    add: (close, withinMs = WITHIN_MS) => void stages.push([{ close, withinMs }]),
    beside: (close, withinMs = WITHIN_MS) => void stages.at(-1)!.push({ close, withinMs }),
    async close() {
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
