// The differences between generations of Claude, as rows: https://platform.claude.com/docs/en/models/overview and the
// migration guides beside it. For a name that matches no row no feature is refused; the vendor decides.

export interface ModelFacts {
  /** The most tokens of one answer, including thinking. It is the default of `max_tokens`, which the API requires. */
  readonly maxOutputTokens: number;
  /** `budget`: the request sets a number of thinking tokens. `adaptive`: the model decides, guided by the effort. */
  readonly thinking: "none" | "budget" | "adaptive";
  /** The `thinking.type` that turns thinking off. `null` when the model always thinks or never does. */
  readonly thinkingOff: "disabled" | "between_tools" | null;
  /** Levels of `output_config.effort`. */
  readonly efforts: readonly string[];
  /** When false, the vendor refuses every temperature and top_p except their defaults. */
  readonly sampling: boolean;
  /** When false, the vendor refuses a `tool_choice` that forces a tool. */
  readonly forcedTools: boolean;
  /** When false, the vendor refuses such a choice in a request that turns on thinking. */
  readonly forcedBesideThinking: boolean;
  /** Whether the model has `output_config.format`. */
  readonly jsonSchema: boolean;
  /**
   * Whether the model accepts system messages behind the first turn. Without them a later system message would change
   * the start of the prompt, and the vendor's cache would not apply.
   */
  readonly systemTurns: boolean;
}

export interface Generation {
  /** Matched anywhere in the name, so that the names used by clouds and compatible servers match as well. */
  readonly models: RegExp;
  readonly facts: ModelFacts;
}

const CLAUDE_3: ModelFacts = {
  maxOutputTokens: 4_096,
  thinking: "none",
  thinkingOff: null,
  efforts: [],
  sampling: true,
  forcedTools: true,
  forcedBesideThinking: false,
  jsonSchema: false,
  systemTurns: false,
};
const CLAUDE_3_5: ModelFacts = { ...CLAUDE_3, maxOutputTokens: 8_192 };
const SONNET_4: ModelFacts = { ...CLAUDE_3, maxOutputTokens: 64_000, thinking: "budget", thinkingOff: "disabled" };
const OPUS_4: ModelFacts = { ...SONNET_4, maxOutputTokens: 32_000 };
const CLAUDE_4_5: ModelFacts = { ...SONNET_4, jsonSchema: true };
const CLAUDE_4_6: ModelFacts = {
  ...CLAUDE_4_5,
  maxOutputTokens: 128_000,
  thinking: "adaptive",
  efforts: ["low", "medium", "high", "max"],
};
const CLAUDE_4_7: ModelFacts = { ...CLAUDE_4_6, efforts: ["low", "medium", "high", "xhigh", "max"], sampling: false };
/**
 * Forced tool calls beside thinking came with this generation: https://github.com/langchain-ai/langchain-aws/pull/1141.
 */
const FORCED_BESIDE_THINKING: ModelFacts = { ...CLAUDE_4_7, forcedBesideThinking: true };
/**
 * System turns came with this generation:
 * https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
 */
const CLAUDE_4_8: ModelFacts = { ...FORCED_BESIDE_THINKING, systemTurns: true };
const ALWAYS_THINKING: ModelFacts = { ...CLAUDE_4_8, thinkingOff: null };

/** The first row that matches applies. */
export const GENERATIONS: readonly Generation[] = [
  { models: /claude-(?:instant|2|3-(?:opus|sonnet|haiku))/, facts: CLAUDE_3 },
  { models: /claude-3[-.]5-/, facts: CLAUDE_3_5 },
  { models: /claude-3[-.]7-/, facts: SONNET_4 },
  { models: /claude-opus-4[-.]1(?!\d)/, facts: { ...OPUS_4, jsonSchema: true } },
  { models: /claude-opus-4[-.]5(?!\d)/, facts: { ...CLAUDE_4_5, efforts: ["low", "medium", "high"] } },
  { models: /claude-(?:sonnet|haiku)-4[-.]5(?!\d)/, facts: CLAUDE_4_5 },
  { models: /claude-(?:opus|sonnet)-4[-.]6(?!\d)/, facts: CLAUDE_4_6 },
  { models: /claude-opus-4[-.]8(?!\d)/, facts: CLAUDE_4_8 },
  { models: /claude-(?:opus-4[-.]7|mythos-preview)(?!\d)/, facts: CLAUDE_4_7 },
  { models: /claude-opus-4(?!\d|[-.][1-9](?!\d))/, facts: OPUS_4 },
  { models: /claude-sonnet-4(?!\d|[-.][1-9](?!\d))/, facts: SONNET_4 },
  { models: /claude-opus-5[-.]5(?!\d)/, facts: { ...ALWAYS_THINKING, forcedTools: false } },
  {
    models: /claude-sonnet-5[-.]5(?!\d)/,
    facts: { ...FORCED_BESIDE_THINKING, thinkingOff: "between_tools", forcedTools: false },
  },
  { models: /claude-haiku-5[-.]5(?!\d)/, facts: FORCED_BESIDE_THINKING },
  { models: /claude-(?:fable|mythos)-5[-.][1-9](?!\d)/, facts: { ...ALWAYS_THINKING, forcedTools: false } },
  { models: /claude-(?:fable|mythos)-5(?!\d|[-.][1-9](?!\d))/, facts: ALWAYS_THINKING },
  { models: /claude-opus-5(?!\d|[-.][1-9](?!\d))/, facts: CLAUDE_4_8 },
  { models: /claude-sonnet-5(?!\d|[-.][1-9](?!\d))/, facts: FORCED_BESIDE_THINKING },
  // Models newer than this table.
  { models: /claude-[a-z]+-(?:4[-.][6-9]|[5-9]|[1-9]\d)(?!\d)/, facts: { ...FORCED_BESIDE_THINKING, sampling: true } },
];

/** The facts for a name that reveals no generation. Every model since Claude 3.5 can write this many tokens. */
export const UNKNOWN_MODEL: ModelFacts = { ...FORCED_BESIDE_THINKING, maxOutputTokens: 8_192, sampling: true };

export function factsOf(model: string): ModelFacts {
  return GENERATIONS.find((generation) => generation.models.test(model))?.facts ?? UNKNOWN_MODEL;
}
