// The accounts that every call of the model is counted on: requests, money, and tokens of each user.
import { type Admitted, type CallAdmission, isRefused } from "../../../src/admission/call-admission.ts";
import { accountOf } from "../../contract/limit-store.suite.ts";

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

export function admit(admission: CallAdmission, user: string, tokens: number): Admitted {
  const result = admission.begin(
    [account.requests, account.tokens[user]!, account.nano_usd],
    { requests: 1, bound: ({ unit }) => (unit === "tokens" ? tokens : unitsOf(tokens).nanoUsd) },
    false,
  );
  if (result instanceof Promise || isRefused(result)) throw new Error("there is room for all");
  return result;
}
