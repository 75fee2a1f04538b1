// Which rows of the database a data folder can know of. After a restore of the database, a start can only miss rows
// that a process on this folder shipped and saw confirmed, and rows that the database reported for this journal or one
// that it continues. Never known are rows of a second process whose folder was made after the copy, rows that another
// copy of the original has shipped, and rows that the original shipped after the copy, if the database is restored too
// before it has answered a process on the restored folder.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { slotsOf } from "../../../../src/store/journal/journal-folder.ts";
import { statePath } from "../../../../src/store/journal/journal-state.ts";
import type { LedgerSink } from "../../../../src/store/journal/ledger.ts";

/** What is written to one folder under one name. A copy of the folder goes on under another name. */
interface Journal {
  readonly name: string;
  /** The one that it is a copy of. */
  readonly from: Journal | null;
  readonly shipped: Set<string>;
}

export interface KnowledgeCopy {
  readonly known: ReadonlySet<string>;
  readonly journals: ReadonlyMap<string, Journal>;
}

export class Knowledge {
  readonly #folder: string;
  #known = new Set<string>();
  /** The last one in each folder. */
  #journals = new Map<string, Journal>();
  readonly #byName = new Map<string, Journal>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  has(traceId: string): boolean {
    return this.#known.has(traceId);
  }

  copy(): KnowledgeCopy {
    return { known: new Set(this.#known), journals: new Map(this.#journals) };
  }

  /** The files of the copy are in place. */
  restore({ known, journals }: KnowledgeCopy): void {
    this.#known = new Set(known);
    this.#journals = new Map([...journals].filter(([slot]) => existsSync(statePath(join(this.#folder, slot)))));
  }

  /** Learns what the process learns whose answers these are. */
  listening(sink: LedgerSink): LedgerSink {
    return {
      ingest: async (rows, place) => {
        const journal = place === undefined ? null : this.#journalOf(place.journal);
        if (journal !== null) for (const { record } of rows) journal.shipped.add(record.traceId);
        await sink.ingest(rows, place);
        if (place !== undefined) for (const { record } of rows) this.#known.add(record.traceId);
      },
      places: async (journals, runs) => {
        const own = this.#journalOf(journals[0]!);
        const places = await sink.places(journals, runs);
        for (let journal = own; journal !== null; journal = journal.from)
          for (const traceId of journal.shipped) this.#known.add(traceId);
        return places;
      },
    };
  }

  /** Null: its name is not on the disk, which is full. */
  #journalOf(name: string): Journal | null {
    const there = this.#byName.get(name);
    if (there !== undefined) return there;
    const slot = slotsOf(this.#folder).find((folder) => nameOf(join(this.#folder, folder)) === name);
    if (slot === undefined) return null;
    const journal = { name, from: this.#journals.get(slot) ?? null, shipped: new Set<string>() };
    this.#journals.set(slot, journal);
    this.#byName.set(name, journal);
    return journal;
  }
}

function nameOf(folder: string): string | null {
  return existsSync(statePath(folder))
    ? (JSON.parse(readFileSync(statePath(folder), "utf8")) as { readonly journal: string }).journal
    : null;
}
