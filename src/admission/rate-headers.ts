// The headers in which OpenAI's clients look for what is left (decisions 4.4): of the requests and of the tokens, each of the tightest that applied.
import type { Account } from "../core/limit.ts";
import type { Standing } from "./limit-store.ts";

/** How the tightest stand of those that applied; null: none did. */
export interface Tightest {
  requests: Tight | null;
  tokens: Tight | null;
}
interface Tight {
  readonly account: Account;
  readonly standing: Standing;
}

/** What was told of an account before gives way to what is told now. */
export function noteStanding(tightest: Tightest, account: Account, standing: Standing): void {
  const { unit, mode } = account.rule;
  if (mode === "audit" || (unit !== "requests" && unit !== "tokens")) return;
  const before = tightest[unit];
  if (before === null || before.account === account || standing.remaining < before.standing.remaining) tightest[unit] = { account, standing };
}

/** Null: nothing that has such a header applied. `nowMs` is the time since 1970. */
export function rateHeaders({ requests, tokens }: Tightest, nowMs: number): Readonly<Record<string, string>> | null {
  if (requests === null && tokens === null) return null;
  const headers: Record<string, string> = {};
  if (requests !== null) {
    const reset = resetIn(requests.standing, nowMs);
    headers["x-ratelimit-limit-requests"] = String(requests.standing.limit);
    headers["x-ratelimit-remaining-requests"] = String(requests.standing.remaining);
    if (reset !== null) headers["x-ratelimit-reset-requests"] = reset;
  }
  if (tokens !== null) {
    const reset = resetIn(tokens.standing, nowMs);
    headers["x-ratelimit-limit-tokens"] = String(tokens.standing.limit);
    headers["x-ratelimit-remaining-tokens"] = String(tokens.standing.remaining);
    if (reset !== null) headers["x-ratelimit-reset-tokens"] = reset;
  }
  return headers;
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
