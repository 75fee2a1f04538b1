// What becomes of Bifrost's configuration file.
import { describe, expect, test } from "bun:test";
import { ConfigurationError } from "../../src/config/problem.ts";
import { FOLDER, imported, lineAt, section } from "./imported.ts";

const made = (value: unknown) => imported("bifrost", JSON.stringify(value));
const key = (name: string, value: string, weight = 1, models: readonly string[] = ["*"]) => ({
  name,
  value,
  weight,
  models,
});

describe("providers", () => {
  test("keys for the same models are keys of one account", () => {
    const result = made({
      providers: { openai: { keys: [key("a", "env.KEY_A", 0.75), key("b", "env.KEY_B", 0.25)] } },
    });
    expect(section(result, "providers")).toEqual({
      openai: {
        api_keys: [
          { key: "${KEY_A:-unset}", weight: 3 },
          { key: "${KEY_B:-unset}", weight: 1 },
        ],
      },
    });
  });
  test("[d15.2] a credentials file of Google that is written out becomes a file of its own", () => {
    const text = JSON.stringify({
      type: "service_account",
      client_email: "a@x.example",
      private_key: "-----BEGIN-----",
    });
    const own = { project_id: "acme", region: "us", auth_credentials: text };
    const result = made({ providers: { vertex: { keys: [{ ...key("a", ""), vertex_key_config: own }] } } });
    expect((section(result, "providers")["vertex"] as any).google).toEqual({
      credentials_file: `${FOLDER}/secrets/vertex_auth_credentials`,
    });
    expect(result.secrets).toEqual([{ name: "secrets/vertex_auth_credentials", text }]);
  });
  test("[d15.2] an application of Entra is the credential of its account", () => {
    const own = {
      endpoint: "https://eu.openai.azure.com",
      tenant_id: "t-1",
      client_id: "env.CLIENT",
      client_secret: "s3cret",
    };
    const result = made({ providers: { azure: { keys: [{ ...key("a", ""), azure_key_config: own }] } } });
    const [[, entry]] = Object.entries(section(result, "providers")) as [[string, any]];
    expect(entry.entra).toEqual({
      tenant_id: "t-1",
      client_id: "${CLIENT:-unset}",
      client_secret: `\${file:${FOLDER}/secrets/azure_client_secret}`,
    });
    expect(entry.api_key).toBeUndefined();
    expect(result.secrets).toEqual([{ name: "secrets/azure_client_secret", text: "s3cret" }]);
  });
  test("keys for other models are another account, and a route divides the calls", () => {
    const result = made({
      providers: { groq: { keys: [key("a", "env.KEY_A", 1, ["x", "y"]), key("b", "env.KEY_B", 1, ["y"])] } },
    });
    expect(section(result, "routes")).toEqual({
      "groq-y": { aliases: ["groq/y"], strategy: "weighted", targets: ["groq:y", "groq-2:y"] },
    });
  });
  test.each([
    [
      [0.7, 0.3],
      [7, 3],
    ],
    [
      [0.6, 0.4],
      [3, 2],
    ],
    [
      [1, 1, 2.5],
      [2, 2, 5],
    ],
    [
      [1, 10_000],
      [1, 1000],
    ],
  ])("[d15.2] keys with the weights %j divide the calls in the same proportions: %j", (weights, whole) => {
    const keys = (models?: readonly string[]) =>
      weights.map((weight, index) => key(`k${index}`, `env.K_${index}`, weight, models ?? ["m", `own-${index}`]));
    const shared = made({ providers: { groq: { keys: keys(["m"]) } } });
    expect((section(shared, "providers")["groq"] as any).api_keys.map((each: any) => each.weight)).toEqual(whole);
    const apart = made({ providers: { groq: { keys: keys() } } });
    expect((section(apart, "routes")["groq-m"] as any).targets.map((each: any) => each.weight ?? 1)).toEqual(whole);
  });

  test("[d15.2] a key of the EU and one of the US divide the calls of a model by their weights, under its old name", () => {
    const at = (region: string, weight: number) => ({
      ...key(region, `env.${region}_KEY`, weight, ["gpt-4o"]),
      azure_key_config: { endpoint: `https://${region.toLowerCase()}.openai.azure.com` },
    });
    const result = made({ providers: { azure: { keys: [at("EU", 0.75), at("US", 0.25)] } } });
    expect(section(result, "routes")).toEqual({
      "azure-gpt-4o": {
        aliases: ["azure/gpt-4o"],
        strategy: "weighted",
        targets: [{ model: "azure:gpt-4o", weight: 3 }, "azure-2:gpt-4o"],
      },
    });
    expect(lineAt(result, "providers.azure.keys[1].value").to).toBe("providers.azure-2.api_key");
    expect(lineAt(result, "providers.azure.keys[1].weight").to).toBe("weight of azure-2:gpt-4o in routes.azure-gpt-4o");
    expect(result.missingTargets).toEqual([]);
  });
  test("[d15.2] keys that have one name for deployments of their own divide its calls by their weights", () => {
    const at = (region: string, weight: number) => ({
      ...key(region, `env.${region}_KEY`, weight, ["gpt-4o"]),
      azure_key_config: {
        endpoint: `https://${region.toLowerCase()}.openai.azure.com`,
        deployments: { "gpt-4o": `${region.toLowerCase()}-4o` },
      },
    });
    const result = made({ providers: { azure: { keys: [at("EU", 0.75), at("US", 0.25)] } } });
    expect(section(result, "routes")).toEqual({
      "gpt-4o": {
        aliases: ["azure/gpt-4o"],
        strategy: "weighted",
        targets: [{ model: "azure:eu-4o", weight: 3 }, "azure-2:us-4o"],
      },
    });
    expect(lineAt(result, "providers.azure.keys[1].weight").to).toBe("weight of azure-2:us-4o in routes.gpt-4o");
    expect(result.missingTargets).toEqual([]);
  });
  test("a name that several keys of one account have is one route", () => {
    const named = (name: string) => ({ ...key(name, `env.KEY_${name}`), aliases: { fast: "gpt-4o-mini" } });
    const result = made({ providers: { openai: { keys: [named("A"), named("B")] } } });
    expect(section(result, "routes")).toEqual({
      fast: { aliases: ["openai/fast"], targets: ["openai:gpt-4o-mini"] },
    });
  });
  test("[d15.2] keys for any model that no route divides are missing, until --model names the models", () => {
    const at = (region: string) => ({
      ...key(region, `env.${region}_KEY`),
      azure_key_config: { endpoint: `https://${region.toLowerCase()}.openai.azure.com` },
    });
    const text = JSON.stringify({ providers: { azure: { keys: [at("EU"), at("US")] } } });
    const open = imported("bifrost", text);
    expect(open.missingTargets.map(({ path }) => path)).toEqual(["providers.azure.keys[1]"]);
    const named = imported("bifrost", text, { models: ["gpt-4o"] });
    expect(named.missingTargets).toEqual([]);
    expect(Object.keys(section(named, "routes"))).toEqual(["azure-gpt-4o"]);
  });
  test("[d15.2] a key that is off is not used", () => {
    const result = made({
      providers: { openai: { keys: [key("a", "env.KEY_A"), { ...key("b", "env.KEY_B"), enabled: false }] } },
    });
    expect(section(result, "providers")).toEqual({ openai: { api_key: "${KEY_A:-}" } });
    expect(lineAt(result, "providers.openai.keys[1].value").outcome).toBe("without");
  });
  test("[d15.2] the time of one provider is not that of all where another one sets none", () => {
    const of = (seconds?: number) => ({
      keys: [key("k", "env.K")],
      ...(seconds !== undefined && { network_config: { default_request_timeout_in_seconds: seconds } }),
    });
    const timesOf = (providers: Record<string, unknown>) => section(made({ providers }), "route_defaults")["timeouts"];
    expect(timesOf({ openai: of(5), groq: of() })).toEqual({ first_byte_ms: 30_000 });
    expect(timesOf({ openai: of(5), groq: of(7) })).toEqual({ first_byte_ms: 7000 });
    expect(timesOf({ openai: of(90), groq: of() })).toEqual({ first_byte_ms: 90_000 });
    expect(timesOf({ openai: of() })).toBeUndefined();
    expect(timesOf({ openai: of(900) })).toEqual({ first_byte_ms: 900_000, total_ms: 900_000 });
  });
  test("a custom provider has the version in its address", () => {
    const result = made({
      providers: {
        mine: {
          keys: [key("k", "sk-plain-text")],
          network_config: { base_url: "https://llm.example.com" },
          custom_provider_config: { base_provider_type: "openai" },
        },
      },
    });
    expect(section(result, "providers")).toEqual({
      mine: {
        type: "custom",
        base_url: "https://llm.example.com/v1",
        api_key: "${file:/srv/dragoman/secrets/mine_k}",
      },
    });
    expect(lineAt(result, "providers.mine.keys[0].value").outcome).toBe("changed");
  });
  test("[d15.2] OpenAI at another address keeps its name, under which clients ask for its models", () => {
    const result = made({
      providers: {
        openai: { keys: [key("k", "env.K", 1, ["m"])], network_config: { base_url: "https://proxy.example.com" } },
      },
    });
    expect(section(result, "providers")).toEqual({
      openai: { base_url: "https://proxy.example.com/v1", api_key: "${K:-}", models: ["m"] },
    });
    expect(result.missingTargets).toEqual([]);
  });
  test("[d15.2] a custom provider with the id of a known one gets another id, and routes under its old name", () => {
    const custom = (models: readonly string[]) => ({
      keys: [key("k", "env.K", 1, models)],
      network_config: { base_url: "https://proxy.example.com" },
      custom_provider_config: { base_provider_type: "openai" },
    });
    const result = made({ providers: { deepseek: custom(["m"]), groq: custom(["*"]) } });
    expect(section(result, "providers")).toMatchObject({
      "deepseek-custom": { type: "custom", base_url: "https://proxy.example.com/v1" },
      "groq-custom": { type: "custom" },
    });
    expect(section(result, "routes")).toEqual({
      "deepseek-m": { aliases: ["deepseek/m"], strategy: "weighted", targets: ["deepseek-custom:m"] },
    });
    expect(result.missingTargets).toEqual([
      { line: 1, path: "providers.groq.keys[0]", why: expect.stringContaining("name its models with --model") },
    ]);
    const named = imported("bifrost", JSON.stringify({ providers: { groq: custom(["*"]) } }), { models: ["x"] });
    expect(section(named, "routes")).toMatchObject({ "groq-x": { aliases: ["groq/x"], targets: ["groq-custom:x"] } });
    expect(named.missingTargets).toEqual([]);
  });
  test("a custom provider at the address of a known one is that one", () => {
    const result = made({
      providers: {
        nvidia: {
          keys: [key("k", "env.K")],
          network_config: { base_url: "https://integrate.api.nvidia.com" },
          custom_provider_config: { base_provider_type: "openai" },
        },
      },
    });
    expect(section(result, "providers")).toEqual({ nvidia: { api_key: "${K:-}" } });
    expect(lineAt(result, "providers.nvidia.network_config.base_url").outcome).toBe("taken");
    expect(result.missingTargets).toEqual([]);
  });
  test("other names of models are routes", () => {
    const result = made({
      providers: {
        azure: {
          keys: [
            {
              value: "env.AZURE_KEY",
              azure_key_config: {
                endpoint: "https://e.openai.azure.com",
                api_version: "2024-10-21",
                deployments: { "gpt-4o": "my-4o", "gpt-5": "gpt-5" },
              },
            },
          ],
        },
      },
    });
    expect(section(result, "providers")).toMatchObject({
      azure: { base_url: "https://e.openai.azure.com", api_version: "2024-10-21" },
    });
    expect(section(result, "routes")).toEqual({
      "gpt-4o": { aliases: ["azure/gpt-4o"], targets: ["azure:my-4o"] },
    });
  });
});

test("[d15.2] the cache is for all calls only where all have a key, and otherwise for those that ask for it", () => {
  const withCache = (config: object) => made({ plugins: [{ name: "semantic_cache", enabled: true, config }] });
  const asked = withCache({ ttl: "10m" });
  expect(section(asked, "tenants")).toEqual({ default: { settings: { cache_allowed: true } } });
  expect(section(asked, "projects")).toEqual({});
  expect(lineAt(asked, "plugins[0].config.ttl").outcome).toBe("without");
  const all = withCache({ ttl: "10m", default_cache_key: "everybody" });
  expect(section(all, "projects")).toEqual({ default: { settings: { cache: { ttl_s: 600, scope: "project" } } } });
  expect(lineAt(all, "plugins[0].config.ttl")).toMatchObject({
    outcome: "taken",
    to: "projects.default.settings.cache.ttl_s",
  });
});

test("the client's settings, plugins and tool servers", () => {
  const result = made({
    client: {
      max_request_body_size_mb: 10,
      log_retention_days: 30,
      allowed_origins: ["*"],
      compat: { should_drop_params: true },
    },
    plugins: [{ name: "otel", enabled: true, config: { collector_url: "otel-collector:4317", protocol: "grpc" } }],
    mcp: { client_configs: [{ name: "weather", connection_type: "http", http_url: "http://localhost:8080/mcp" }] },
  });
  expect(section(result, "server")).toEqual({ max_body_bytes: 10_485_760 });
  expect(section(result, "calls")).toEqual({ keep_days: 30 });
  expect(section(result, "settings")).toEqual({ drop_params: true });
  expect(section(result, "integrations")).toEqual({ otel: { type: "otlp", endpoint: "http://otel-collector:4318" } });
  expect(section(result, "tool_servers")).toEqual({
    weather: { require_approval: "never", url: "http://localhost:8080/mcp", allowed_tools: [] },
  });
});

test("a tool server has the tools that Bifrost would run, which are none where it names none", () => {
  const server = (name: string, more: object) => ({ name, connection_type: "http", http_url: "http://x/mcp", ...more });
  const result = made({
    providers: {},
    mcp: {
      client_configs: [
        server("all", { tools_to_execute: ["*"] }),
        server("one", { tools_to_execute: ["forecast"] }),
        server("none", { tools_to_execute: [] }),
        server("unsaid", {}),
      ],
    },
  });
  expect(section(result, "tool_servers")).toMatchObject({
    all: { allowed_tools: ["*"] },
    one: { allowed_tools: ["forecast"] },
    none: { allowed_tools: [] },
    unsaid: { allowed_tools: [] },
  });
  expect(lineAt(result, "mcp.client_configs[2].tools_to_execute").outcome).toBe("taken");
});

test("[d15.2] the address of a server of tools keeps its query, in a file of its own", () => {
  const address = "https://tools.example.com/mcp?tools=search";
  const client = { name: "t", connection_type: "http", connection_string: address, tools_to_execute: ["*"] };
  const result = made({ providers: {}, mcp: { client_configs: [client] } });
  expect(section(result, "tool_servers")["t"]).toMatchObject({ url: `\${file:${FOLDER}/secrets/t_url}` });
  expect(result.secrets).toEqual([{ name: "secrets/t_url", text: address }]);
  expect(lineAt(result, "mcp.client_configs[0].connection_string").outcome).toBe("changed");
});

test("budgets and rate limits are said to be limits, and not people", () => {
  const governance = { budgets: [{ max_limit: 100 }], rate_limits: [{ token_max_limit: 5 }], teams: [{ name: "a" }] };
  const result = made({ providers: {}, governance });
  for (const [path, page] of [
    ["budgets[0].max_limit", "docs/limits.md"],
    ["rate_limits[0].token_max_limit", "docs/limits.md"],
    ["teams[0].name", "docs/identity.md"],
  ])
    expect(lineAt(result, `governance.${path!}`).note).toEndWith(page!);
});

test("anything else is refused with its place", () => {
  for (const value of [[], 5, { model_list: [] }, { providers: [] }])
    expect(() => made(value)).toThrow(ConfigurationError);
});
