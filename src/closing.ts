// What a process has opened, and how it lets go of it: the last first, each part within its time. One that hangs or fails holds none of the others.
import { within } from "./core/timeout.ts";

/** May take time. What it throws or rejects with is told. */
export type Close = () => unknown;

export interface Closing {
  /** Closed when all that is added later has been, or has had its time. */
  add(close: Close, withinMs?: number): void;
  /** Closed at the same time as the one that was added before it: neither needs the other. */
  beside(close: Close, withinMs?: number): void;
  /** Never rejects. What was closed is not closed again. */
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
