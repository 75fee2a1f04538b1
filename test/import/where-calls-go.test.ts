// Where calls go after an import: each way in which the other gateways choose among targets, played with `simulate`
// against what was imported, and compared with what their file says, as the drill does with any folder of files.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { judgeImport } from "../../bench/drills/import/judgement.ts";
import type { GatewayName } from "../../src/import/gateway-names.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-test-import-calls-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const deployment = (name: string, model: string, params: object = {}): object => ({
  model_name: name,
  litellm_params: { model, ...params },
});
const router = (strategy: string): object => ({
  model_list: [deployment("chat", "openai/a"), deployment("chat", "groq/b")],
  router_settings: { routing_strategy: strategy },
});
const target = (model: string, rest: object = {}): object => ({ override_params: { model }, ...rest });
// oxlint-disable-next-line unicorn/no-thenable -- a word of Portkey's configs
const condition = (model: string, then: string): object => ({ query: { "params.model": { $eq: model } }, then });

const CASES: readonly (readonly [GatewayName, string, object, number])[] = [
  ["litellm", "simple-shuffle", router("simple-shuffle"), 1],
  ["litellm", "least-busy", router("least-busy"), 1],
  ["litellm", "latency-based-routing", router("latency-based-routing"), 1],
  ["litellm", "cost-based-routing", router("cost-based-routing"), 1],
  ["litellm", "usage-based-routing-v2", router("usage-based-routing-v2"), 1],
  [
    "litellm",
    "weights, one of them zero",
    {
      model_list: [
        deployment("chat", "openai/a", { weight: 3 }),
        deployment("chat", "groq/b", { weight: 1 }),
        deployment("chat", "mistral/c", { weight: 0 }),
      ],
    },
    1,
  ],
  [
    "litellm",
    "rpm as weights",
    { model_list: [deployment("chat", "openai/a", { rpm: 900 }), deployment("chat", "groq/b", { rpm: 100 })] },
    1,
  ],
  [
    "litellm",
    "rpm of the second alone, which is no weight then",
    { model_list: [deployment("chat", "openai/a"), deployment("chat", "groq/b", { rpm: 100 })] },
    1,
  ],
  [
    "litellm",
    "rpm of one of two, which is no weight where no lots are drawn",
    {
      model_list: [deployment("chat", "openai/a", { rpm: 900 }), deployment("chat", "groq/b")],
      router_settings: { routing_strategy: "least-busy" },
    },
    1,
  ],
  [
    "litellm",
    "orders",
    {
      model_list: [
        deployment("chat", "openai/a", { order: 2 }),
        deployment("chat", "groq/b", { order: 1 }),
        deployment("chat", "mistral/c"),
      ],
    },
    1,
  ],
  [
    "litellm",
    "fallbacks, in a circle too",
    {
      model_list: [deployment("one", "openai/a"), deployment("two", "groq/b"), deployment("three", "mistral/c")],
      router_settings: { fallbacks: [{ one: ["two"] }, { two: ["one", "three"] }] },
    },
    3,
  ],
  [
    "litellm",
    "default fallbacks",
    {
      model_list: [deployment("one", "openai/a"), deployment("two", "groq/b")],
      litellm_settings: { default_fallbacks: ["two"] },
    },
    2,
  ],
  [
    "litellm",
    "an alias, with the fallbacks of its name",
    {
      model_list: [deployment("one", "openai/a"), deployment("two", "groq/b")],
      router_settings: { model_group_alias: { other: "one" }, fallbacks: [{ one: ["two"] }] },
    },
    3,
  ],
  [
    "litellm",
    "wildcards beside names with a slash",
    {
      model_list: [
        deployment("openai/*", "openai/*"),
        deployment("groq/llama", "groq/llama"),
        deployment("my/model", "mistral/c"),
      ],
    },
    3,
  ],
  [
    "portkey",
    "loadbalance",
    {
      strategy: { mode: "loadbalance" },
      targets: [target("@openai/a", { weight: 0.7 }), target("@groq/b", { weight: 0.3 })],
    },
    1,
  ],
  [
    "portkey",
    "fallback to a drawn group",
    {
      strategy: { mode: "fallback" },
      targets: [
        target("@openai/a"),
        { strategy: { mode: "loadbalance" }, targets: [target("@groq/b"), target("@mistral-ai/c", { weight: 3 })] },
      ],
    },
    1,
  ],
  [
    "portkey",
    "conditions on the model",
    {
      strategy: {
        mode: "conditional",
        conditions: [condition("fast", "small"), condition("smart", "big")],
        default: "small",
      },
      targets: [target("@groq/b", { name: "small" }), target("@openai/a", { name: "big" })],
    },
    3,
  ],
  [
    "portkey",
    "conditions within a target, where the default counts",
    {
      strategy: { mode: "fallback" },
      targets: [
        target("@openai/a"),
        {
          strategy: { mode: "conditional", conditions: [condition("x", "eu")], default: "us" },
          targets: [target("@groq/b", { name: "eu" }), target("@mistral-ai/c", { name: "us" })],
        },
      ],
    },
    1,
  ],
  ["portkey", "a model that the caller names", { strategy: { mode: "single" }, targets: [{ provider: "@openai" }] }, 1],
  ["openrouter", "a list of models", { model: "openai/a", models: ["openai/a", "mistralai/c"] }, 1],
  [
    "bifrost",
    "keys for some models",
    {
      providers: {
        openai: { keys: [{ name: "k", value: "env.OPENAI_API_KEY", models: ["a", "b"], weight: 1 }] },
        groq: { keys: [{ name: "g", value: "env.GROQ_API_KEY", models: ["c"], weight: 1 }] },
      },
    },
    3,
  ],
];

test.each(CASES)("calls of %s with %s go where they went", (gateway, name, file, names) => {
  const { judgements } = judgeImport(gateway, "theirs.yaml", stringify(file), join(folder, `${gateway} ${name}`));
  expect(judgements).toHaveLength(names);
  expect(judgements.filter(({ word }) => word !== "same")).toEqual([]);
});
