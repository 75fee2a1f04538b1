// Bifrost's routing rules as conditions of targets: what each rule becomes, which have no counterpart and why, and that
// calls go where they went, for random rules, against an interpreter of the rules that reads them as Bifrost does.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compileCondition } from "../../src/policies/policy-rule.ts";
import { RequestFacts } from "../../src/policies/policy-facts.ts";
import type { RecordedOperation } from "../../src/core/operation.ts";
import { type ImportChoices } from "../../src/import/gateway-import.ts";
import type { Imported } from "../../src/import/import-configuration.ts";
import { printedSeed } from "../harness/time/chance.ts";
import { drawCount } from "../harness/time/long-run.ts";
import { imported, lineAt, section } from "./imported.ts";

const key = (name: string, models: readonly string[] = ["*"]) => ({
  id: `id-of-${name}`,
  name,
  value: `env.${name.toUpperCase()}_KEY`,
  weight: 1,
  models,
});
const PROVIDERS = {
  openai: { keys: [key("openai", ["gpt-4o", "gpt-4o-mini"])] },
  groq: { keys: [key("groq")] },
  anthropic: { keys: [key("anthropic")] },
};
const rule = (expression: string, targets: readonly object[], more: object = {}) => ({
  cel_expression: expression,
  targets,
  scope: "global",
  priority: 0,
  ...more,
});
const to = (provider: string, model: string, weight = 1) => ({ provider, model, weight });

function made(rules: readonly object[], choices: Partial<ImportChoices> = {}, providers: object = PROVIDERS): Imported {
  return imported("bifrost", JSON.stringify({ providers, governance: { routing_rules: rules } }), choices);
}

/** Where a rule stands in the file. */
const AT = "governance.routing_rules";

describe("[d16.1] [d15.2] a routing rule of Bifrost", () => {
  test("is a condition of the targets of each name that clients ask for, and its contrary leads where calls went", () => {
    const result = made([
      rule('headers["X-Tier"] == "premium"', [to("groq", "llama")], { id: "r", name: "n", fallbacks: ["anthropic/c"] }),
    ]);
    const when = 'headers["x-tier"] == "premium"';
    expect(section(result, "routes")).toEqual({
      "openai-gpt-4o": {
        aliases: ["openai/gpt-4o"],
        targets: [
          { model: "groq:llama", when },
          { model: "openai:gpt-4o", when: `!(${when})` },
        ],
        fallbacks: [{ model: "anthropic:c", when }],
      },
      "openai-gpt-4o-mini": {
        aliases: ["openai/gpt-4o-mini"],
        targets: [
          { model: "groq:llama", when },
          { model: "openai:gpt-4o-mini", when: `!(${when})` },
        ],
        fallbacks: [{ model: "anthropic:c", when }],
      },
    });
    expect(section(result, "server")).toEqual({ condition_headers: ["x-tier"] });
    expect(lineAt(result, `${AT}[0].cel_expression`)).toMatchObject({
      outcome: "changed",
      to: "when of groq:llama in routes.openai-gpt-4o",
    });
    expect(lineAt(result, `${AT}[0].targets[0].model`)).toMatchObject({
      outcome: "taken",
      to: "groq:llama in routes.openai-gpt-4o",
    });
    expect(lineAt(result, `${AT}[0].fallbacks[0]`)).toMatchObject({
      outcome: "taken",
      to: "routes.openai-gpt-4o.fallbacks",
    });
    expect(lineAt(result, `${AT}[0].name`).outcome).toBe("without");
    expect(result.missingTargets).toEqual([]);
  });

  test("has no fallback of a text without a provider, which Bifrost passes over", () => {
    const result = made([
      rule('model == "gpt-4o"', [to("openai", "gpt-4o")], { fallbacks: ["anthropic", "/c", "groq/"] }),
    ]);
    expect(section(result, "routes")["openai-gpt-4o"]).toEqual({
      aliases: ["openai/gpt-4o"],
      targets: ["openai:gpt-4o"],
      fallbacks: ["groq:gpt-4o"],
    });
    for (const index of [0, 1])
      expect(lineAt(result, `${AT}[0].fallbacks[${index}]`).note).toContain("Bifrost passes over it");
    expect(result.missingTargets).toEqual([]);
  });

  test("on a model makes a route of its name alone, whichever of the providers it is asked of", () => {
    const result = made([rule('model == "gpt-4" && provider == "groq"', [to("openai", "gpt-4o")])]);
    expect(section(result, "routes")).toEqual({
      "groq-gpt-4": { aliases: ["groq/gpt-4"], targets: ["openai:gpt-4o"] },
    });
    expect(section(result, "server")).toEqual({});
  });

  test("divides calls by the weights of its targets, and leaves out a target without weight", () => {
    const result = made([
      rule('model == "gpt-4o"', [to("openai", "gpt-4o", 0.7), to("groq", "l", 0.3), to("groq", "never", 0)]),
    ]);
    expect(section(result, "routes")["openai-gpt-4o"]).toEqual({
      aliases: ["openai/gpt-4o"],
      strategy: "weighted",
      targets: [
        { model: "openai:gpt-4o", weight: 0.7 },
        { model: "groq:l", weight: 0.3 },
      ],
    });
    expect(lineAt(result, `${AT}[0].targets[1].weight`).to).toBe("weight of groq:l in routes.openai-gpt-4o");
    expect(lineAt(result, `${AT}[0].targets[2].model`).outcome).toBe("without");
  });

  test("of a chain is asked with what the rule before it leads to", () => {
    const result = made([
      rule('model == "gpt-4"', [{ model: "gpt-4o", weight: 1 }], { chain_rule: true }),
      rule('model == "gpt-4o" && headers["x-eu"] == "yes"', [to("groq", "eu")], { priority: 1 }),
    ]);
    const when = 'headers["x-eu"] == "yes"';
    expect(section(result, "routes")["groq-gpt-4"]).toEqual({
      aliases: ["groq/gpt-4"],
      targets: [
        { model: "groq:eu", when },
        { model: "groq:gpt-4o", when: `!(${when})` },
      ],
    });
    expect(lineAt(result, `${AT}[0].chain_rule`).outcome).toBe("changed");
  });

  test("confined to a key calls the account of that key", () => {
    const eu = { ...key("eu"), azure_key_config: { endpoint: "https://eu.openai.azure.com" } };
    const us = { ...key("us"), azure_key_config: { endpoint: "https://us.openai.azure.com" } };
    const result = made(
      [rule('headers["x-region"] == "us"', [{ ...to("azure", "gpt-4o"), provider_key_name: "us" }])],
      { models: ["gpt-4o"] },
      { azure: { keys: [eu, us] } },
    );
    const when = 'headers["x-region"] == "us"';
    expect(section(result, "routes")["azure-gpt-4o"]).toEqual({
      aliases: ["azure/gpt-4o"],
      strategy: "weighted",
      targets: ["azure-2:gpt-4o", { model: "azure:gpt-4o", when: `!(${when})` }],
    });
  });

  test("[d15.2] confined to a key calls the deployment that has the name at the account of that key", () => {
    const at = (region: string) => ({
      ...key(region, ["gpt-4o"]),
      azure_key_config: {
        endpoint: `https://${region}.openai.azure.com`,
        deployments: { "gpt-4o": `${region}-4o` },
      },
    });
    const result = made(
      [rule('headers["x-region"] == "us"', [{ ...to("azure", "gpt-4o"), provider_key_name: "us" }])],
      {},
      { azure: { keys: [at("eu"), at("us")] } },
    );
    expect(section(result, "routes")).toEqual({
      "gpt-4o": {
        aliases: ["azure/gpt-4o"],
        strategy: "weighted",
        targets: ["azure-2:us-4o", { model: "azure:eu-4o", when: '!(headers["x-region"] == "us")' }],
      },
    });
  });

  test("for which no name is known is missing, until --model names one", () => {
    const rules = [rule('headers["x-tier"] == "premium"', [to("groq", "llama")])];
    const providers = { groq: { keys: [key("groq")] } };
    const result = made(rules, {}, providers);
    expect(section(result, "routes")).toEqual({});
    expect(lineAt(result, `${AT}[0].cel_expression`).note).toContain("--model");
    expect(result.missingTargets.map(({ path }) => path)).toEqual([`${AT}[0].targets[0]`]);
    const named = made(rules, { models: ["groq/gemma"] }, providers);
    expect(Object.keys(section(named, "routes"))).toEqual(["groq-gemma"]);
    expect(named.missingTargets).toEqual([]);
  });
});

const TARGET = [to("groq", "llama")];

/** Configurations as Bifrost's documentation has them: rules, and what is said of those without counterpart. */
const CASES: readonly (readonly [string, readonly object[], Readonly<Record<string, string>>])[] = [
  ["a tier in a header", [rule('headers["x-tier"] == "premium"', TARGET, { fallbacks: ["anthropic/c"] })], {}],
  ["a region in a list", [rule('headers["x-region"] in ["eu", "ch"]', TARGET)], {}],
  ["a pattern", [rule('headers["x-version"].matches("[0-9]+\\\\.[0-9]+")', TARGET)], {}],
  ["every call, by weights", [rule("true", [to("openai", "gpt-4o", 0.7), to("groq", "l", 0.3)])], {}],
  ["no expression", [rule("", TARGET)], {}],
  ["models by prefix", [rule('model.startsWith("gpt-")', TARGET)], {}],
  ["embeddings", [rule('request_type == "embedding"', [to("openai", "text-embedding-3-small")])], {}],
  ["a rule that is off", [rule("true", TARGET, { enabled: false })], { 0: "the rule is off" }],
  ["a budget", [rule("budget_used > 85", TARGET)], { 0: "docs/limits.md" }],
  ["a rate beside a header", [rule('headers["x-a"] == "1" && tokens_used < 75', TARGET)], { 0: "docs/limits.md" }],
  ["a team by name", [rule('team_name == "ml"', TARGET)], { 0: "token.id" }],
  ["a rule of a team", [rule("true", TARGET, { scope: "team", scope_id: "t" })], { 0: "a route of a project" }],
  ["the query", [rule('params["tier"] == "a"', TARGET)], { 0: "the query of the address" }],
  ["a classified request", [rule('complexity_tier == "COMPLEX"', TARGET)], { 0: "are not classified" }],
  ["a header with a secret", [rule('headers["authorization"] != ""', TARGET)], { 0: "may hold a secret" }],
  ["no CEL", [rule('headers["x', TARGET)], { 0: "no expression in CEL" }],
  ["a provider that is not there", [rule("true", [to("nobody", "m")])], { 0: "no provider that was taken over" }],
  ["images", [rule("true", [to("openai", "dall-e-3")])], { 0: "does not serve images" }],
  [
    "a chain with a draw",
    [rule("true", [to("groq", "a", 0.5), to("groq", "b", 0.5)], { chain_rule: true })],
    { 0: "which of its targets is drawn" },
  ],
  [
    "a rule after one that takes all",
    [rule("true", TARGET), rule('headers["x-a"] == "1"', TARGET, { priority: 1 })],
    { 1: "true of no model" },
  ],
  [
    "one of three",
    [
      rule('headers["x-a"] == "1"', TARGET),
      rule('customer_id == "acme"', TARGET, { priority: 1 }),
      rule('headers["x-a"] == "2"', [to("anthropic", "c")], { priority: 2 }),
    ],
    { 1: "token.id" },
  ],
];

test.each(CASES)("[d16.1] [d15.2] %s: exactly these rules have no counterpart", (_, rules, without) => {
  const result = made(rules);
  rules.forEach((_each, index) => {
    const line = lineAt(result, `${AT}[${index}].cel_expression`);
    const why = without[index];
    if (why === undefined) expect([index, line.outcome]).toEqual([index, "changed"]);
    else {
      expect([index, line.outcome]).toEqual([index, "without"]);
      expect(JSON.stringify(result.report.filter(({ path }) => path.startsWith(`${AT}[${index}]`)))).toContain(why);
      // a rule that decides nothing any more is not passed over in silence
      if (why !== "the rule is off")
        expect(result.missingTargets.some(({ path }) => path.startsWith(`${AT}[${index}]`))).toBe(true);
    }
  });
});

/** Of an expression with a header that was not sent: neither true nor false. */
type Truth = boolean | null;

interface Expression {
  readonly text: string;
  readonly truth: (call: Call) => Truth;
}

interface Call {
  readonly provider: string;
  readonly model: string;
  readonly kind: string;
  readonly headers: ReadonlyMap<string, string>;
}

const HEADERS = ["x-a", "x-b"] as const;
const header = fc.constantFrom(...HEADERS);
const word = fc.constantFrom("1", "2", "12");
const compared = (text: (name: string, value: string) => string, is: (sent: string, value: string) => boolean) =>
  fc.tuple(header, word).map(([name, value]): Expression => ({
    text: text(name, value),
    truth: ({ headers }) => (headers.has(name) ? is(headers.get(name)!, value) : null),
  }));
const known = (text: string, truth: (call: Call) => boolean): fc.Arbitrary<Expression> => fc.constant({ text, truth });

const atom: fc.Arbitrary<Expression> = fc.oneof(
  compared(
    (name, value) => `headers["${name}"] == "${value}"`,
    (sent, value) => sent === value,
  ),
  compared(
    (name, value) => `headers["${name.toUpperCase()}"] != "${value}"`,
    (sent, value) => sent !== value,
  ),
  compared(
    (name, value) => `headers['${name}'].startsWith('${value}')`,
    (sent, value) => sent.startsWith(value),
  ),
  compared(
    (name, value) => `(headers["${name}"]) in ["${value}", "7"]`,
    (sent, value) => sent === value,
  ),
  compared(
    (name, value) => `headers["${name}"].matches("^${value}$")`,
    (sent, value) => sent === value,
  ),
  header.map((name): Expression => ({ text: `"${name}" in headers`, truth: ({ headers }) => headers.has(name) })),
  fc.constant<Expression>({
    text: 'headers["x-a"] == headers["x-b"]',
    truth: ({ headers }) =>
      headers.has("x-a") && headers.has("x-b") ? headers.get("x-a") === headers.get("x-b") : null,
  }),
  known('model == "m1"', ({ model }) => model === "m1"),
  known('provider != "groq"', ({ provider }) => provider !== "groq"),
  known('model in ["m1", "m2"]', ({ model }) => ["m1", "m2"].includes(model)),
  known(
    'model.endsWith("2") && provider == "openai"',
    ({ model, provider }) => model.endsWith("2") && provider === "openai",
  ),
  known('request_type == "embedding"', ({ kind }) => kind === "embedding"),
  known('request_type in ["chat_completion", "responses"]', ({ kind }) =>
    ["chat_completion", "responses"].includes(kind),
  ),
);

const { expression } = fc.letrec<{ expression: Expression }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    atom,
    tie("expression").map(({ text, truth }): Expression => ({
      text: `!(${text})`,
      truth: (call) => {
        const one = truth(call);
        return one === null ? null : !one;
      },
    })),
    fc.tuple(tie("expression"), tie("expression"), fc.boolean()).map(([one, other, isAnd]): Expression => ({
      text: `(${one.text}) ${isAnd ? "&&" : "||"} (${other.text})`,
      truth: (call) => {
        const both = new Set([one.truth(call), other.truth(call)]);
        if (both.has(!isAnd)) return !isAnd;
        return both.has(null) ? null : isAnd;
      },
    })),
  ),
}));

interface DrawnRule {
  readonly expression: Expression;
  readonly targets: readonly { readonly provider?: string; readonly model?: string; readonly weight: number }[];
  readonly fallbacks: readonly string[];
  readonly isChained: boolean;
  readonly priority: number;
}

const destination = fc.record(
  { provider: fc.constantFrom("openai", "groq"), model: fc.constantFrom("m1", "m2", "m3") },
  { requiredKeys: [] },
);
const drawnRule: fc.Arbitrary<DrawnRule> = fc
  .record({
    expression,
    // weights of a rule are whole parts of one target alone or of two, and none contradicts another
    targets: fc.uniqueArray(destination, { minLength: 1, maxLength: 2, selector: (one) => JSON.stringify(one) }),
    fallbacks: fc.array(fc.constantFrom("openai/m3", "groq/", "groq/m1"), { maxLength: 2 }),
    isChained: fc.integer({ min: 0, max: 3 }).map((drawn) => drawn === 0),
    priority: fc.integer({ min: 0, max: 3 }),
  })
  .map((drawn) => ({
    ...drawn,
    targets: (drawn.isChained ? drawn.targets.slice(0, 1) : drawn.targets).map((one) => ({ ...one, weight: 0.5 })),
  }));

interface Chosen {
  readonly targets: readonly string[];
  readonly fallbacks: readonly string[];
}

/** As Bifrost's documentation says it: https://docs.getbifrost.ai/providers/routing-rules */
function chosenThere(rules: readonly DrawnRule[], call: Call): Chosen {
  const ordered = rules.toSorted((a, b) => a.priority - b.priority);
  const at = (one: { readonly provider?: string; readonly model?: string }, { provider, model }: Call): string =>
    `${one.provider ?? provider}:${one.model ?? model}`;
  let state = call;
  let chosen: Chosen = { targets: [`${call.provider}:${call.model}`], fallbacks: [] };
  const seen = new Set([`${call.provider}:${call.model}`]);
  for (let step = 0; step < 10; step += 1) {
    const found = ordered.find((one) => one.expression.truth(state) === true);
    if (found === undefined) break;
    chosen = {
      targets: [...new Set(found.targets.map((one) => at(one, state)))].toSorted(),
      fallbacks: found.fallbacks.map((one) => {
        const [provider, model] = one.split("/");
        return `${provider}:${model === "" ? state.model : model}`;
      }),
    };
    const [next] = chosen.targets;
    if (!found.isChained || seen.has(next!)) break;
    seen.add(next!);
    const [provider, model] = next!.split(":") as [string, string];
    state = { ...call, provider, model };
  }
  return chosen;
}

const OPERATIONS: Readonly<Record<string, RecordedOperation>> = {
  chat_completion: "chat.completions",
  embedding: "embeddings",
  responses: "messages",
};

interface Here {
  readonly targets: readonly (string | { readonly model: string; readonly when?: string })[];
  readonly fallbacks?: Here["targets"];
}

function chosenHere(result: Imported, call: Call): Chosen {
  const route = Object.values(section(result, "routes") as Readonly<Record<string, Here & { aliases: string[] }>>).find(
    ({ aliases }) => aliases.includes(`${call.provider}/${call.model}`),
  );
  // a name without a route is called directly
  if (route === undefined) return { targets: [`${call.provider}:${call.model}`], fallbacks: [] };
  const request = { options: {}, params: {}, extra: {}, messages: [] };
  const facts = {
    headers: new Map(HEADERS.map((name) => [name, call.headers.get(name) ?? ""])),
    request: new RequestFacts(request as never, OPERATIONS[call.kind]!),
  };
  const reached = (entries: Here["targets"] = []): readonly string[] =>
    entries.flatMap((entry) => {
      if (typeof entry === "string") return [entry];
      return entry.when === undefined || compileCondition(entry.when).holds(facts as never) ? [entry.model] : [];
    });
  return { targets: reached(route.targets).toSorted(), fallbacks: reached(route.fallbacks) };
}

test("[d16.1] [d15.2] calls go where random rules of Bifrost lead them, whatever headers they have", () => {
  const providers = {
    openai: { keys: [key("openai", ["m1", "m2", "m3"])] },
    groq: { keys: [key("groq", ["m1", "m2", "m3"])] },
  };
  const calls = ["openai", "groq"].flatMap((provider) =>
    ["m1", "m2", "m3"].flatMap((model) =>
      Object.keys(OPERATIONS).flatMap((kind) =>
        [undefined, "1", "12"].flatMap((a) =>
          [undefined, "1", "2"].map((b): Call => {
            const headers = new Map(
              [["x-a", a] as const, ["x-b", b] as const].flatMap(([name, value]) =>
                value === undefined ? [] : [[name, value] as const],
              ),
            );
            return { provider, model, kind, headers };
          }),
        ),
      ),
    ),
  );
  let ruled = 0;
  let tooLong = 0;
  fc.assert(
    fc.property(fc.array(drawnRule, { minLength: 1, maxLength: 3 }), (rules) => {
      const result = made(
        rules.map(({ expression: { text }, targets, fallbacks, isChained, priority }) =>
          rule(text, targets, { fallbacks, chain_rule: isChained, priority }),
        ),
        {},
        providers,
      );
      // a condition has a greatest length, which the report tells of as well
      if (result.report.some(({ note }) => note?.includes("cannot be used here") === true)) {
        tooLong += 1;
        return;
      }
      // rules that no call can come to are the only ones without counterpart
      const lost = rules.filter(
        (_, index) => !["changed", "taken"].includes(lineAt(result, `${AT}[${index}].cel_expression`).outcome),
      );
      for (const call of calls) {
        const there = chosenThere(rules, call);
        expect([call, chosenHere(result, call)]).toEqual([call, there]);
        if (there.targets[0] !== `${call.provider}:${call.model}`) ruled += 1;
      }
      for (const one of lost) {
        const others = rules.filter((other) => other !== one);
        for (const call of calls) expect(chosenThere(others, call)).toEqual(chosenThere(rules, call));
      }
    }),
    { seed: printedSeed("bifrost rules"), numRuns: drawCount(150, 3000) },
  );
  expect(ruled).toBeGreaterThan(1000);
  expect(tooLong).toBeLessThan(drawCount(15, 300));
});
