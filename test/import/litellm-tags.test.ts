// LiteLLM's tags as conditions of targets, judged by an interpreter of its documentation: which deployments a call may
// go to, by the tags in its metadata and header and by its user agent. https://docs.litellm.ai/docs/proxy/tag_routing
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { RequestFacts } from "../../src/policies/policy-facts.ts";
import { compileCondition } from "../../src/policies/policy-rule.ts";
import type { Imported } from "../../src/import/import-configuration.ts";
import { printedSeed } from "../harness/time/chance.ts";
import { drawCount } from "../harness/time/long-run.ts";
import { imported, lineAt, section } from "./imported.ts";

interface Drawn {
  readonly tags?: readonly string[];
  readonly tag_regex?: readonly string[];
}

interface Call {
  /** In the metadata; `null` for none. */
  readonly tags: readonly string[] | null;
  readonly header: string | null;
  readonly agent: string | null;
}

const made = (deployments: readonly Drawn[], router: object): Imported =>
  imported(
    "litellm",
    JSON.stringify({
      model_list: deployments.map((more, index) => ({
        model_name: "m",
        litellm_params: { model: `openai/d${index}`, ...more },
      })),
      router_settings: router,
    }),
  );

/** The deployments of which one is drawn, as the documentation says it. */
function chosenThere(
  deployments: readonly Drawn[],
  { tags, header, agent }: Call,
  matchesAny: boolean,
): readonly number[] {
  const asked = [...(tags ?? []), ...(header === null ? [] : header.split(",").map((tag) => tag.trim()))];
  const isMatch = ({ tags: own = [], tag_regex: patterns = [] }: Drawn): boolean => {
    const isTagged =
      own.length > 0 &&
      asked.length > 0 &&
      (matchesAny ? own.some((tag) => asked.includes(tag)) : asked.every((tag) => own.includes(tag)));
    const isStrict = !matchesAny && own.length > 0;
    return (
      isTagged ||
      (!isStrict && agent !== null && patterns.some((pattern) => new RegExp(pattern).test(`User-Agent: ${agent}`)))
    );
  };
  const all = deployments.map((_, index) => index);
  const matching = all.filter((index) => isMatch(deployments[index]!));
  if (matching.length > 0) return matching;
  const rest = all.filter((index) => deployments[index]!.tags?.includes("default") === true);
  if (rest.length > 0) return rest;
  return asked.length > 0 ? [] : all;
}

function chosenHere(result: Imported, { tags, header, agent }: Call): readonly number[] {
  const { targets } = section(result, "routes")["m"] as {
    readonly targets: readonly (string | { model: string; when?: string })[];
  };
  const listed = (section(result, "server")["condition_headers"] ?? []) as readonly string[];
  const sent: Readonly<Record<string, string | null>> = { "x-litellm-tags": header, "user-agent": agent };
  const request = {
    options: { metadata: tags === null ? null : { tags } },
    params: {},
    extra: {},
    messages: [],
  };
  const facts = {
    headers: new Map(listed.map((name) => [name, sent[name] ?? ""])),
    request: new RequestFacts(request as never, "chat.completions"),
  };
  return targets.flatMap((target, index) =>
    typeof target === "string" || target.when === undefined || compileCondition(target.when).holds(facts as never)
      ? [index]
      : [],
  );
}

const CALLS: readonly Call[] = [null, [], ["free"], ["paid"], ["free", "paid"], ["none"]].flatMap((tags) =>
  [null, "free", "paid, x.y", "xxy", "none"].flatMap((header) =>
    [null, "claude-code/1.2", "curl/8"].map((agent): Call => ({ tags, header, agent })),
  ),
);

describe("[d16.1] [d15.2] tags of LiteLLM", () => {
  test("lead random calls to the deployments that the documentation names", () => {
    const tags = fc.uniqueArray(fc.constantFrom("free", "paid", "x.y"), { minLength: 1, maxLength: 2 });
    const patterns = fc.uniqueArray(fc.constantFrom("^User-Agent: claude-code\\/", "curl"), {
      minLength: 1,
      maxLength: 2,
    });
    const deployment: fc.Arbitrary<Drawn> = fc.oneof(
      tags.map((own) => ({ tags: own })),
      patterns.map((own) => ({ tag_regex: own })),
      fc.tuple(tags, patterns).map(([own, its]) => ({ tags: own, tag_regex: its })),
    );
    const drawn = fc.record({
      tagged: fc.array(deployment, { minLength: 1, maxLength: 3 }),
      hasDefault: fc.boolean(),
      matchesAny: fc.boolean(),
    });
    let some = 0;
    fc.assert(
      fc.property(drawn, ({ tagged, hasDefault, matchesAny }) => {
        const deployments: readonly Drawn[] = [...tagged, ...(hasDefault ? [{ tags: ["default"] }] : [])];
        const result = made(deployments, { enable_tag_filtering: true, tag_filtering_match_any: matchesAny });
        for (const call of CALLS) {
          const there = chosenThere(deployments, call, matchesAny);
          expect([call, chosenHere(result, call)]).toEqual([call, there]);
          if (there.length < deployments.length) some += 1;
        }
      }),
      { seed: printedSeed("litellm tags"), numRuns: drawCount(100, 2000) },
    );
    expect(some).toBeGreaterThan(1000);
  });

  test("a pattern of Python that cannot be used here is named, and takes no call by accident", () => {
    const result = made([{ tag_regex: ["(?=claude)"] }, { tags: ["default"] }], { enable_tag_filtering: true });
    expect(lineAt(result, "model_list[0].litellm_params.tag_regex[0]")).toMatchObject({
      outcome: "without",
      note: expect.stringContaining("RE2"),
    });
  });
});

/** Configurations as LiteLLM's documentation has them, and exactly the lines that have no counterpart. */
const deployed = (params: object = {}) => ({ model_name: "m", litellm_params: { model: "openai/a", ...params } });
const CASES: readonly (readonly [string, object, readonly string[]])[] = [
  [
    "tags",
    {
      model_list: [deployed({ tags: ["free"] }), deployed({ model: "groq/b", tags: ["default"] })],
      router_settings: { enable_tag_filtering: true },
    },
    [],
  ],
  [
    "tags that all have to match",
    {
      model_list: [deployed({ tags: ["a", "b"] }), deployed({ model: "groq/b", tags: ["default"] })],
      router_settings: { enable_tag_filtering: true, tag_filtering_match_any: false },
    },
    [],
  ],
  ["tags without the switch", { model_list: [deployed({ tags: ["free"] })] }, ["model_list[0].litellm_params.tags[0]"]],
  [
    "a user agent",
    {
      model_list: [
        deployed({ tag_regex: ["^User-Agent: claude-code\\/"] }),
        deployed({ model: "groq/b", tags: ["default"] }),
      ],
      router_settings: { enable_tag_filtering: true, tag_filtering_match_any: true },
    },
    [],
  ],
  [
    "a user agent beside strict tags",
    {
      model_list: [deployed({ tags: ["a"], tag_regex: ["x"] }), deployed({ model: "groq/b", tags: ["default"] })],
      router_settings: { enable_tag_filtering: true, tag_filtering_match_any: false },
    },
    ["model_list[0].litellm_params.tag_regex[0]"],
  ],
  [
    "a provider's budget for a day",
    {
      model_list: [deployed()],
      router_settings: { provider_budget_config: { openai: { budget_limit: 100, time_period: "1d" } } },
    },
    [],
  ],
  [
    "a provider's budget by its other names, with the strategy of that name",
    {
      model_list: [deployed(), deployed({ model: "groq/b" })],
      router_settings: {
        routing_strategy: "provider-budget-routing",
        provider_budget_config: { openai: { max_budget: 100, budget_duration: "30d" } },
      },
    },
    [],
  ],
  [
    "a provider's budget for two months",
    {
      model_list: [deployed()],
      router_settings: { provider_budget_config: { openai: { budget_limit: 100, time_period: "2mo" } } },
    },
    [
      "router_settings.provider_budget_config.openai.budget_limit",
      "router_settings.provider_budget_config.openai.time_period",
    ],
  ],
  [
    "a budget of a provider that has no model",
    {
      model_list: [deployed()],
      router_settings: { provider_budget_config: { azure: { budget_limit: 100, time_period: "1d" } } },
    },
    [
      "router_settings.provider_budget_config.azure.budget_limit",
      "router_settings.provider_budget_config.azure.time_period",
    ],
  ],
  ["a deployment's budget", { model_list: [deployed({ max_budget: 10, budget_duration: "1d" })] }, []],
  [
    "a deployment's duration without a budget",
    { model_list: [deployed({ budget_duration: "1d" })] },
    ["model_list[0].litellm_params.budget_duration"],
  ],
  [
    "budgets of tags",
    {
      model_list: [deployed()],
      litellm_settings: { tag_budget_config: { "product:chat": { max_budget: 1, budget_duration: "1d" } } },
    },
    [
      "litellm_settings.tag_budget_config.product:chat.max_budget",
      "litellm_settings.tag_budget_config.product:chat.budget_duration",
    ],
  ],
  [
    "tags of clients that are refused",
    { model_list: [deployed()], general_settings: { reject_clientside_metadata_tags: true } },
    ["general_settings.reject_clientside_metadata_tags"],
  ],
  [
    "a region",
    { model_list: [deployed({ region_name: "eu" })], router_settings: { enable_pre_call_checks: true } },
    ["model_list[0].litellm_params.region_name", "router_settings.enable_pre_call_checks"],
  ],
];

test.each(CASES)("[d16.1] [d15.2] %s: exactly these lines have no counterpart", (_, config, without) => {
  const result = imported("litellm", JSON.stringify(config));
  const found = result.report.filter(({ outcome }) => outcome === "without");
  expect(found.map(({ path }) => path.replaceAll(/\["(.*?)"\]/g, ".$1"))).toEqual([...without]);
  expect(found.filter(({ note }) => note === "the import does not know this setting")).toEqual([]);
  expect(result.missingTargets).toEqual([]);
});
