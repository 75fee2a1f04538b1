// Limits and budgets in words: amounts, windows, whom they count, and when they will be reached.
import type { LimitAccount, LimitState } from "../../api/types.ts";
import { shortCount, wholeCount } from "../../format/count.ts";
import { exactUsd, nanoUsd, shortUsd } from "../../format/money.ts";
import { ageOf, dayAndClock, type Zone } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";

export type Account = LimitAccount;
type Counted = Pick<LimitState, "metric">;
type Amount = number | string;

export function amountText({ metric }: Counted, amount: Amount): string {
  if (metric === "usd") return shortUsd(nanoUsd(String(amount)) ?? 0n);
  const count = Number(amount);
  return metric === "tokens" && count >= 100_000 ? shortCount(count) : wholeCount(count);
}

/** All digits, for titles. */
export function exactAmount({ metric }: Counted, amount: Amount): string {
  if (metric === "usd") return exactUsd(nanoUsd(String(amount)) ?? 0n);
  return `${wholeCount(Number(amount))} ${UNITS[metric]}`;
}

const UNITS: Readonly<Record<LimitState["metric"], string>> = {
  usd: "",
  tokens: "tokens",
  requests: "requests",
  concurrency: "calls at the same time",
};

/** Such as `$12.00 per month`, or `600 requests in any minute`. */
export function boundText(state: Pick<LimitState, "kind" | "metric" | "window" | "limit">): string {
  const { kind, metric, window } = state;
  const amount =
    metric === "usd" ? amountText(state, state.limit) : `${amountText(state, state.limit)} ${UNITS[metric]}`;
  if (metric === "concurrency" || window === null) return amount;
  if (window === "total") return `${amount} in total`;
  return kind === "budget" ? `${amount} per ${window}` : `${amount} in any ${window}`;
}

/** Whose calls are counted, such as `each end user, on route chat`. */
export function scopeText({ scope }: Pick<LimitState, "scope">): string {
  const parts = Object.entries(scope).map(([name, value]) =>
    value === "*" ? `each ${NAMES[name] ?? name}` : `${NAMES[name] ?? name} ${visibleText(value)}`,
  );
  return parts.length === 0 ? "all calls" : parts.join(", ");
}

const NAMES: Readonly<Record<string, string>> = { user: "end user", token: "access token" };

/** When the account will be full, such as `Thu 14:00, in 2 days`. */
export function hitText({ hits_at: hitsAt }: Pick<Account, "hits_at">, asOfMs: number, zone: Zone): string | null {
  if (hitsAt === null) return null;
  const hitsAtMs = Date.parse(hitsAt);
  return hitsAtMs <= asOfMs ? "used up" : `${dayAndClock(hitsAtMs, asOfMs, zone)}, ${ageOf(hitsAtMs, asOfMs)}`;
}

/** A sentence about what will become of a budget or limit. */
export function projectionText(state: LimitState, account: Account, asOfMs: number, zone: Zone): string {
  const left = amountText(state, account.remaining);
  if (state.kind === "limit")
    return account.share >= 1 ? `It is full${refusalText(state)}` : `There is room for ${left} more.`;
  if (account.hits_at === null)
    return account.resets_at === null && state.window !== "total"
      ? "Nothing has been used yet."
      : state.window === "total"
        ? `${left} are left. Nothing uses them up at present.`
        : `${left} are left, which will last until it resets at the present rate.`;
  const hit = hitText(account, asOfMs, zone);
  return Date.parse(account.hits_at) <= asOfMs
    ? `It is used up${refusalText(state)}`
    : `${left} are left. At the present rate it will be used up ${hit}.`;
}

/** What a limit or budget without room does with calls. */
function refusalText({ kind, mode, metric, window }: LimitState): string {
  if (mode === "audit") return ", and refuses nothing, because it only reports.";
  if (kind === "budget")
    return `: calls are refused until it ${window === "total" ? "is raised" : "resets, or until it is raised"}, unless a threshold sends them to a cheaper model.`;
  return `: further calls are refused until earlier ones have ${metric === "concurrency" ? "ended" : "left the window"}.`;
}
