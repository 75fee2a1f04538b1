// What becomes of a Portkey config.
import { describe, expect, test } from "bun:test";
import type { ChatRequest } from "../../src/core/chat.ts";
import type { ConditionFacts } from "../../src/core/configured/policy.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { RequestFacts } from "../../src/policies/policy-facts.ts";
import { compileCondition } from "../../src/policies/policy-rule.ts";
import { ConfigurationError } from "../../src/config/problem.ts";
import type { ImportChoices } from "../../src/import/gateway-import.ts";
import { imported, lineAt, section } from "./imported.ts";

const made = (config: unknown, choices: Partial<ImportChoices> = {}) =>
  imported("portkey", JSON.stringify(config), choices);

describe("targets", () => {
  test("fallbacks come in their order", () => {
    const result = made({
      strategy: { mode: "fallback", on_status_codes: [429] },
      targets: [
        { override_params: { model: "@openai-prod/gpt-4o" } },
        { override_params: { model: "@anthropic-prod/claude-sonnet-4-5" } },
      ],
    });
    expect(section(result, "routes")).toEqual({
      imported: {
        targets: ["openai-prod:gpt-4o", { model: "anthropic-prod:claude-sonnet-4-5", order: 1 }],
      },
    });
    expect(section(result, "providers")).toEqual({
      "openai-prod": { type: "openai", api_key: "${OPENAI_PROD_API_KEY:-}" },
      "anthropic-prod": { type: "anthropic", api_key: "${ANTHROPIC_PROD_API_KEY:-}" },
    });
    expect(lineAt(result, "strategy.on_status_codes[0]").outcome).toBe("changed");
  });
  test("[d15.2] vendors with two sites are called at that of Portkey, where the keys are valid", () => {
    const result = made({
      strategy: { mode: "fallback" },
      targets: [
        { override_params: { model: "@moonshot-prod/kimi-k3" } },
        { provider: "siliconflow", api_key: "k", override_params: { model: "m" } },
        {
          provider: "zhipu",
          api_key: "k",
          custom_host: "https://api.z.ai/api/paas/v4",
          override_params: { model: "m" },
        },
      ],
    });
    expect(section(result, "providers")).toMatchObject({
      "moonshot-prod": { type: "moonshot", base_url: "https://api.moonshot.cn/v1" },
      siliconflow: { base_url: "https://api.siliconflow.cn/v1" },
      zai: { base_url: "https://api.z.ai/api/paas/v4" },
    });
  });
  test("weights are shares of the smallest", () => {
    const result = made({
      strategy: { mode: "loadbalance" },
      targets: [
        { override_params: { model: "@openai/gpt-4o" }, weight: 0.75 },
        { override_params: { model: "@anthropic/claude" }, weight: 0.25 },
        { override_params: { model: "@groq/llama" }, weight: 0 },
      ],
    });
    expect(section(result, "routes")["imported"]).toEqual({
      targets: [{ model: "openai:gpt-4o", weight: 3 }, "anthropic:claude"],
      strategy: "weighted",
    });
    expect(lineAt(result, "targets[2].weight").outcome).toBe("changed");
  });
  test("a group within fallbacks is a stage", () => {
    const result = made({
      strategy: { mode: "fallback" },
      targets: [
        {
          strategy: { mode: "loadbalance" },
          targets: [
            { override_params: { model: "@openai/a" }, weight: 1 },
            { override_params: { model: "@groq/b" }, weight: 1 },
          ],
        },
        { override_params: { model: "@anthropic/c" } },
      ],
    });
    expect((section(result, "routes")["imported"] as { readonly targets: unknown }).targets).toEqual([
      "openai:a",
      "groq:b",
      { model: "anthropic:c", order: 1 },
    ]);
  });
  test("a model that is left to the caller has to be named", () => {
    const config = {
      strategy: { mode: "loadbalance" },
      targets: [{ virtual_key: "openai-1" }, { virtual_key: "azure-1" }],
    };
    const open = made(config);
    expect(section(open, "routes")).toEqual({});
    expect(lineAt(open, "targets[0].virtual_key").outcome).toBe("changed");
    const named = made(config, { models: ["gpt-4o"] });
    expect(Object.keys(section(named, "routes"))).toEqual(["gpt-4o"]);
  });
  test("[d15.2] a time for requests that is longer than the time of a call is that of the call too", () => {
    const timesOf = (ms: number) =>
      made({ provider: "openai", override_params: { model: "o3" }, request_timeout: ms }).configuration["routes"];
    expect(timesOf(600_000)).toMatchObject({ imported: { timeouts: { first_byte_ms: 600_000 } } });
    expect(timesOf(900_000)).toMatchObject({
      imported: { timeouts: { first_byte_ms: 900_000, total_ms: 900_000 } },
    });
  });
  test("[d15.2] nothing is said to be taken for a route that is not there, and the targets are missing", () => {
    const result = made({
      name: "chat",
      strategy: { mode: "fallback", sticky: { enabled: true, hash_fields: ["metadata.user"] } },
      retry: { attempts: 2 },
      cache: { mode: "simple", max_age: 60 },
      request_timeout: 1000,
      targets: [
        { virtual_key: "openai-1", override_params: { temperature: 0 } },
        { virtual_key: "azure-1", drop_params: ["user"] },
      ],
    });
    expect(result.routes).toBe(0);
    expect(result.missingTargets.map(({ path }) => path)).toEqual(["targets[0]", "targets[1]"]);
    expect(result.missingTargets[0]!.why).toContain("--model");
    const taken = result.report.filter(({ outcome }) => outcome !== "without").map(({ path }) => path);
    expect(taken).toEqual(["targets[0].virtual_key", "targets[1].virtual_key"]);
    expect(result.configuration["tenants"]).toBeUndefined();
  });
  test("[d15.2] a route without some of its targets says which, and what only they had", () => {
    const result = made({
      strategy: { mode: "loadbalance" },
      targets: [
        { override_params: { model: "@openai/a", top_p: 0.5 }, weight: 1 },
        { virtual_key: "azure-1", override_params: { top_p: 0.7 }, weight: 1, retry: { attempts: 4 } },
      ],
    });
    expect(result.missingTargets.map(({ path }) => path)).toEqual(["targets[1]"]);
    expect(lineAt(result, "targets[0].override_params.top_p")).toMatchObject({
      outcome: "changed",
      to: "params.top_p of openai:a in routes.imported",
    });
    expect(lineAt(result, "targets[1].override_params.top_p").outcome).toBe("without");
    expect(lineAt(result, "targets[1].weight").outcome).toBe("without");
  });
  test("[d15.2] of a parameter under default_params and override_params, only the one that counts is said to be taken", () => {
    const result = made({
      strategy: { mode: "fallback" },
      default_params: { temperature: 1, seed: 5 },
      targets: [
        { override_params: { model: "@openai/a", temperature: 0.3 }, default_params: { temperature: 0.8 } },
        { override_params: { model: "@groq/b" } },
      ],
    });
    expect(section(result, "routes")["imported"]).toMatchObject({
      targets: [
        { model: "openai:a", params: { temperature: 0.3 } },
        { model: "groq:b", params: { temperature: 1, seed: 5 } },
      ],
    });
    expect(lineAt(result, "targets[0].override_params.temperature").outcome).toBe("changed");
    expect(lineAt(result, "targets[0].default_params.temperature").outcome).toBe("without");
    expect(lineAt(result, "default_params.temperature")).toMatchObject({
      outcome: "taken",
      to: "params.temperature of groq:b in routes.imported",
    });
  });
  test("[d15.2] Azure is called with the name of a deployment that stands beside the model", () => {
    for (const name of ["deployment_id", "azure_deployment_id"]) {
      const result = made({
        provider: "azure-openai",
        resource_name: "ours",
        [name]: "prod-4o",
        override_params: { model: "gpt-4o" },
      });
      expect(section(result, "routes")["imported"]).toMatchObject({ targets: ["azure:prod-4o"] });
      expect(lineAt(result, name)).toMatchObject({ outcome: "taken", to: "azure:prod-4o in routes.imported" });
      expect(lineAt(result, "override_params.model")).toMatchObject({
        outcome: "changed",
        to: "azure:prod-4o in routes.imported",
      });
    }
  });
  test("[d15.2] of settings that several targets have, only the one that counts is said to be taken", () => {
    const result = made({
      strategy: { mode: "fallback" },
      targets: [
        { override_params: { model: "@openai/a" }, retry: { attempts: 1 } },
        { override_params: { model: "@groq/b" }, retry: { attempts: 5 } },
      ],
    });
    expect(section(result, "routes")["imported"]).toMatchObject({ retries: 1 });
    expect(lineAt(result, "targets[0].retry.attempts")).toMatchObject({
      outcome: "taken",
      to: "routes.imported.retries",
    });
    expect(lineAt(result, "targets[1].retry.attempts").outcome).toBe("without");
  });
  test("[d15.2] the same target with other parameters is missing, with equal ones it is not", () => {
    const at = (temperature: number): object => ({ override_params: { model: "@openai/a", temperature } });
    const twice = (first: number, second: number) =>
      made({ strategy: { mode: "fallback" }, targets: [at(first), at(second)] }).missingTargets.map(({ path }) => path);
    expect(twice(0, 0)).toEqual([]);
    expect(twice(0, 1)).toEqual(["targets[1]"]);
  });
  test("[d15.2] two keys of one provider are two accounts, and each is said at its own", () => {
    const at = (key: string, host: string): object => ({
      provider: "openai",
      api_key: key,
      custom_host: host,
      override_params: { model: "m" },
    });
    const result = made({
      strategy: { mode: "loadbalance" },
      targets: [at("sk-of-the-us", "https://us.api.openai.com/v1"), at("sk-of-the-eu", "https://eu.api.openai.com/v1")],
    });
    expect(section(result, "routes")["imported"]).toMatchObject({ targets: ["openai:m", "openai-2:m"] });
    expect(lineAt(result, "targets[1].api_key").to).toBe("providers.openai-2.api_key");
  });
  test.each([
    ["azure-open-ai-prod", "azure"],
    ["bedrock-anthropic", "bedrock"],
    ["vertex-gemini-eu", "vertex"],
    ["open-ai-prod", "openai"],
  ])("[d15.2] the slug %s is that of who serves the model", (slug, type) => {
    const result = made({ provider: `@${slug}`, override_params: { model: "m" } });
    expect(section(result, "providers")[slug]).toMatchObject({ type });
  });
  test("[d15.2] a condition that leads nowhere says so", () => {
    const query = { "metadata.plan": { $eq: "paid" } };
    const result = made({
      strategy: {
        mode: "conditional",
        conditions: [condition(query, "known"), condition(query, "nowhere")],
        default: "nobody",
      },
      targets: [{ name: "known", virtual_key: "xx" }],
    });
    expect(lineAt(result, "strategy.conditions[0].then").note).toContain("was not taken over");
    expect(lineAt(result, "strategy.conditions[1].then").note).toBe("no target has this name");
  });
  test("a slug that says nothing needs --provider", () => {
    const config = { provider: "@xx", override_params: { model: "m" } };
    expect(lineAt(made(config), "provider").outcome).toBe("without");
    const named = made(config, { providers: new Map([["xx", "mistral"]]) });
    expect(section(named, "providers")).toMatchObject({ xx: { type: "mistral" } });
  });
});

// oxlint-disable-next-line unicorn/no-thenable -- a word of Portkey's configs
const condition = (query: object, then: string): object => ({ query, then });

describe("conditions", () => {
  test("on the model are routes of its name", () => {
    const result = made({
      strategy: {
        mode: "conditional",
        conditions: [
          condition({ "params.model": { $eq: "smart" } }, "big"),
          condition({ "metadata.plan": { $eq: "paid" } }, "big"),
        ],
        default: "small",
      },
      targets: [
        { name: "big", override_params: { model: "@openai/gpt-5" } },
        { name: "small", override_params: { model: "@openai/gpt-5-mini" } },
      ],
    });
    expect(section(result, "routes")).toEqual({
      smart: { targets: ["openai:gpt-5"] },
      imported: {
        targets: [
          { model: "openai:gpt-5", when: '(has(request.metadata.plan) && request.metadata.plan == "paid")' },
          {
            model: "openai:gpt-5-mini",
            order: 1,
            when: '!((has(request.metadata.plan) && request.metadata.plan == "paid"))',
          },
        ],
      },
    });
    expect(lineAt(result, "strategy.conditions[1].query.metadata.plan.$eq").outcome).toBe("changed");
  });
  test("[d15.2] that stand before one on the model hold for its calls too", () => {
    const result = made({
      strategy: {
        mode: "conditional",
        conditions: [
          condition({ "metadata.plan": { $eq: "paid" } }, "big"),
          condition({ "params.model": { $eq: "smart" } }, "middle"),
        ],
        default: "small",
      },
      targets: ["big", "middle", "small"].map((name) => ({ name, override_params: { model: `@openai/${name}` } })),
    });
    const isPaid = '(has(request.metadata.plan) && request.metadata.plan == "paid")';
    const targetsOf = (other: string): object => ({
      targets: [
        { model: "openai:big", when: isPaid },
        { model: `openai:${other}`, order: 1, when: `!(${isPaid})` },
      ],
    });
    expect(section(result, "routes")).toEqual({ smart: targetsOf("middle"), imported: targetsOf("small") });
    expect(lineAt(result, "strategy.conditions[0].query.metadata.plan.$eq")).toMatchObject({
      outcome: "changed",
      to: "routes.smart.targets",
    });
    expect(result.missingTargets).toEqual([]);
  });
});

describe("settings", () => {
  test("retries, time and cache of the route", () => {
    const result = made({
      retry: { attempts: 3, on_status_codes: [429] },
      cache: { mode: "semantic", max_age: 600 },
      request_timeout: 5000,
      provider: "openai",
      api_key: "sk-live-key",
      override_params: { model: "gpt-4o", temperature: 0 },
    });
    expect(section(result, "routes")["imported"]).toEqual({
      targets: [{ model: "openai:gpt-4o", params: { temperature: 0 } }],
      retries: 3,
      timeouts: { first_byte_ms: 5000 },
      cache: { ttl_s: 600, scope: "project" },
    });
    expect(section(result, "providers")).toEqual({
      openai: { api_key: "${file:/srv/dragoman/secrets/openai_api_key}" },
    });
    expect(result.secrets).toEqual([{ name: "secrets/openai_api_key", text: "sk-live-key" }]);
  });
  test("without a target they hold for all routes", () => {
    expect(section(made({ retry: { attempts: 5 } }), "route_defaults")).toEqual({ retries: 5 });
  });
});

test("what is no config is refused with its place", () => {
  for (const text of ["[1]", "5", '{"model_list": []}'])
    expect(() => imported("portkey", text)).toThrow(ConfigurationError);
});

test("what still has to be set is listed: variables, and settings that stand in an address", () => {
  const { needs } = made({
    strategy: { mode: "fallback" },
    targets: [{ override_params: { model: "@bedrock/m" } }, { override_params: { model: "@azure-eu/m" } }],
  });
  expect(needs).toEqual({
    variables: ["AZURE_EU_API_KEY"],
    settings: [
      { place: "providers.bedrock.region", variable: "AWS_REGION" },
      { place: "providers.azure-eu.resource", variable: null },
    ],
  });
});

test("[d15.2] conditions within a target narrow the calls of that target", () => {
  const result = made({
    strategy: {
      mode: "conditional",
      conditions: [condition({ "metadata.plan": { $eq: "paid" } }, "paid")],
      default: "free",
    },
    targets: [
      {
        name: "paid",
        strategy: {
          mode: "conditional",
          conditions: [condition({ "metadata.region": { $eq: "EU" } }, "eu")],
          default: "us",
        },
        targets: [
          { name: "eu", override_params: { model: "@groq/b" } },
          { name: "us", override_params: { model: "@mistral-ai/c" } },
        ],
      },
      { name: "free", override_params: { model: "@openai/a" } },
    ],
  });
  const isPaid = 'has(request.metadata.plan) && request.metadata.plan == "paid"';
  const isEu = 'has(request.metadata.region) && request.metadata.region == "EU"';
  expect(section(result, "routes")["imported"]).toEqual({
    strategy: "weighted",
    targets: [
      { model: "groq:b", when: `((${isPaid})) && ((${isEu}))` },
      { model: "mistral-ai:c", when: `((${isPaid})) && (!((${isEu})))` },
      { model: "openai:a", order: 1, when: `!((${isPaid}))` },
    ],
  });
  expect(result.missingTargets).toEqual([]);
  for (const path of ["conditions[0].then", "mode", "default"])
    expect(lineAt(result, `targets[0].strategy.${path}`).outcome).toBe("taken");
});

test("[d15.2] each call has one target whatever it sends, and numbers in texts are compared as numbers", () => {
  const chosen = (query: object, metadata: JsonObject, params: JsonObject = {}): readonly string[] => {
    const result = made({
      strategy: { mode: "conditional", conditions: [condition(query, "one")], default: "two" },
      targets: [
        { name: "one", override_params: { model: "@groq/b" } },
        { name: "two", override_params: { model: "@openai/a" } },
      ],
    });
    const request = new RequestFacts(
      { options: { metadata }, params, messages: [] } as unknown as ChatRequest,
      "chat.completions",
    );
    const { targets } = section(result, "routes")["imported"] as {
      readonly targets: readonly { readonly model: string; readonly when: string }[];
    };
    return targets
      .filter(({ when }) => compileCondition(when).holds({ request } as unknown as ConditionFacts))
      .map(({ model }) => model);
  };
  const values = ["7", 7, 7.5, "x", "", "5", "-3.5", true, null, ["7"], { a: 7 }];
  for (const [query, yes] of [
    [{ $gt: 5 }, ["7", 7, 7.5]],
    [{ $lte: "5" }, ["5", "-3.5"]],
    [{ $regex: "^7" }, ["7"]],
    [{ $eq: 7 }, [7]],
    [{ $in: ["x", 7] }, [7, "x"]],
  ] as const)
    for (const value of values) {
      const isOne = (yes as readonly unknown[]).includes(value);
      expect([query, value, chosen({ "metadata.tier": query }, { tier: value })]).toEqual([
        query,
        value,
        [isOne ? "groq:b" : "openai:a"],
      ]);
    }
  expect(chosen({ "metadata.tier": { $gt: 5 } }, {})).toEqual(["openai:a"]);
  // a parameter of one type and a value of another
  expect(chosen({ "params.temperature": { $eq: 1 } }, {}, { temperature: 1 })).toEqual(["groq:b"]);
  expect(chosen({ "params.temperature": { $in: [0, 2] } }, {}, { temperature: 1 })).toEqual(["openai:a"]);
  expect(chosen({ "params.max_tokens": { $eq: "a" } }, {}, { max_tokens: 1 })).toEqual(["openai:a"]);
  expect(chosen({ "params.max_tokens": { $gt: 0.5 } }, {}, { max_tokens: 1 })).toEqual(["groq:b"]);
});

test("a pattern of RE2 is a condition, and one with lookaround is not", () => {
  const withPattern = (pattern: string) =>
    made({
      strategy: {
        mode: "conditional",
        conditions: [condition({ "metadata.app": { $regex: pattern } }, "one")],
        default: "two",
      },
      targets: [
        { name: "one", override_params: { model: "@groq/b" } },
        { name: "two", override_params: { model: "@openai/a" } },
      ],
    });
  const isApp =
    '(has(request.metadata.app) && type(request.metadata.app) == string && request.metadata.app.matches("^app-"))';
  expect(section(withPattern("^app-"), "routes")["imported"]).toEqual({
    targets: [
      { model: "groq:b", when: isApp },
      { model: "openai:a", order: 1, when: `!(${isApp})` },
    ],
  });
  expect(lineAt(withPattern("(?=app)"), "strategy.conditions[0].query.metadata.app.$regex").outcome).toBe("without");
});

test("with models that are left to the caller, clients ask for those of --model, and not for the route's name", () => {
  const text = JSON.stringify({
    strategy: { mode: "conditional", conditions: [condition({ "metadata.a": { $eq: "b" } }, "one")], default: "two" },
    targets: [
      { name: "one", provider: "@groq" },
      { name: "two", provider: "@openai" },
    ],
  });
  const line = lineAt(imported("portkey", text, { models: ["m"] }), "strategy.default");
  expect(line).toMatchObject({ outcome: "changed", to: "routes.m" });
  expect(line.note).toContain("clients ask for the models of --model: m");
});

test("conditions within a target: calls go to the default, and the report says what has no counterpart", () => {
  const result = made({
    strategy: { mode: "fallback" },
    targets: [
      { override_params: { model: "@openai/a" } },
      {
        strategy: {
          mode: "conditional",
          conditions: [condition({ "params.model": { $eq: "x" } }, "eu")],
          default: "us",
        },
        targets: [
          { name: "eu", override_params: { model: "@groq/b" } },
          { name: "us", override_params: { model: "@mistral-ai/c" } },
        ],
      },
    ],
  });
  expect(section(result, "routes")["imported"]).toEqual({
    targets: ["openai:a", { model: "mistral-ai:c", order: 1 }],
  });
  for (const path of ["strategy.conditions[0].then", "targets[0].override_params.model"])
    expect(lineAt(result, `targets[1].${path}`).outcome).toBe("without");
  expect(lineAt(result, "targets[1].strategy.mode").outcome).toBe("changed");
});
