// The answers of the scripted provider, in no provider's form: chosen by a word `#name` in the conversation, so that
// every client can ask for them.

export interface ScriptedCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ScriptedChoice {
  /** Pieces of a stream; a plain answer has them joined. */
  readonly reasoning?: readonly string[];
  readonly text?: readonly string[];
  readonly calls?: readonly ScriptedCall[];
  readonly finish: "stop" | "length" | "tool_calls" | "content_filter";
}

export interface ScriptedAnswer {
  readonly choices: readonly ScriptedChoice[];
  /** `reasoning` is part of `completion`. */
  readonly usage: { readonly prompt: number; readonly completion: number; readonly reasoning?: number };
  /** Instead of an end: a stream goes silent, or tells an error once the test says so. A plain answer never comes. */
  readonly afterwards?: "silence" | "error";
}

export const FAILURES = [
  "context",
  "rate-limit",
  "not-found",
  "refused-key",
  "server",
  "overloaded",
  "invalid",
] as const;
export type ScriptedFailure = (typeof FAILURES)[number];

export const TEXT = "Bonjour, monde — ✓";
export const THOUGHT = "The question is old. The answer is short.";
export const FORECAST = { city: "Paris", degrees: 21 };
/** The schema of FORECAST, strict as the clients want it. */
export const FORECAST_SCHEMA: Record<string, unknown> = {
  type: "object",
  properties: { city: { type: "string" }, degrees: { type: "integer" } },
  required: ["city", "degrees"],
  additionalProperties: false,
};
/** The schema of what `#tools` calls. */
export const WEATHER_SCHEMA: Record<string, unknown> = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
export const BEFORE_TOOLS = "Let me look.";
export const AFTER_TOOLS = "Paris is warm, Oslo is cold.";

const pieces = (text: string): readonly string[] => text.match(/[\s\S]{1,6}/gu) ?? [];

const ANSWERS: Readonly<Record<string, ScriptedAnswer>> = {
  text: { choices: [{ text: pieces(TEXT), finish: "stop" }], usage: { prompt: 11, completion: 4 } },
  length: { choices: [{ text: pieces("Cut off by the"), finish: "length" }], usage: { prompt: 11, completion: 3 } },
  filter: { choices: [{ text: pieces("Once upon"), finish: "content_filter" }], usage: { prompt: 11, completion: 2 } },
  reason: {
    choices: [{ reasoning: pieces(THOUGHT), text: ["42"], finish: "stop" }],
    usage: { prompt: 11, completion: 10, reasoning: 9 },
  },
  tools: {
    choices: [
      {
        calls: [
          { id: "call_paris", name: "weather", input: { city: "Paris" } },
          { id: "call_oslo", name: "weather", input: { city: "Oslo" } },
        ],
        finish: "tool_calls",
      },
    ],
    usage: { prompt: 20, completion: 12 },
  },
  // tools that the gateway runs, at a server with the label sky
  sky: {
    choices: [
      {
        reasoning: pieces(THOUGHT),
        text: pieces(BEFORE_TOOLS),
        calls: [
          { id: "call_paris", name: "sky__weather", input: { city: "Paris" } },
          { id: "call_oslo", name: "sky__weather", input: { city: "Oslo" } },
        ],
        finish: "tool_calls",
      },
    ],
    usage: { prompt: 20, completion: 12, reasoning: 9 },
  },
  bare: {
    choices: [
      { text: pieces("Ringing."), calls: [{ id: "call_bell", name: "bell", input: {} }], finish: "tool_calls" },
    ],
    usage: { prompt: 20, completion: 5 },
  },
  forecast: {
    choices: [{ calls: [{ id: "call_forecast", name: "forecast", input: FORECAST }], finish: "tool_calls" }],
    usage: { prompt: 30, completion: 9 },
  },
  json: { choices: [{ text: pieces(JSON.stringify(FORECAST)), finish: "stop" }], usage: { prompt: 30, completion: 9 } },
  two: {
    choices: [
      { text: pieces("Heads it is"), finish: "stop" },
      { text: pieces("Tails it is"), finish: "length" },
    ],
    usage: { prompt: 11, completion: 6 },
  },
  hang: { choices: [{ text: ["Once"], finish: "stop" }], usage: { prompt: 11, completion: 1 }, afterwards: "silence" },
  broken: { choices: [{ text: ["Once"], finish: "stop" }], usage: { prompt: 11, completion: 1 }, afterwards: "error" },
};
const AFTER_RESULTS: ScriptedAnswer = {
  choices: [{ text: pieces(AFTER_TOOLS), finish: "stop" }],
  usage: { prompt: 44, completion: 6 },
};

/** The answer, or the failure, that a request's text asks for. Throws when it asks for nothing. */
export function scriptOf(requestText: string): ScriptedAnswer | ScriptedFailure {
  const name = /#([a-z-]+)/.exec(requestText)?.[1] ?? "";
  const failure = FAILURES.find((one) => name === `fail-${one}`);
  if (failure !== undefined) return failure;
  const answer = ANSWERS[name];
  if (answer === undefined) throw new Error(`no script in: ${requestText.slice(0, 300)}`);
  return (answer === ANSWERS["tools"] || answer === ANSWERS["bare"] || answer === ANSWERS["sky"]) &&
    /"role":"tool"|"tool_result"|"functionResponse"|"toolResult"/.test(requestText)
    ? AFTER_RESULTS
    : answer;
}
