// What a start knows to be missing once the database has answered: which of the two, the journal or the database, is older than the other was when they last met.
// Where both are of one copy there is no difference to see; that the folder is a copy is told by open-ledger.ts.
import { readFileSync } from "node:fs";
import { readEntry, nextEntry } from "./journal-entry.ts";
import { segmentPath } from "./journal-folder.ts";
import type { SegmentIdentity } from "./journal-identity.ts";
import type { JournalFindings } from "./journal-recovery.ts";
import type { JournalState, ShippedUpTo } from "./journal-state.ts";
import type { ShippedPlace } from "./ledger.ts";

export interface Meeting {
  readonly folder: string;
  /** What the journal had kept of itself. */
  readonly state: JournalState | null;
  /** What the database has of it. */
  readonly last: ShippedPlace | null;
  /** Bytes of a segment that the database has. */
  readonly shippedOf: (identity: SegmentIdentity) => number;
  readonly findings: JournalFindings;
}

type Tell = (level: "warn" | "error", words: string, fields: Readonly<Record<string, unknown>>) => void;

export function tellMissing({ folder, state, last, shippedOf, findings }: Meeting, tell: Tell): void {
  const shipped = state?.shipped ?? null;
  if (shipped !== null && (last?.rows ?? 0) < shipped.rows) {
    const again = rowsAgain({ folder, shippedOf, findings }, shipped);
    const behind = shipped.rows - (last?.rows ?? 0);
    const lost = Math.max(0, behind - again);
    const fields = { folder, rows: behind, shipped_again: again, lost, has_until: moment(last?.lastMs ?? 0), had_until: moment(shipped.lastMs) };
    if (lost === 0) tell("warn", "the database is older than what the ledger has shipped to it, and gets all of it again", fields);
    else tell("error", "the database is older than what the ledger has shipped to it: rows of calls between the two times are not in the ledger any more, and are lost unless a newer copy of the database has them", fields);
  }
  if (last !== null && last.rows > (shipped?.rows ?? 0) && isAhead(last, findings, state)) tell("error", "the ledger is an older copy: the database has rows from later. What the original had not shipped by then is lost", { folder, database_has_until: moment(last.lastMs) });
}

/** The folder holds neither the place nor anything behind it. */
function isAhead({ run, segment, offset }: ShippedPlace, { identities, sizes }: JournalFindings, state: JournalState | null): boolean {
  if (state !== null && (state.written.segment > segment || (state.written.segment === segment && state.written.offset >= offset))) return false;
  for (const [number, identity] of identities) if (number > segment || (identity.run === run && identity.segment === segment && sizes.get(number)! >= offset)) return false;
  return true;
}

/** Rows that the database had, has no more, and gets again: they are still there. */
function rowsAgain({ folder, shippedOf, findings: { identities } }: Pick<Meeting, "folder" | "shippedOf" | "findings">, upTo: ShippedUpTo): number {
  let rows = 0;
  for (const [segment, identity] of identities) {
    if (segment > upTo.segment) continue;
    const from = shippedOf(identity);
    const bytes = readFileSync(segmentPath(folder, segment));
    const end = segment === upTo.segment ? Math.min(upTo.offset, bytes.length) : bytes.length;
    for (let at: number | null = from > end ? null : from; at !== null && at < end; ) {
      const entry = readEntry(bytes, at);
      if (typeof entry !== "object") {
        at = nextEntry(bytes, at + 1);
        continue;
      }
      if (entry.kind === "closing" || entry.kind === "unsettled") rows += 1;
      at = entry.end;
    }
  }
  return rows;
}

/** Null: never. */
export function moment(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString();
}
