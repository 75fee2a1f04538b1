// The section `audit` of the configuration, and the removal of old rows that it asks for. By default, rows about what
// was done are kept forever. Rows about what was refused are less useful with time, and external clients can cause many
// of them.
import { z } from "zod";
import { DAY_MS, everyHour, pruneInRounds } from "./pruning.ts";
import type { Store } from "./store.ts";

export interface AuditSettings {
  /** `null` means forever. */
  readonly keepDays: number | null;
  readonly keepRefusedDays: number | null;
}

const FOREVER = "forever";
const DEFAULT_REFUSED_DAYS = 400;
const days = (fallback: number | typeof FOREVER, description: string) =>
  z
    .union([z.int().min(1).max(36_500), z.enum([FOREVER])])
    .default(fallback)
    .transform((given) => (given === FOREVER ? null : given))
    .meta({ title: "Days", description });

export const auditSection = z
  .strictObject({
    keep_days: days(
      FOREVER,
      "How long rows about changes are kept in the audit log; `forever` keeps all. Versions of the configuration are always kept, so that they can be restored.",
    ),
    keep_refused_days: days(
      DEFAULT_REFUSED_DAYS,
      "How long rows about refused attempts are kept, but never longer than the others.",
    ),
  })
  .transform((file): AuditSettings => ({ keepDays: file.keep_days, keepRefusedDays: file.keep_refused_days }))
  .prefault({})
  .meta({ title: "Audit log", description: "How long the audit log is kept. A change needs a restart." });

/** Removes rows that are too old. Returns how many were removed. */
export async function pruneAudit(
  store: Pick<Store, "pruneAudit">,
  { keepDays, keepRefusedDays }: AuditSettings,
  nowMs: number,
  isEnding: () => boolean = () => false,
): Promise<number> {
  const before = (given: number | null): number | null => (given === null ? null : nowMs - given * DAY_MS);
  const [doneMs, refusedMs] = [before(keepDays), before(keepRefusedDays)];
  const moments = {
    doneMs,
    refusedMs: doneMs === null || refusedMs === null ? (doneMs ?? refusedMs) : Math.max(doneMs, refusedMs),
  };
  return moments.refusedMs === null ? 0 : await pruneInRounds(() => store.pruneAudit(moments), isEnding);
}

/** Works like everyHour(). */
export function keepAuditPruned(
  store: Pick<Store, "pruneAudit">,
  settings: AuditSettings,
  now: () => number,
  onFault: (message: string) => void,
): () => Promise<void> {
  return everyHour((isEnding) => pruneAudit(store, settings, now(), isEnding), onFault);
}
