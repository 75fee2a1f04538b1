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
        "When the row of a call is synced to the disk: `background` within 5 ms after the write, so that a crash of the process loses nothing and a power failure only the last milliseconds; `before_answer` before the last byte of the answer is sent.",
    }),
    on_full: z.enum(["refuse", "continue"]).default("refuse").meta({
      title: "When the disk is full",
      description:
        "What happens to new calls while the ledger cannot be written: `refuse` answers 503 `ledger_unavailable`; `continue` runs them, without a row once the memory for rows is used up too.",
    }),
    folder: z.string().min(1).max(4096).optional().meta({
      title: "Folder",
      description:
        "Folder of the journal, on a local disk. A relative path starts at the working directory. The default is `ledger` in the data folder.",
    }),
  })
  .transform((file): LedgerSettings => ({ sync: file.sync, onFull: file.on_full, folder: file.folder ?? null }))
  .prefault({})
  .meta({
    title: "Ledger",
    description: "The journal of calls on disk, from which rows are shipped to the database. A change needs a restart.",
  });
