// How long access tokens and their secrets live (decisions 2.6). Pure; what is wrong with a request is an Error with words for who made it.
import type { TokenSecret } from "../core/identity.ts";
import type { StoredTenant, StoredToken } from "../store/records.ts";
import type { TokenKind } from "./access-token.ts";

export const DAY_MS = 86_400_000;
const DEFAULT_DAYS: Readonly<Record<TokenKind, number>> = { personal: 90, project: 365 };
export const LONGEST_DAYS = 36_500;
export const DEFAULT_OVERLAP_MS = DAY_MS;
export const SHORTEST_OVERLAP_MS = 30 * 60_000;

/** A lifetime that was asked for is taken or refused; one that was not (null) is `defaultMs`, shortened to the tenant's cap. */
export function lifetime(kind: TokenKind, tenant: Pick<StoredTenant, "tokenCaps"> | undefined, days: number | null, defaultMs = DEFAULT_DAYS[kind] * DAY_MS): number {
  const cap = capMs(tenant, kind);
  if (days === null) return Math.min(defaultMs, cap);
  if (!(days > 0) || days > LONGEST_DAYS) throw new Error(`The lifetime of an access token is above 0 and at most ${LONGEST_DAYS} days.`);
  const ms = Math.ceil(days * DAY_MS);
  if (ms > cap) throw new Error(`The tenant caps the lifetime of these tokens at ${cap / DAY_MS} days.`);
  return ms;
}

function capMs(tenant: Pick<StoredTenant, "tokenCaps"> | undefined, kind: TokenKind): number {
  const caps = tenant?.tokenCaps;
  const days = kind === "personal" ? caps?.personalDays : caps?.projectDays;
  return days == null ? Infinity : days * DAY_MS;
}

/** The token with one more secret and a new life; those that it had go on until the overlap is over, or to the end that they had. */
export function rotated(token: StoredToken, sha256: Uint8Array, lifetimeMs: number, overlapMs: number, nowMs: number): StoredToken {
  return { ...token, secrets: [...retired(token, nowMs, nowMs + overlapMs), { sha256, retiresAtMs: null }], lifetimeMs, expiresAtMs: nowMs + lifetimeMs };
}

/** The secrets that still work, each with an end: the overlap's, or the one that it had, whichever comes first. */
function retired(token: StoredToken, nowMs: number, overlapEndsMs: number): readonly TokenSecret[] {
  return token.secrets.map((secret) => ({ ...secret, retiresAtMs: Math.min(secret.retiresAtMs ?? token.expiresAtMs, token.expiresAtMs, overlapEndsMs) })).filter((secret) => secret.retiresAtMs > nowMs);
}
