// Virtual time: what is to happen, in the order of its time, and of its being asked for where two times are the same. A binary heap.

export interface EventQueue {
  nowMs(): number;
  /** A time that has passed is now. Gives what takes it back. */
  at(timeMs: number, happen: () => void): () => void;
  /** Until nothing is left to happen. */
  run(): void;
}

interface Entry {
  readonly timeMs: number;
  readonly number: number;
  happen: (() => void) | null;
}

export function openEventQueue(): EventQueue {
  const heap: Entry[] = [];
  let nowMs = 0;
  let numbers = 0;
  return {
    nowMs: () => nowMs,
    at(timeMs, happen) {
      const entry: Entry = { timeMs: Math.max(nowMs, timeMs), number: numbers++, happen };
      push(heap, entry);
      return () => void (entry.happen = null);
    },
    run() {
      for (let next = pop(heap); next !== undefined; next = pop(heap)) {
        // one that was taken back does not make time pass: the run ends with what happened last
        if (next.happen === null) continue;
        nowMs = next.timeMs;
        next.happen();
      }
    },
  };
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.timeMs < other.timeMs || (one.timeMs === other.timeMs && one.number < other.number);
}

function push(heap: Entry[], entry: Entry): void {
  let at = heap.length;
  for (; at > 0;) {
    const parent = (at - 1) >> 1;
    if (!isBefore(entry, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = entry;
}

function pop(heap: Entry[]): Entry | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
    if (child >= heap.length || !isBefore(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
  return first;
}
