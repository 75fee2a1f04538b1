// Virtual time: events in the order of their times, and of their insertion when times are equal. A binary heap.

export type EventQueue = ReturnType<typeof openEventQueue>;

interface Entry {
  readonly timeMs: number;
  readonly number: number;
  happen: (() => void) | null;
}

export function openEventQueue() {
  const heap: Entry[] = [];
  let nowMs = 0;
  let numbers = 0;
  return {
    nowMs: () => nowMs,
    /** Schedules an event; a time in the past means now. Returns the function that cancels it. */
    at(timeMs: number, happen: () => void): () => void {
      const entry: Entry = { timeMs: Math.max(nowMs, timeMs), number: numbers++, happen };
      push(heap, entry);
      return () => void (entry.happen = null);
    },
    /** Runs until no event is left. */
    run(): void {
      for (let next = pop(heap); next !== undefined; next = pop(heap)) {
        // A cancelled event does not advance the time: the run ends with the last event that took place.
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
