// The prices of tiers of service, regions and depths of search, as multiples of the bundled prices.

// Decides (money and limits): Does a tier of service change the price? By: `servedPrice`. Rule: As the vendor publishes it,
// by the tier with which the answer says it was served; a configured price is charged as it is.
import type { PriceFactor, Rate, Rates } from "../core/configured/price.ts";
import { timesRate } from "./price.ts";
import type { CurrentPrice } from "./price-book.ts";

/** What says how a call was served, or is to be served. */
type Told = Exclude<PriceFactor["told"], "place">;
type Served = { readonly [Name in Told]?: string | null | undefined };

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

/** Returns the price of a call that was served so. */
export function servedPrice(price: CurrentPrice, served: Served, at: PricedPlace): CurrentPrice {
  return multiplied(price, factorsOf(price, served, at));
}

/** Returns the price that is expected of a call that asks to be served so, which may be served as by default. */
export function expectedPrice(price: CurrentPrice, asked: Served, at: PricedPlace): CurrentPrice {
  const raisesIt = ({ told, times: [numerator, denominator] }: PriceFactor): boolean =>
    told === "place" || numerator > denominator;
  return multiplied(price, factorsOf(price, asked, at).filter(raisesIt));
}

const NO_FACTORS: readonly PriceFactor[] = [];

/**
 * Returns the factors that apply, at most one for each member of the usage and for the place. A price that was configured
 * is charged as it is.
 */
function factorsOf(
  { isBundled }: CurrentPrice,
  served: Served,
  { provider: { priceFactors, isRegional }, target }: PricedPlace,
): readonly PriceFactor[] {
  if (isBundled !== true || priceFactors === undefined) return NO_FACTORS;
  const said = (told: PriceFactor["told"]): unknown =>
    told === "place" ? (isRegional?.(target) === true ? REGIONAL : null) : served[told];
  const found = priceFactors.filter(
    ({ told, values, models }) =>
      values.some((value) => value === said(told)) && (models === undefined || models.test(target.model)),
  );
  return found.filter((one, index) => found.findIndex(({ told }) => told === one.told) === index);
}
const REGIONAL = "regional";

function multiplied(price: CurrentPrice, factors: readonly PriceFactor[]): CurrentPrice {
  return factors.length === 0 ? price : { ...price, rates: factors.reduce(timesFactor, price.rates) };
}

function timesFactor(rates: Rates, { times, of = "tokens" }: PriceFactor): Rates {
  const all = Object.entries(rates) as readonly (readonly [keyof Rates, Rate | null])[];
  return Object.fromEntries(
    all.map(([name, rate]) => [name, rate === null || !isPartOf(of, name) ? rate : timesRate(rate, ...times)]),
  ) as unknown as Rates;
}

function isPartOf(of: NonNullable<PriceFactor["of"]>, name: keyof Rates): boolean {
  if (name === "request" || name === "searchUnit") return of === "requests" && name === "request";
  return of === "tokens" || (of === "tokens_not_read" && name !== "cacheRead" && name !== "audioCacheRead");
}
