// What a ledger and its journals are opened with.
import type { Clock } from "../../core/clock.ts";
import type { JournalDisk } from "./journal-disk.ts";
import type { FolderLock } from "./journal-folder.ts";
import type { LedgerSink } from "./ledger.ts";
import type { LedgerSettings } from "./ledger-settings.ts";

export interface LedgerOptions {
  readonly folder: string;
  readonly settings: Pick<LedgerSettings, "sync" | "onFull">;
  readonly sink: LedgerSink;
  readonly clock: Clock;
  readonly disk?: JournalDisk;
  /** Creates the folder and locks it for this process; `null` when another process holds it. */
  readonly lock?: (folder: string) => FolderLock | null;
  /** Entries of processes that have ended are searched for counts of limits; omitted to skip this. */
  readonly counted?: CountedOptions;
  /** Whether journals of processes that have ended are taken over, which is the default. */
  readonly adopts?: boolean;
  /** Called before anything that an earlier process left in a journal is changed or removed. */
  readonly beforeRecovery?: () => void;
  readonly log: (level: "info" | "warn" | "error", message: string, fields?: Readonly<Record<string, unknown>>) => void;
  readonly segmentBytes?: number;
  readonly pace?: Partial<Pace>;
}

export interface CountedOptions {
  /** Entries written since this time, in milliseconds since 1970, may be newer than the counts that were kept. */
  sinceMs(): number;
  /** True when this process takes over the counts at once; false while another process still has them. */
  readonly atStart: boolean;
  /** Whether this process keeps the counts: only such a process takes over what others leave. */
  keepsCounts(): boolean;
  /**
   * Returns a function that says whether everything counted up to this call has been kept elsewhere: until then, the
   * entries that state it stay. `null` when nothing counts yet.
   */
  kept(): (() => boolean) | null;
}

/** For tests, which wait less. */
interface Pace {
  readonly pollMs: number;
  readonly backoffMs: number;
  readonly probeMs: number;
  readonly adoptMs: number;
}
