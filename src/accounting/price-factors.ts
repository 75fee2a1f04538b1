// The prices of tiers of service, regions and depths of search, as multiples of the bundled prices.

// Decides (money and limits): Does a tier of service change the price? By: `ratesFor`. Rule: As the vendor publishes it,
// by the tier with which the answer says it was served; a configured price is charged as it is.
import type { Usage } from "../core/chat.ts";
import type { PriceFactor, Rate, Rates } from "../core/configured/price.ts";
import type { CurrentPrice } from "./price-book.ts";

/** What says how a call was served, or is to be served. */
type Told = Exclude<PriceFactor["told"], "place">;
type Served = Pick<Usage, Told>;

/** A target, as far as its price depends on it. */
interface PricedPlace {
  readonly provider: {
    readonly priceFactors?: readonly PriceFactor[];
    readonly isRegional?: (target: PlacedTarget) => boolean;
  };
  readonly target: PlacedTarget & { readonly model: string };
}

/** A target or the entry of a provider: where its models run. */
interface PlacedTarget {
  readonly baseUrl: string | null;
  readonly settings: Readonly<Record<string, string>>;
}

/** Returns the rates for tokens of a call that was served so. */
export function ratesFor({ rates, isBundled }: CurrentPrice, served: Served, at: PricedPlace): Rates {
  return isBundled ? factorsOf(served, at).reduce(multiplied, rates) : rates;
}

/** Whether a call that is served so costs more than others. */
export function isDearer(served: Served, at: PricedPlace): boolean {
  return factorsOf(served, at).some(
    ({ told, times: [numerator, denominator] }) => told !== "place" && numerator > denominator,
  );
}

/** At most one for each thing that is told. */
function factorsOf(
  served: Served,
  { provider: { priceFactors = [], isRegional }, target }: PricedPlace,
): readonly PriceFactor[] {
  const said = (told: PriceFactor["told"]): unknown =>
    told === "place" ? (isRegional?.(target) === true ? REGIONAL : null) : served[told];
  const found = priceFactors.filter(
    ({ told, values, models }) =>
      values.some((value) => value === said(told)) && (models === undefined || models.test(target.model)),
  );
  return found.filter((one, index) => found.findIndex(({ told }) => told === one.told) === index);
}
const REGIONAL = "regional";

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
