// Price documents: which are accepted, which are refused, and which of several takes precedence.
import { describe, expect, test } from "bun:test";
import { priceAt } from "../../src/accounting/price-book.ts";
import { compilePrices, priceSchema } from "../../src/accounting/price-settings.ts";
import { usdPerToken } from "../../src/accounting/price.ts";
import type { Configured } from "../../src/core/configured/configured.ts";
import type { PriceBook, Rates } from "../../src/core/configured/price.ts";
import type { ProviderSettings } from "../../src/core/snapshot.ts";
import type { PriceDocument } from "../../src/accounting/price-settings.ts";

type Scope = { readonly tenantId?: string; readonly projectId?: string; readonly version?: number };
const configured = (
  id: string,
  document: object,
  { tenantId, projectId, version = 1 }: Scope = {},
): Configured<PriceDocument> => ({
  id,
  name: id,
  tenantId: tenantId ?? null,
  projectId: projectId ?? null,
  origin: "store",
  setBy: "owner",
  version,
  document: priceSchema.parse(document),
});
const openai: ProviderSettings = {
  id: "openai",
  family: "openai",
  baseUrl: null,
  credentials: [],
  settings: {},
  enabled: true,
  models: [
    {
      id: "listed",
      name: null,
      contextLength: null,
      maxCompletionTokens: null,
      pricing: { prompt: "0.5", completion: "0.5" },
    },
  ],
};
const SOURCE = { id: "openai" };
const SITE = { tenantId: "acme", projectId: "site" };
const NOW = Date.UTC(2026, 5, 15);
const found = (
  book: PriceBook,
  model: string,
  scope: { tenantId: string | null; projectId: string | null } = SITE,
  nowMs = NOW,
) => priceAt(book, scope, openai, SOURCE, model, nowMs);
const idOf = (...args: Parameters<typeof found>): string | undefined =>
  found(...args)?.id.replace(/^genai-prices.*/, "bundled");

describe("precedence of prices", () => {
  test("[d4.7] project over tenant over global over the provider's entry over the bundled list", () => {
    const all = [
      configured("p", { model: "openai:gpt-4o", prompt: "1" }, SITE),
      configured("t", { model: "openai:gpt-4o", prompt: "2" }, { tenantId: "acme" }),
      configured("g", { model: "openai:gpt-4o", prompt: "3" }),
    ];
    const ids = [0, 1, 2, 3].map((from) => idOf(compilePrices(all.slice(from)), "gpt-4o"));
    expect(ids).toEqual(["p@1", "t@1", "g@1", "bundled"]);
    const book = compilePrices(all);
    expect([
      idOf(book, "gpt-4o", { tenantId: "acme", projectId: "other" }),
      idOf(book, "gpt-4o", { tenantId: "other", projectId: "else" }),
      idOf(book, "gpt-4o", { tenantId: null, projectId: null }),
    ]).toEqual(["t@1", "g@1", "g@1"]);
    expect([
      idOf(book, "listed"),
      idOf(compilePrices([configured("g", { model: "openai:*", prompt: "3" })]), "listed"),
      idOf(book, "nobody-knows-it"),
    ]).toEqual(["configuration", "g@1", undefined]);
  });
  test("[d1.3] a slash after the provider stands for the colon", () => {
    expect(idOf(compilePrices([configured("x", { model: "openai/gpt-4*", prompt: "2" })]), "gpt-4o")).toBe("x@1");
  });
  test("the whole name over a pattern, the longer pattern over the shorter", () => {
    const book = compilePrices([
      configured("any", { model: "*", prompt: "1" }),
      configured("four", { model: "openai:gpt-4*", prompt: "2" }),
      configured("exact", { model: "openai:gpt-4o", prompt: "3" }),
      configured("other", { model: "azure:*", prompt: "4" }),
    ]);
    expect([idOf(book, "gpt-4o"), idOf(book, "gpt-4.1"), idOf(book, "o3")]).toEqual(["exact@1", "four@1", "any@1"]);
  });
  test("the newest that is in effect; one in the future leaves the call to the next", () => {
    const book = compilePrices([
      configured("new", { model: "openai:gpt-4o", prompt: "1", from: "2026-06-01" }),
      configured("later", { model: "openai:gpt-4o", prompt: "1", from: "2026-07-01T12:00:00Z" }),
      configured("old", { model: "openai:gpt-4o", prompt: "1" }),
    ]);
    const at = (nowMs: number): string | undefined => idOf(book, "gpt-4o", SITE, nowMs);
    expect([
      at(Date.UTC(2026, 4, 31, 23)),
      at(Date.UTC(2026, 5, 1)),
      at(Date.UTC(2026, 6, 1, 11)),
      at(Date.UTC(2026, 6, 1, 12)),
    ]).toEqual(["old@1", "new@1", "new@1", "later@1"]);
  });
  test("the id names the version, and for the file its text", () => {
    const inFile = (prompt: string): string =>
      found(
        compilePrices([{ ...configured("prices.x", { model: "openai:gpt-4o", prompt }), origin: "file", version: 0 }]),
        "gpt-4o",
      )!.id;
    expect(idOf(compilePrices([configured("x", { model: "*", prompt: "1" }, { version: 7 })]), "gpt-4o")).toBe("x@7");
    expect(inFile("1")).toMatch(/^prices\.x@[0-9a-f]{8}$/);
    expect(inFile("1")).not.toBe(inFile("2"));
  });
});

describe("figures", () => {
  const ratesOf = (document: object): Rates =>
    found(compilePrices([configured("x", { model: "openai:*", ...document })]), "m")!.rates;
  test("[d4.7] decimal text becomes a rate exactly, for a million tokens or for one", () => {
    const { prompt, completion, cacheWriteHour, request } = ratesOf({
      prompt: "2.50",
      completion: "0.000000001",
      cache_write_1h: "0",
      request: "0.005",
    });
    expect([usdPerToken(prompt!.base), completion!.base, cacheWriteHour!.base, request!.base]).toEqual([
      "0.0000025",
      1,
      0,
      5_000_000_000_000,
    ]);
    expect(usdPerToken(ratesOf({ per: "token", prompt: "0.000000000000001" }).prompt!.base)).toBe("0.000000000000001");
  });
  test("a tier changes the figures that it names, and applies to derived figures too", () => {
    const { prompt, cacheRead, completion } = ratesOf({
      prompt: "1",
      completion: "2",
      tiers: [
        { above_prompt_tokens: 100, prompt: "3", cache_read: "0.5" },
        { above_prompt_tokens: 200, prompt: "4" },
      ],
    });
    expect(prompt).toEqual({
      base: 1e9,
      tiers: [
        { above: 100, rate: 3e9 },
        { above: 200, rate: 4e9 },
      ],
    });
    expect([cacheRead, completion]).toEqual([
      { base: 1e9, tiers: [{ above: 100, rate: 5e8 }] },
      { base: 2e9, tiers: [] },
    ]);
  });
  test("a figure of a later tier alone follows, below it, the tiers of the figure that stands in for it", () => {
    const { cacheRead, audioCacheRead } = ratesOf({
      prompt: "1",
      tiers: [
        { above_prompt_tokens: 100, prompt: "3" },
        { above_prompt_tokens: 200, cache_read: "0.5", prompt: "4" },
        { above_prompt_tokens: 300, audio_cache_read: "0.25" },
      ],
    });
    const shorter = [
      { above: 100, rate: 3e9 },
      { above: 200, rate: 5e8 },
    ];
    expect(cacheRead).toEqual({ base: 1e9, tiers: shorter });
    expect(audioCacheRead).toEqual({ base: 1e9, tiers: [...shorter, { above: 300, rate: 25e7 }] });
  });
  const WRONG: readonly (readonly [string, object, string])[] = [
    ["a number, which is a binary fraction", { prompt: 2.5 }, "prompt"],
    ["a negative one", { prompt: "-1" }, "prompt"],
    ["an exponent", { prompt: "1e-7" }, "prompt"],
    ["no figure at all", { cache_read: "1" }, "prompt"],
    ["more digits than are exact", { prompt: "0.0000000001" }, "prompt"],
    ["more than a dollar for a token", { per: "token", completion: "1.01" }, "completion"],
    ["a million times too much", { prompt: "1000001" }, "prompt"],
    [
      "tiers that do not ascend",
      {
        prompt: "1",
        tiers: [
          { above_prompt_tokens: 5, prompt: "1" },
          { above_prompt_tokens: 5, prompt: "2" },
        ],
      },
      "tiers.1.above_prompt_tokens",
    ],
    [
      "a figure of a tier that shorter prompts have not",
      { prompt: "1", tiers: [{ above_prompt_tokens: 5, completion: "1" }] },
      "tiers.0.completion",
    ],
    [
      "a figure of a tier for which nothing stands in where prompts are shorter",
      { completion: "1", tiers: [{ above_prompt_tokens: 5, cache_read: "1" }] },
      "tiers.0.cache_read",
    ],
    ["an invalid day", { prompt: "1", from: "2026-13-01" }, "from"],
    ["a day that the month does not have", { prompt: "1", from: "2026-02-30" }, "from"],
    ["a time of a day that the month does not have", { prompt: "1", from: "2026-04-31T09:30:00Z" }, "from"],
    ["a model without provider", { model: "gpt-4o", prompt: "1" }, "model"],
    ["an unknown member", { prompt: "1", promt: "1" }, ""],
  ];
  for (const [what, document, path] of WRONG)
    test(`${what} is refused`, () => {
      const { error } = priceSchema.safeParse({ model: "openai:*", ...document });
      expect(error?.issues.map((issue) => issue.path.join("."))).toEqual([path]);
    });
});
