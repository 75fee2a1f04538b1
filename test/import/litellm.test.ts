// What becomes of LiteLLM's configuration, setting by setting.
import { describe, expect, test } from "bun:test";
import { ConfigurationError } from "../../src/config/problem.ts";
import { imported, lineAt, section } from "./imported.ts";

const made = (text: string) => imported("litellm", text);
const problemOf = (text: string): string => {
  try {
    made(text);
    return "none";
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return thrown.message;
  }
};

const ONE = `
model_list:
  - model_name: fast
    litellm_params:
      model: openai/gpt-4o-mini
      api_key: os.environ/OPENAI_API_KEY
`;

describe("deployments", () => {
  test("a name is a route, a variable stays one", () => {
    const result = made(ONE);
    expect(section(result, "providers")).toEqual({
      openai: { api_key: "${OPENAI_API_KEY:-}", models: ["gpt-4o-mini"] },
    });
    expect(section(result, "routes")).toEqual({ fast: { targets: ["openai:gpt-4o-mini"] } });
    expect(result.report.map(({ outcome }) => outcome)).toEqual(["taken", "taken", "taken"]);
  });
  test("several of one name are drawn by weight, and come in their order", () => {
    const result = made(`
model_list:
  - {model_name: m, litellm_params: {model: openai/a, weight: 9, order: 1}}
  - {model_name: m, litellm_params: {model: anthropic/b, weight: 1, order: 1}}
  - {model_name: m, litellm_params: {model: gemini/c, order: 2}}
`);
    expect(section(result, "routes")["m"]).toEqual({
      targets: [{ model: "openai:a", weight: 9 }, "anthropic:b", { model: "gemini:c", order: 1 }],
    });
    expect(section(result, "route_defaults")).toEqual({ strategy: "weighted" });
  });
  test("[d16.1] tags are conditions where calls are divided by them", () => {
    const list = `
model_list:
  - {model_name: m, litellm_params: {model: openai/a, tags: [paid, pro]}}
  - {model_name: m, litellm_params: {model: anthropic/b, tags: [default]}}
  - {model_name: only, litellm_params: {model: gemini/c, tags: [paid]}}
`;
    const plain = made(list);
    expect(section(plain, "routes")["m"]).toEqual({ targets: ["openai:a", "anthropic:b"] });
    const result = made(`${list}router_settings: {enable_tag_filtering: true}\n`);
    const found = (tags: readonly string[]) =>
      `(has(request.metadata.tags) && request.metadata.tags.exists(tag, tag in ${JSON.stringify(tags)})) || headers["x-litellm-tags"].matches("(^|,)\\\\s*(${tags.join("|")})\\\\s*(,|$)")`;
    const asks =
      'has(request.metadata.tags) && !(request.metadata.tags in [[], null]) || headers["x-litellm-tags"] != ""';
    expect(section(result, "routes")).toEqual({
      m: {
        targets: [
          { model: "openai:a", when: found(["paid", "pro"]) },
          { model: "anthropic:b", when: `!(${found(["paid", "pro"])})` },
        ],
      },
      only: { targets: [{ model: "gemini:c", when: `!(${asks}) || ${found(["paid"])}` }] },
    });
    expect(section(result, "server")).toEqual({ condition_headers: ["x-litellm-tags"] });
    expect(lineAt(result, "router_settings.enable_tag_filtering")).toMatchObject({ outcome: "changed" });
    expect(lineAt(result, "model_list[0].litellm_params.tags[0]")).toMatchObject({ outcome: "changed" });
    const all = made(`${list}router_settings: {enable_tag_filtering: true, tag_filtering_match_any: false}\n`);
    expect(JSON.stringify(section(all, "routes")["m"])).toContain("request.metadata.tags.all(tag, ");
  });
  test("rpm is a weight with the usual strategy, and a limit where LiteLLM keeps it", () => {
    const list = `
model_list:
  - {model_name: m, litellm_params: {model: openai/a, rpm: 10}}
  - {model_name: m, litellm_params: {model: anthropic/b, rpm: 30}}
`;
    const drawn = made(list);
    expect(section(drawn, "limits")).toEqual({});
    expect(lineAt(drawn, "model_list[0].litellm_params.rpm").outcome).toBe("changed");
    const kept = made(`${list}router_settings: {enable_pre_call_checks: true}\n`);
    expect(Object.values(section(kept, "limits"))).toEqual([
      { metric: "requests", window: "minute", limit: 10, scope: { route: "m", model: "openai:a" } },
      { metric: "requests", window: "minute", limit: 30, scope: { route: "m", model: "anthropic:b" } },
    ]);
  });
  test("[d15.2] the first deployment of an order says by what the calls of all of them are divided", () => {
    const withSecond = (first: string) =>
      made(`
model_list:
  - {model_name: m, litellm_params: {model: openai/a${first}}}
  - {model_name: m, litellm_params: {model: anthropic/b, weight: 4}}
`);
    const even = withSecond("");
    expect(section(even, "routes")["m"]).toEqual({ targets: ["openai:a", "anthropic:b"] });
    expect(lineAt(even, "model_list[1].litellm_params.weight").outcome).toBe("without");
    expect(section(withSecond(", weight: 2"), "routes")["m"]).toEqual({
      targets: [
        { model: "openai:a", weight: 2 },
        { model: "anthropic:b", weight: 4 },
      ],
    });
  });
  test("[d15.2] rpm and weights count for nothing where LiteLLM draws no lots, and the report says so", () => {
    const result = made(`
model_list:
  - {model_name: m, litellm_params: {model: openai/a, rpm: 900, weight: 9}}
  - {model_name: m, litellm_params: {model: anthropic/b}}
router_settings: {routing_strategy: latency-based-routing}
`);
    expect(section(result, "routes")["m"]).toEqual({ targets: ["openai:a", "anthropic:b"] });
    for (const name of ["rpm", "weight"])
      expect(lineAt(result, `model_list[0].litellm_params.${name}`).outcome).toBe("without");
  });
  test("[d15.2] rpm and tpm beside litellm_params are limits where LiteLLM reads them there, and come first", () => {
    const list = "model_list: [{model_name: m, litellm_params: {model: openai/a, rpm: 5}, rpm: 500, tpm: 9}]\n";
    const check = "router_settings: {optional_pre_call_checks: [enforce_model_rate_limits]}\n";
    const kept = made(`${list}${check}`);
    const scope = { route: "m", model: "openai:a" };
    expect(Object.values(section(kept, "limits"))).toEqual([
      { metric: "requests", window: "minute", limit: 500, scope },
      { metric: "tokens", window: "minute", limit: 9, scope },
    ]);
    expect(lineAt(kept, "model_list[0].rpm").outcome).toBe("taken");
    expect(lineAt(kept, "model_list[0].litellm_params.rpm").note).toContain("takes precedence");
    expect(lineAt(kept, "router_settings.optional_pre_call_checks[0]")).toMatchObject({
      outcome: "taken",
      to: "limits",
    });
    const other = made(`${list}router_settings: {enable_pre_call_checks: true}\n`);
    expect(Object.values(section(other, "limits"))).toMatchObject([{ limit: 5 }]);
    expect(lineAt(other, "model_list[0].rpm").outcome).toBe("without");
    const none = made(`${ONE}${check}`);
    expect(lineAt(none, "router_settings.optional_pre_call_checks[0]").outcome).toBe("without");
  });
  test("a name that no route can have is changed, and the report says to what", () => {
    const result = made(`
model_list:
  - {model_name: "team a/gpt", litellm_params: {model: openai/gpt-4o}}
`);
    expect(Object.keys(section(result, "routes"))).toEqual(["team-a-gpt"]);
    expect(section(result, "routes")["team-a-gpt"]).toEqual({ targets: ["openai:gpt-4o"], aliases: ["team a/gpt"] });
    expect(lineAt(result, "model_list[0].model_name")).toMatchObject({
      outcome: "changed",
      to: "routes.team-a-gpt.aliases",
    });
  });
  test("[d15.2] provider and model as a name are an alias of the route that was made of it", () => {
    const result = made(`
model_list:
  - {model_name: groq/llama-3.3-70b-versatile, litellm_params: {model: groq/llama-3.3-70b-versatile}}
`);
    expect(section(result, "routes")).toEqual({
      "groq-llama-3.3-70b-versatile": {
        targets: ["groq:llama-3.3-70b-versatile"],
        aliases: ["groq/llama-3.3-70b-versatile"],
      },
    });
    expect(lineAt(result, "model_list[0].model_name")).toMatchObject({
      outcome: "changed",
      to: "routes.groq-llama-3.3-70b-versatile.aliases",
    });
    expect(result.missingTargets).toEqual([]);
  });
  test("[d15.2] a name that is a route keeps it where another one becomes the same", () => {
    const result = made(`
model_list:
  - {model_name: a/b, litellm_params: {model: openai/x}}
  - {model_name: a-b, litellm_params: {model: openai/y}}
`);
    expect(section(result, "routes")).toEqual({
      "a-b-2": { targets: ["openai:x"], aliases: ["a/b"] },
      "a-b": { targets: ["openai:y"] },
    });
  });
  test("[d15.2] images, speech, transcriptions and videos have no counterpart, and are missing targets", () => {
    const modes = ["image_generation", "audio_speech", "audio_transcription", "video_generation"];
    const names = ["dall-e-3", "tts-1", "whisper-1", "openai/gpt-image-1"];
    const served = ["embedding", "rerank", "moderation", "responses", "chat"];
    const result = made(
      JSON.stringify({
        model_list: [
          ...modes.map((mode) => ({
            model_name: `m-${mode}`,
            litellm_params: { model: "openai/m" },
            model_info: { mode },
          })),
          ...names.map((model) => ({ model_name: model, litellm_params: { model } })),
          ...served.map((mode) => ({ model_name: mode, litellm_params: { model: "openai/m" }, model_info: { mode } })),
        ],
      }),
    );
    expect(Object.keys(section(result, "routes"))).toEqual(served);
    expect(result.missingTargets.map(({ path }) => path)).toEqual(
      [...modes, ...names].map((_, index) => `model_list[${index}]`),
    );
    expect(result.missingTargets[0]!.why).toContain("does not serve images");
    expect(lineAt(result, "model_list[0].litellm_params.model").outcome).toBe("without");
  });
  test("[d15.2] of two deployments with one target and other parameters, only the first is said to be written", () => {
    const result = made(`
model_list:
  - {model_name: m, litellm_params: {model: openai/a, temperature: 0.1}}
  - {model_name: m, litellm_params: {model: openai/a, temperature: 0.9}}
`);
    expect(section(result, "routes")["m"]).toEqual({ targets: [{ model: "openai:a", params: { temperature: 0.1 } }] });
    expect(lineAt(result, "model_list[0].litellm_params.temperature").outcome).toBe("taken");
    expect(lineAt(result, "model_list[1].litellm_params.temperature").outcome).toBe("without");
  });
  test("[d15.2] settings that LiteLLM keeps to itself are never sent to the provider, and are not said to be taken", () => {
    const kept = {
      base_model: "gpt-4o",
      retry_policy: { TimeoutErrorRetries: 3 },
      caching: true,
      ttl: 60,
      otpm: 1000,
      max_fallbacks: 2,
      allowed_openai_params: ["tools"],
      user_continue_message: { role: "user", content: "go on" },
      langfuse_secret_key: "sk-lf-0123456789abcdef",
      dd_api_key: "os.environ/DD_API_KEY",
      turn_off_message_logging: true,
      tiered_pricing: [{ range: [0, 1] }],
      cache_creation_input_token_cost_above_1hr: 0.00001,
      search_context_cost_per_query: { low: 0.03 },
    };
    const result = made(
      JSON.stringify({
        model_list: [{ model_name: "m", litellm_params: { model: "openai/a", top_k: 5, my_field: 1, ...kept } }],
      }),
    );
    expect(section(result, "routes")["m"]).toEqual({
      targets: [{ model: "openai:a", params: { top_k: 5, my_field: 1 } }],
    });
    const lines = result.report.filter(({ path }) =>
      Object.keys(kept).some((name) => path.startsWith(`model_list[0].litellm_params.${name}`)),
    );
    expect(lines.length).toBeGreaterThanOrEqual(Object.keys(kept).length);
    expect(lines.filter(({ outcome }) => outcome !== "without")).toEqual([]);
    expect(lines.filter(({ note }) => note?.includes("does not know"))).toEqual([]);
    expect(JSON.stringify(result)).not.toContain("sk-lf-0123456789abcdef");
  });
  test("[d15.2] headers, an organization and a token of Entra have no counterpart, and the report says what to do", () => {
    const params = {
      model: "azure/a",
      extra_headers: { "x-team": "a" },
      organization: "org",
      azure_ad_token: "os.environ/T",
    };
    const result = made(JSON.stringify({ model_list: [{ model_name: "m", litellm_params: params }] }));
    const note = (name: string) => lineAt(result, `model_list[0].litellm_params.${name}`).note;
    expect(note("extra_headers.x-team")).toContain("callers can send those");
    expect(note("organization")).toContain("take a key of it");
    expect(note("azure_ad_token")).toContain("tenant_id");
  });
  test("[d15.2] of a parameter that stands under extra_body too, only what LiteLLM sends is said to be taken", () => {
    const result = made(`
model_list:
  - {model_name: m, litellm_params: {model: openai/a, extra_body: {top_k: 9, temperature: 0.2}, temperature: 0.9, seed: 1}}
`);
    expect(section(result, "routes")["m"]).toEqual({
      targets: [{ model: "openai:a", params: { top_k: 9, temperature: 0.2, seed: 1 } }],
    });
    expect(lineAt(result, "model_list[0].litellm_params.extra_body.temperature").outcome).toBe("changed");
    expect(lineAt(result, "model_list[0].litellm_params.temperature").outcome).toBe("without");
  });
  test("[d15.2] a key of the EU and one of the US are two accounts of OpenAI in one route, and the region has words", () => {
    const result = made(`
model_list:
  - {model_name: m, litellm_params: {model: openai/a, api_key: os.environ/US_KEY, region_name: us}}
  - {model_name: m, litellm_params: {model: openai/a, api_key: os.environ/EU_KEY, api_base: "https://eu.api.openai.com/v1", region_name: eu}}
router_settings: {enable_pre_call_checks: true, provider_budget_config: {openai: {budget_limit: 5, time_period: 1d}}}
`);
    expect(section(result, "providers")).toMatchObject({
      openai: { api_key: "${US_KEY:-unset}" },
      "openai-2": { type: "openai", base_url: "https://eu.api.openai.com/v1", api_key: "${EU_KEY:-unset}" },
    });
    expect(section(result, "routes")["m"]).toEqual({ targets: ["openai:a", "openai-2:a"] });
    expect(lineAt(result, "model_list[1].litellm_params.region_name").note).toContain("not chosen by region");
    expect(lineAt(result, "model_list[1].litellm_params.api_key").to).toBe("providers.openai-2.api_key");
    expect(section(result, "budgets")).toEqual({
      "provider-openai": { usd: "5", window: "day", unpriced: "allow", scope: { provider: "openai*" } },
    });
  });
  test("a wildcard needs no route", () => {
    const result = made(`
model_list:
  - {model_name: "together_ai/*", litellm_params: {model: "together_ai/*"}}
`);
    expect(section(result, "routes")).toEqual({});
    expect(section(result, "providers")).toMatchObject({ together_ai: { type: "together" } });
    expect(lineAt(result, "model_list[0].model_name").outcome).toBe("taken");
  });
  test("an address of its own makes an account of its own", () => {
    const result = made(`
model_list:
  - {model_name: m, litellm_params: {model: openai/qwen, api_base: "http://10.0.0.5:8000/v1", api_key: none}}
`);
    expect(section(result, "providers")).toMatchObject({
      "10-0-0-5-8000": { type: "custom", base_url: "http://10.0.0.5:8000/v1" },
    });
  });
  test("equal accounts are one, two keys are two", () => {
    const result = made(`
model_list:
  - {model_name: a, litellm_params: {model: azure/x, api_base: "https://e.openai.azure.com", api_key: os.environ/AZURE_API_KEY, api_version: "2024-10-21"}}
  - {model_name: b, litellm_params: {model: azure/y, api_base: "https://e.openai.azure.com", api_key: os.environ/AZURE_API_KEY, api_version: "2024-10-21"}}
  - {model_name: c, litellm_params: {model: azure/z, api_base: "https://w.openai.azure.com", api_key: os.environ/WEST}}
`);
    expect(Object.keys(section(result, "providers"))).toEqual(["azure", "azure-2"]);
  });
  test("parameters belong to the target, and prices to the model", () => {
    const result = made(`
model_list:
  - model_name: m
    litellm_params: {model: openai/a, temperature: 0.2, extra_body: {guided: true}, input_cost_per_token: 5e-7, output_cost_per_token: 0.0000015}
    model_info: {mode: chat, max_output_tokens: 4096}
`);
    expect(section(result, "routes")["m"]).toEqual({
      targets: [{ model: "openai:a", params: { temperature: 0.2, guided: true } }],
    });
    expect(section(result, "prices")).toEqual({
      "openai-a": { model: "openai:a", per: "token", prompt: "0.0000005", completion: "0.0000015" },
    });
  });
  test("[d15.2] models whose names are alike to the end have a price each", () => {
    const model = (end: string): string => `ft:gpt-4o-mini-2024-07-18:acme:classifier-of-support-requests-${end}`;
    const result = made(`
model_list:
  - {model_name: a, litellm_params: {model: "openai/${model("one")}", input_cost_per_token: 0.000001}}
  - {model_name: b, litellm_params: {model: "openai/${model("two")}", input_cost_per_token: 0.000002}}
`);
    expect(Object.values(section(result, "prices"))).toEqual([
      { model: `openai:${model("one")}`, per: "token", prompt: "0.000001" },
      { model: `openai:${model("two")}`, per: "token", prompt: "0.000002" },
    ]);
    for (const at of [0, 1])
      expect(lineAt(result, `model_list[${at}].litellm_params.input_cost_per_token`).outcome).toBe("taken");
  });
  test("[d15.2] a text that looks like a key is a secret in parameters of any name", () => {
    const key = "sk-planted-7f3e9a1c5b2d8e4f6a0c";
    const result = made(`
model_list:
  - model_name: m
    litellm_params: {model: openai/a, extra_body: {judge: {model: ${key}}}}
`);
    expect(JSON.stringify([result.report, result.configuration])).not.toContain(key);
    expect(result.secrets).toEqual([{ name: "secrets/model", text: key }]);
  });
  test("a provider that we do not have leaves the others alone", () => {
    const result = made(`
model_list:
  - {model_name: x, litellm_params: {model: predibase/llama}}
  - {model_name: y, litellm_params: {model: openai/gpt-4o}}
`);
    expect(Object.keys(section(result, "routes"))).toEqual(["y"]);
    expect(lineAt(result, "model_list[0].litellm_params.model").outcome).toBe("without");
  });
});

describe("fallbacks", () => {
  const models = ["a", "b", "c"]
    .map((name) => `  - {model_name: ${name}, litellm_params: {model: openai/${name}}}`)
    .join("\n");
  test("lead from route to route", () => {
    const result = made(`model_list:\n${models}\nrouter_settings: {fallbacks: [{a: [b, c]}]}\n`);
    expect(section(result, "routes")["a"]).toEqual({ targets: ["openai:a"], fallbacks: ["route:b", "route:c"] });
  });
  test("that go round are made of targets where they would close the circle", () => {
    const result = made(`model_list:\n${models}\nrouter_settings: {fallbacks: [{a: [b]}, {b: [a, c]}]}\n`);
    expect(section(result, "routes")["b"]).toEqual({ targets: ["openai:b"], fallbacks: ["openai:a", "route:c"] });
    expect(lineAt(result, "router_settings.fallbacks[1].b[0]").outcome).toBe("changed");
  });
  test("by default hold for all names that have none", () => {
    const result = made(`model_list:\n${models}\nlitellm_settings: {default_fallbacks: [c]}\n`);
    expect(section(result, "routes")["a"]).toMatchObject({ fallbacks: ["route:c"] });
    expect(section(result, "routes")["c"]).toEqual({ targets: ["openai:c"] });
  });
  test("of a name hold for its alias too", () => {
    const result = made(
      `model_list:\n${models}\nrouter_settings: {fallbacks: [{a: [b]}], model_group_alias: {other: a}}\n`,
    );
    expect(section(result, "routes")["other"]).toEqual({ targets: ["openai:a"], fallbacks: ["route:b"] });
  });
  test("for long conversations are models", () => {
    const result = made(`model_list:\n${models}\nlitellm_settings: {context_window_fallbacks: [{a: [b]}]}\n`);
    expect(section(result, "routes")["a"]).toMatchObject({ context_window_fallbacks: { "openai:a": "openai:b" } });
  });
  test("[d15.2] that are nowhere in the configuration are not said to be changed", () => {
    const result = made(`
model_list:
  - {model_name: a, litellm_params: {model: openai/x}}
  - {model_name: b, litellm_params: {model: openai/x, api_key: os.environ/OTHER}}
litellm_settings: {context_window_fallbacks: [{a: [b]}]}
`);
    expect(section(result, "routes")["a"]).toEqual({ targets: ["openai:x"] });
    expect(lineAt(result, "litellm_settings.context_window_fallbacks[0].a[0]")).toMatchObject({
      outcome: "without",
      to: null,
      note: expect.stringContaining("nothing of it is in the configuration"),
    });
  });
  test("[d15.2] of models that only a wildcard serves have no counterpart, and the report says why", () => {
    const result = made(`
model_list:
  - {model_name: "groq/*", litellm_params: {model: "groq/*"}}
  - {model_name: backup, litellm_params: {model: openai/b}}
router_settings: {default_fallbacks: [backup], fallbacks: [{groq/llama: [backup]}]}
`);
    for (const path of ["default_fallbacks[0]", "fallbacks[0].groq/llama[0]"])
      expect(lineAt(result, `router_settings.${path}`).note).toContain("models of a wildcard");
  });
  test("to names that are not there have no counterpart", () => {
    const result = made(`model_list:\n${models}\nrouter_settings: {fallbacks: [{a: [nobody]}]}\n`);
    expect(lineAt(result, "router_settings.fallbacks[0].a[0]").outcome).toBe("without");
  });
});

describe("settings", () => {
  test("an alias is a route with the same targets", () => {
    const result = made(`${ONE}router_settings: {model_group_alias: {gpt-4: fast}}\n`);
    expect(section(result, "routes")["gpt-4"]).toEqual({ targets: ["openai:gpt-4o-mini"] });
  });
  test("[d15.2] a name and its aliases share the rate that LiteLLM keeps for a deployment", () => {
    const row = (name: string, rpm: number): string =>
      `  - {model_name: ${name}, litellm_params: {model: openai/a, api_key: os.environ/K, rpm: ${rpm}}}\n`;
    const settings = "router_settings: {enable_pre_call_checks: true, model_group_alias: {other: one}}\n";
    const shared = made(`model_list:\n${row("one", 10)}${settings}`);
    expect(section(shared, "limits")).toEqual({
      "one-openai-requests": { metric: "requests", window: "minute", limit: 10, scope: { model: "openai:a" } },
    });
    expect(lineAt(shared, "model_list[0].litellm_params.rpm").outcome).toBe("changed");
    const apart = made(`model_list:\n${row("one", 10)}${row("two", 20)}${settings}`);
    expect(Object.values(section(apart, "limits")).map(({ limit, scope }: any) => [limit, scope.route])).toEqual([
      [10, "one"],
      [20, "two"],
      [10, "other"],
    ]);
    expect(lineAt(apart, "model_list[0].litellm_params.rpm").note).toBe("calls by an alias are counted apart");
    expect(lineAt(apart, "model_list[1].litellm_params.rpm").outcome).toBe("taken");
  });
  test("retries, times and breaker hold for all routes", () => {
    const result = made(`${ONE}router_settings: {num_retries: 3, timeout: 30, allowed_fails: 2, cooldown_time: 60}\n`);
    expect(section(result, "route_defaults")).toEqual({
      retries: 3,
      timeouts: { first_byte_ms: 30_000 },
      breaker: { failures: 3, ratio: 0.01, window_ms: 60_000, open_ms: 60_000 },
    });
  });
  test("a budget gets the period of the calendar", () => {
    const result = made(`${ONE}litellm_settings: {max_budget: 12.5, budget_duration: 30d}\n`);
    expect(section(result, "budgets")).toEqual({
      "all-calls": { usd: "12.5", window: "month", unpriced: "allow", scope: {} },
    });
  });
  test("[d15.2] a budget of 0 for the proxy, which LiteLLM does not keep, refuses no call here either", () => {
    const result = made(`${ONE}litellm_settings: {max_budget: 0, budget_duration: 30d}\n`);
    expect(section(result, "budgets")).toEqual({});
    for (const key of ["max_budget", "budget_duration"])
      expect(lineAt(result, `litellm_settings.${key}`)).toMatchObject({
        outcome: "without",
        note: expect.stringContaining("admits every call with 0"),
      });
  });
  test("[d15.2] a budget's period may be a word", () => {
    const result = made(`${ONE}litellm_settings: {max_budget: 5, budget_duration: monthly}\n`);
    expect(section(result, "budgets")).toMatchObject({ "all-calls": { usd: "5", window: "month" } });
  });
  test("[d15.2] budget_duration is said with its amount, without it, and when it is no time", () => {
    const alone = made(`${ONE}litellm_settings: {budget_duration: 30d}\n`);
    expect(lineAt(alone, "litellm_settings.budget_duration").note).toContain("no amount");
    const unreadable = made(`${ONE}litellm_settings: {max_budget: 5, budget_duration: fortnightly}\n`);
    expect(section(unreadable, "budgets")).toEqual({});
    for (const key of ["max_budget", "budget_duration"])
      expect(lineAt(unreadable, `litellm_settings.${key}`)).toMatchObject({
        outcome: "without",
        note: "expected a time such as 24h or 30d",
      });
    const own = made(`
model_list:
  - {model_name: m, litellm_params: {model: openai/a, max_budget: 3, budget_duration: 1d}}
`);
    expect(section(own, "budgets")).toEqual({
      "m-openai": { usd: "3", window: "day", unpriced: "allow", scope: { model: "openai:a" } },
    });
    expect(lineAt(own, "model_list[0].litellm_params.budget_duration")).toMatchObject({
      outcome: "changed",
      to: "budgets.m-openai.window",
    });
  });
  test("[d15.2] key_generation_settings has words in whichever section it stands", () => {
    for (const place of ["litellm_settings", "general_settings"]) {
      const result = made(`${ONE}${place}: {key_generation_settings: {team_key_generation: {allowed: [admin]}}}\n`);
      expect(lineAt(result, `${place}.key_generation_settings.team_key_generation.allowed[0]`).note).toContain(
        "who makes tokens",
      );
    }
  });
  test("a cache with a password in plain text stands in a file", () => {
    const result = made(
      `${ONE}litellm_settings: {cache: true, cache_params: {type: redis, host: r, port: 6379, password: p@ss, ttl: 60}}\n`,
    );
    expect(section(result, "cache")).toEqual({ store: "valkey", url: "${file:/srv/dragoman/secrets/cache_url}" });
    expect(result.secrets).toEqual([{ name: "secrets/cache_url", text: "redis://:p%40ss@r:6379" }]);
  });
  test("a password in plain text beside a host in a variable is encoded for the address", () => {
    const result = made(
      `${ONE}litellm_settings: {cache: true, cache_params: {type: redis, host: os.environ/H, port: 6379, password: "p@s s"}}\n`,
    );
    expect(section(result, "cache")).toMatchObject({
      url: "redis://:${file:/srv/dragoman/secrets/cache_password}@${H:-localhost}:6379",
    });
    expect(result.secrets).toEqual([{ name: "secrets/cache_password", text: "p%40s%20s" }]);
  });
  test.each(["", ", password: os.environ/REDIS_PASSWORD"])(
    "[d15.2] a password of Redis that the file sets as a variable is in the address: %j",
    (setting) => {
      const result = made(`${ONE}
environment_variables: {REDIS_PASSWORD: p@ss}
litellm_settings: {cache: true, cache_params: {type: redis, host: r, port: 6379${setting}}}
`);
      expect(section(result, "cache")).toMatchObject({ url: "${file:/srv/dragoman/secrets/cache_url}" });
      expect(result.secrets).toEqual([{ name: "secrets/cache_url", text: "redis://:p%40ss@r:6379" }]);
      expect(lineAt(result, "environment_variables.REDIS_PASSWORD").outcome).toBe("changed");
    },
  );
  test("the number of a database of Redis may stand in a variable, and is not said to be taken where it is none", () => {
    const cacheOf = (db: string) =>
      made(`${ONE}litellm_settings: {cache: true, cache_params: {type: redis, host: r, port: 6379, db: ${db}}}\n`);
    expect(section(cacheOf("2"), "cache")).toMatchObject({ url: "redis://r:6379/2" });
    expect(section(cacheOf("os.environ/DB"), "cache")).toMatchObject({ url: "redis://r:6379/${DB:-0}" });
    expect(lineAt(cacheOf("first"), "litellm_settings.cache_params.db").outcome).toBe("without");
  });
  test("the Redis in which proxies count together is the limit store", () => {
    const result = made(
      `${ONE}router_settings: {redis_host: os.environ/REDIS_HOST, redis_port: 6380, redis_password: os.environ/REDIS_PASSWORD}\n`,
    );
    expect(section(result, "limit_store")).toEqual({
      url: "redis://:${REDIS_PASSWORD:-}@${REDIS_HOST:-localhost}:6380",
    });
  });
  test("what the import does not know is said of each value", () => {
    const result = made(`${ONE}brand_new: {a: 1, b: [2, 3]}\n`);
    for (const path of ["brand_new.a", "brand_new.b[0]", "brand_new.b[1]"])
      expect(lineAt(result, path)).toMatchObject({ outcome: "without", note: "the import does not know this setting" });
  });
  test("a list or a mapping without values is said to be empty", () => {
    const result = made(`${ONE}litellm_settings: {callbacks: [], brand_new: {}}\n`);
    for (const path of ["litellm_settings.callbacks", "litellm_settings.brand_new"])
      expect(lineAt(result, path)).toMatchObject({ outcome: "without", note: "it is empty" });
  });
  test("callbacks that we have are integrations; a program in Python has no counterpart", () => {
    const result = made(
      `${ONE}litellm_settings: {success_callback: [langfuse, prometheus, my.module.handler], failure_callback: [langfuse]}\n`,
    );
    expect(section(result, "integrations")).toMatchObject({ langfuse: { type: "langfuse" } });
    expect(lineAt(result, "litellm_settings.success_callback[1]").outcome).toBe("taken");
    expect(lineAt(result, "litellm_settings.success_callback[2]").outcome).toBe("without");
  });
  test("variables of the file become files of secrets", () => {
    const result = made(`${ONE}environment_variables: {OPENAI_API_KEY: sk-in-the-file}\n`);
    expect(section(result, "providers")).toMatchObject({
      openai: { api_key: "${file:/srv/dragoman/secrets/openai_api_key}" },
    });
    expect(lineAt(result, "environment_variables.OPENAI_API_KEY").outcome).toBe("changed");
  });
  test("guardrails that search text are policies", () => {
    const result = made(`${ONE}
guardrails:
  - guardrail_name: pii
    litellm_params:
      guardrail: presidio
      mode: pre_call
      default_on: true
      pii_entities_config: {EMAIL_ADDRESS: MASK, US_SSN: BLOCK, LOCATION: MASK}
  - guardrail_name: other
    litellm_params: {guardrail: aporia, mode: pre_call}
`);
    expect(section(result, "policies")).toEqual({
      "pii-mask": { guard: { on: "input", action: "mask", classes: ["email"] } },
      "pii-mask-2": {
        guard: {
          on: "input",
          action: "mask",
          service: {
            type: "presidio",
            url: "${PRESIDIO_ANALYZER_API_BASE:-https://presidio-analyzer-api-base.invalid}",
            entities: ["LOCATION"],
          },
        },
      },
      "pii-block": { guard: { on: "input", action: "block", classes: ["national_id"], national_ids: ["us_ssn"] } },
    });
    const entity = (name: string) => lineAt(result, `guardrails[0].litellm_params.pii_entities_config.${name}`);
    expect(entity("LOCATION")).toMatchObject({ outcome: "taken", to: "policies.pii-mask-2" });
    expect(entity("EMAIL_ADDRESS").to).toBe("policies.pii-mask");
    expect(entity("US_SSN").to).toBe("policies.pii-block");
    expect(lineAt(result, "guardrails[0].litellm_params.guardrail").note).toBe(
      "Dragoman searches the text itself for EMAIL_ADDRESS, US_SSN, and can find more or less; Presidio is asked for LOCATION",
    );
    expect(lineAt(result, "guardrails[1].litellm_params.guardrail").outcome).toBe("without");
  });
  test("a guardrail names what was made of each line, and what Dragoman searches itself", () => {
    const guardrail = (params: string) =>
      made(`${ONE}guardrails: [{guardrail_name: g, litellm_params: {mode: pre_call, default_on: true, ${params}}}]\n`);
    const asked = guardrail("guardrail: presidio, pii_entities_config: {PERSON: MASK, LOCATION: BLOCK}");
    expect(lineAt(asked, "guardrails[0].litellm_params.guardrail").note).toBeNull();
    expect(lineAt(asked, "guardrails[0].litellm_params.pii_entities_config.LOCATION").to).toBe("policies.g-block");
    const own = guardrail("guardrail: presidio, pii_entities_config: {EMAIL_ADDRESS: MASK}");
    expect(lineAt(own, "guardrails[0].litellm_params.guardrail").note).toBe(
      "Dragoman searches the text itself, and can find more or less",
    );
    const words = guardrail(
      "guardrail: litellm_content_filter, blocked_words: [{keyword: one, action: MASK}, {keyword: two, action: BLOCK}]",
    );
    expect(lineAt(words, "guardrails[0].litellm_params.blocked_words[1].keyword").to).toBe("policies.g-block");
  });
  test("[d15.2] guardrails of services that guards can ask are policies that ask them, with their keys and addresses", () => {
    const result = made(`${ONE}
guardrails:
  - guardrail_name: attacks
    litellm_params:
      {guardrail: lakera_v2, mode: pre_call, default_on: true, api_key: os.environ/LAKERA_API_KEY, project_id: p-7}
  - guardrail_name: watched
    litellm_params: {guardrail: lakera, mode: pre_call, default_on: true, on_flagged: monitor}
  - guardrail_name: harm
    litellm_params:
      guardrail: azure/text_moderations
      mode: [pre_call, post_call]
      api_base: https://safety.example.com
      api_key: os.environ/SAFETY_KEY
      severity_threshold: 4
  - guardrail_name: aws
    litellm_params:
      guardrail: bedrock
      mode: post_call
      default_on: true
      guardrailIdentifier: gr7
      guardrailVersion: 3
      aws_region_name: eu-west-1
      mask_response_content: true
  - guardrail_name: moderated
    litellm_params: {guardrail: openai_moderation, mode: pre_call, default_on: true, api_key: os.environ/OPENAI_API_KEY}
  - guardrail_name: armor
    litellm_params:
      guardrail: model_armor
      mode: pre_call
      default_on: true
      template_id: strict
      project_id: acme
      location: europe-west4
      fail_on_error: false
`);
    expect(section(result, "policies")).toEqual({
      "attacks-block": {
        guard: {
          on: "input",
          action: "block",
          service: {
            type: "lakera",
            url: "${LAKERA_API_BASE:-https://api.lakera.ai}",
            headers: { authorization: "Bearer ${LAKERA_API_KEY:-unset}" },
            project: "p-7",
          },
        },
      },
      "watched-block": {
        guard: {
          on: "input",
          action: "block",
          service: {
            type: "lakera",
            url: "${LAKERA_API_BASE:-https://api.lakera.ai}",
            headers: { authorization: "Bearer ${LAKERA_API_KEY:-unset}" },
          },
        },
        mode: "audit",
      },
      "harm-block": {
        guard: {
          on: "both",
          action: "block",
          service: {
            type: "content_safety",
            url: "https://safety.example.com",
            headers: { "ocp-apim-subscription-key": "${SAFETY_KEY:-unset}" },
            least_severity: 4,
          },
        },
        mode: "audit",
      },
      "aws-mask": {
        guard: {
          on: "output",
          action: "mask",
          service: { type: "guardrails", provider: "bedrock", guardrail: "gr7", version: "3" },
        },
      },
      "moderated-block": {
        guard: {
          on: "input",
          action: "block",
          service: { type: "moderation", provider: "openai", model: "omni-moderation-latest" },
        },
      },
      "armor-block": {
        guard: {
          on: "input",
          action: "block",
          on_error: "allow",
          service: { type: "model_armor", provider: "vertex_ai", template: "strict" },
        },
      },
    });
    expect(section(result, "providers")).toMatchObject({
      bedrock: { region: "eu-west-1" },
      vertex_ai: { type: "vertex", project: "acme", location: "europe-west4" },
    });
    for (const at of [
      "[0].litellm_params.guardrail",
      "[0].litellm_params.api_key",
      "[3].litellm_params.mask_response_content",
    ])
      expect(lineAt(result, `guardrails${at}`).outcome).toBe("taken");
    for (const at of ["[1]", "[2]"])
      expect(lineAt(result, `guardrails${at}.litellm_params.guardrail`).outcome).toBe("changed");
  });
  test("a guardrail that lacks what its service needs says so, and one in the old place says where it belongs", () => {
    const result = made(`${ONE}
guardrails:
  - {guardrail_name: a, litellm_params: {guardrail: model_armor, mode: pre_call, template_id: t}}
  - {guardrail_name: b, litellm_params: {guardrail: azure/text_moderations, mode: pre_call}}
litellm_settings: {guardrails: [{pii: {callbacks: [presidio], default_on: true}}]}
`);
    expect(section(result, "policies")).toEqual({});
    expect(lineAt(result, "guardrails[0].litellm_params.template_id").note).toContain("no location");
    expect(lineAt(result, "guardrails[1].litellm_params.guardrail").note).toContain("api_base");
    expect(lineAt(result, "litellm_settings.guardrails[0].pii.callbacks[0]").note).toContain(
      "write them under guardrails",
    );
  });
  test("a server of tools that asks for a token has the credentials for it", () => {
    const result = made(`${ONE}
mcp_servers:
  desk:
    url: https://desk.example.com/mcp
    auth_type: oauth2
    client_id: os.environ/DESK_ID
    client_secret: os.environ/DESK_SECRET
    token_url: https://login.example.com/token
    scopes: [tickets.read, tickets.write]
`);
    expect(section(result, "tool_servers")).toMatchObject({
      desk: {
        oauth: {
          token_url: "https://login.example.com/token",
          client_id: "${DESK_ID:-unset}",
          client_secret: "${DESK_SECRET:-unset}",
          scope: "tickets.read tickets.write",
        },
      },
    });
    expect(lineAt(result, "mcp_servers.desk.client_secret").outcome).toBe("taken");
  });
  test("[d15.2] headers of a server of tools, and variables of a program, may have spaces", () => {
    const result = made(`${ONE}
mcp_servers:
  desk: {url: "https://desk.example.com/mcp", static_headers: {Authorization: Bearer t0ken}}
  local: {command: serve, env: {OPTIONS: --user a}}
`);
    expect(section(result, "tool_servers")).toMatchObject({
      desk: { headers: { authorization: "${file:/srv/dragoman/secrets/desk_authorization}" } },
      local: { environment: { OPTIONS: "${file:/srv/dragoman/secrets/local_options}" } },
    });
    expect(result.secrets).toEqual([
      { name: "secrets/desk_authorization", text: "Bearer t0ken" },
      { name: "secrets/local_options", text: "--user a" },
    ]);
  });
  test("a setting in a section where LiteLLM does not read it says where it belongs", () => {
    const result = made(`${ONE}general_settings: {max_budget: 5, drop_params: true}
`);
    expect(section(result, "budgets")).toEqual({});
    for (const name of ["max_budget", "drop_params"])
      expect(lineAt(result, `general_settings.${name}`).note).toContain("under litellm_settings");
  });
  test("what describes a model to people is said to be that", () => {
    const result = made(
      "model_list: [{model_name: a, litellm_params: {model: groq/a}, model_info: {description: fine, access_groups: [x]}}]",
    );
    expect(lineAt(result, "model_list[0].model_info.description").note).toContain("no call depends on it");
    expect(lineAt(result, "model_list[0].model_info.access_groups[0]").note).toContain("docs/identity.md");
  });
});

describe("more of deployments", () => {
  const deployment = (params: string) => made(`model_list: [{model_name: a, litellm_params: {${params}}}]`);
  test("a vendor that has no row here and speaks OpenAI's API is called at LiteLLM's address", () => {
    const result = deployment("model: wandb/some/model");
    expect(section(result, "providers")).toEqual({
      wandb: {
        type: "custom",
        base_url: "https://api.inference.wandb.ai/v1",
        api_key: "${WANDB_API_KEY:-}",
        models: ["some/model"],
      },
    });
    expect(result.missingTargets).toEqual([]);
  });
  test("its own address takes precedence", () => {
    const result = deployment("model: wandb/m, api_base: 'https://proxy.example.com/v1', api_key: os.environ/K");
    expect(section(result, "providers")["wandb"]).toMatchObject({
      base_url: "https://proxy.example.com/v1",
      api_key: "${K:-unset}",
    });
  });
  test("Vertex's project and location have two names each", () => {
    const result = deployment("model: vertex_ai/gemini-x, vertex_ai_project: acme, vertex_ai_location: europe-west1");
    expect(section(result, "providers")["vertex_ai"]).toMatchObject({ project: "acme", location: "europe-west1" });
    expect(lineAt(result, "model_list[0].litellm_params.vertex_ai_location").outcome).toBe("taken");
  });
  test("[d15.2] a credentials file of Google that is written out becomes a file of its own", () => {
    const key = { type: "service_account", client_email: "a@x.example", private_key: "-----BEGIN-----\\nx\\n" };
    const text = JSON.stringify(key);
    const place = "vertex_project: acme, vertex_location: us";
    const file = { google: { credentials_file: "/srv/dragoman/secrets/vertex_credentials" } };
    for (const credentials of [`'${text}'`, text]) {
      const result = deployment(`model: vertex_ai/m, ${place}, vertex_credentials: ${credentials}`);
      expect(section(result, "providers")["vertex_ai"]).toMatchObject(file);
      expect(result.secrets).toEqual([{ name: "secrets/vertex_credentials", text }]);
      expect(JSON.stringify(result.report)).not.toContain("BEGIN");
    }
    const own = made(`
environment_variables: {GOOGLE_KEY: '${text}'}
model_list: [{model_name: a, litellm_params: {model: vertex_ai/m, ${place}, vertex_credentials: os.environ/GOOGLE_KEY}}]`);
    expect(section(own, "providers")["vertex_ai"]).toMatchObject({
      google: { credentials_file: "/srv/dragoman/secrets/google_key" },
    });
    const elsewhere = deployment(`model: vertex_ai/m, ${place}, vertex_credentials: os.environ/GOOGLE_KEY`);
    expect(section(elsewhere, "providers")["vertex_ai"]).toMatchObject({ google: "default" });
  });
  test("prices of a wildcard hold for all models that it stands for", () => {
    const result = made(
      "model_list: [{model_name: 'groq/*', litellm_params: {model: 'groq/*', input_cost_per_token: 0.000002}}]",
    );
    expect(Object.values(section(result, "prices"))).toEqual([{ model: "groq:*", per: "token", prompt: "0.000002" }]);
    expect(lineAt(result, "model_list[0].litellm_params.input_cost_per_token").outcome).toBe("taken");
  });
  describe("[d15.2] a value of one deployment is not that of the others of its name", () => {
    const two = (own: string, rest = "") =>
      made(`model_list:
  - {model_name: a, litellm_params: {model: groq/a, ${own}}}
  - {model_name: a, litellm_params: {model: openai/a}}
${rest}`);
    const routeOf = (result: ReturnType<typeof made>) => section(result, "routes")["a"];
    test.each(["timeout: 5", "request_timeout: 5", "stream_timeout: 5"])("%s of one, and none otherwise", (own) => {
      const result = two(own);
      expect(routeOf(result)).toEqual({ targets: ["groq:a", "openai:a"] });
      expect(lineAt(result, `model_list[0].litellm_params.${own.split(":")[0]!}`)).toMatchObject({
        outcome: "without",
        note: expect.stringContaining("another deployment of the name has none"),
      });
    });
    test.each([
      ["router_settings: {timeout: 30}", 30_000],
      ["litellm_settings: {request_timeout: 40}", 40_000],
      ["router_settings: {timeout: 3}", 5000],
      ["router_settings: {timeout: 900}", 900_000],
    ])("a timeout of one, with %s", (rest, ms) => {
      const result = two("timeout: 5", `${rest}\n`);
      expect(routeOf(result)).toEqual({
        targets: ["groq:a", "openai:a"],
        timeouts: { first_byte_ms: ms, ...(ms > 600_000 && { total_ms: ms }) },
      });
      expect(lineAt(result, "model_list[0].litellm_params.timeout").to).toBe("routes.a.timeouts.first_byte_ms");
    });
    test("a stream of a deployment without stream_timeout has its timeout", () => {
      expect(routeOf(two("stream_timeout: 5", "router_settings: {timeout: 20}\n"))).toMatchObject({
        timeouts: { first_token_ms: 20_000 },
      });
      expect(routeOf(two("stream_timeout: 5", "router_settings: {timeout: 20, stream_timeout: 9}\n"))).toMatchObject({
        timeouts: { first_token_ms: 9000 },
      });
    });
    test("retries and rest are at least those of a deployment that sets none", () => {
      expect(routeOf(two("num_retries: 0"))).toMatchObject({ retries: 2 });
      expect(routeOf(two("num_retries: 0", "router_settings: {num_retries: 4}\n"))).toMatchObject({ retries: 4 });
      expect(routeOf(two("cooldown_time: 1"))).toMatchObject({ breaker: { open_ms: 5000 } });
      expect(routeOf(two("cooldown_time: 1", "router_settings: {cooldown_time: 70}\n"))).toMatchObject({
        breaker: { open_ms: 70_000 },
      });
    });
    test("deployments that all have one keep the greatest", () => {
      const result = made(`model_list:
  - {model_name: a, litellm_params: {model: groq/a, timeout: 5, stream_timeout: 2}}
  - {model_name: a, litellm_params: {model: openai/a, timeout: 7, stream_timeout: 3}}
`);
      expect(routeOf(result)).toMatchObject({ timeouts: { first_byte_ms: 7000, first_token_ms: 3000 } });
    });
  });
  test("the greatest cooldown_time of a name is that of its route", () => {
    const result = made(`model_list:
  - {model_name: a, litellm_params: {model: groq/a, cooldown_time: 5}}
  - {model_name: a, litellm_params: {model: openai/a, cooldown_time: 90}}
`);
    expect(section(result, "routes")["a"]).toMatchObject({ breaker: { open_ms: 90_000 } });
    expect(lineAt(result, "model_list[0].litellm_params.cooldown_time").to).toBe("routes.a.breaker.open_ms");
  });
  test("a fallback that only a wildcard serves is its target", () => {
    const result = made(`model_list:
  - {model_name: a, litellm_params: {model: groq/a}}
  - {model_name: 'openai/*', litellm_params: {model: 'openai/*'}}
  - {model_name: 'mine/*', litellm_params: {model: 'openrouter/*'}}
router_settings:
  fallbacks: [{a: [openai/x, mine/vendor/y, nobody/z]}]
  context_window_fallbacks: [{a: [openai/long]}]
`);
    expect(section(result, "routes")["a"]).toMatchObject({
      fallbacks: ["openai:x", "openrouter:vendor/y"],
      context_window_fallbacks: { "groq:a": "openai:long" },
    });
    expect(lineAt(result, "router_settings.fallbacks[0].a[0]").outcome).toBe("taken");
    expect(lineAt(result, "router_settings.fallbacks[0].a[2]").outcome).toBe("without");
  });
  test("checks before a call are taken where no deployment has a rate, and a strategy for later targets too", () => {
    const result = made(`${ONE}router_settings: {enable_pre_call_checks: true, routing_strategy: least-busy}\n`);
    expect(lineAt(result, "router_settings.enable_pre_call_checks").outcome).toBe("taken");
    expect(section(result, "route_defaults")).toMatchObject({ strategy: "least_busy" });
  });
  test("a silent model gets copies of the calls of the route", () => {
    const result = made(`model_list:
  - {model_name: a, litellm_params: {model: groq/a, silent_model: b}}
  - {model_name: b, litellm_params: {model: openai/b, temperature: 0.2, additional_drop_params: [seed]}}
  - {model_name: c, litellm_params: {model: openai/c, silent_model: nobody}}
`);
    expect(section(result, "routes")["a"]).toEqual({
      targets: ["groq:a"],
      mirror: { target: "openai:b", params: { temperature: 0.2 }, drop: ["seed"], other_vendors: true },
    });
    expect(lineAt(result, "model_list[0].litellm_params.silent_model").to).toBe("routes.a.mirror");
    expect(lineAt(result, "model_list[2].litellm_params.silent_model").outcome).toBe("without");
  });
  test("[d15.2] fallbacks that are models are reported as without the parameters that they have in their own routes", () => {
    const result = made(`model_list:
  - {model_name: a, litellm_params: {model: groq/a}}
  - {model_name: b, litellm_params: {model: openai/b, temperature: 0.2}}
router_settings:
  fallbacks: [{a: [b]}, {b: [a]}]
  context_window_fallbacks: [{a: [b]}]
`);
    expect(lineAt(result, "router_settings.context_window_fallbacks[0].a[0]").note).toEndWith(
      "without their parameters",
    );
    expect(lineAt(result, "router_settings.fallbacks[1].b[0]").note).not.toContain("parameters");
    const turned = made(`model_list:
  - {model_name: b, litellm_params: {model: openai/b, temperature: 0.2}}
  - {model_name: a, litellm_params: {model: groq/a}}
router_settings: {fallbacks: [{a: [b]}, {b: [a]}]}
`);
    expect(lineAt(turned, "router_settings.fallbacks[0].a[0]").note).toStartWith(
      "the targets of b are listed, without their parameters, because",
    );
  });
  test("[d15.2] what another program would fill in stands as it is, and the report says what to write", () => {
    const result = deployment("model: groq/a, api_key: '${GROQ_API_KEY}'");
    expect(result.secrets.map(({ text }) => text)).toEqual(["${GROQ_API_KEY}"]);
    expect(lineAt(result, "model_list[0].litellm_params.api_key").note).toContain("write os.environ/<name>");
  });
  test.each([
    ["'*'", "configure the providers"],
    ["auto_router/one", "docs/routes.md#conditions"],
    ["os.environ/MODEL", "stands in a variable"],
    ["some-model", "names no provider; write"],
    ["nobody/some-model", "no such provider"],
  ])("a deployment of %s is missing, with what can be done", (model, words) => {
    const [missing] = deployment(`model: ${model}`).missingTargets;
    expect(missing!.why).toContain(words);
  });
});

describe("what is no configuration of LiteLLM", () => {
  test.each([
    ["[1, 2]", "theirs.yaml:1:1: expected the configuration of LiteLLM"],
    ["just text", "theirs.yaml:1:1: expected the configuration of LiteLLM"],
    ["providers: {openai: {}}", "none of model_list"],
    ["model_list: 5", "theirs.yaml:1:13 model_list: expected a list of models"],
    ["model_list:\n  - 5", "theirs.yaml:2:5 model_list[0]: expected a mapping"],
    ["model_list:\n  - model_name: a", "expected litellm_params"],
    [
      "model_list:\n  - {model_name: a, litellm_params: {model: 4}}",
      "model_list[0].litellm_params.model: expected model",
    ],
  ])("%j", (text, words) => {
    expect(problemOf(text)).toContain(words);
  });
});
