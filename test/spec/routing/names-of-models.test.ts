// A provider that takes one model under several names: what forbids, limits or prices the model holds under each of them.
import { describe, expect, test } from "bun:test";
import { compilePrices, priceSchema } from "../../../src/accounting/price-settings.ts";
import { priceAt } from "../../../src/accounting/price-book.ts";
import { modelKnowledge } from "../../../src/accounting/model-catalogue.ts";
import type { Drain } from "../../../src/core/configured/drain.ts";
import { providers } from "../../../src/providers/registry.ts";
import { limitSet } from "../../harness/limited.ts";
import { providerSettings } from "../../harness/targets.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { answeringGateway, ask } from "../chat-calls.ts";

/** Each with the name by which rules know the model. */
const NAMES = [
  ["gemini:models/gemini-2.5-flash", "gemini:gemini-2.5-flash"],
  ["vertex:google/gemini-2.5-flash", "vertex:gemini-2.5-flash"],
  ["vertex:models/gemini-2.5-flash", "vertex:gemini-2.5-flash"],
  ["vertex:publishers/google/models/gemini-2.5-flash", "vertex:gemini-2.5-flash"],
  ["vertex:publishers/anthropic/models/claude-opus-4-6", "vertex:claude-opus-4-6"],
  ["vertex:anthropic/claude-opus-4-6", "vertex:claude-opus-4-6"],
  ["vertex:mistralai/mistral-medium-3", "vertex:mistral-medium-3"],
  [
    "bedrock:arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0",
    "bedrock:anthropic.claude-haiku-4-5-20251001-v1:0",
  ],
  [
    "bedrock:arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-pro-v1:0",
    "bedrock:us.amazon.nova-pro-v1:0",
  ],
  ["ollama:llama3.2:latest", "ollama:llama3.2"],
  ["ollama:registry.ollama.ai/library/llama3.2", "ollama:llama3.2"],
  ["ollama:Library/LLaMA3.2", "ollama:llama3.2"],
  ["azure:GPT-4o", "azure:gpt-4o"],
  ["azure_ai:Mistral-Large-3", "azure_ai:mistral-large-3"],
] as const;
const partsOf = (name: string) => {
  const at = name.indexOf(":");
  return { provider: name.slice(0, at), model: name.slice(at + 1) };
};
const drain = (name: string): Drain => ({
  tenantId: "default",
  ...partsOf(name),
  untilMs: Number.MAX_SAFE_INTEGER / 4,
  note: null,
  begunBy: "ann",
  begunAtMs: 0,
});

describe("a model under another name that its provider takes", () => {
  test.each(NAMES)(
    "[d3.4] %s is forbidden where a policy forbids %s, by its scope and by its rule",
    async (name, own) => {
      const { provider, model } = partsOf(own);
      for (const policy of [
        { name: "no", rule: "true", scope: { model: own } },
        { name: "no", rule: `target.name == "${own}"` },
        { name: "no", rule: `target.provider == "${provider}" && target.model == "${model}"` },
      ]) {
        const gateway = answeringGateway({ snapshot: { policies: policiesFor(policy) } });
        expect([policy, (await ask(gateway, { model: name })).outcome]).toEqual([policy, "403 policy_violation null"]);
        expect(gateway.sent).toEqual([]);
      }
    },
  );
  test.each(NAMES)("[d3.4] %s is searched by a guard for %s", async (name, own) => {
    const guard = { on: "input", action: "block", patterns: ["Hello"] };
    const gateway = answeringGateway({
      snapshot: { policies: policiesFor({ name: "no", guard, scope: { model: own } }) },
    });
    expect((await ask(gateway, { model: name })).outcome).toBe("403 policy_violation null");
    expect(gateway.sent).toEqual([]);
  });
  test.each(NAMES)("[d4.1] %s counts once under a limit of %s, and under one for each model", async (name, own) => {
    const minute = { metric: "requests", window: "minute", limit: 2 };
    const limits = { one: { ...minute, scope: { model: own } }, each: { ...minute, scope: { model: "*" } } };
    const gateway = answeringGateway({ snapshot: { limitRules: limitSet({ limits }) } });
    const outcomes = [];
    for (const model of [name, own, name, own]) outcomes.push((await ask(gateway, { model })).outcome.slice(0, 3));
    expect(outcomes).toEqual(["200", "200", "429", "429"]);
  });
  test.each(NAMES)("[d7.1] %s gets no call while %s is drained", async (name, own) => {
    const gateway = answeringGateway({ snapshot: { drains: new Map([["default", [drain(own)]]]) } });
    expect((await ask(gateway, { model: name })).outcome).toBe("503 target_drained null");
    expect(gateway.sent).toEqual([]);
  });
  test.each(NAMES)("[d4.7] %s has the price of %s, which a pattern does not precede", (name, own) => {
    const { provider: id, model } = partsOf(name);
    const source = providers.get(id)!;
    const book = compilePrices(
      [
        ["pattern", `${id}:*`],
        ["own", own],
      ].map(([named, of]) => ({
        id: named!,
        name: named!,
        tenantId: null,
        projectId: null,
        origin: "store" as const,
        setBy: null,
        version: 1,
        document: priceSchema.parse({ model: of, prompt: "1" }),
      })),
    );
    const scope = { tenantId: "default", projectId: "default" };
    const settings = providerSettings({ id });
    expect(priceAt(book, scope, settings, source, model, 0)?.id).toBe("own@1");
    const ownModel = partsOf(own).model;
    const none = compilePrices([]);
    expect(priceAt(none, scope, settings, source, model, 0)).toEqual(
      priceAt(none, scope, settings, source, ownModel, 0),
    );
    const listed = { id: ownModel, name: "Listed", contextLength: 5, maxCompletionTokens: 4, pricing: null };
    expect(modelKnowledge({ ...settings, models: [listed] }, source, model).facts).toEqual({
      contextTokens: 5,
      maxOutputTokens: 4,
    });
    expect(modelKnowledge({ ...settings, models: [{ ...listed, id: model }] }, source, ownModel).name).toBe("Listed");
  });
});

describe("a rule that writes a name with capital letters", () => {
  const [asked, written] = ["azure:prod-of-us", "azure:Prod-Of-US"];
  test("[d3.4] forbids it however the request writes it", async () => {
    const policy = { name: "no", rule: "true", scope: { model: "azure/Prod-*" } };
    const gateway = answeringGateway({ snapshot: { policies: policiesFor(policy) } });
    for (const model of [asked, written])
      expect((await ask(gateway, { model })).outcome).toBe("403 policy_violation null");
  });
  test("[d4.1] limits it however the request writes it", async () => {
    const limits = { one: { metric: "requests", window: "minute", limit: 2, scope: { model: written } } };
    const gateway = answeringGateway({ snapshot: { limitRules: limitSet({ limits }) } });
    const outcomes = [];
    for (const model of [asked, written, asked]) outcomes.push((await ask(gateway, { model })).outcome.slice(0, 3));
    expect(outcomes).toEqual(["200", "200", "429"]);
  });
  test("[d7.1] drains it however the request writes it", async () => {
    const gateway = answeringGateway({ snapshot: { drains: new Map([["default", [drain(written)]]]) } });
    expect((await ask(gateway, { model: asked })).outcome).toBe("503 target_drained null");
  });
});

describe("a deployment in place of the model", () => {
  test("[d1.7 d3.4] is forbidden also in capital letters", async () => {
    const gateway = answeringGateway({
      snapshot: { policies: policiesFor({ name: "no", rule: `target.model == "secret"` }) },
    });
    const { outcome } = await ask(gateway, { model: "azure:gpt-4o", deployment_id: "SECRET" });
    expect(outcome).toBe("403 policy_violation null");
  });
  test("[d1.7 d3.4] is searched by a guard for the model that it names", async () => {
    const guard = { on: "input", action: "block", patterns: ["Hello"] };
    const gateway = answeringGateway({
      snapshot: { policies: policiesFor({ name: "no", guard, scope: { model: "azure:secret" } }) },
    });
    const { outcome } = await ask(gateway, { model: "azure:gpt-4o", deployment_id: "secret" });
    expect(outcome).toBe("403 policy_violation null");
    expect(gateway.sent).toEqual([]);
  });
});
