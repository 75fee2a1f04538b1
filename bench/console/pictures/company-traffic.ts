// What kinds of calls the made company makes: which project, where they go, how long they are, and how fast the answers come.
import type { CallRecord } from "../../../src/core/record/record.ts";
import type { ProjectId } from "./company.ts";

/** The company's own provider. */
export const HOUSE = "house-gpu";

export interface Kind {
  readonly project: ProjectId;
  readonly caller: string;
  /** `direct` for calls that name their model. */
  readonly route: string;
  readonly operation: CallRecord["operation"];
  /** `<provider>:<model>` with its share of these calls. */
  readonly targets: readonly (readonly [target: string, share: number])[];
  readonly fallback?: string;
  readonly prompt: readonly [from: number, to: number];
  readonly completion: readonly [from: number, to: number];
  readonly stream: number;
  readonly firstMs: number;
  readonly tokensPerSecond: number;
  readonly weight: number;
  readonly customers: number;
  readonly parameters: readonly string[];
}

const CHAT = { operation: "chat.completions", stream: 0 } as const;
export const KINDS: readonly Kind[] = [
  {
    ...CHAT,
    project: "support",
    caller: "support-bot",
    route: "chat",
    targets: [["anthropic:claude-sonnet-4-5", 1]],
    fallback: "openai:gpt-5-mini",
    prompt: [1400, 5200],
    completion: [60, 640],
    stream: 0.95,
    firstMs: 620,
    tokensPerSecond: 74,
    weight: 38,
    customers: 420,
    parameters: ["temperature", "max_tokens", "tools"],
  },
  {
    ...CHAT,
    project: "support",
    caller: "support-triage",
    route: "triage",
    targets: [["openai:gpt-5-nano", 1]],
    prompt: [220, 900],
    completion: [6, 30],
    firstMs: 310,
    tokensPerSecond: 140,
    weight: 24,
    customers: 420,
    parameters: ["response_format", "max_completion_tokens"],
  },
  {
    ...CHAT,
    project: "search",
    caller: "trip-search",
    route: "itinerary",
    targets: [
      ["openai:gpt-5-mini", 0.75],
      ["mistral:mistral-small-latest", 0.25],
    ],
    prompt: [800, 3400],
    completion: [180, 900],
    stream: 0.8,
    firstMs: 480,
    tokensPerSecond: 96,
    weight: 17,
    customers: 260,
    parameters: ["temperature", "response_format"],
  },
  {
    project: "search",
    operation: "embeddings",
    stream: 0,
    caller: "trip-search",
    route: "direct",
    targets: [["openai:text-embedding-3-small", 1]],
    prompt: [12, 60],
    completion: [0, 0],
    firstMs: 90,
    tokensPerSecond: 1,
    weight: 9,
    customers: 0,
    parameters: ["dimensions"],
  },
  {
    ...CHAT,
    project: "search",
    caller: "trip-search-staging",
    route: "itinerary",
    targets: [["openai:gpt-5-mini", 1]],
    prompt: [800, 2600],
    completion: [180, 700],
    firstMs: 500,
    tokensPerSecond: 96,
    weight: 2,
    customers: 0,
    parameters: ["temperature", "logprobs"],
  },
  {
    ...CHAT,
    project: "content",
    caller: "article-writer",
    route: "summaries",
    targets: [[`${HOUSE}:qwen3-32b`, 1]],
    fallback: "mistral:mistral-small-latest",
    prompt: [2600, 9400],
    completion: [240, 900],
    firstMs: 540,
    tokensPerSecond: 58,
    weight: 9,
    customers: 0,
    parameters: ["temperature"],
  },
  {
    ...CHAT,
    project: "content",
    caller: "article-writer",
    route: "direct",
    targets: [[`${HOUSE}:qwen3-8b`, 1]],
    prompt: [300, 1200],
    completion: [20, 90],
    firstMs: 210,
    tokensPerSecond: 110,
    weight: 4,
    customers: 0,
    parameters: ["max_tokens"],
  },
  {
    ...CHAT,
    project: "analytics",
    caller: "weekly-report",
    route: "direct",
    targets: [["openai:gpt-5", 1]],
    prompt: [5200, 16_000],
    completion: [900, 2600],
    firstMs: 2400,
    tokensPerSecond: 52,
    weight: 1.4,
    customers: 0,
    parameters: ["reasoning_effort", "response_format"],
  },
];
