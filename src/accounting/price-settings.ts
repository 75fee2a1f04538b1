// The document of a price, as the file's section `prices` and the admin API accept it and the store keeps it, and how
// such documents become a price book. Figures are decimal numbers in text, because numbers of JSON and YAML are binary
// fractions.
import { z } from "zod";
import type { Configured } from "../core/configured/configured.ts";
import { normalizedPattern } from "../core/target.ts";
import { digestOf } from "../core/text/digest.ts";
import {
  type ConfiguredPrice,
  NO_RATES,
  type PriceBook,
  type PriceList,
  type Rate,
  type Rates,
} from "../core/configured/price.ts";
import { exactDecimal, rateOf, STANDS_IN } from "./price.ts";
import type { Finding } from "../config/problem.ts";

/** The decimal places that a rate can hold. */
const DIGITS = { token: 15, million_tokens: 9 } as const;
const REQUEST_DIGITS = 15;
/**
 * The highest price in US dollars, for one token, a million tokens or one request. A higher figure is most likely in
 * the wrong unit.
 */
const MOST = { token: 1, million_tokens: 1_000_000, request: 9 } as const;
const MAX_PRICES = 10_000;
const MAX_TIERS = 16;

const DECIMAL = /^\d{1,7}(\.\d{1,15})?$/;
const money = (title: string, description: string) =>
  z
    .string()
    .regex(DECIMAL, 'expected US dollars as a decimal number in quotes, such as "2.50"')
    .optional()
    .meta({ title, description });

const RATE_SHAPE = {
  prompt: money("Prompt", "Price of a prompt token."),
  completion: money("Completion", "Price of a completion token."),
  cache_read: money("Cache read", "Price of a prompt token read from the provider's cache. The default is `prompt`."),
  cache_write: money(
    "Cache write",
    "Price of a prompt token written to the provider's cache. The default is `prompt`.",
  ),
  cache_write_1h: money(
    "Cache write, one hour",
    "Price of a prompt token written to a cache for one hour. The default is `cache_write`.",
  ),
  reasoning: money("Reasoning", "Price of a reasoning token. The default is `completion`."),
  audio_prompt: money("Audio, prompt", "Price of an audio token in the prompt. The default is `prompt`."),
  audio_cache_read: money(
    "Audio, cache read",
    "Price of an audio token read from the provider's cache. The default is `cache_read`.",
  ),
  audio_completion: money(
    "Audio, completion",
    "Price of an audio token in the completion. The default is `completion`.",
  ),
  image_prompt: money("Image, prompt", "Price of an image token in the prompt. The default is `prompt`."),
  image_completion: money(
    "Image, completion",
    "Price of an image token in the completion. The default is `completion`.",
  ),
};
type RateName = keyof typeof RATE_SHAPE;
const RATE_NAMES = Object.keys(RATE_SHAPE) as readonly RateName[];

const isGlob = (model: string): boolean => model.includes("*");
/** Of two patterns that match, the one with more literal characters is more specific. */
const literalLength = (model: string): number => model.replaceAll("*", "").length;
/** The runtime reads 30 February as 2 March. */
const isDate = (text: string): boolean => {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, "2026-01-31".length));
};

type Figures = Readonly<Partial<Record<RateName, string | undefined>>>;

/** Checks figures that depend on one another. */
function priceProblems(
  price: Figures & {
    readonly per: keyof typeof DIGITS;
    readonly request?: string | undefined;
    readonly search_unit?: string | undefined;
    readonly tiers?: readonly (Figures & { readonly above_prompt_tokens: number })[] | undefined;
  },
): readonly Finding[] {
  const ofFigures = (path: Finding["path"], figures: Figures): readonly Finding[] =>
    RATE_NAMES.flatMap((name) => figureProblems([...path, name], figures[name], MOST[price.per], DIGITS[price.per]));
  const tiers = price.tiers ?? [];
  return [
    ...(price.prompt === undefined && price.completion === undefined && price.search_unit === undefined
      ? [
          {
            path: ["prompt"],
            message: "is missing: a price needs at least one of `prompt`, `completion` and `search_unit`",
          },
        ]
      : []),
    ...ofFigures([], price),
    ...(["request", "search_unit"] as const).flatMap((name) =>
      figureProblems([name], price[name], MOST.request, REQUEST_DIGITS),
    ),
    ...tiers.flatMap((tier, index) => ofFigures(["tiers", index], tier)),
    ...tiers.flatMap((tier, index) =>
      RATE_NAMES.flatMap((name) =>
        tier[name] === undefined || price[name] !== undefined || hasStandIn(name, price)
          ? []
          : [{ path: ["tiers", index, name], message: `also needs \`${name}\` for shorter prompts` }],
      ),
    ),
    ...tiers.flatMap(({ above_prompt_tokens: above }, index) =>
      above > (tiers[index - 1]?.above_prompt_tokens ?? 0)
        ? []
        : [{ path: ["tiers", index, "above_prompt_tokens"], message: "must be above that of the previous tier" }],
    ),
  ];
}

function figureProblems(
  path: Finding["path"],
  text: string | undefined,
  most: number,
  digits: number,
): readonly Finding[] {
  if (text === undefined) return [];
  if ((text.split(".")[1]?.length ?? 0) > digits) return [{ path, message: `has more than ${digits} decimal places` }];
  return Number(text) > most ? [{ path, message: `is above ${most} US dollars` }] : [];
}

export const priceSchema = z
  .strictObject({
    model: z
      .string()
      .regex(/^[\x21-\x7e]{1,400}$/, "expected `<provider>:<model_name>`, in which `*` stands for any text")
      .refine(
        (model) => model.includes(":") || isGlob(model),
        "the provider is missing: expected `<provider>:<model_name>`",
      )
      .meta({
        title: "Model",
        description:
          "`<provider>:<model_name>`, in which `*` stands for any text. A full name takes precedence over a pattern, and a longer pattern over a shorter one.",
      }),
    per: z
      .enum(["million_tokens", "token"])
      .default("million_tokens")
      .meta({ title: "Per", description: "The unit of the prices: US dollars per `million_tokens` or per `token`." }),
    ...RATE_SHAPE,
    request: money("Request", 'Price of one answered request, in addition to its tokens; at most "9".'),
    search_unit: money(
      "Search unit",
      'Price of one search unit of a ranking; at most "9". Tokens of such a ranking cost nothing unless `prompt` is set.',
    ),
    tiers: z
      .array(
        z.strictObject({
          above_prompt_tokens: z.int().min(1).max(1_000_000_000).meta({
            title: "Tokens",
            description: "The tier applies to calls whose prompt has more tokens than this.",
          }),
          ...RATE_SHAPE,
        }),
      )
      .max(MAX_TIERS)
      .optional()
      .meta({
        title: "Tiers",
        description: "Other prices for all tokens of calls with long prompts; each tier lists the prices that change.",
      }),
    from: z
      .string()
      .regex(
        /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z)?$/,
        'expected a day such as "2026-01-31", or a time in UTC such as "2026-01-31T09:30:00Z"',
      )
      .refine(isDate, "this day does not exist")
      .optional()
      .meta({
        title: "From",
        description:
          "The price is valid from the beginning of this day, or from this time, in UTC. The default is always. Of several valid prices of a model the newest is used.",
      }),
  })
  .superRefine((price, context) => {
    for (const { path, message } of priceProblems(price))
      context.addIssue({ code: "custom", path: [...path], message });
  })
  .meta({ title: "Price", description: "The prices of a model's tokens, in US dollars." });

export type PriceDocument = z.output<typeof priceSchema>;

const PRICE_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

export const pricesSection = z
  .record(
    z.string().regex(PRICE_NAME, "expected a name of 1 to 64 letters, digits, dashes, dots and underscores"),
    priceSchema,
  )
  .refine((prices) => Object.keys(prices).length <= MAX_PRICES, `expected at most ${MAX_PRICES} prices`)
  .prefault({})
  .meta({
    title: "Prices",
    description:
      "Prices by name, which is part of the record of each call. They take precedence over `pricing` of a provider's models and over the bundled list. [prices.md](prices.md) shows how they are used.",
  });

export function compilePrices(configured: readonly Configured<PriceDocument>[]): PriceBook {
  const byScope = (id: (one: Configured<PriceDocument>) => string | null): ReadonlyMap<string, PriceList> =>
    new Map(
      [
        ...Map.groupBy(
          configured.filter((one) => id(one) !== null),
          (one) => id(one)!,
        ),
      ].map(([scope, prices]) => [scope, listOf(prices)]),
    );
  const global = configured.filter(({ tenantId, projectId }) => tenantId === null && projectId === null);
  return {
    global: global.length === 0 ? null : listOf(global),
    tenants: byScope(({ tenantId, projectId }) => (projectId === null ? tenantId : null)),
    projects: byScope(({ projectId }) => projectId),
  };
}

function listOf(prices: readonly Configured<PriceDocument>[]): PriceList {
  const compiled = prices
    .map((one) => ({ model: normalizedPattern(one.document.model), price: compiledPrice(one) }))
    .toSorted(
      (a, b) => (b.price.fromMs ?? -Infinity) - (a.price.fromMs ?? -Infinity) || (a.price.id < b.price.id ? -1 : 1),
    );
  const exact = Map.groupBy(
    compiled.filter(({ model }) => !isGlob(model)),
    ({ model }) => model,
  );
  return {
    exact: new Map([...exact].map(([model, list]) => [model, list.map(({ price }) => price)])),
    globs: compiled
      .filter(({ model }) => isGlob(model))
      .toSorted((a, b) => literalLength(b.model) - literalLength(a.model))
      .map(({ model, price }) => ({ pattern: model, price })),
  };
}

function compiledPrice({ id, origin, version, document }: Configured<PriceDocument>): ConfiguredPrice {
  // a price of the file has no version, so that a digest of its text identifies it
  const which = origin === "file" ? digestOf(document).slice(0, 8) : String(version);
  return {
    id: `${id}@${which}`,
    fromMs: document.from === undefined ? null : Date.parse(document.from),
    rates: ratesOf(document),
  };
}

const RATE_OF: Readonly<Record<RateName, keyof Rates>> = {
  prompt: "prompt",
  completion: "completion",
  cache_read: "cacheRead",
  cache_write: "cacheWrite",
  cache_write_1h: "cacheWriteHour",
  reasoning: "reasoning",
  audio_prompt: "audioPrompt",
  audio_cache_read: "audioCacheRead",
  audio_completion: "audioCompletion",
  image_prompt: "imagePrompt",
  image_completion: "imageCompletion",
};

function ratesOf(document: PriceDocument): Rates {
  const digits = DIGITS[document.per];
  const rates: Record<keyof Rates, Rate | null> = {
    ...NO_RATES,
    request: eachRate(document.request),
    searchUnit: eachRate(document.search_unit),
  };
  for (const name of RATE_NAMES) {
    const text = document[name];
    const tiers = (document.tiers ?? []).flatMap((tier) =>
      tier[name] === undefined ? [] : [{ above: tier.above_prompt_tokens, rate: exactDecimal(tier[name], digits) }],
    );
    if (text !== undefined) rates[RATE_OF[name]] = { base: exactDecimal(text, digits), tiers };
    else if (tiers.length > 0) rates[RATE_OF[name]] = belowTiers(rateOf(RATE_OF[name], rates), tiers);
  }
  return rates;
}

function eachRate(text: string | undefined): Rate | null {
  return text === undefined ? null : { base: exactDecimal(text, REQUEST_DIGITS), tiers: [] };
}

function hasStandIn(name: RateName, figures: Figures): boolean {
  const instead = RATE_NAMES.find((other) => RATE_OF[other] === STANDS_IN[RATE_OF[name]]);
  return instead !== undefined && (figures[instead] !== undefined || hasStandIn(instead, figures));
}

/** Returns a rate that is set for longer prompts alone: for shorter ones, the rate applies that stands in for it. */
function belowTiers(stand: Rate | null, tiers: Rate["tiers"]): Rate {
  const [first] = tiers;
  const shorter = (stand?.tiers ?? []).filter(({ above }) => above < first!.above);
  return { base: stand?.base ?? 0, tiers: [...shorter, ...tiers] };
}
