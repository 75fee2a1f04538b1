// Determines what is missing at a start once the database has answered: whether the journal or the database is older
// than it was when the two were last in contact. If both are from one copy, there is no difference to detect;
// open-journal.ts detects that the folder is a copy.
import { readFileSync } from "node:fs";
import { wholeEntries } from "./journal-entry.ts";
import { isBehind, type JournalPlace, segmentPath } from "./journal-folder.ts";
import type { SegmentIdentity } from "./journal-identity.ts";
import type { JournalFindings } from "./journal-recovery.ts";
import type { EarlierJournal, KnownJournal } from "./journal-state.ts";
import type { ShippedPlace } from "./ledger.ts";

export interface JournalComparison {
  readonly folder: string;
  /** What this journal has stored about itself and about the journals that it continues, the oldest first. */
  readonly journals: readonly EarlierJournal[];
  /** What the database has of a journal. */
  readonly lastOf: (journal: string) => ShippedPlace | null;
  /** How many bytes of a segment the database has. */
  readonly shippedOf: (identity: SegmentIdentity) => number;
  readonly findings: JournalFindings;
}

type Report = (level: "warn" | "error", message: string, fields: Readonly<Record<string, unknown>>) => void;

export function reportMissing(
  { folder, journals, lastOf, shippedOf, findings }: JournalComparison,
  report: Report,
): void {
  const met = journals.map((known) => ({ ...known, last: lastOf(known.journal) }));
  const lacking = met.filter(({ shipped, last }) => (last?.rows ?? 0) < (shipped?.rows ?? 0));
  if (lacking.length > 0) {
    const again = rowsAgain({ folder, shippedOf, findings }, met.map(furthest).reduce(further));
    const behind = lacking.reduce((sum, { shipped, last }) => sum + shipped!.rows - (last?.rows ?? 0), 0);
    const lost = Math.max(0, behind - again);
    const hasUntilMs = Math.max(...met.map(({ last }) => last?.lastMs ?? 0));
    const hadUntilMs = Math.max(...lacking.map(({ shipped }) => shipped!.lastMs));
    const fields = {
      folder,
      rows: behind,
      shipped_again: again,
      lost,
      has_until: moment(hasUntilMs),
      had_until: moment(hadUntilMs),
    };
    if (lost === 0)
      report(
        "warn",
        "the database is older than what the ledger has shipped to it; the missing rows are shipped again",
        fields,
      );
    else
      report(
        "error",
        "the database is older than what the ledger has shipped to it: rows of calls between the two times are no longer in the ledger, and are lost unless a newer copy of the database has them",
        fields,
      );
  }
  for (const { isMet, last, shipped, written } of met) {
    // Later, an original that runs on beside its copy is rightly ahead of the copy.
    if (isMet || last === null || last.rows <= (shipped?.rows ?? 0) || !isBehind(last, written)) continue;
    report(
      "error",
      "the ledger is an older copy: the database has later rows. Rows that the original ledger had not shipped are lost",
      { folder, database_has_until: moment(last.lastMs) },
    );
  }
}

/**
 * What is stored about the journals that this one continues, once the database has answered: a loss is reported once,
 * and what an original ships from now on is its own.
 */
export function earlierInDatabase(
  earlier: readonly EarlierJournal[],
  lastOf: JournalComparison["lastOf"],
): readonly EarlierJournal[] {
  return earlier.flatMap((known) => {
    const last = lastOf(known.journal);
    if (last === null) return [];
    if (known.isMet && known.shipped !== null && known.shipped.rows <= last.rows) return [known];
    const { segment, offset, rows, lastMs } = last;
    return [{ ...known, shipped: { segment, offset, rows, lastMs }, isMet: true }];
  });
}

/**
 * What was shipped of the journal, as far as it is in this folder: after the end of what it had written, other runs
 * continue with its numbers.
 */
function furthest({ shipped, written }: KnownJournal): JournalPlace {
  if (shipped === null) return { segment: 0, offset: 0 };
  return isBehind(shipped, written) ? written : shipped;
}

function further(one: JournalPlace, other: JournalPlace): JournalPlace {
  return isBehind(one, other) ? one : other;
}

/** Counts the rows that the database had, no longer has, and gets again because they are still in the journal. */
function rowsAgain(
  { folder, shippedOf, findings: { identities } }: Pick<JournalComparison, "folder" | "shippedOf" | "findings">,
  { segment: lastSegment, offset }: JournalPlace,
): number {
  let rows = 0;
  for (const [segment, identity] of identities) {
    if (segment > lastSegment) continue;
    const from = shippedOf(identity);
    const bytes = readFileSync(segmentPath(folder, segment));
    const end = segment === lastSegment ? Math.min(offset, bytes.length) : bytes.length;
    for (const { kind } of wholeEntries(bytes, from, end)) if (kind === "closing" || kind === "unsettled") rows += 1;
  }
  return rows;
}

/** `null` for 0, which means never. */
export function moment(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString();
}
