// The headers in which OpenAI's clients look for what is left (promise 4.4), for requests and for tokens. Each shows
// the tightest limit that applied.
import type { Account } from "../core/configured/limit.ts";
import { memoizeBounded } from "../core/memoization.ts";
import type { AccountStatus } from "./limit-store.ts";

/** The latest status of each account that applied. There are few of them, so a list is faster than a map. */
export class AccountStatuses {
  readonly #accounts: Account[] = [];
  readonly #statuses: AccountStatus[] = [];

  get(account: Account): AccountStatus | undefined {
    return this.#statuses[this.#accounts.indexOf(account)];
  }

  set(account: Account, status: AccountStatus): void {
    const at = this.#accounts.indexOf(account);
    if (at >= 0) this.#statuses[at] = status;
    else {
      this.#accounts.push(account);
      this.#statuses.push(status);
    }
  }

  tightest(of: "requests" | "tokens"): AccountStatus | null {
    let found: AccountStatus | null = null;
    for (let at = 0; at < this.#accounts.length; at++) {
      const { unit, mode } = this.#accounts[at]!.rule;
      const status = this.#statuses[at]!;
      if (unit === of && mode !== "audit" && (found === null || status.remaining < found.remaining)) found = status;
    }
    return found;
  }
}

/** `null` when no limit with such a header applied. `nowMs` is the time since 1970. */
export function rateHeaders(statuses: AccountStatuses, nowMs: number): Readonly<Record<string, string>> | null {
  const requests = statuses.tightest("requests");
  const tokens = statuses.tightest("tokens");
  if (requests === null && tokens === null) return null;
  const headers: Record<string, string> = {};
  if (requests !== null) {
    const reset = resetIn(requests, nowMs);
    headers["x-ratelimit-limit-requests"] = String(requests.limit);
    headers["x-ratelimit-remaining-requests"] = String(requests.remaining);
    if (reset !== null) headers["x-ratelimit-reset-requests"] = reset;
  }
  if (tokens !== null) {
    const reset = resetIn(tokens, nowMs);
    headers["x-ratelimit-limit-tokens"] = String(tokens.limit);
    headers["x-ratelimit-remaining-tokens"] = String(tokens.remaining);
    if (reset !== null) headers["x-ratelimit-reset-tokens"] = reset;
  }
  return headers;
}

/** `null` when the used units never become available again. */
function resetIn({ used, resetsAtMs }: AccountStatus, nowMs: number): string | null {
  if (resetsAtMs === null) return used === 0 ? duration(0) : null;
  return duration(resetsAtMs - nowMs);
}

/** Formatted like Go durations, in whole seconds, rounded up: `1s`, `6m0s`, `24h0m0s`. */
function duration(ms: number): string {
  return ofSeconds(Math.max(0, Math.ceil(ms / 1000)));
}

/** Many calls get the same time in their headers. */
const MAX_DURATIONS = 256;
const ofSeconds = memoizeBounded(MAX_DURATIONS, (total: number): string => {
  const [hours, minutes, seconds] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  return `${hours > 0 ? `${hours}h` : ""}${hours > 0 || minutes > 0 ? `${minutes}m` : ""}${seconds}s`;
});
