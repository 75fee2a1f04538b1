// Prices as calls read them (promise 4.7). A rate is in nano-dollars for a million tokens, so 0.000001 USD for one
// token is 1,000,000,000. accounting/ computes costs from them.

export interface Rate {
  readonly base: number;
  /**
   * In ascending order. The highest tier whose `above` is less than the prompt's tokens gives the rate of the whole
   * call.
   */
  readonly tiers: readonly { readonly above: number; readonly rate: number }[];
}

/** A rate is `null` when it is not known, or when its unit is not priced separately. */
export interface Rates {
  readonly prompt: Rate | null;
  readonly completion: Rate | null;
  readonly cacheRead: Rate | null;
  /** The rate of writing to a cache that lasts minutes; `cacheWriteHour` is that of a cache that lasts an hour. */
  readonly cacheWrite: Rate | null;
  readonly cacheWriteHour: Rate | null;
  readonly reasoning: Rate | null;
  readonly audioPrompt: Rate | null;
  readonly audioCacheRead: Rate | null;
  readonly audioCompletion: Rate | null;
  readonly imagePrompt: Rate | null;
  readonly imageCompletion: Rate | null;
  /** Nano-dollars for a million requests. */
  readonly request: Rate | null;
  /** Nano-dollars for a million search units, in which some vendors bill rankings. */
  readonly searchUnit: Rate | null;
}

export const NO_RATES: Rates = {
  prompt: null,
  completion: null,
  cacheRead: null,
  cacheWrite: null,
  cacheWriteHour: null,
  reasoning: null,
  audioPrompt: null,
  audioCacheRead: null,
  audioCompletion: null,
  imagePrompt: null,
  imageCompletion: null,
  request: null,
  searchUnit: null,
};

/** A price that a row has for rankings that its vendor bills in search units. */
export interface SearchUnitPrice {
  /** Parts of names of models. */
  readonly models: readonly string[];
  readonly nanoUsd: number;
  /** The page or list with the price, and the day on which it was read. */
  readonly source: string;
  readonly read: string;
}

/** What a vendor charges for a tier of service, a region or a depth of search, as a multiple of its list of prices. */
export interface PriceFactor {
  /** The member of the usage that says how the call was served, or the place of the target, and its values. */
  readonly told: "service_tier" | "inference_geo" | "speed" | "search_context_size" | "place";
  readonly values: readonly string[];
  /** The models whose price it multiplies; absent where that is every model. Of several that match, the first applies. */
  readonly models?: RegExp;
  /** A fraction: numerator and denominator. */
  readonly times: readonly [number, number];
  /** The prices that are multiplied; those of all tokens where absent. */
  readonly of?: "tokens" | "tokens_not_read" | "requests";
  /** The vendor's page with the price. */
  readonly source: string;
}

export interface PricePeriod {
  /** The moment from which the period applies; `null` when it always has. */
  readonly from: number | null;
  /** The time of each day, in UTC, at which the period applies; it may extend past midnight. `null` means all day. */
  readonly daily: { readonly fromMs: number; readonly toMs: number } | null;
  readonly rates: Rates;
}

export interface ModelPrice {
  /** The source of the figures, with its version. */
  readonly id: string;
  readonly isBundled?: true;
  /** The last period that applies decides; when none applies, the first one does. */
  readonly periods: readonly [PricePeriod, ...PricePeriod[]];
}

/** A price that the operator or a tenant has set. */
export interface ConfiguredPrice {
  /** Includes the version, so that a record still says later which price was used. */
  readonly id: string;
  readonly fromMs: number | null;
  readonly rates: Rates;
}

/** The prices of one scope, by `<provider>:<model_name>`. For one model, the newest comes first. */
export interface PriceList {
  readonly exact: ReadonlyMap<string, readonly ConfiguredPrice[]>;
  /** More specific patterns come first. */
  readonly globs: readonly { readonly pattern: string; readonly price: ConfiguredPrice }[];
}

/**
 * The nearest scope that prices a model decides. Where none of them does, the price comes from the provider's entry or
 * from the bundled catalogue.
 */
export interface PriceBook {
  /** `null` when there are no global prices. */
  readonly global: PriceList | null;
  readonly tenants: ReadonlyMap<string, PriceList>;
  readonly projects: ReadonlyMap<string, PriceList>;
}
