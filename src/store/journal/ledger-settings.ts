// The section `ledger` of the configuration. It is read at start-up only.
import { z } from "zod";
import { sectionOf, type SectionSettings } from "../../config/section-settings.ts";

const SHAPE = {
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
};

/** Without a folder, it is `ledger` in the data folder. */
export type LedgerSettings = SectionSettings<typeof SHAPE>;

export const ledgerSection = sectionOf(SHAPE, {
  title: "Ledger",
  description: "The journal of calls on disk, from which rows are shipped to the database. A change needs a restart.",
});
