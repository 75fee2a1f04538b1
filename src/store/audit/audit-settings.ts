// The section `audit` of the configuration, and the removal of old rows that it asks for. By default, rows about what
// was done are kept forever. Rows about what was refused are less useful with time, and external clients can cause many
// of them.
import { z } from "zod";
import { sectionOf, type SectionSettings } from "../../config/section-settings.ts";
import { signingKeyOf } from "./audit-signature.ts";
import { DAY_MS, keptDays, pruneInRounds } from "../database/pruning.ts";
import type { Store } from "../store.ts";

const DEFAULT_REFUSED_DAYS = 400;

const SHAPE = {
  keep_days: keptDays(
    "forever",
    "How long rows about changes are kept in the audit log; `forever` keeps all. Versions of the configuration are always kept, so that they can be restored.",
  ),
  keep_refused_days: keptDays(
    DEFAULT_REFUSED_DAYS,
    "How long rows about refused attempts are kept, but never longer than the others.",
  ),
  signing_key: z
    .string()
    .refine((pem) => signingKeyOf(pem) !== null, "expected a private key for Ed25519 in PEM")
    .optional()
    .meta({
      title: "Signing key",
      description:
        "The private key that signs exports of the audit log, in PEM, best as `${file:/run/secrets/audit.pem}`: `openssl genpkey -algorithm ed25519` makes one. Without it, the key is derived from the newest master key.",
    }),
};

/** Days are `null` for forever. The key is in PEM, and `null` when it is derived from the master key. */
export type AuditSettings = SectionSettings<typeof SHAPE>;

export const auditSection = sectionOf(SHAPE, {
  title: "Audit log",
  description: "How long the audit log is kept, and who signs its exports. A change needs a restart.",
});

/** Removes rows that are too old. Returns how many were removed. */
export async function pruneAudit(
  store: Pick<Store, "pruneAudit">,
  { keepDays, keepRefusedDays }: Omit<AuditSettings, "signingKey">,
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
