// What is known of models: the bundled catalogue, the provider's own table and the file's values, all within bounds.
import { describe, expect, test } from "bun:test";
import { cataloguedModels, modelKnowledge } from "../../src/accounting/model-catalogue.ts";
import { ratesAt, usdPerToken } from "../../src/accounting/price.ts";
import type { ModelListing } from "../../src/core/snapshot.ts";
import { providers } from "../../src/providers/registry.ts";
import { providerSettings } from "../harness/targets.ts";

const of = (id: string, model: string, listed: readonly ModelListing[] = []) =>
  modelKnowledge(providerSettings({ id, models: listed }), providers.get(id)!, model);
const NOW = Date.UTC(2026, 10, 20);

describe("[d9.1] what is known of a model", () => {
  test("context and prices of the catalogue, with its version", () => {
    const { facts, price } = of("anthropic", "claude-sonnet-4-5-20250929");
    expect(facts.contextTokens).toBeGreaterThan(100_000);
    expect(price!.id).toMatch(/^genai-prices@\d+\.\d+\.\d+:anthropic\/claude-sonnet-4-5$/);
    const { prompt, completion, cacheRead, cacheWrite } = ratesAt(price!, NOW);
    for (const rate of [prompt, completion, cacheRead, cacheWrite]) {
      expect(Number.isSafeInteger(rate!.base)).toBe(true);
      expect(usdPerToken(rate!.base)).toMatch(/^0\.\d+$/);
    }
    expect(cacheRead!.base).toBeLessThan(prompt!.base);
    expect(completion!.base).toBeGreaterThan(prompt!.base);
  });
  test("higher price tiers", () => {
    const { prompt } = ratesAt(of("gemini", "gemini-2.5-pro").price!, NOW);
    expect(prompt!.tiers).toEqual([{ above: 200_000, rate: prompt!.base * 2 }]);
  });
  test("[d4.7] writing Claude's prompt to a cache for an hour costs twice the prompt, wherever it is served", () => {
    for (const [provider, model] of [
      ["anthropic", "claude-sonnet-4-5"],
      ["bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0"],
      ["bedrock", "us.anthropic.claude-opus-4-5-20251101-v1:0"],
      ["bedrock", "anthropic.claude-opus-5-5"],
      ["vertex", "claude-sonnet-4-5@20250929"],
      ["vertex", "claude-opus-4-8"],
      ["openrouter", "anthropic/claude-sonnet-4.5"],
    ] as const) {
      const { prompt, cacheWriteHour } = ratesAt(of(provider, model).price!, NOW);
      expect([provider, model, cacheWriteHour]).toEqual([
        provider,
        model,
        {
          base: 2 * prompt!.base,
          tiers: prompt!.tiers.map(({ above, rate }) => ({ above, rate: 2 * rate })),
        },
      ]);
    }
  });
  test("the provider's own table, where it has one", () => {
    expect(of("anthropic", "claude-opus-4-20250514").facts.maxOutputTokens).toBe(32_000);
    expect(of("openai", "gpt-5").facts.maxOutputTokens).toBeNull();
  });
  test("the file's values override the others, one by one", () => {
    const listed: ModelListing = {
      id: "gpt-5",
      name: "Ours",
      contextLength: 1000,
      maxCompletionTokens: null,
      pricing: { prompt: "0.000001", completion: "0.000002" },
    };
    const { name, facts, price } = of("openai", "gpt-5", [listed]);
    expect([name, facts, price!.id, ratesAt(price!, NOW).prompt]).toEqual([
      "Ours",
      { contextTokens: 1000, maxOutputTokens: null },
      "configuration",
      { base: 1_000_000_000, tiers: [] },
    ]);
    const onlyBound = of("openai", "gpt-5", [
      { ...listed, contextLength: null, maxCompletionTokens: 7, pricing: null },
    ]);
    expect(onlyBound.facts.maxOutputTokens).toBe(7);
    expect(onlyBound.price!.id).toContain("genai-prices@");
  });
  test("nothing for unknown models and providers: a part of a name does not count as the name", () => {
    expect(of("openai", "no-such-model")).toMatchObject({
      name: null,
      facts: { contextTokens: null, maxOutputTokens: null },
      price: null,
    });
    const settings = providerSettings({ id: "mine" });
    for (const source of [{ id: "my-openai-proxy" }, { id: "openai", catalogue: null }]) {
      expect(modelKnowledge({ ...settings }, source, "gpt-5").price).toBeNull();
      expect(cataloguedModels(source)).toEqual([]);
    }
    expect(modelKnowledge({ ...settings }, { id: "x", catalogue: "openai" }, "gpt-5").price).not.toBeNull();
  });
  test("every provider that names a catalogue finds it", () => {
    for (const provider of providers.values())
      if (typeof provider.catalogue === "string")
        expect([provider.id, cataloguedModels(provider).length > 0]).toEqual([provider.id, true]);
  });
  test("is cached for each provider within a bound, whatever names callers use", () => {
    const settings = providerSettings({ id: "openai" });
    const ask = (model: string) => modelKnowledge(settings, providers.get("openai")!, model);
    expect(ask("gpt-5").facts).toBe(ask("gpt-5").facts);
    const first = ask("gpt-5");
    for (let index = 0; index < 5000; index++) ask(`made-up-${index}`);
    expect(ask("gpt-5")).not.toBe(first);
    expect(ask("gpt-5")).toEqual(first);
  });
});

describe("[d9.1] the models of the catalogue", () => {
  test("are sorted, unique, bounded, and limited to those that can be called over chat completions", () => {
    for (const provider of providers.values()) {
      const names = cataloguedModels(provider);
      expect([provider.id, names]).toEqual([provider.id, [...new Set(names)].toSorted()]);
      expect(names.length).toBeLessThanOrEqual(1000);
      expect(
        names.filter((name) => !/^[\x21-\x7e]{1,256}$/.test(name) || /[?#]|\.\.|embedding|whisper|realtime/.test(name)),
      ).toEqual([]);
    }
    expect(cataloguedModels(providers.get("openai")!)).toEqual(expect.arrayContaining(["gpt-5", "o3"]));
    expect(
      cataloguedModels(providers.get("openai")!).filter((name) => /davinci|dall-e|gpt-image|tts|transcribe/.test(name)),
    ).toEqual([]);
    expect(cataloguedModels(providers.get("gemini")!).filter((name) => !/^gem(ini|ma)-/.test(name))).toEqual([]);
    expect(cataloguedModels(providers.get("sandbox")!)).toEqual([]);
  });
});
