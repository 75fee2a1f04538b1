// Emits events for access tokens that expire soon or have expired, found by checking all tokens once a minute. Each
// event is emitted once for the token's expiry time, across all gateways and their restarts, because its id is derived
// from the token and that time.
import type { Clock } from "../../core/clock.ts";
import type { Events } from "../../core/record/event.ts";
import type { AccessToken } from "../../core/identity.ts";
import type { Snapshot } from "../../core/snapshot.ts";

const EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
/** Short-lived tokens are reported in the last quarter of their life. */
const SOON_MS = 7 * DAY_MS;
/** How long the end of a token that expired while no gateway ran is reported. */
const AFTERWARDS_MS = DAY_MS;

export function watchTokenExpiry(
  events: Events,
  snapshot: () => Pick<Snapshot, "tokens" | "webhooks">,
  clock: Pick<Clock, "now">,
) {
  let reported = new Set<string>();
  /** Nothing changes before this time while the tokens are the same. */
  let nextMs = Number.NEGATIVE_INFINITY;
  let known: Pick<Snapshot, "tokens" | "webhooks"> | null = null;

  const check = (): void => {
    const now = snapshot();
    const nowMs = clock.now();
    if (now.webhooks.size === 0 || (now.tokens === known?.tokens && now.webhooks === known.webhooks && nowMs < nextMs))
      return;
    // A new webhook gets the events that are still due.
    if (now.webhooks !== known?.webhooks) reported = new Set();
    known = { tokens: now.tokens, webhooks: now.webhooks };
    nextMs = Number.POSITIVE_INFINITY;
    const still = new Set<string>();
    for (const token of now.tokens.values()) {
      const due = dueOf(token, nowMs);
      if (due.nextMs !== null) nextMs = Math.min(nextMs, due.nextMs);
      if (due.type === null) continue;
      const key = `${due.type} ${token.id} ${token.expiresAtMs}`;
      still.add(key);
      if (!reported.has(key)) report(events, token, due.type, key);
    }
    reported = still;
  };
  const timer = setInterval(check, EVERY_MS).unref();
  return { check, close: (): void => clearInterval(timer) };
}

/** The event that is due for a token now, and the time at which that changes. */
function dueOf(
  { createdAtMs, expiresAtMs, revokedAtMs }: AccessToken,
  nowMs: number,
): { readonly type: "token.expiring" | "token.expired" | null; readonly nextMs: number | null } {
  if (revokedAtMs !== null || nowMs >= expiresAtMs + AFTERWARDS_MS) return { type: null, nextMs: null };
  if (nowMs >= expiresAtMs) return { type: "token.expired", nextMs: null };
  const soonMs = expiresAtMs - Math.min(SOON_MS, (expiresAtMs - createdAtMs) / 4);
  return nowMs < soonMs ? { type: null, nextMs: soonMs } : { type: "token.expiring", nextMs: expiresAtMs };
}

function report(
  events: Events,
  { id, name, kind, tenantId, projectId, userId, role, expiresAtMs }: AccessToken,
  type: "token.expiring" | "token.expired",
  onceKey: string,
): void {
  events.emit({
    type,
    tenantId,
    projectId,
    onceKey,
    data: { token_id: id, name, kind, user_id: userId, role, expires_at: new Date(expiresAtMs).toISOString() },
  });
}
