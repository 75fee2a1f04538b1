// Writes the body of a simulated call from what is known of it: its operation, the size of its text, and the names of
// its parameters. The body passes the gateway's own parser like that of a real call.
import type { ChatRequest } from "../core/chat.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { OperationName } from "../core/operation.ts";
import type { CommonParameter } from "../core/params.ts";
import { DEPRECATED_NAMES } from "../engine/fit/fit.ts";
import { openingOf } from "../core/request/conversation-figures.ts";

/** Operations whose calls can be simulated. */
export const SIMULATED_OPERATIONS = [
  "chat.completions",
  "responses",
  "messages",
  "completions",
  "embeddings",
  "rerank",
  "moderations",
] as const satisfies readonly OperationName[];
export type SimulatedOperation = (typeof SIMULATED_OPERATIONS)[number];

export interface WrittenCall {
  readonly operation: SimulatedOperation;
  readonly route?: string | undefined;
  readonly model?: string | undefined;
  readonly stream: boolean;
  readonly user?: string | undefined;
  readonly promptTokens: number;
  readonly maxTokens?: number | undefined;
  readonly numRetries?: number | undefined;
  readonly fallbacks?: readonly unknown[] | undefined;
  readonly timeoutMs?: number | undefined;
  /** Names of further parameters, and types of content blocks; only chat completions have them. */
  readonly parameters?: readonly string[];
  readonly blocks?: readonly string[];
}

/** What the gateway estimates as one token, and the tokens that a message costs beside its text. */
const FILLER = "and ";
const PER_MESSAGE = 4;
/** What is longer is not written, because a simulation may have many prompts. */
export const MOST_WRITTEN = 4096;

/** The text of a call and the bound of its answer, as each operation has them. */
const WRITTEN: Readonly<Record<SimulatedOperation, (text: string, bound: number | undefined) => object>> = {
  "chat.completions": (content, bound) => ({
    messages: [{ role: "user", content }],
    max_completion_tokens: bound,
  }),
  responses: (input, bound) => ({ input, max_output_tokens: bound }),
  messages: (content, bound = DEFAULT_BOUND) => ({ messages: [{ role: "user", content }], max_tokens: bound }),
  completions: (prompt, bound) => ({ prompt, max_tokens: bound }),
  embeddings: (input) => ({ input }),
  rerank: (text) => ({ query: text, documents: [text] }),
  moderations: (input) => ({ input }),
};
/** Messages have to say a bound. */
const DEFAULT_BOUND = 1024;
const STREAMED: ReadonlySet<SimulatedOperation> = new Set(["chat.completions", "responses", "messages", "completions"]);
/** The form of messages has the user in its metadata. */
const NAMES_USERS: ReadonlySet<SimulatedOperation> = new Set(["responses", "completions", "embeddings"]);

export function writtenRequest(call: WrittenCall): string {
  const { operation, model, route, stream, user, promptTokens, maxTokens, parameters = [], blocks = [] } = call;
  const own = {
    route,
    num_retries: call.numRetries,
    fallbacks: call.fallbacks,
    timeout: call.timeoutMs === undefined ? undefined : call.timeoutMs / 1000,
  };
  const text = FILLER.repeat(Math.max(1, promptTokens - PER_MESSAGE)).trimEnd();
  const written = WRITTEN[operation](text, maxTokens);
  const streamed = STREAMED.has(operation) ? { stream } : {};
  if (operation !== "chat.completions")
    return JSON.stringify({
      model,
      ...written,
      ...streamed,
      ...(NAMES_USERS.has(operation) && { user }),
      x_gateway: own,
    });
  return JSON.stringify({
    model,
    ...written,
    ...samplesOf(parameters),
    ...(blocks.length > 0 && { messages: [{ role: "user", content: contentOf(text, blocks) }] }),
    ...streamed,
    ...(user !== undefined && { user }),
    ...own,
  });
}

const CONVERSATIONS: ReadonlySet<OperationName> = new Set(["chat.completions", "responses", "messages"]);

/** Returns the request with a prompt of this length: what was not written of a conversation is counted like one that another thread holds. */
export function withPrompt(request: ChatRequest, operation: OperationName, promptTokens: number): ChatRequest {
  const left = promptTokens - MOST_WRITTEN;
  if (left <= 0 || !CONVERSATIONS.has(operation)) return request;
  const characters = left * FILLER.length;
  return {
    ...request,
    held: {
      id: 0,
      members: [],
      count: 0,
      roles: {},
      parts: {},
      characters,
      bodyCharacters: characters,
      promptTokens: left,
      skeleton: [],
      opening: openingOf(request),
      addressed: new Set(),
      unanswered: [],
      memberFacts: null,
    },
  };
}

const TOOL = { type: "function", function: { name: "tool", parameters: { type: "object", properties: {} } } };

interface Sample {
  readonly value: Json;
  /** Parameters without which this one is refused. */
  readonly beside?: JsonObject;
}

/** A usual value of each parameter, because only the names of parameters are recorded. */
const SAMPLES: Readonly<Record<CommonParameter, Sample>> = {
  temperature: { value: 0.5 },
  top_p: { value: 0.5 },
  n: { value: 2 },
  stream: { value: true },
  stream_options: { value: { include_usage: true }, beside: { stream: true } },
  stop: { value: ["END"] },
  max_tokens: { value: 256 },
  max_completion_tokens: { value: 256 },
  presence_penalty: { value: 0.5 },
  frequency_penalty: { value: 0.5 },
  logit_bias: { value: { "50256": -100 } },
  user: { value: "user" },
  safety_identifier: { value: "user" },
  response_format: { value: { type: "json_object" } },
  seed: { value: 7 },
  tools: { value: [TOOL] },
  tool_choice: { value: "auto", beside: { tools: [TOOL] } },
  parallel_tool_calls: { value: false, beside: { tools: [TOOL] } },
  logprobs: { value: true },
  top_logprobs: { value: 2, beside: { logprobs: true } },
  reasoning_effort: { value: "low" },
  verbosity: { value: "low" },
  modalities: { value: ["text"] },
  audio: { value: { voice: "alloy", format: "pcm16" } },
  prediction: { value: { type: "content", content: "word" } },
  service_tier: { value: "default" },
  store: { value: true },
  prompt_cache_key: { value: "key" },
  web_search_options: { value: {} },
  deployment_id: { value: "deployment" },
  initial_prompt_value: { value: "Begin." },
  roles: { value: { user: { pre_message: "U: ", post_message: "" } } },
  final_prompt_value: { value: "End." },
  bos_token: { value: "<s>" },
  eos_token: { value: "</s>" },
  hf_model_name: { value: "model" },
};

const isWritable = (name: string): name is CommonParameter => Object.hasOwn(SAMPLES, name);

/** The deployment is a model of its own, and the two names of the output bound are one parameter. */
const UNWRITTEN: ReadonlySet<string> = new Set(["deployment_id", "stream"]);

/** The deprecated names are those of the same parameters. */
const CURRENT_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries(DEPRECATED_NAMES).map(([name, deprecated]) => [deprecated, name]),
);

function samplesOf(sent: readonly string[]): JsonObject {
  const names = sent.map((name) => CURRENT_NAMES.get(name) ?? name);
  const known = names.filter((name) => isWritable(name) && !UNWRITTEN.has(name)) as readonly CommonParameter[];
  const samples = Object.fromEntries(
    known.flatMap((name) => [...Object.entries(SAMPLES[name].beside ?? {}), [name, SAMPLES[name].value] as const]),
  );
  const { max_tokens: short, max_completion_tokens: long, ...rest } = samples;
  return short === undefined && long === undefined ? samples : { ...rest, max_completion_tokens: long ?? short };
}

const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Content blocks that a user's message may have; what else is recorded stands in turns of the model. */
const BLOCKS: ReadonlyMap<string, JsonObject> = new Map([
  ["image_url", { type: "image_url", image_url: { url: PIXEL } }],
  ["input_audio", { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }],
  ["file", { type: "file", file: { filename: "file.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } }],
]);

function contentOf(text: string, types: readonly string[]): readonly JsonObject[] {
  return [{ type: "text", text }, ...types.map((type) => BLOCKS.get(type)).filter((block) => block !== undefined)];
}
