// Figures of other gateways in the units of ours: times such as `30d`, and prices as decimal text.
import type { ForeignNode } from "./foreign-file.ts";

const SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  mo: 2_592_000,
  M: 2_592_000,
  y: 31_536_000,
  Y: 31_536_000,
};

/** Words that LiteLLM takes for a time: https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/duration_parser.py */
const WORDS: Readonly<Record<string, string>> = { hourly: "1h", daily: "1d", weekly: "7d", monthly: "30d" };

/** Seconds of `30s`, `10m`, `24h`, `7d`, `1mo`, `daily` and the like, or of a number of seconds; `null` for anything else. */
export function secondsOf(value: string | number | boolean | null): number | null {
  if (typeof value === "number") return value >= 0 ? value : null;
  const text = String(value ?? "");
  const [, count, unit] =
    /^\s*(\d+(?:\.\d+)?)\s*(ms|mo|s|m|h|d|w|M|y|Y)?\s*$/.exec(WORDS[text.trim().toLowerCase()] ?? text) ?? [];
  return count === undefined ? null : Number(count) * (SECONDS[unit ?? "s"] ?? 1);
}

export interface Window {
  readonly window: string;
  readonly isSame: boolean;
}

/** The shortest calendar period of a budget that is not shorter; `null` when all are. */
export function budgetWindow(seconds: number): Window | null {
  const periods = [
    ["day", 86_400],
    ["week", 604_800],
    ["month", 2_678_400],
  ] as const;
  const found = periods.find(([, length]) => seconds <= length);
  if (found === undefined) return null;
  const [window, length] = found;
  return { window, isSame: seconds === length || (window === "month" && seconds >= 2_592_000) };
}

const DIGITS = 15;

/** US dollars as exact decimal text, or `null` for what is no price. */
export function decimalOf(value: unknown, digits = DIGITS): string | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number) || number < 0 || number > 1_000_000) return null;
  const text = number.toFixed(digits);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** The number of a node, also where it stands in quotes; `null` for anything else. */
export function numberOf(node: ForeignNode | undefined): number | null {
  const value = node?.kind === "scalar" ? node.value : null;
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\s*-?\d+(\.\d+)?([eE][-+]?\d+)?\s*$/.test(value) ? Number(value) : null;
}

/** A whole number within bounds; `null` for anything else. */
export function wholeOf(node: ForeignNode | undefined, least: number, most: number): number | null {
  const number = numberOf(node);
  return number !== null && Number.isInteger(number) && number >= least && number <= most ? number : null;
}

/** Milliseconds of a number of seconds, at least 1. */
export function millisecondsOf(seconds: number): number {
  return Math.min(86_400_000, Math.max(1, Math.round(seconds * 1000)));
}

/** The time that a whole call has, unless something sets it. */
const CALL_MS = 600_000;

/** Time limits of a route for requests that may take this long until their answer begins: the call then may too. */
export function requestTimes(ms: number): { readonly first_byte_ms: number; readonly total_ms?: number } {
  return { first_byte_ms: ms, ...(ms > CALL_MS && { total_ms: ms }) };
}

/** Bytes of a node with a number of mebibytes, at most 1024; `null` for anything else. */
export function bytesOf(node: ForeignNode | undefined): number | null {
  const mebibytes = numberOf(node);
  return mebibytes !== null && mebibytes > 0 && mebibytes <= 1024 ? Math.round(mebibytes * 1024 * 1024) : null;
}

/** The most retries of a route. */
export const MOST_RETRIES = 10;
/** The longest time for which the cache keeps an answer. */
export const MOST_TTL_S = 2_592_000;

/** A time for which the cache can keep an answer. */
export function cacheSecondsOf(seconds: number): number {
  return Math.min(MOST_TTL_S, Math.max(1, seconds));
}

/** Milliseconds of a node with a number of seconds above 0; `null` for anything else. */
export function timeOf(node: ForeignNode | undefined): number | null {
  const seconds = numberOf(node);
  return seconds !== null && seconds > 0 ? millisecondsOf(seconds) : null;
}

/** Whether a setting is absent, or a key with nothing behind it. */
export function isUnset(node: ForeignNode | undefined): boolean {
  return node === undefined || (node.kind === "scalar" && node.value === null);
}

export function textOf(node: ForeignNode | undefined): string | null {
  return node?.kind === "scalar" && typeof node.value === "string" && node.value !== "" ? node.value : null;
}

/** The texts in a list. */
export function textsOf(list: ForeignNode | undefined): readonly string[] {
  return (list?.items ?? []).flatMap((item) => textOf(item) ?? []);
}

/** Also of numbers and booleans. */
export function wordOf(node: ForeignNode | undefined): string | null {
  return node?.kind === "scalar" && node.value !== null && node.value !== "" ? String(node.value) : null;
}

export function isOn(node: ForeignNode | undefined): boolean {
  return node?.value === true || node?.value === "true";
}

/** Of a switch that is on where the file does not have it. */
export function isOff(node: ForeignNode | undefined): boolean {
  return node !== undefined && !isOn(node);
}

/** The items of a list, or the only one, which some files write without a list. */
export function itemsOf(node: ForeignNode | undefined): readonly ForeignNode[] {
  if (node === undefined) return [];
  return node.kind === "list" ? node.items : [node];
}
