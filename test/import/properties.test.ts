// What holds of every import: each value has one line, no secret is shown, texts of the file stand literally, and what is
// made is valid. Configurations are drawn at random from words that the imports know and words that they do not.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ConfigurationError } from "../../src/config/problem.ts";
import { leavesOf, parseForeignFile } from "../../src/import/foreign-file.ts";
import { GATEWAY_NAMES, type GatewayName } from "../../src/import/gateway-names.ts";
import type { Imported } from "../../src/import/import-configuration.ts";
import { drawCount } from "../harness/time/long-run.ts";
import { imported } from "./imported.ts";

const SECRET = "sk-planted-7f3e9a1c5b2d8e4f6a0c";

const scalar = fc.oneof(
  fc.constantFrom<unknown>(
    "openai/gpt-4o",
    "azure/dep",
    "@openai-prod/gpt-4o",
    "os.environ/SOME_KEY",
    "env.SOME_KEY",
    "https://llm.example.com/v1",
    "http://user:pw@host/v1",
    "${HOME}",
    "${file:/etc/passwd}",
    "30d",
    "redis",
    "fallback",
    "loadbalance",
    "presidio",
    "pre_call",
    true,
    false,
    null,
    0,
    1,
    -5,
    0.5,
    1e21,
    SECRET,
  ),
  fc.string({ maxLength: 12 }),
  fc.integer(),
);
const WORDS = {
  litellm: [
    "model_name",
    "litellm_params",
    "model",
    "api_key",
    "api_base",
    "weight",
    "rpm",
    "tpm",
    "timeout",
    "num_retries",
    "temperature",
    "extra_body",
    "fallbacks",
    "max_budget",
    "budget_duration",
    "cooldown_time",
    "silent_model",
    "default_on",
    "on_flagged",
    "project_id",
    "location",
    "template_id",
    "guardrailIdentifier",
    "severity_threshold",
    "presidio_analyzer_api_base",
    "cache",
    "cache_params",
    "callbacks",
    "master_key",
    "database_url",
    "guardrail_name",
    "mode",
    "url",
    "command",
    "token",
    "vertex_credentials",
    "aws_access_key_id",
  ],
  portkey: [
    "strategy",
    "mode",
    "targets",
    "provider",
    "virtual_key",
    "api_key",
    "override_params",
    "model",
    "retry",
    "attempts",
    "cache",
    "weight",
    "custom_host",
    "name",
    "aws_secret_access_key",
    "max_age",
  ],
  openrouter: [
    "data",
    "slug",
    "designated_version",
    "config",
    "model",
    "models",
    "provider",
    "temperature",
    "plugins",
    "system_prompt",
    "messages",
    "api_key",
  ],
  bifrost: [
    "keys",
    "value",
    "models",
    "weight",
    "network_config",
    "base_url",
    "openai",
    "azure",
    "azure_key_config",
    "endpoint",
    "custom_provider_config",
    "base_provider_type",
    "client_configs",
    "name",
    "plugins",
    "config",
    "aliases",
  ],
} as const satisfies Readonly<Record<GatewayName, readonly string[]>>;

/** Settings of a gateway with any values. */
type Entry = fc.Arbitrary<Record<string, unknown>>;

/** A whole configuration: something of the right form at the top, and any settings below. */
const CONFIGURATIONS: Readonly<Record<GatewayName, (entry: Entry) => fc.Arbitrary<unknown>>> = {
  litellm: (entry) =>
    fc.record(
      {
        model_list: fc.array(
          fc.record({
            model_name: fc.constantFrom("a", "b", "openai/*", "x/y"),
            litellm_params: fc
              .tuple(fc.constantFrom("openai/a", "azure/b", "gpt-4o", "nobody/c", "bedrock/converse/d"), entry)
              .map(([model, rest]) => ({ ...rest, model })),
            model_info: entry,
          }),
          { maxLength: 4 },
        ),
        litellm_settings: entry,
        router_settings: entry,
        general_settings: entry,
        environment_variables: fc.constant({ SOME_KEY: SECRET }),
        guardrails: fc.array(
          fc.record({
            guardrail_name: fc.constant("g"),
            litellm_params: fc
              .tuple(
                fc.constantFrom("presidio", "lakera_v2", "azure/text_moderations", "bedrock", "model_armor"),
                entry,
              )
              .map(([guardrail, rest]) => ({ guardrail, ...rest })),
          }),
          { maxLength: 2 },
        ),
        mcp_servers: fc.dictionary(fc.constantFrom("s", "t"), entry, { maxKeys: 2 }),
      },
      { requiredKeys: ["model_list"] },
    ),
  portkey: (entry) =>
    fc.record(
      { strategy: entry, targets: fc.array(entry, { maxLength: 3 }), retry: entry },
      { requiredKeys: ["targets"] },
    ),
  openrouter: (entry) => entry.map((rest) => ({ ...rest, model: "openai/gpt-4o", data: undefined })),
  bifrost: (entry) =>
    fc.record(
      {
        providers: fc.dictionary(fc.constantFrom("openai", "azure", "bedrock", "vertex", "mine"), entry, {
          maxKeys: 3,
        }),
        client: entry,
        mcp: entry,
        plugins: fc.array(entry, { maxLength: 2 }),
      },
      { requiredKeys: ["providers"] },
    ),
};

function drawn(gateway: GatewayName): fc.Arbitrary<unknown> {
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      scalar,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(
        fc.oneof(fc.constantFrom(...WORDS[gateway]), fc.constantFrom("unknown_setting", "x y")),
        tie("value"),
        { maxKeys: 5 },
      ),
    ),
  }));
  return CONFIGURATIONS[gateway](fc.dictionary(fc.constantFrom(...WORDS[gateway]), value, { maxKeys: 6 }));
}

/** `null` for a configuration that is refused as a whole. */
function tried(gateway: GatewayName, text: string): Imported | null {
  try {
    return imported(gateway, text);
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    expect(thrown.message).not.toContain(SECRET);
    expect(thrown.message).not.toContain("the imported configuration");
    return null;
  }
}

/** What the gateway does in any case has words; every other place has its last name in the configuration. */
function isThere(to: string, { configuration, secrets }: Imported): boolean {
  const isPath = Object.keys(configuration).some((name) => to === name || to.startsWith(`${name}.`));
  if (!isPath && !/^[^ ]+:|:[^ ]+ in routes\./.test(to))
    return / |^content_log$|^integrations$/.test(to) || to.startsWith("secrets/");
  const name = isPath ? to.split(".").at(-1)! : to.replace(/^.* of (?=[^ ]+:)/, "").replace(/ in routes\..*$/, "");
  const text = JSON.stringify([configuration, secrets.map((each) => each.name)]);
  return text.includes(JSON.stringify(name).slice(1, -1)) || text.includes(`"${name.split(":")[0]!}"`);
}

describe.each(GATEWAY_NAMES)("any configuration of %s", (gateway) => {
  test("[d15.2] has a line for each of its values, shows no secret, and makes a valid configuration or none", () => {
    let count = 0;
    fc.assert(
      fc.property(drawn(gateway), (config) => {
        const text = JSON.stringify(config);
        const result = tried(gateway, text);
        if (result === null) return;
        count += 1;
        const { root } = parseForeignFile({ file: "f", text, yaml: gateway === "litellm" ? "1.1" : "1.2" });
        expect(result.report).toHaveLength([...leavesOf(root)].length);
        expect(JSON.stringify([result.report, result.configuration])).not.toContain(SECRET.slice(3));
        for (const { outcome, to } of result.report) if (outcome !== "without") expect(isThere(to!, result)).toBe(true);
        expect(JSON.stringify(result.configuration)).not.toMatch(/[^$]\$\{(HOME|file:\/etc)/);
      }),
      { numRuns: drawCount(150, 5000) },
    );
    expect(count).toBeGreaterThan(10);
  });
});
