// The prices of tiers of service, regions and depths of search, as multiples of the bundled prices.

// Decides (money and limits): Does a tier of service change the price? By: `ratesFor`. Rule: As the vendor publishes it,
// by the tier with which the answer says it was served; a configured price is charged as it is.
import type { Usage } from "../core/chat.ts";
import type { PriceFactor, Rate, Rates } from "../core/configured/price.ts";
import type { CurrentPrice } from "./price-book.ts";

/** What says how a call was served, or is to be served. */
type Served = Pick<Usage, PriceFactor["told"]>;

/** Returns the rates for tokens of a call that was served so. */
export function ratesFor(
  { rates, isBundled }: CurrentPrice,
  served: Served,
  model: string,
  factors: readonly PriceFactor[] = [],
): Rates {
  return isBundled ? factorsOf(served, model, factors).reduce(multiplied, rates) : rates;
}

/** Whether a call that is served so costs more than others. */
export function isDearer(served: Served, model: string, factors: readonly PriceFactor[] = []): boolean {
  return factorsOf(served, model, factors).some(({ times: [numerator, denominator] }) => numerator > denominator);
}

/** At most one for each member of the usage. */
function factorsOf(served: Served, model: string, factors: readonly PriceFactor[]): readonly PriceFactor[] {
  const found = factors.filter(
    ({ told, values, models }) => values.includes(served[told] ?? "") && (models === undefined || models.test(model)),
  );
  return found.filter((one, index) => found.findIndex(({ told }) => told === one.told) === index);
}

function multiplied(rates: Rates, { times, of = "tokens" }: PriceFactor): Rates {
  const all = Object.entries(rates) as readonly (readonly [keyof Rates, Rate | null])[];
  return Object.fromEntries(
    all.map(([name, rate]) => [name, rate === null || !isPartOf(of, name) ? rate : timesRate(rate, times)]),
  ) as unknown as Rates;
}

function isPartOf(of: NonNullable<PriceFactor["of"]>, name: keyof Rates): boolean {
  if (name === "request" || name === "searchUnit") return of === "requests" && name === "request";
  return of === "tokens" || (of === "tokens_not_read" && name !== "cacheRead" && name !== "audioCacheRead");
}

function timesRate({ base, tiers }: Rate, [numerator, denominator]: PriceFactor["times"]): Rate {
  const times = (rate: number): number => Math.ceil((rate * numerator) / denominator);
  return { base: times(base), tiers: tiers.map(({ above, rate }) => ({ above, rate: times(rate) })) };
}
