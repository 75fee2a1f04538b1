// The accounts in which every call of the model is counted: requests, money, and tokens of each user.
import { CallLimits } from "../../../../src/admission/call-limits.ts";
import type { AttemptReservation } from "../../../../src/admission/held-attempt.ts";
import type { LimitStore } from "../../../../src/admission/limit-store.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { GatewayError } from "../../../../src/core/errors.ts";
import type { LimitOutcome } from "../../../../src/core/record/record.ts";
import { accountOf } from "../../../contract/limit-store.suite.ts";

/** What a call uses, or has set aside. */
export interface Units {
  readonly tokens: number;
  readonly nanoUsd: number;
}

export const USERS = ["ann", "ben"];
const rule = { tenantId: "default", limit: 1_000_000_000_000 };
export const account = {
  requests: accountOf({ ...rule, id: "r", unit: "requests", window: "day" }),
  nano_usd: accountOf({ ...rule, id: "m", kind: "budget", unit: "nano_usd", window: "month" }),
  tokens: Object.fromEntries(
    USERS.map((user) => [
      user,
      accountOf({ ...rule, id: "t", kind: "budget", unit: "tokens", window: "total", scope: { user: "*" } }, user),
    ]),
  ),
} as const;
/** One rule, however many values: as limits are compiled. */
for (const user of USERS) Object.assign(account.tokens[user]!, { rule: account.tokens[USERS[0]!]!.rule });

export function unitsOf(tokens: number): Units {
  return { tokens, nanoUsd: tokens * 1000 };
}

/** A call of the user under all these accounts. */
export function limitsOf(user: string, store: LimitStore, outcomes: LimitOutcome[]): CallLimits {
  const accounts = [account.requests, account.tokens[user]!, account.nano_usd];
  return new CallLimits({
    caller: {
      rules: accounts.map(({ rule: each }) => each),
      degradeTo: [],
      ofEveryCall: [],
      accountsAt: () => accounts,
    },
    user,
    store,
    clock: systemClock,
    onCharged: () => {},
    outcomes,
  });
}

export function reserve(limits: CallLimits, tokens: number): AttemptReservation {
  const result = limits.reserve(
    { route: "direct", provider: "sandbox", model: "sandbox:echo" },
    { requests: 1, bound: ({ unit }) => (unit === "tokens" ? tokens : unitsOf(tokens).nanoUsd) },
    false,
  );
  if (result instanceof Promise || result instanceof GatewayError) throw new Error("there is room for all");
  return result;
}
