// For each common parameter what the generated tests send: values that ask for something, what has to stand beside them, and the neutral ones; and for
// each provider model names that reach every exception of its table.
import { type Capability, capabilityOf } from "../../../src/core/capability.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import type { CommonParameter } from "../../../src/core/params.ts";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import { BEDROCK_MODELS } from "../../contract/providers/examples-bedrock.ts";
import { TOOL } from "../chat-calls.ts";

interface Sample {
  /** None of them is neutral. The first that a cell's values and range allow is sent, and the first that they do not allow must be refused. */
  readonly values: readonly unknown[];
  /** Documented values that mean "not set" where the parameter is unsupported (promise 6.3). */
  readonly neutral?: readonly unknown[];
  /** Fields without which the parameter says nothing. */
  readonly beside?: Readonly<Record<string, unknown>>;
}

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

/** Total: a new common parameter does not compile until it has a sample. */
export const SAMPLES: Readonly<Record<CommonParameter, Sample>> = {
  temperature: { values: [0.5, 1, 1.25, 1.75] },
  top_p: { values: [0.5, 0.995], neutral: [1] },
  n: { values: [2], neutral: [1] },
  stream: { values: [true] },
  stream_options: { values: [{ include_usage: true, include_obfuscation: false }], beside: { stream: true } },
  stop: { values: [["END", "FIN"], "END"], neutral: ["", []] },
  max_tokens: { values: [77] },
  max_completion_tokens: { values: [77] },
  presence_penalty: { values: [0.5], neutral: [0] },
  frequency_penalty: { values: [-0.5], neutral: [0] },
  logit_bias: { values: [{ "50256": -100 }], neutral: [{}] },
  user: { values: ["user-1"] },
  safety_identifier: { values: ["safe-1"] },
  response_format: {
    values: [
      { type: "json_object" },
      { type: "json_schema", json_schema: { name: "place", strict: true, schema: SCHEMA } },
    ],
    neutral: [{ type: "text" }],
  },
  seed: { values: [7] },
  tools: { values: [[TOOL]], neutral: [[]] },
  tool_choice: {
    values: [{ type: "function", function: { name: "weather" } }, "required", "none"],
    beside: { tools: [TOOL] },
  },
  parallel_tool_calls: { values: [false], neutral: [true], beside: { tools: [TOOL] } },
  logprobs: { values: [true], neutral: [false] },
  top_logprobs: { values: [2], beside: { logprobs: true } },
  reasoning_effort: { values: ["low", "high", "no-such-word"] },
  verbosity: { values: ["low"] },
  modalities: { values: [["text"]] },
  audio: { values: [{ voice: "Kore", format: "pcm16" }] },
  prediction: { values: [{ type: "content", content: "x" }] },
  service_tier: { values: ["flex", "default", "no-such-word"] },
  store: { values: [true], neutral: [false] },
  prompt_cache_key: { values: ["key-1"] },
  web_search_options: { values: [{ search_context_size: "medium" }] },
  deployment_id: { values: ["deployment-1"] },
  initial_prompt_value: { values: ["Begin."] },
  roles: { values: [{ user: { pre_message: "U: ", post_message: "" } }] },
  final_prompt_value: { values: ["End."] },
  bos_token: { values: ["<s>"] },
  eos_token: {
    values: ["<|the_end|>"],
    beside: {
      messages: [
        { role: "user", content: "Hello" },
        { role: "assistant", content: "Hi" },
        { role: "user", content: "Go on" },
      ],
    },
  },
  hf_model_name: { values: ["meta-llama/Llama-3.1-8B-Instruct"] },
};

/** Names that only some exception of the provider's table matches. The test that uses them checks that each exception is reached. */
const MODEL_NAMES: Readonly<Record<string, readonly string[]>> = {
  sandbox: ["echo"],
  openai: ["gpt-4o", "o3", "o1-mini", "gpt-5", "gpt-5.1", "gpt-5.6", "gpt-5-codex", "gpt-5.2-pro"],
  azure: ["gpt-4o", "o3", "o1-mini", "gpt-5", "gpt-5.1", "gpt-5.6", "gpt-5-codex", "gpt-5.2-pro"],
  azure_ai: ["gpt-4o", "o3", "o1-mini", "gpt-5", "gpt-5.1", "gpt-5.6", "gpt-5-codex", "gpt-5.2-pro"],
  databricks: [
    "databricks-meta-llama-3-3-70b-instruct",
    "databricks-claude-sonnet-4-5",
    "databricks-claude-opus-4-7",
    "databricks-claude-opus-4-8",
    "databricks-claude-opus-5",
    "databricks-claude-sonnet-5",
    "databricks-claude-opus-5-5",
    "databricks-claude-sonnet-5-5",
    "databricks-claude-haiku-5-5",
    "databricks-claude-fable-5-1",
    "databricks-claude-mythos-5",
  ],
  snowflake: ["openai-gpt-5.2", "claude-sonnet-4-6", "llama3.1-8b"],
  anthropic: [
    "claude-3-opus-20240229",
    "claude-3-5-sonnet-20241022",
    "claude-3-7-sonnet-20250219",
    "claude-opus-4-1-20250805",
    "claude-opus-4-5",
    "claude-sonnet-4-5",
    "claude-sonnet-4-6",
    "claude-opus-4-7",
    "claude-opus-4-8",
    "claude-sonnet-5",
    "claude-opus-4-20250514",
    "claude-sonnet-4-20250514",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-fable-5-1",
    "claude-mythos-5",
    "claude-opus-5",
    "claude-haiku-6",
    "some-other-model",
  ],
  gemini: [
    "gemini-3-flash-preview",
    "gemma-3-27b-it",
    "gemini-2.5-flash-preview-tts",
    "gemini-2.5-flash-image",
    "gemini-2.0-flash",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
  ],
  vertex: [
    "gemini-3-flash-preview",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "gemini-2.0-flash-001",
    "gemini-2.5-flash-image",
    "gemini-2.5-flash-tts",
    "gemma-3-27b-it",
    "endpoints/1234567890",
    "meta/llama-4-maverick-17b-128e-instruct-maas",
    "mistral-medium-3",
    "claude-3-opus@20240229",
    "claude-3-5-sonnet-v2@20241022",
    "claude-3-7-sonnet@20250219",
    "claude-opus-4-1@20250805",
    "claude-opus-4-5@20251101",
    "claude-sonnet-4-5@20250929",
    "claude-sonnet-4-6",
    "claude-opus-4-7@default",
    "claude-opus-4-8",
    "claude-sonnet-5",
    "claude-opus-4@20250514",
    "claude-sonnet-4@20250514",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-fable-5-1",
    "claude-mythos-5",
    "claude-opus-5",
    "claude-haiku-6",
  ],
  cohere: [
    "command-a-plus-05-2026",
    "command-r-plus-08-2024",
    "c4ai-aya-vision-8b",
    "command-a-vision-07-2025",
    "command-a-reasoning-08-2025",
  ],
  ollama: ["qwen3:4b", "gpt-oss:20b"],
  bedrock: BEDROCK_MODELS,
  ...Object.fromEntries(
    ["llamacpp", "vllm", "lmstudio", "sglang"].map((id) => [id, ["gpt-oss-20b", "Qwen/Qwen3.6-27B"]] as const),
  ),
  replicate: ["meta/meta-llama-3-8b-instruct", "openai/gpt-5", "anthropic/claude-4-sonnet", "meta/llama-2-70b-chat"],
  deepseek: ["deepseek-chat", "deepseek-flash"],
  xai: ["grok-2", "grok-4", "grok-4.3", "grok-4.5", "grok-4.6", "grok-code-fast-1", "grok-4.20-multi-agent-0309"],
  groq: ["llama-3.3-70b-versatile", "openai/gpt-oss-120b", "qwen/qwen3-32b"],
  copilot: ["gpt-4.1", "gpt-5", "gpt-5.3-codex"],
  "bedrock-mantle": ["openai.gpt-oss-120b", "openai.gpt-5.6-sol"],
  mistral: ["mistral-small-latest", "magistral-medium-latest", "zai-glm-5-3"],
  moonshot: ["kimi-k3", "kimi-k2.6", "kimi-k2.7-code", "kimi-k2-0905-preview", "moonshot-v1-8k"],
  zai: ["glm-5.2", "glm-4.7", "glm-5.3"],
  dashscope: ["qwen3.7-plus", "qwen-plus"],
  minimax: ["MiniMax-M3", "MiniMax-M2.7"],
  nvidia: [
    "meta/llama-3.1-8b-instruct",
    "mistralai/mistral-7b",
    "nvidia/omni-1",
    "nvidia/nemotron-4-340b-instruct",
    "google/gemma-2-9b-it",
  ],
};

export const modelNames = (provider: Provider): readonly string[] => MODEL_NAMES[provider.id] ?? ["some-model"];

/** The two names of the output bound are one parameter: a provider that has either has both (promise 5.5). */
export function cellOf({ capabilities }: Provider, name: CommonParameter, model: string): Capability {
  const cell = capabilityOf(capabilities, name, model);
  const other =
    name === "max_tokens" ? "max_completion_tokens" : name === "max_completion_tokens" ? "max_tokens" : null;
  return cell.support === "unsupported" && other !== null ? capabilityOf(capabilities, other, model) : cell;
}

/** What has to stand beside a parameter, as far as the model takes it: without tools their choice is still a parameter. */
export function besideOf(provider: Provider, name: CommonParameter, model: string): JsonObject {
  const beside = Object.entries(SAMPLES[name].beside ?? {}).filter(
    ([other]) => other !== "tools" || cellOf(provider, "tools", model).support !== "unsupported",
  );
  // the table is that of chat completions
  const hasTools = name === "tools" || beside.some(([other]) => other === "tools");
  const isOther = hasTools && provider.otherwise?.isNeeded({ tools: [TOOL] }, model) === true;
  return { ...(Object.fromEntries(beside) as JsonObject), ...(isOther && { reasoning_effort: "none" }) };
}

/** Undefined where a cell allows the neutral value alone. */
export function sampleFor(name: CommonParameter, cell: Capability): unknown {
  return SAMPLES[name].values.find((value) => allows(cell, value));
}

/** Undefined where the cell allows all of them. */
export function foreignSampleFor(name: CommonParameter, cell: Capability): unknown {
  return SAMPLES[name].values.find((value) => !allows(cell, value));
}

/** Values that mean "not set" to a model that has no such parameter: the common ones, and its own default. */
export function neutralSamples(name: CommonParameter, { neutral }: Capability): readonly unknown[] {
  const { values, neutral: common = [] } = SAMPLES[name];
  return [...common, ...values.filter((value) => neutral?.(value as Json, { params: {}, extra: {} }) === true)];
}

export function allows({ values, range }: Capability, value: unknown): boolean {
  if (typeof value === "number") return range === undefined || (value >= range[0] && value <= range[1]);
  const word = typeof value === "object" && value !== null && "type" in value ? value.type : value;
  return values === undefined || typeof word !== "string" || values.includes(word);
}

/** Where a provider documents that fields of its models stand, when it is not the top of the body (promise 6.5). */
export const PLACE_OF_FOREIGN_FIELDS: Readonly<Record<string, string>> = { bedrock: "additionalModelRequestFields" };

/**
 * Whether the gateway itself does what the parameter says, so that it changes nothing on the wire: as many calls, each for
 * one choice (several-choices.test.ts), or the first tool call alone (first-call-alone.test.ts).
 */
export function isDoneHere(name: CommonParameter, { support }: Capability): boolean {
  return support === "emulated" && (name === "n" || name === "parallel_tool_calls");
}
