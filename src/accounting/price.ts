// Converts rates to dollars and back, and selects the rates that apply at a time, all in integers (promise 4.7). cost.ts
// computes costs.

// Decides (money and limits): Is a price above a number of tokens for the whole call? By: `rateFor`. Also: `cost.ts`
// (`costOf`). Rule: Yes, for all tokens of an upstream request whose prompt is longer than the tier says.
// Decides (money and limits): What do cached, reasoning, audio and image tokens cost where a price names only prompt and
// completion? By: `STANDS_IN`. Rule: The price of the prompt or of the completion of the same price; the catalogue is not
// asked.
import type { ModelPrice, PricePeriod, Rate, Rates } from "../core/configured/price.ts";

const DAY_MS = 86_400_000;

export function ratesAt({ periods }: ModelPrice, nowMs: number): Rates {
  return periods.findLast((period) => holds(period, nowMs))?.rates ?? periods[0].rates;
}

function holds({ from, daily }: PricePeriod, nowMs: number): boolean {
  if (from !== null && nowMs < from) return false;
  if (daily === null) return true;
  const time = nowMs % DAY_MS;
  return daily.fromMs <= daily.toMs
    ? time >= daily.fromMs && time < daily.toMs
    : time >= daily.fromMs || time < daily.toMs;
}

/** Returns the rate of a call with this many prompt tokens. */
export function rateFor({ base, tiers }: Rate, promptTokens: number): number {
  return tiers.findLast(({ above }) => promptTokens > above)?.rate ?? base;
}

/** The rate that applies where one is not set. */
export const STANDS_IN: Readonly<Partial<Record<keyof Rates, keyof Rates>>> = {
  cacheRead: "prompt",
  cacheWrite: "prompt",
  cacheWriteHour: "cacheWrite",
  reasoning: "completion",
  audioPrompt: "prompt",
  audioCacheRead: "cacheRead",
  audioCompletion: "completion",
  imagePrompt: "prompt",
  imageCompletion: "completion",
};

/** Returns a rate, or the one that stands in for it; `null` when neither is known. */
export function rateOf(name: keyof Rates, rates: Rates): Rate | null {
  const instead = STANDS_IN[name];
  return rates[name] ?? (instead === undefined ? null : rateOf(instead, rates));
}

/** Returns the rate times a fraction, rounded up in each tier. */
export function timesRate({ base, tiers }: Rate, numerator: number, denominator = 1): Rate {
  const times = (rate: number): number => Math.ceil((rate * numerator) / denominator);
  return { base: times(base), tiers: tiers.map(({ above, rate }) => ({ above, rate: times(rate) })) };
}

export const MILLION = 1_000_000;

/** Converts dollars for a million tokens. */
export function rateOfMillion(dollars: number): number {
  return Math.round(dollars * 1e9);
}

const RATE_DIGITS = 15;
const NANO_DIGITS = 9;

/** Converts dollars for one token, written as a decimal number; what is finer than a rate is rounded up. */
export function exactRate(dollars: string): number {
  return exactDecimal(dollars, RATE_DIGITS);
}

/** Converts dollars for one token, given as a number in the caller's JSON. */
export function rateOfToken(dollars: number): number {
  return exactRate(dollars.toFixed(RATE_DIGITS));
}

/** Scales a decimal number by this many decimal places to an integer; finer digits are rounded up. */
export function exactDecimal(text: string, digits: number): number {
  const [whole = "0", fraction = ""] = text.split(".");
  const finer = /[1-9]/.test(fraction.slice(digits)) ? 1 : 0;
  return Number(whole + fraction.slice(0, digits).padEnd(digits, "0")) + finer;
}

/** Returns dollars for one token. */
export function usdPerToken(rate: number): string {
  return decimal(rate, RATE_DIGITS);
}

export function usd(nanoUsd: number | bigint): string {
  return decimal(nanoUsd, NANO_DIGITS);
}

/** Returns the exact dollars of units at a rate, before they are rounded. */
export function exactUsd(units: number, rate: number): string {
  return decimal(BigInt(units) * BigInt(rate), RATE_DIGITS);
}

function decimal(value: number | bigint, digits: number): string {
  if (value < 0) return `-${decimal(-value, digits)}`;
  const text = String(value).padStart(digits + 1, "0");
  const fraction = text.slice(-digits).replace(/0+$/, "");
  return text.slice(0, -digits) + (fraction === "" ? "" : `.${fraction}`);
}
