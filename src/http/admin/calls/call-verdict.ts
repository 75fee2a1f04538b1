// Says in one sentence what decided a call: why it was refused or failed, why another target served it, why it cost so
// much or took so long. It is made of the record, of the limits as they are configured, and of what calls of the route
// are usually like; it reads nothing else, so that the same call always gets the same verdict.

// Decides (records and configuration): What is the one sentence that says what decided a call? By: `verdictOf`. Also:
// made of the record; the facts: `call-detail.ts` (`shownDetail`), `call-cost.ts` (`costSum`). Rule: The first that is
// true: an explanation, a process that ended, a client that left, a failure or refusal, a hit of the response cache, a
// fallback, an unusual cost or time. Else the call was as usual.
import { usd } from "../../../accounting/price.ts";
import { periodAt } from "../../../admission/windows.ts";
import { CATALOGUE, type ErrorCode } from "../../../core/errors.ts";
import type { LimitRule } from "../../../core/configured/limit.ts";
import { type Attempt, type CallRecord, isErrorOfTarget, type LimitOutcome } from "../../../core/record/record.ts";

/** Medians of earlier calls of the same route that were answered. */
export interface UsualCall {
  readonly calls: number;
  /** `null` where no price was known. */
  readonly costNanoUsd: number | null;
  readonly totalMs: number;
  readonly firstContentMs: number | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A part of the cost. */
export interface CostPart {
  /** As `uncached prompt tokens`. */
  readonly what: string;
  readonly units: number;
  readonly nanoUsd: number;
}

export interface VerdictFacts {
  readonly record: CallRecord;
  readonly settled: boolean;
  /** The configured limits and budgets by id. */
  readonly rules: ReadonlyMap<string, LimitRule>;
  /** `null` when there are too few calls to compare with. */
  readonly usual: UsualCall | null;
  /** Empty when it is not known how the cost came about. */
  readonly costParts: readonly CostPart[];
}

export const VERDICTS = [
  "explained",
  "unsettled",
  "left",
  "refused",
  "failed",
  "cached",
  "fallback",
  "hedged",
  "dear",
  "slow",
  "usual",
] as const;

export interface CallVerdict {
  readonly kind: (typeof VERDICTS)[number];
  readonly text: string;
  /** Sentences about what else is out of the ordinary. */
  readonly notes: readonly string[];
}

/** A call is called dear or slow from this many times the median on. */
const NOTABLE = 3;
/** Differences below these are not worth a sentence. */
const NOTABLE_NANO_USD = 100_000;
const NOTABLE_MS = 1000;

export function verdictOf(facts: VerdictFacts): CallVerdict {
  const [kind, text] = decided(facts);
  return { kind, text, notes: notesOn(facts) };
}

type Decided = readonly [kind: CallVerdict["kind"], text: string];

function decided(facts: VerdictFacts): Decided {
  const { record, settled } = facts;
  if (record.explained)
    return ["explained", "This was an explanation: no provider was called, and nothing was charged."];
  if (!settled)
    return [
      "unsettled",
      `The gateway's process ended before the call did${record.cost === null ? "" : `, so it was charged the most that it might have used: ${money(record.cost.nanoUsd)}`}.`,
    ];
  if (record.cancelled || record.code === "client_closed") return ["left", leftText(record)];
  if (record.status >= 400) return failure(facts);
  if (record.cache?.outcome === "hit") return ["cached", cachedText(record)];
  return fallback(record) ?? dear(facts) ?? slow(facts) ?? ["usual", usualText(facts)];
}

function leftText({ totalMs, cost, firstContentMs }: CallRecord): string {
  const when = `The client disconnected after ${duration(totalMs)}, ${firstContentMs === null ? "before there was any content" : "before the answer was complete"}`;
  return cost === null ? `${when}.` : `${when}; what had been used until then cost ${money(cost.nanoUsd)}.`;
}

function cachedText({ cache, totalMs }: CallRecord): string {
  const { ageMs, savedNanoUsd } = cache!;
  const from =
    ageMs === null
      ? "Another call that was waiting for the same answer shared it"
      : `The answer was kept ${duration(ageMs)} ago`;
  return `${from}, so that no provider was asked: ${duration(totalMs)}${savedNanoUsd === null ? "" : `, and ${money(savedNanoUsd)} saved`}.`;
}

// Refusals and failures

function failure(facts: VerdictFacts): Decided {
  const { record } = facts;
  const sent = record.attempts.filter(wasSent);
  const short = record.limits.filter(({ refused }) => refused !== undefined);
  const denied = record.policies.filter(({ effect }) => effect === "denied");
  if (short.length > 0 && isRefusalOfLimit(record.code) && !isErrorOfTarget(record))
    return ["refused", `${refusedWhen(sent)}: ${shortText(short.at(-1)!, facts)}`];
  if (denied.length > 0 && record.code === "policy_violation")
    return ["refused", `${refusedWhen(sent)}: the policy ${quoted(denied.at(-1)!.name)} forbids the call.`];
  const answered = sent.filter(({ code }) => code !== null && code !== "superseded");
  if (answered.length > 0)
    return ["failed", `${failedAttempts(answered.length, sent.length)}: ${listed(answered.map(attemptText))}.`];
  const { code } = record;
  if (code === null) return ["failed", `The call ended with status ${record.status}.`];
  const { source, meaning } = CATALOGUE[code];
  return source === "upstream" ? ["failed", meaning] : ["refused", `${refusedWhen(sent)}: ${decapitalized(meaning)}`];
}

/** Others may have answered, in earlier rounds or with parts of the answer, or were ended with it. */
function failedAttempts(count: number, all: number): string {
  if (count < all) return `${count} of ${all} attempts failed`;
  if (count === 1) return "The only attempt failed";
  return count === 2 ? "Both attempts failed" : `All ${count} attempts failed`;
}

const OF_LIMITS: ReadonlySet<ErrorCode> = new Set([
  "rate_limit_exceeded",
  "insufficient_quota",
  "model_unpriced",
  "limit_store_unavailable",
]);
const isRefusalOfLimit = (code: ErrorCode | null): boolean => code !== null && OF_LIMITS.has(code);

function refusedWhen(sent: readonly Attempt[]): string {
  const failed = sent.filter(({ code }) => code !== null);
  return failed.length === 0 ? "Refused before sending" : `Refused after ${listed(failed.map(attemptText))}`;
}

function shortText({ id, value, unit, limit, before, refused }: LimitOutcome, { rules, record }: VerdictFacts): string {
  const rule = rules.get(id);
  const most = limit ?? rule?.limit;
  const isBudget = rule?.kind === "budget" || unit === "nano_usd";
  const name = `the ${isBudget ? "budget" : "limit"} ${quoted(rule?.name ?? id)}${value === "" ? "" : ` of ${quoted(value.replaceAll("\n", ", "))}`}`;
  if (refused === "limit_store_unavailable") return `${name} could not be checked, because its store did not answer.`;
  if (refused === "model_unpriced") return `${name} counts money, and the model has no known price.`;
  if (most === undefined) return `${name} had no room for the call, with ${amount(before, unit)} used.`;
  const of = `${amount(before, unit, false)} of ${amount(most, unit)}`;
  const used = unit === "concurrency" ? `${of} were running` : `${of} were used`;
  if (rule === undefined) return `${name} had no room for the call: ${used}.`;
  const per = rule.window === null || rule.window === "total" ? "" : ` in the ${rule.window}`;
  return `${name} had no room for the call: ${used}${per}${resetText(rule, record.startedAtMs)}.`;
}

function resetText({ kind, window }: LimitRule, atMs: number): string {
  if (kind !== "budget" || window === null) return "";
  return window === "total" ? ", and it never resets" : `, and it resets on ${moment(periodAt(window, atMs)[1])}`;
}

// Other targets

/** Attempts that did not answer before the one that did. */
function fallback(record: CallRecord): Decided | null {
  const attempts = record.attempts.filter(wasSent);
  const served = attempts.findLast(({ code }) => code === null);
  if (served === undefined) return null;
  const others = attempts.filter((one) => one.round === served.round && one !== served && one.code !== null);
  const failed = others.filter(({ code }) => code !== "superseded");
  if (failed.length > 0) {
    const isSame = failed.every((one) => targetOf(one) === targetOf(served));
    return [
      "fallback",
      `Served by ${targetOf(served)}${isSame ? " again" : ""} because ${listed(failed.map(attemptText))}.`,
    ];
  }
  return others.length === 0
    ? null
    : ["hedged", `Served by ${targetOf(served)}, which was faster than ${listed([...new Set(others.map(targetOf))])}.`];
}

const wasSent = ({ fromCache }: Attempt): boolean => !fromCache;
const targetOf = ({ provider, model }: Pick<Attempt, "provider" | "model">): string => `${provider}:${model}`;

function attemptText(attempt: Attempt): string {
  const { status, code, nativeCode, startMs, totalMs, headMs, retryAfterMs } = attempt;
  const endMs = totalMs ?? headMs;
  const after = endMs === null ? "" : ` after ${duration(endMs - startMs)}`;
  const asked = retryAfterMs === null ? "" : ` and asked to wait ${duration(retryAfterMs)}`;
  const target = targetOf(attempt);
  if (status !== null && (status < 200 || status >= 300))
    return `${target} answered ${status}${nativeCode === null ? "" : ` (${nativeCode})`}${after}${asked}`;
  if (code !== null && TIMEOUTS.has(code))
    return `${target} did not answer in time${after === "" ? "" : `, given up${after}`}`;
  return `${target} failed${code === null ? "" : ` with ${code}`}${after}`;
}

const TIMEOUTS: ReadonlySet<string> = new Set(
  (Object.keys(CATALOGUE) as ErrorCode[]).filter((code) => CATALOGUE[code].status === 504),
);

// Cost and time

function dear({ record, usual, costParts }: VerdictFacts): Decided | null {
  const cost = record.cost?.nanoUsd ?? 0;
  const median = usual?.costNanoUsd ?? 0;
  if (usual === null || median <= 0 || cost < median * NOTABLE || cost - median < NOTABLE_NANO_USD) return null;
  const largest = costParts.toSorted((a, b) => b.nanoUsd - a.nanoUsd)[0];
  const why =
    largest === undefined
      ? tokensText(record, usual)
      : `${number(largest.units)} ${largest.what} are ${Math.round((largest.nanoUsd / cost) * 100)} % of it`;
  return ["dear", `It cost ${money(cost)}, ${times(cost / median)} this route's median: ${why}.`];
}

function tokensText({ usage }: CallRecord, { promptTokens, completionTokens }: UsualCall): string {
  const [prompt, completion] = [usage?.prompt_tokens ?? 0, usage?.completion_tokens ?? 0];
  const isPrompt = prompt / Math.max(promptTokens, 1) >= completion / Math.max(completionTokens, 1);
  return isPrompt
    ? `${number(prompt)} prompt tokens, where ${number(promptTokens)} are usual`
    : `${number(completion)} completion tokens, where ${number(completionTokens)} are usual`;
}

function slow({ record, usual }: VerdictFacts): Decided | null {
  const { totalMs, firstContentMs } = record;
  if (usual === null || usual.totalMs <= 0 || totalMs < usual.totalMs * NOTABLE || totalMs - usual.totalMs < NOTABLE_MS)
    return null;
  const took = `It took ${duration(totalMs)}, ${times(totalMs / usual.totalMs)} this route's median`;
  const share = (ms: number): string => `${Math.round((ms / totalMs) * 100)} %`;
  if (record.ownMs > totalMs / 2) return ["slow", `${took}: ${share(record.ownMs)} of it was spent in the gateway.`];
  if (firstContentMs !== null && firstContentMs > totalMs / 2)
    return ["slow", `${took}: ${share(firstContentMs)} of it passed until the first content.`];
  const tokens = record.usage?.completion_tokens ?? 0;
  return [
    "slow",
    `${took}: ${tokens === 0 ? "most of it" : `${number(tokens)} completion tokens`} came after the first content.`,
  ];
}

function usualText({ record, usual }: VerdictFacts): string {
  const { provider, model, totalMs, cost } = record;
  const by = provider === null || model === null ? "Answered" : `Served by ${targetOf({ provider, model })}`;
  const compared = usual === null ? "" : ", as is usual for this route";
  return `${by} in ${duration(totalMs)}${cost === null ? "" : ` for ${money(cost.nanoUsd)}`}${compared}.`;
}

// What else there is to say

function notesOn({ record, settled, rules }: VerdictFacts): readonly string[] {
  const { usage, usageSource, cost, callerCost, limits, policies, finishReasons, dispositions } = record;
  const dropped = Object.entries(dispositions).flatMap(([name, disposition]) =>
    disposition === "dropped" ? [name] : [],
  );
  const nameOf = (id: string): string => quoted(rules.get(id)?.name ?? id);
  return [
    ...(settled && usage !== null && usageSource === "estimated"
      ? ["The provider did not report the usage, or only a part of it, so that the gateway estimated it."]
      : []),
    ...(usage !== null && cost === null && usage.prompt_tokens + usage.completion_tokens > 0
      ? ["No price of the model is known, so that the call has no cost."]
      : []),
    ...(callerCost === null ? [] : ["The client sent prices of its own, which are not counted."]),
    ...limits
      .filter(({ wouldRefuse }) => wouldRefuse)
      .map(({ id }) => `${nameOf(id)} would have refused the call if it were enforced.`),
    ...policies
      .filter(({ effect }) => effect === "would_deny")
      .map(({ name }) => `The policy ${quoted(name)} would have forbidden the call if it were enforced.`),
    ...policies
      .filter(({ effect }) => effect === "masked")
      .map(({ name }) => `The policy ${quoted(name)} masked some of the text.`),
    ...(finishReasons.includes("length")
      ? ["The answer was cut at the largest number of tokens, or of rounds of tools."]
      : []),
    ...(dropped.length === 0
      ? []
      : [
          `Left out because the target does not take them, or the configuration says so: ${listed(dropped.slice(0, 10))}.`,
        ]),
  ];
}

// Words

/** Dollars with at least two digits that count, and never zero for something. */
export function money(nanoUsd: number): string {
  const text = usd(nanoUsd);
  const [whole = "0", fraction = ""] = text.split(".");
  const zeros = fraction.length - fraction.replace(/^0+/, "").length;
  const digits = whole === "0" ? Math.max(2, zeros + 2) : 2;
  const shown = (Math.round(nanoUsd / 10 ** Math.max(0, 9 - digits)) / 10 ** Math.min(9, digits)).toFixed(
    Math.min(9, digits),
  );
  return `${shown} USD`;
}

function amount(units: number, unit: LimitOutcome["unit"], isNamed = true): string {
  if (unit === "nano_usd") return isNamed ? money(units) : money(units).replace(" USD", "");
  const noun = unit === "concurrency" ? "calls" : unit;
  return isNamed ? `${number(units)} ${noun}` : number(units);
}

function duration(ms: number): string {
  if (ms < 10_000) return `${number(Math.round(ms))} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}

const number = (value: number): string => String(Math.round(value)).replaceAll(/\B(?=(\d{3})+$)/g, ",");
const times = (factor: number): string => `${factor < 10 ? Math.round(factor * 10) / 10 : Math.round(factor)} times`;
const quoted = (name: string): string => JSON.stringify(name);
const moment = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
const decapitalized = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);

function listed(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? "") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)!}`;
}
