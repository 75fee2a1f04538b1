// What the places in the database (journal-places.ts) say about a journal and about the segments of runs.
import type { JournalPlace } from "./journal-folder.ts";
import type { SegmentIdentity } from "./journal-identity.ts";
import type { ShippedPlace } from "./ledger.ts";

/** The place after the last row that the journal has shipped; `null` when the database does not know the journal. */
export function lastPlaceOf(places: readonly ShippedPlace[], journal: string): ShippedPlace | null {
  return places
    .filter((place) => place.journal === journal)
    .reduce<ShippedPlace | null>((most, place) => (most === null || place.rows > most.rows ? place : most), null);
}

/** How far runs were shipped, as far as that has been read. */
export class ShippedRuns {
  readonly #furthest = new Map<string, JournalPlace | undefined>();

  constructor(runs: readonly string[], places: readonly ShippedPlace[]) {
    for (const run of runs) this.learn(run, places);
  }

  has(run: string): boolean {
    return this.#furthest.has(run);
  }

  /** If several journals have shipped parts of a run, because one is a copy of another, the furthest place counts. */
  learn(run: string, places: readonly ShippedPlace[]): void {
    const furthest = places
      .filter((place) => place.run === run)
      .toSorted((one, other) => one.segment - other.segment || one.offset - other.offset)
      .at(-1);
    this.#furthest.set(run, furthest);
  }

  /** How many bytes of the segment the database has. */
  bytesOf({ run, segment }: SegmentIdentity): number {
    const place = this.#furthest.get(run);
    if (place === undefined || place.segment < segment) return 0;
    return place.segment === segment ? place.offset : Number.POSITIVE_INFINITY;
  }
}
