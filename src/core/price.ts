// Prices as calls read them (decisions 4.7): a rate is nano-dollars for a million tokens, so 0.000001 USD for one token is 1,000,000,000. What they come to
// is counted in accounting/.

export interface Rate {
  readonly base: number;
  /** The highest tier whose `above` the prompt exceeds is the rate of the whole call. In ascending order. */
  readonly tiers: readonly { readonly above: number; readonly rate: number }[];
}

/** Null: the price of it is not known, or it has none of its own. */
export interface Rates {
  readonly prompt: Rate | null;
  readonly completion: Rate | null;
  readonly cacheRead: Rate | null;
  /** What is written to a cache that lives for minutes, and to one that lives for an hour. */
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
};

export interface PricePeriod {
  /** From this moment on; null: always. */
  readonly from: number | null;
  /** At this time of each day in UTC; it may go over midnight. */
  readonly daily: { readonly fromMs: number; readonly toMs: number } | null;
  readonly rates: Rates;
}

export interface ModelPrice {
  /** Where the figures come from, with their version. */
  readonly id: string;
  /** The last that holds decides, else the first. */
  readonly periods: readonly [PricePeriod, ...PricePeriod[]];
}

/** A price that the operator or a tenant has set. */
export interface ConfiguredPrice {
  /** With the version, so that a record tells a month later which it was. */
  readonly id: string;
  readonly fromMs: number | null;
  readonly rates: Rates;
}

/** Those of one scope, by `<provider>:<model_name>`; of one model the newest go first. */
export interface PriceList {
  readonly exact: ReadonlyMap<string, readonly ConfiguredPrice[]>;
  /** Those that say more go first. */
  readonly globs: readonly { readonly matches: (model: string) => boolean; readonly price: ConfiguredPrice }[];
}

/** The nearest scope that has a price of a model decides; what none of them has is known of the provider's entry, or of the bundled catalogue. */
export interface PriceBook {
  /** Null: there is none. */
  readonly global: PriceList | null;
  readonly tenants: ReadonlyMap<string, PriceList>;
  readonly projects: ReadonlyMap<string, PriceList>;
}

export const NO_PRICES: PriceBook = { global: null, tenants: new Map(), projects: new Map() };
