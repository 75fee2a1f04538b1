// The headers in which OpenAI's clients look for what is left (decisions 4.4): of the requests and of the tokens, each of the tightest that applied.
import type { Account, LimitUnit } from "../core/limit.ts";
import type { Standing } from "./limit-store.ts";

/** Null: nothing that has such a header applied. `nowMs` is the time since 1970. */
export function rateHeaders(standings: ReadonlyMap<Account, Standing>, nowMs: number): Readonly<Record<string, string>> | null {
  const requests = tightestOf("requests", standings);
  const tokens = tightestOf("tokens", standings);
  return requests === null && tokens === null ? null : { ...(requests !== null && requestHeaders(requests, nowMs)), ...(tokens !== null && tokenHeaders(tokens, nowMs)) };
}

function tightestOf(unit: LimitUnit, standings: ReadonlyMap<Account, Standing>): Standing | null {
  let tightest: Standing | null = null;
  for (const [{ rule }, standing] of standings) if (rule.unit === unit && (tightest === null || standing.remaining < tightest.remaining)) tightest = standing;
  return tightest;
}

function requestHeaders(standing: Standing, nowMs: number): Readonly<Record<string, string>> {
  const reset = resetIn(standing, nowMs);
  return { "x-ratelimit-limit-requests": String(standing.limit), "x-ratelimit-remaining-requests": String(standing.remaining), ...(reset !== null && { "x-ratelimit-reset-requests": reset }) };
}

function tokenHeaders(standing: Standing, nowMs: number): Readonly<Record<string, string>> {
  const reset = resetIn(standing, nowMs);
  return { "x-ratelimit-limit-tokens": String(standing.limit), "x-ratelimit-remaining-tokens": String(standing.remaining), ...(reset !== null && { "x-ratelimit-reset-tokens": reset }) };
}

/** Null: what is used never comes back. */
function resetIn({ used, resetsAtMs }: Standing, nowMs: number): string | null {
  if (resetsAtMs === null) return used === 0 ? duration(0) : null;
  return duration(resetsAtMs - nowMs);
}

/** As Go writes it, in whole seconds, rounded up: `1s`, `6m0s`, `24h0m0s`. */
function duration(ms: number): string {
  const total = Math.max(0, Math.ceil(ms / 1000));
  const [hours, minutes, seconds] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  return `${hours > 0 ? `${hours}h` : ""}${hours > 0 || minutes > 0 ? `${minutes}m` : ""}${seconds}s`;
}
