// Counts that two threads share without messages: the delivering thread adds, the serving thread reads. The counts have
// 32 bits and wrap, so the reader keeps sums.
export const FIGURES = [
  "delivered",
  "failures",
  "retries",
  "queue_full",
  "refused",
  "given_up",
  "shutdown",
  "failing",
] as const;
export type Figure = (typeof FIGURES)[number];
export const zeros = () => Object.fromEntries(FIGURES.map((figure) => [figure, 0])) as Record<Figure, number>;
/** The figures that count the final outcomes of calls that were handed over. */
export const SETTLED = [
  "delivered",
  "queue_full",
  "refused",
  "given_up",
  "shutdown",
] as const satisfies readonly Figure[];

const SHARED = ["unitsRead", "callsRead", "beats", "heapMib"] as const;
type Shared = (typeof SHARED)[number];

/** Atomic counts of one thread and of each of its integrations. */
export type SharedFigures = ReturnType<typeof sharedFigures>;

export function sharedFigures(
  integrations: number,
  buffer = new SharedArrayBuffer(4 * (SHARED.length + integrations * FIGURES.length)),
) {
  const cells = new Int32Array(buffer);
  const at = (integration: number, figure: Figure): number =>
    SHARED.length + integration * FIGURES.length + FIGURES.indexOf(figure);
  return {
    buffer,
    of: (integration: number, figure: Figure) => Atomics.load(cells, at(integration, figure)),
    add: (integration: number, figure: Figure, count: number) =>
      void Atomics.add(cells, at(integration, figure), count),
    set: (integration: number, figure: Figure, value: number) =>
      void Atomics.store(cells, at(integration, figure), value),
    shared: (name: Shared) => Atomics.load(cells, SHARED.indexOf(name)),
    addShared: (name: Shared, count: number) => void Atomics.add(cells, SHARED.indexOf(name), count),
    setShared: (name: Shared, value: number) => void Atomics.store(cells, SHARED.indexOf(name), value),
  };
}
