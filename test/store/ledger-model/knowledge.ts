// Which rows of the database a data folder can know of. A start can only miss, after a restore of the database, what a process on this folder has heard of before:
// rows that it shipped and whose taking was confirmed, and rows of the same line of journals that the database named when it was asked. Two kinds of rows stay
// unknown for good. One is the rows of a second process whose folder was made after the copy: with the copy, the folder and the journal's name are gone. The other is
// what the original shipped after the copy was made, when the database is restored as well before it has answered any process on the restored folder.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { slotsOf } from "../../../src/store/journal-folder.ts";
import { statePath } from "../../../src/store/journal-state.ts";
import type { LedgerSink } from "../../../src/store/ledger.ts";

/** One folder of a process, with its copies and what they go on as. */
type Line = symbol;

export interface KnowledgeCopy {
  readonly known: ReadonlySet<string>;
  readonly lines: ReadonlyMap<string, Line>;
}

export class Knowledge {
  readonly #folder: string;
  #known = new Set<string>();
  #lines = new Map<string, Line>();
  readonly #lineOfJournal = new Map<string, Line>();
  readonly #shippedBy = new Map<string, Line>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  has(traceId: string): boolean {
    return this.#known.has(traceId);
  }

  copy(): KnowledgeCopy {
    return { known: new Set(this.#known), lines: new Map(this.#lines) };
  }

  /** The files of the copy are in place. */
  restore({ known, lines }: KnowledgeCopy): void {
    this.#known = new Set(known);
    this.#lines = new Map([...lines].filter(([slot]) => existsSync(statePath(join(this.#folder, slot)))));
  }

  /** Learns what the process learns whose answers these are. */
  listening(sink: LedgerSink): LedgerSink {
    return {
      ingest: async (rows, place) => {
        const line = place === undefined ? null : this.#lineOf(place.journal);
        if (line !== null) for (const { record } of rows) this.#shippedBy.set(record.traceId, line);
        await sink.ingest(rows, place);
        if (place !== undefined) for (const { record } of rows) this.#known.add(record.traceId);
      },
      places: async (journals, runs) => {
        const line = this.#lineOf(journals[0]!);
        const places = await sink.places(journals, runs);
        for (const [traceId, by] of this.#shippedBy) if (by === line) this.#known.add(traceId);
        return places;
      },
    };
  }

  /** Null: its name is not on the disk, which is full. */
  #lineOf(journal: string): Line | null {
    const slot = slotsOf(this.#folder).find((name) => nameOf(join(this.#folder, name)) === journal);
    if (slot === undefined) return this.#lineOfJournal.get(journal) ?? null;
    const line = this.#lines.get(slot) ?? Symbol(slot);
    this.#lines.set(slot, line);
    this.#lineOfJournal.set(journal, line);
    return line;
  }
}

function nameOf(folder: string): string | null {
  return existsSync(statePath(folder))
    ? (JSON.parse(readFileSync(statePath(folder), "utf8")) as { readonly journal: string }).journal
    : null;
}
