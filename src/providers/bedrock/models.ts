// The differences between the model families behind Converse, as rows:
// https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html and the
// vendors' pages beside it. For a name that matches no row (such as the ARN of a user's own inference profile) no
// feature is refused; the vendor decides.
import { factsOf as claudeFactsOf, GENERATIONS, type ModelFacts as ClaudeFacts } from "../claude/models.ts";

/** The form of `reasoning_effort` of families other than Claude: each has its own field, or none. */
export type ReasoningForm = "nova" | "gpt_oss" | "openai" | "qwen" | "always" | "none" | "unknown";

export interface FamilyFacts {
  /** When false, the vendor refuses system prompts, and they are put at the start of the first user turn. */
  readonly system: boolean;
  readonly tools: boolean;
  /** The values of `toolChoice` that the family accepts beside auto. */
  readonly toolChoice: "all" | "any" | "none";
  readonly images: boolean;
  readonly documents: boolean;
  readonly video: boolean;
  readonly audio: boolean;
  readonly stop: boolean;
  /** Whether the family takes `temperature` and `topP` at all. */
  readonly sampling: boolean;
  /** Whether the family has `outputConfig.textFormat`, and strict tools with it. */
  readonly jsonSchema: boolean;
  readonly reasoning: ReasoningForm;
  /** Set for Claude only, which has its own form of `reasoning_effort`. */
  readonly claude: ClaudeFacts | null;
}

interface Family {
  /** Matched anywhere in the name, because names may begin with a geography or be ARNs. */
  readonly models: RegExp;
  readonly facts: FamilyFacts;
}

/** The facts for a name that reveals no family. */
export const UNKNOWN_FAMILY: FamilyFacts = {
  system: true,
  tools: true,
  toolChoice: "all",
  images: true,
  documents: true,
  video: true,
  audio: false,
  stop: true,
  sampling: true,
  jsonSchema: false,
  reasoning: "unknown",
  claude: null,
};

const TEXT: FamilyFacts = {
  ...UNKNOWN_FAMILY,
  tools: false,
  toolChoice: "none",
  images: false,
  documents: false,
  video: false,
  reasoning: "none",
};
const TEXT_AND_DOCUMENTS: FamilyFacts = { ...TEXT, documents: true };
const WITH_TOOLS: FamilyFacts = { ...TEXT_AND_DOCUMENTS, tools: true };
const NOVA: FamilyFacts = { ...WITH_TOOLS, toolChoice: "all", images: true, video: true };
/** Models with open weights, served since 2025 with structured output. Their other features are not restricted here. */
const OPEN_WEIGHTS: FamilyFacts = { ...UNKNOWN_FAMILY, toolChoice: "none", jsonSchema: true, reasoning: "none" };

function claudeFamily(name: RegExp, claude: ClaudeFacts, more: Partial<FamilyFacts> = {}): Family {
  // On Bedrock, an effort beside a budget is a beta feature.
  const facts = claude.thinking === "budget" ? { ...claude, efforts: [] } : claude;
  return {
    models: name,
    facts: {
      ...WITH_TOOLS,
      images: true,
      toolChoice: claude.forcedTools ? "all" : "none",
      claude: facts,
      ...more,
    },
  };
}

const CLAUDE_2 = claudeFamily(/claude-(?:instant|v?2)/, claudeFactsOf("claude-2"), {
  tools: false,
  toolChoice: "none",
  images: false,
});
const CLAUDE_3_5_HAIKU = claudeFamily(/claude-3[-.]5-haiku/, claudeFactsOf("claude-3-5-haiku"), { images: false });
/** On Bedrock, fewer generations of Claude have structured output than at Anthropic. */
const WITH_FORMAT = ["claude-opus-4-5", "claude-sonnet-4-5", "claude-sonnet-4-6"];
const CLAUDES: readonly Family[] = [
  CLAUDE_2,
  CLAUDE_3_5_HAIKU,
  ...GENERATIONS.map(({ models, facts }) =>
    claudeFamily(models, facts, { jsonSchema: WITH_FORMAT.some((name) => models.test(name)) }),
  ),
];

/** The first row that matches applies. */
export const FAMILIES: readonly Family[] = [
  ...CLAUDES,
  { models: /nova-2-/, facts: { ...NOVA, reasoning: "nova" } },
  { models: /nova-micro/, facts: { ...NOVA, documents: false, images: false, video: false } },
  { models: /nova-(?:lite|pro|premier)/, facts: NOVA },
  { models: /titan-text-premier|titan-tg1/, facts: { ...TEXT, system: false } },
  { models: /titan-text/, facts: { ...TEXT_AND_DOCUMENTS, system: false } },
  { models: /ai21\.(?:jamba-instruct|j2)/, facts: TEXT },
  { models: /ai21\.jamba/, facts: WITH_TOOLS },
  { models: /cohere\.command-r/, facts: WITH_TOOLS },
  { models: /cohere\.command/, facts: { ...TEXT_AND_DOCUMENTS, system: false } },
  { models: /llama3-2-(?:1|3)b|llama2|llama3-(?:8|70)b/, facts: TEXT_AND_DOCUMENTS },
  { models: /llama3-2-(?:11|90)b|llama4/, facts: { ...WITH_TOOLS, images: true } },
  { models: /llama3-[13]-/, facts: WITH_TOOLS },
  { models: /mistral\.(?:mistral-7b|mixtral)/, facts: { ...TEXT_AND_DOCUMENTS, system: false } },
  { models: /mistral\.mistral-small/, facts: { ...WITH_TOOLS, documents: false, toolChoice: "any" } },
  { models: /mistral\.pixtral/, facts: { ...WITH_TOOLS, images: true, toolChoice: "any" } },
  { models: /mistral\.mistral-large-24/, facts: { ...WITH_TOOLS, toolChoice: "any" } },
  { models: /voxtral/, facts: { ...OPEN_WEIGHTS, audio: true } },
  { models: /mistral\.(?:mistral-large-3|magistral-small|ministral-3)/, facts: { ...OPEN_WEIGHTS, toolChoice: "any" } },
  { models: /deepseek\.r1/, facts: { ...TEXT_AND_DOCUMENTS, reasoning: "always" } },
  // It takes a named tool too, without obeying: https://github.com/langchain-ai/langchain-aws/pull/1261
  { models: /deepseek\.v3/, facts: { ...OPEN_WEIGHTS, toolChoice: "any" } },
  { models: /gemma-3-(?:12|27)b|minimax-m2/, facts: OPEN_WEIGHTS },
  { models: /moonshot.*thinking|kimi.*thinking/, facts: { ...OPEN_WEIGHTS, toolChoice: "all", reasoning: "always" } },
  { models: /moonshot|kimi|zai\.glm/, facts: { ...OPEN_WEIGHTS, toolChoice: "all" } },
  { models: /qwen\.?3/, facts: { ...OPEN_WEIGHTS, reasoning: "qwen" } },
  { models: /gpt-oss/, facts: { ...WITH_TOOLS, documents: false, stop: false, reasoning: "gpt_oss" } },
  // "This model doesn't support the temperature field": https://github.com/run-llama/llama_index/issues/23211
  { models: /openai\.gpt-\d/, facts: { ...UNKNOWN_FAMILY, sampling: false, reasoning: "openai" } },
  // https://github.com/langchain-ai/langchain-aws/issues/883
  { models: /nvidia\.nemotron-nano/, facts: { ...UNKNOWN_FAMILY, jsonSchema: true } },
  { models: /palmyra/, facts: WITH_TOOLS },
];

export function familyOf(model: string): FamilyFacts {
  return FAMILIES.find(({ models }) => models.test(model))?.facts ?? UNKNOWN_FAMILY;
}
