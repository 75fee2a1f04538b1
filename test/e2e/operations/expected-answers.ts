// What a client has to receive of a scripted answer: the same text from every wire family, and the few fields in which
// they differ.
import { expect } from "bun:test";
import type { Family, Wire } from "./families.ts";
import { AZURE_PROMPT_FILTER } from "./wire-families-clouds.ts";
import { OLLAMA_TIMES } from "./wire-families-native.ts";

export const TRACE_ID = /^[0-9a-f]{32}$/;
const CREATED = 1_767_000_000;

type Finish = "stop" | "length" | "tool_calls" | "content_filter" | "function_call";

interface Differences {
  /** The provider's id of the answer; null: it tells none, and the gateway makes one. */
  readonly id: string | null;
  /** Whether the provider says when; else it is now. */
  readonly tellsTime: boolean;
  /** Fields of the provider's own beside an answer, and on some chunk of a stream. */
  readonly beside: Readonly<Record<string, unknown>>;
  /** Its words for how an answer ended; null: they are OpenAI's. */
  readonly native: Readonly<Record<Finish, string>> | null;
  /** Whether its calls have ids; else the gateway makes them. */
  readonly callIds: boolean;
  readonly cachedTokens: boolean;
  /** When it counts apart what was thought. */
  readonly reasoningTokens: "always" | "where-it-thought" | "never";
  readonly billedUnits: boolean;
  readonly signsThoughts: boolean;
  /** What is asked for by a forced call there, whose own word for the end is another. */
  readonly jsonByCall: readonly ("json_object" | "json_schema")[];
  /** Whether it has a word for an answer that was withheld. */
  readonly withholds: boolean;
}

const PLAIN: Differences = {
  id: null,
  tellsTime: false,
  beside: {},
  native: null,
  callIds: true,
  cachedTokens: false,
  reasoningTokens: "never",
  billedUnits: false,
  signsThoughts: false,
  jsonByCall: [],
  withholds: true,
};
const OPENAI: Differences = {
  ...PLAIN,
  id: "chatcmpl-scripted",
  tellsTime: true,
  beside: { system_fingerprint: "fp_scripted" },
  reasoningTokens: "where-it-thought",
};
const CLAUDE: Differences = { ...PLAIN, signsThoughts: true, jsonByCall: ["json_object"] };
const ANTHROPIC: Differences = {
  ...CLAUDE,
  id: "msg_scripted",
  native: {
    stop: "end_turn",
    length: "max_tokens",
    tool_calls: "tool_use",
    content_filter: "refusal",
    function_call: "tool_use",
  },
};
const GEMINI: Differences = {
  ...PLAIN,
  id: "scripted",
  callIds: false,
  cachedTokens: true,
  reasoningTokens: "always",
  native: { stop: "STOP", length: "MAX_TOKENS", tool_calls: "STOP", content_filter: "SAFETY", function_call: "STOP" },
};

const DIFFERENCES: Readonly<Record<Wire, Differences>> = {
  openai: OPENAI,
  azure: { ...OPENAI, beside: { ...OPENAI.beside, prompt_filter_results: AZURE_PROMPT_FILTER } },
  anthropic: ANTHROPIC,
  gemini: GEMINI,
  vertex: GEMINI,
  vertex_claude: { ...ANTHROPIC, jsonByCall: ["json_object", "json_schema"] },
  bedrock: {
    ...CLAUDE,
    native: {
      stop: "end_turn",
      length: "max_tokens",
      tool_calls: "tool_use",
      content_filter: "content_filtered",
      function_call: "tool_use",
    },
  },
  sagemaker: OPENAI,
  cohere: {
    ...PLAIN,
    id: "cohere-scripted",
    reasoningTokens: "where-it-thought",
    billedUnits: true,
    native: {
      stop: "COMPLETE",
      length: "MAX_TOKENS",
      tool_calls: "TOOL_CALL",
      content_filter: "ERROR_TOXIC",
      function_call: "TOOL_CALL",
    },
  },
  ollama: {
    ...PLAIN,
    tellsTime: true,
    beside: OLLAMA_TIMES,
    withholds: false,
    native: { stop: "stop", length: "length", tool_calls: "stop", content_filter: "stop", function_call: "stop" },
  },
};

/**
 * What is the same on a plain answer and on every chunk, but for the fields `expectedBeside`, and for route and trace
 * id, which only the first and the last chunk have.
 */
export function expectedFrame(family: Family) {
  const { id, tellsTime, beside } = DIFFERENCES[family.wire];
  return {
    id: id ?? (expect.stringMatching(/^chatcmpl-[0-9a-f]{32}$/) as string),
    created: tellsTime ? CREATED : (expect.any(Number) as number),
    model: family.model,
    route: "direct",
    x_gateway_trace_id: expect.stringMatching(TRACE_ID) as string,
    ...beside,
  };
}

/** The provider's own fields, which may stand on any chunk of a stream. */
export function expectedBeside({ wire }: Family): Readonly<Record<string, unknown>> {
  return DIFFERENCES[wire].beside;
}

/** Seconds: when the provider says that it answered, else now. */
export function expectedTime({ wire }: Family): number {
  return DIFFERENCES[wire].tellsTime ? CREATED : Date.now() / 1000;
}

export function expectedEnd({ wire }: Family, finish: Finish, native: Finish = finish) {
  const words = DIFFERENCES[wire].native;
  return { finish_reason: finish, ...(words !== null && { native_finish_reason: words[native] }) };
}

/** The end of an answer in that format. */
export function expectedJsonEnd(family: Family, format: "json_object" | "json_schema") {
  return expectedEnd(family, "stop", DIFFERENCES[family.wire].jsonByCall.includes(format) ? "tool_calls" : "stop");
}

/** How an answer ends that was withheld. */
export function expectedWithheld({ wire }: Family): "content_filter" | "stop" {
  return DIFFERENCES[wire].withholds ? "content_filter" : "stop";
}

/** Tokens of thought that are counted apart; null: they are not. */
export function expectedThought({ wire }: Family, reasoning: number): number | null {
  const { reasoningTokens } = DIFFERENCES[wire];
  return reasoningTokens === "always" || (reasoningTokens === "where-it-thought" && reasoning > 0) ? reasoning : null;
}

export function expectedUsage(family: Family, prompt: number, completion: number, reasoning = 0) {
  const { cachedTokens, billedUnits } = DIFFERENCES[family.wire];
  const thought = expectedThought(family, reasoning);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cachedTokens && { prompt_tokens_details: { cached_tokens: 0 } }),
    ...(thought !== null && { completion_tokens_details: { reasoning_tokens: thought } }),
    ...(billedUnits && { billed_units: { input_tokens: prompt, output_tokens: completion } }),
  };
}

export function expectedCallId({ wire }: Family, id: string): string {
  return DIFFERENCES[wire].callIds ? id : (expect.stringMatching(/^call_[a-zA-Z0-9_-]{1,59}$/) as string);
}

export function expectedCall(family: Family, id: string, name: string, input: object) {
  return {
    id: expectedCallId(family, id),
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  } as const;
}

/** Reasoning as a client that knows more than its text gets it: signed where the provider signs. */
export function expectedDetails({ wire }: Family, text: string) {
  return DIFFERENCES[wire].signsThoughts
    ? {
        reasoning_details: [
          { type: "reasoning.text", text, signature: "c2lnbmVk", format: "anthropic-claude-v1", index: 0 },
        ],
      }
    : {};
}
