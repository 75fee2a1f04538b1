// The errors of calls for which a limit or a budget has no room (promises 4.3 and 4.5): which one it is, what is left,
// and when a retry makes sense.
import { usd } from "../accounting/price.ts";
import { GatewayError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { Account, LimitRule, LimitScope } from "../core/configured/limit.ts";
import { formatRetryAfter } from "../wire/retry-after.ts";
import type { AccountStatus, Shortage } from "./limit-store.ts";
import { firstReservation, type ReservationEstimate } from "./reservation-estimate.ts";

/** Why an attempt may not run; nothing was reserved for it. */
export type LimitRefusal =
  | { readonly kind: "short"; readonly shortage: Shortage }
  /** A budget counts money, and the price of the model is not known (promise 4.5). */
  | { readonly kind: "unpriced"; readonly account: Account }
  /** The budget sends its calls elsewhere from now on (promise 4.6). */
  | {
      readonly kind: "redirected";
      readonly account: Account;
      readonly status: AccountStatus;
      readonly degradeTo: string;
    };

/** `nowMs` is the time since 1970. */
export function refusalError(refused: LimitRefusal, nowMs: number): GatewayError {
  if (refused.kind === "short") return shortageError(refused.shortage, nowMs);
  if (refused.kind === "unpriced") {
    return new GatewayError(
      "model_unpriced",
      `The budget ${JSON.stringify(refused.account.rule.name)} counts money, but this model has no known price.`,
      { metadata: named(refused.account) },
    );
  }
  const { account, status, degradeTo } = refused;
  return new GatewayError(
    "insufficient_quota",
    `The budget ${JSON.stringify(account.rule.name)} allows these calls only to ${degradeTo} now.`,
    {
      metadata: { reason: "budget_degraded", ...described(account, status) },
      headers: untilReset(status.resetsAtMs, nowMs),
    },
  );
}

function shortageError(
  { need: { account, units }, status, fitsAtMs, exceedsLimit, unavailable }: Shortage,
  nowMs: number,
): GatewayError {
  const { rule } = account;
  const metadata = described(account, status);
  const name = JSON.stringify(rule.name);
  if (unavailable)
    return new GatewayError(
      "limit_store_unavailable",
      `The limit ${name} cannot be checked now, because the limit store is unavailable.`,
      { metadata, headers: { "retry-after": "1" } },
    );
  if (rule.kind === "budget") {
    const message = exceedsLimit
      ? `This call may use ${amount(units, rule)}, more than the whole budget ${name} of ${amount(rule.limit, rule)}.`
      : `The budget ${name} of ${amount(rule.limit, rule)}${rule.window === "total" ? "" : ` per ${rule.window}`} has too little left for this call.`;
    return new GatewayError("insufficient_quota", message, {
      metadata: { reason: exceedsLimit ? "exceeds_limit" : "budget_exceeded", ...metadata },
      headers: exceedsLimit ? {} : untilReset(fitsAtMs, nowMs),
    });
  }
  const bound =
    rule.window === null
      ? `${amount(rule.limit, rule)} at the same time`
      : `${amount(rule.limit, rule)} per ${rule.window}`;
  if (exceedsLimit) {
    return new GatewayError(
      "rate_limit_exceeded",
      `This call may use ${amount(units, rule)}, more than the whole rate limit ${name} of ${bound}.`,
      {
        metadata: { reason: "exceeds_limit", ...metadata },
        headers: { "x-should-retry": "false" },
      },
    );
  }
  const waitMs = Math.max(1, Math.ceil((fitsAtMs ?? nowMs) - nowMs));
  return new GatewayError(
    "rate_limit_exceeded",
    `The rate limit ${name} of ${bound} is reached; try again in ${Math.ceil(waitMs / 1000)} s.`,
    { metadata, headers: formatRetryAfter(waitMs) },
  );
}

function untilReset(resetsAtMs: number | null, nowMs: number): Readonly<Record<string, string>> {
  return resetsAtMs === null ? {} : { "retry-after": String(Math.max(1, Math.ceil((resetsAtMs - nowMs) / 1000))) };
}

function amount(units: number, { unit }: LimitRule): string {
  if (unit === "nano_usd") return `${usd(units)} USD`;
  const noun = unit === "concurrency" ? "calls" : unit;
  return `${units} ${units === 1 ? noun.slice(0, -1) : noun}`;
}

/**
 * The details that a client may see, because it belongs to the tenant of the account. Money is decimal text in dollars.
 */
function described(account: Account, { remaining, resetsAtMs }: AccountStatus): JsonObject {
  const { rule } = account;
  const shown = (units: number): string | number => (rule.unit === "nano_usd" ? usd(units) : units);
  return {
    ...named(account),
    window: rule.window,
    unit: rule.unit === "nano_usd" ? "usd" : rule.unit,
    limit_value: shown(rule.limit),
    remaining: shown(remaining),
    resets_at: resetsAtMs === null ? null : new Date(Math.ceil(resetsAtMs)).toISOString(),
  };
}

/** For an explanation: the status of the account, and what the call would reserve. */
export function explainedAccount(account: Account, status: AccountStatus, estimate: ReservationEstimate): JsonObject {
  const { rule } = account;
  const units = firstReservation(rule, estimate);
  const shown = units === null ? null : rule.unit === "nano_usd" ? usd(units) : units;
  return {
    id: rule.id,
    kind: rule.kind,
    mode: rule.mode,
    ...described(account, status),
    reserves: shown,
    fits: units !== null && (units === 0 || units <= status.remaining),
  };
}

function named({ rule, value }: Account): JsonObject {
  return {
    limit: rule.name,
    scope: {
      ...(rule.projectId === null ? { tenant: rule.tenantId } : { project: rule.projectId }),
      ...valuesOf(rule.scope, value),
    },
  };
}

/** The scope with each `*` replaced by its actual value. */
function valuesOf(scope: LimitScope, value: string): LimitScope {
  const order = ["token", "route", "provider", "model", "operation", "user"] as const;
  const open = order.filter((key) => scope[key] === "*");
  if (open.length === 0) return scope;
  const parts = value.split("\n");
  // A user name may contain the separator of the values, and stands last.
  const values = [...parts.slice(0, open.length - 1), parts.slice(open.length - 1).join("\n")];
  return { ...scope, ...Object.fromEntries(open.map((key, index) => [key, values[index]])) };
}
