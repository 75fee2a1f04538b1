// How many rows refused calls may write. A flood of invalid tokens, or a client that repeats a refused call in a loop,
// appears in metrics and log; its rows must not fill the disk and the database.
import type { Clock } from "../../core/clock.ts";

interface Allowance {
  readonly perSecond: number;
  readonly burst: number;
}

/** For calls without a valid token. */
const UNAUTHENTICATED: Allowance = { perSecond: 2, burst: 200 };
/** For each tenant by itself; and beyond that for all tenants together. */
const TENANT: Allowance = { perSecond: 2, burst: 200 };
const TENANTS: Allowance = { perSecond: 50, burst: 5000 };

export class RefusalAllowance {
  readonly #clock: Clock;
  readonly #unauthenticated = new Tokens(UNAUTHENTICATED);
  readonly #callers = new Tokens(TENANTS);
  readonly #ofTenant = new Map<string, Tokens>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `tenantId` is `null` for calls without a valid token. Returns false when the allowance is used up. */
  take(tenantId: string | null): boolean {
    const nowMs = this.#clock.monotonic();
    if (tenantId === null) return this.#unauthenticated.take(nowMs);
    const own = this.#ofTenant.getOrInsertComputed(tenantId, () => new Tokens(TENANT));
    return own.take(nowMs) || this.#callers.take(nowMs);
  }
}

class Tokens {
  readonly #allowance: Allowance;
  #available: number;
  #countedMs: number | null = null;

  constructor(allowance: Allowance) {
    this.#allowance = allowance;
    this.#available = allowance.burst;
  }

  take(nowMs: number): boolean {
    const { perSecond, burst } = this.#allowance;
    this.#available = Math.min(burst, this.#available + ((nowMs - (this.#countedMs ?? nowMs)) / 1000) * perSecond);
    this.#countedMs = nowMs;
    if (this.#available < 1) return false;
    this.#available -= 1;
    return true;
  }
}
