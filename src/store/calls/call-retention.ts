// The section `calls` of the configuration, and the removal of old rows that it asks for: old calls, their details, and
// places that the ledger no longer needs are removed in batches. Sums are kept.
import { sectionOf, type SectionSettings } from "../../config/section-settings.ts";
import type { CallStore } from "./calls.ts";
import { DAY_MS, keptDays, pruneInRounds } from "../database/pruning.ts";

const DEFAULT_DAYS = 90;
const DEFAULT_DETAILS_DAYS = 30;
/**
 * How long places are kept that the ledger has left behind: longer than any copy of a data folder is likely to be
 * restored.
 */
const KEEP_PLACES_DAYS = 400;

const SHAPE = {
  keep_days: keptDays(
    DEFAULT_DAYS,
    "How long single calls are kept; `forever` keeps all. Hourly sums, from which usage reports and budgets are made, are always kept.",
  ),
  keep_details_days: keptDays(
    DEFAULT_DETAILS_DAYS,
    "How long the full record of a call is kept, but never longer than the call.",
  ),
};

/** Days are `null` for forever. */
export type CallSettings = SectionSettings<typeof SHAPE>;

export const callsSection = sectionOf(SHAPE, {
  title: "Calls",
  description: "How long calls are kept in the database. A change needs a restart.",
});

/** Removes what is too old, until nothing is left to remove. Returns how many rows were removed. */
export async function pruneOld(
  calls: Pick<CallStore, "prune">,
  { keepDays, keepDetailsDays }: CallSettings,
  nowMs: number,
  isEnding: () => boolean = () => false,
): Promise<number> {
  const before = {
    callsMs: keepDays === null ? null : nowMs - keepDays * DAY_MS,
    detailsMs: keepDetailsDays === null ? null : nowMs - keepDetailsDays * DAY_MS,
    placesMs: nowMs - KEEP_PLACES_DAYS * DAY_MS,
  };
  return await pruneInRounds(() => calls.prune(before), isEnding);
}
