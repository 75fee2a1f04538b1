// What one request to a provider costs, in whole nano-dollars, by its usage in OpenAI's shape. Every token is counted once,
// at the price of its own kind, and the sum of all parts is rounded up once to a whole nano-dollar (promise 4.7).
// docs/prices.md describes the rules.
import type { Usage } from "../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import type { Rate, Rates } from "../core/configured/price.ts";
import { isCount, tokenCount } from "../core/record/token-count.ts";
import { wholeCounts } from "../core/record/usage.ts";
import { MILLION, rateFor, rateOf } from "./price.ts";

/** What was used at a price. */
export interface PricedUsage {
  readonly usage: Usage;
  readonly rates: Rates;
}

/**
 * Returns nano-dollars, at most the largest safe integer; `null` when something was used whose price is not known.
 * `others` is what other models used within the same request.
 */
export function costOf(usage: Usage, rates: Rates, others: readonly PricedUsage[] = []): number | null {
  const sum = new Sum();
  addUp(usage, rates, sum);
  for (const other of others) addUp(other.usage, { ...other.rates, request: null }, sum);
  return sum.nanoUsd();
}

/**
 * Returns how much less a usage costs than without the provider's prompt cache, in nano-dollars: below 0 where writing cost
 * more than reading saved. `null` when nothing was read or written, or a price is not known.
 */
export function promptCacheSaving(usage: Usage, rates: Rates): number | null {
  const { prompt_tokens_details: details } = usage;
  if (details === undefined) return null;
  const { cacheRead, audioCacheRead, cacheWrite, cacheWriteHour } = partsOf(usage);
  if (cacheRead + audioCacheRead + cacheWrite + cacheWriteHour === 0) return null;
  const cost = costOf(usage, rates);
  const { prompt, audioPrompt } = rates;
  const uncached = costOf(usage, {
    ...rates,
    cacheRead: prompt,
    cacheWrite: prompt,
    cacheWriteHour: prompt,
    audioCacheRead: audioPrompt ?? prompt,
  });
  return cost === null || uncached === null ? null : uncached - cost;
}

/** What a part of a cost is for. */
export type CostKind = "request" | "search_units" | keyof Parts;

/** A part of a cost before it is rounded. */
export interface CostLine {
  readonly kind: CostKind;
  readonly units: number;
  /** Nano-dollars for a million units; `null` when the price is not known. */
  readonly rate: number | null;
}

/** The parts of which `costOf` is the sum. */
export function costLines(usage: Usage, rates: Rates): readonly CostLine[] {
  const lines: CostLine[] = [];
  addUp(usage, rates, {
    add(units, rate, kind) {
      if (kind !== "request" || rate !== 0) lines.push({ kind, units, rate });
    },
  });
  return lines;
}

interface Adder {
  /** `rate`: nano-dollars for a million units; `null` when the price is not known. */
  add(units: number, rate: number | null, kind: CostKind): void;
}

/** Adds units to a sum at the rate of a call with a prompt of some size. */
type Adding = (units: number, rate: Rate | null, kind: CostKind) => void;

function addingTo(sum: Adder, promptTokens: number): Adding {
  return (units, rate, kind) => {
    if (units !== 0) sum.add(units, rate === null ? null : rateFor(rate, promptTokens), kind);
  };
}

function addUp(usage: Usage, rates: Rates, sum: Adder): void {
  const parts = partsOf(usage);
  const add = addingTo(sum, usage.prompt_tokens);
  add(1, rates.request ?? FREE, "request");
  const prompt = addSearchUnits(add, tokenCount(usage.search_units), rates);
  const known = prompt === rates.prompt ? rates : { ...rates, prompt };
  for (const kind of KINDS)
    if (parts[kind] !== 0) add(parts[kind], rateOf(kind === "text" ? "prompt" : kind, known), kind);
}

/** Returns the rate of the prompt: where search units are priced, tokens without a price of their own are free. */
function addSearchUnits(add: Adding, units: number, { searchUnit, prompt }: Rates): Rate | null {
  if (units === 0 || searchUnit === null) return prompt;
  add(units, searchUnit, "search_units");
  return prompt ?? FREE;
}

/**
 * Returns the cost that is reserved for a call (promise 4.2): its prompt, `outputBound` generated tokens at the
 * higher of the prices of text and reasoning, and the price of a request `requests` times. Extra costs of
 * audio, images and cache writes are charged when the call settles. Returns `null` when the price is not known.
 */
export function costBound(
  promptTokens: number,
  outputBound: number,
  rates: Rates,
  searchUnits = 0,
  requests = 1,
): number | null {
  const sum = new Sum();
  const add = addingTo(sum, promptTokens);
  add(requests, rates.request ?? FREE, "request");
  add(promptTokens, addSearchUnits(add, searchUnits, rates), "text");
  add(outputBound, dearer(rates.completion, rates.reasoning, promptTokens), "completion");
  return sum.nanoUsd();
}

/** Returns the cost of tokens at a rate: exact nano-dollars, rounded up, at most the largest safe integer. */
export function amountOf(tokens: number, rate: number): number {
  const sum = new Sum();
  sum.add(tokens, rate);
  return sum.nanoUsd()!;
}

const FREE: Rate = { base: 0, tiers: [] };

function dearer(one: Rate | null, other: Rate | null, promptTokens: number): Rate | null {
  return one === null || other === null ? one : rateFor(other, promptTokens) > rateFor(one, promptTokens) ? other : one;
}

/** An exact sum of tokens times rates: whole nano-dollars and millionths of them are kept apart. */
class Sum {
  #whole = 0;
  #millionths = 0;
  #exact: bigint | null = null;
  #isKnown = true;

  add(units: number, rate: number | null): void {
    if (rate === null) {
      this.#isKnown = false;
      return;
    }
    const whole = units * Math.floor(rate / MILLION);
    const millionths = units * (rate % MILLION);
    if (this.#whole + whole > Number.MAX_SAFE_INTEGER || this.#millionths + millionths > MOST_MILLIONTHS)
      this.#exact = (this.#exact ?? 0n) + BigInt(units) * BigInt(rate);
    else {
      this.#whole += whole;
      this.#millionths += millionths;
    }
  }

  nanoUsd(): number | null {
    if (!this.#isKnown) return null;
    if (this.#exact === null)
      return Math.min(this.#whole + Math.ceil(this.#millionths / MILLION), Number.MAX_SAFE_INTEGER);
    const exact = (BigInt(this.#whole) * 1_000_000n + BigInt(this.#millionths) + this.#exact + 999_999n) / 1_000_000n;
    return exact > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Number(exact);
  }
}
/** Up to this sum, millionths are exact in a double. */
const MOST_MILLIONTHS = 1e15;

/**
 * Details are parts of their figure, whatever a provider reports: no detail takes more than what is left. Where a
 * provider does not report whether cached tokens were text or audio, they count as text as far as there was text.
 */
function partsOf(used: Usage): Parts {
  const usage = used.billed_units === undefined ? used : billedOf(used, used.billed_units);
  const { prompt_tokens: prompt } = usage;
  const { prompt: whole, completion: generated } = wholeCounts(usage);
  const given = usage.prompt_tokens_details;
  const made = usage.completion_tokens_details;
  if (given === undefined && made === undefined) return { ...NO_PARTS, text: prompt, completion: generated };
  const input: JsonObject = given ?? {};
  const output: JsonObject = made ?? {};

  const cached = part(input["cached_tokens"], prompt);
  const written = part(input["cache_write_tokens"], prompt - cached);
  const writtenHour = part(input["cache_write_1h_tokens"], written);
  const fresh = prompt - cached - written;
  const audioBeside = whole - prompt;
  const audio = tokenCount(input["audio_tokens"]) - audioBeside;
  const audioCached = Math.max(cachedAudio(input, cached), Math.min(audio - Math.min(audio, fresh), cached));
  const audioPrompt = Math.min(Math.max(0, audio - audioCached), fresh);
  const imagePrompt = part(input["image_tokens"], fresh - audioPrompt);

  const reasoned = part(output["reasoning_tokens"], generated);
  const audioCompletion = part(output["audio_tokens"], generated - reasoned);
  const imageCompletion = part(output["image_tokens"], generated - reasoned - audioCompletion);
  return {
    text: fresh - audioPrompt - imagePrompt,
    cacheRead: cached - audioCached,
    audioCacheRead: audioCached,
    cacheWrite: written - writtenHour,
    cacheWriteHour: writtenHour,
    audioPrompt: audioPrompt + audioBeside,
    imagePrompt,
    completion: generated - reasoned - audioCompletion - imageCompletion,
    reasoning: reasoned,
    audioCompletion,
    imageCompletion,
  };
}

/** Cohere does not bill the preamble that it adds to a prompt itself, and which it counts among the tokens. */
function billedOf(usage: Usage, { input_tokens: input, output_tokens: output }: JsonObject): Usage {
  const prompt = isCount(input) ? input : usage.prompt_tokens;
  const completion = isCount(output) ? output : usage.completion_tokens;
  return { ...usage, prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

/** Tokens of a request by kind; each token is in one part. */
type Parts = Readonly<Record<keyof typeof NO_PARTS, number>>;

const NO_PARTS = {
  text: 0,
  cacheRead: 0,
  audioCacheRead: 0,
  cacheWrite: 0,
  cacheWriteHour: 0,
  audioPrompt: 0,
  imagePrompt: 0,
  completion: 0,
  reasoning: 0,
  audioCompletion: 0,
  imageCompletion: 0,
};
const KINDS = Object.keys(NO_PARTS) as readonly (keyof Parts)[];

/** Returns the cached audio tokens where the provider reports them, otherwise 0. */
function cachedAudio({ cached_tokens_details: details }: JsonObject, cached: number): number {
  return isObject(details) ? part(details["audio_tokens"], cached) : 0;
}

function part(value: Json | undefined, left: number): number {
  return Math.min(tokenCount(value), left);
}
