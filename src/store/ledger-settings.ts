// The section `ledger` of the configuration. It is read at start-up only.
import { z } from "zod";

export interface LedgerSettings {
  readonly sync: "background" | "before_answer";
  readonly onFull: "refuse" | "continue";
  /** `null` means `ledger` in the data folder. */
  readonly folder: string | null;
}

export const ledgerSection = z
  .strictObject({
    sync: z.enum(["background", "before_answer"]).default("background").meta({
      title: "Sync",
      description:
        "When the row of a call is on the disk: `background` within 5 ms after it was handed to the operating system, so that a crash of the process loses nothing and a loss of power the last milliseconds; `before_answer` before the last byte of the answer leaves.",
    }),
    on_full: z.enum(["refuse", "continue"]).default("refuse").meta({
      title: "When the disk is full",
      description:
        "What becomes of new calls when the ledger cannot be written: `refuse` answers 503 `ledger_unavailable` until it can; `continue` lets them run without a row when memory for rows is used up too.",
    }),
    folder: z.string().min(1).max(4096).optional().meta({
      title: "Folder",
      description:
        "Folder of the journal, on a local disk. A relative path starts at the working directory. Not set: `ledger` in the data folder.",
    }),
  })
  .transform((file): LedgerSettings => ({ sync: file.sync, onFull: file.on_full, folder: file.folder ?? null }))
  .prefault({})
  .meta({
    title: "Ledger",
    description: "The journal of calls on disk, from which rows go to the database. Read at the start.",
  });
