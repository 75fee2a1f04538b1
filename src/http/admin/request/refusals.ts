// Writes rows to the audit log for requests that were refused because a right was missing. A repeated refusal is
// written once a minute, and the number of rows of one token is bounded, so that no caller can fill the log.
import { BoundedCache } from "../../../core/bounded-cache.ts";
import type { AdminCaller, TenantOrProject } from "../../../auth/grants.ts";
import type { GatewayError } from "../../../core/errors.ts";
import type { Actor } from "../../../store/records.ts";
import type { AdminContext, AdminOperation } from "../operation.ts";

export interface RefusedAttempt {
  readonly operation: AdminOperation;
  readonly caller: AdminCaller;
  readonly params: Readonly<Record<string, string>>;
  readonly actor: Actor;
  readonly error: GatewayError;
  /** `null` when the path names no existing place. */
  readonly place: TenantOrProject | null;
}

export type RefusalNotes = ReturnType<typeof openRefusalNotes>;

const QUIET_MS = 60_000;
const MAX_REMEMBERED = 1000;
/** Maximum number of rows of one access token within QUIET_MS. */
const MAX_ROWS = 30;

export function openRefusalNotes({ store, clock }: Pick<AdminContext, "store" | "clock">) {
  const reportedAtMs = new BoundedCache<string, number>(MAX_REMEMBERED);
  const isNews = (key: string): boolean => {
    const nowMs = clock.monotonic();
    if (nowMs - (reportedAtMs.get(key) ?? -QUIET_MS) < QUIET_MS) return false;
    reportedAtMs.set(key, nowMs);
    return true;
  };
  const rows = new BoundedCache<string, { readonly sinceMs: number; count: number }>(MAX_REMEMBERED);
  /** The number of the row among those of the token within QUIET_MS, from 1; null beyond the maximum. */
  const rowOf = (tokenId: string): number | null => {
    const nowMs = clock.monotonic();
    let own = rows.get(tokenId);
    if (own === undefined || nowMs - own.sinceMs >= QUIET_MS) {
      own = { sinceMs: nowMs, count: 0 };
      rows.set(tokenId, own);
    }
    if (own.count >= MAX_ROWS) return null;
    return ++own.count;
  };
  return {
    /** Never rejects: a response does not wait for a database that is down. */
    async refused({ operation, caller, params, actor, error, place }: RefusedAttempt): Promise<void> {
      const { token } = caller;
      const target = params["id"] ?? params["user"] ?? params["project"] ?? params["tenant"] ?? null;
      if (!isNews(`${token.id} ${operation.id} ${target ?? ""}`)) return;
      const row = rowOf(token.id);
      if (row === null) return;
      const last = row === MAX_ROWS ? " Further attempts of this token within this minute are not recorded." : "";
      const note = {
        action: operation.id,
        outcome: "refused",
        kind: operation.tag,
        // An attempt in another tenant is recorded in the caller's own tenant.
        tenantId: token.tenantId,
        projectId: place?.tenantId === token.tenantId ? place.projectId : null,
        targetId: target,
        note: `${error.code}: ${error.message}${last}`,
      } as const;
      try {
        await store.note(actor, note);
      } catch {
        // The request is refused even when the row cannot be written.
      }
    },
  };
}
