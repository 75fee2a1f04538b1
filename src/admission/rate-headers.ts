// The headers in which OpenAI's clients look for what is left (decisions 4.4): of the requests and of the tokens, each of the tightest that applied.
import type { Account } from "../core/limit.ts";
import type { Standing } from "./limit-store.ts";

const UNITS = ["requests", "tokens"] as const;

/** Null: nothing that has such a header applied. `nowMs` is the time since 1970. */
export function rateHeaders(standings: ReadonlyMap<Account, Standing>, nowMs: number): Readonly<Record<string, string>> | null {
  let headers: Record<string, string> | null = null;
  for (const unit of UNITS) {
    let tightest: Standing | null = null;
    for (const [{ rule }, standing] of standings) if (rule.unit === unit && (tightest === null || standing.remaining < tightest.remaining)) tightest = standing;
    if (tightest === null) continue;
    headers ??= {};
    headers[`x-ratelimit-limit-${unit}`] = String(tightest.limit);
    headers[`x-ratelimit-remaining-${unit}`] = String(tightest.remaining);
    // what never comes back has no time
    if (tightest.resetsAtMs !== null || tightest.used === 0) headers[`x-ratelimit-reset-${unit}`] = duration(tightest.resetsAtMs === null ? 0 : tightest.resetsAtMs - nowMs);
  }
  return headers;
}

/** As Go writes it, in whole seconds, rounded up: `1s`, `6m0s`, `24h0m0s`. */
function duration(ms: number): string {
  const total = Math.max(0, Math.ceil(ms / 1000));
  const [hours, minutes, seconds] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  return `${hours > 0 ? `${hours}h` : ""}${hours > 0 || minutes > 0 ? `${minutes}m` : ""}${seconds}s`;
}
