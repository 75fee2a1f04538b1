// Requests for legacy completions, in OpenAI's form: each prompt becomes a message, which goes out as a raw prompt.
// https://platform.openai.com/docs/api-reference/completions/create
import { type InputRules, listedInputs } from "../../engine/request/listed-inputs.ts";
import { passedMembers } from "../../engine/request/task-body.ts";
import { translatedForm, type Translation } from "../../engine/request/translated-form.ts";
import type { BodyBounds } from "../../core/request/body-bounds.ts";
import { GatewayError } from "../../core/errors.ts";
import { isSet, type Json, type JsonObject } from "../../core/json.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { type CommonParameter, invalid } from "../../core/params.ts";
import type { TaskMemo } from "../../providers/tasks/task.ts";

export interface CompletionMemo extends TaskMemo {
  /** The client's own word for the model; `null` when it named only a route. */
  readonly model: string | null;
  /** The answer begins with the prompt. */
  readonly echoes: boolean;
  /** The characters of each prompt; empty for tokens. */
  readonly lengths: readonly number[];
  /** The choices for each prompt. */
  readonly choices: number;
}

/** The choices of one answer are told apart by their number. */
const MAX_CHOICES = 128;
const MAX_LOGPROBS = 5;
const MAX_BEST_OF = 20;
const PROMPTS: InputRules = { name: "prompt", most: MAX_CHOICES, mostTokens: 300_000, mayBeEmpty: true };

/** Parameters that have the same name and meaning in chat completions. */
const SAME: readonly CommonParameter[] = [
  "temperature",
  "top_p",
  "n",
  "stream",
  "stream_options",
  "stop",
  "max_tokens",
  "presence_penalty",
  "frequency_penalty",
  "logit_bias",
  "user",
  "seed",
  "response_format",
];
const OWN: ReadonlySet<string> = new Set(["model", "prompt", "suffix", "echo", "best_of", "logprobs", "metadata"]);
const KNOWN: ReadonlySet<string> = new Set([...OWN, ...SAME]);

export const COMPLETIONS_FORM = translatedForm({
  translate,
  names: { messages: "prompt", top_logprobs: "logprobs", max_completion_tokens: "max_tokens" },
  rawPrompts: { parameters: new Set(["suffix", "echo", "best_of"]), content: new Set(["suffix"]) },
  // token ids are values of their own
  bounds: memoizePerObject((bounds: BodyBounds): BodyBounds => ({
    ...bounds,
    maxValues: bounds.maxValues + PROMPTS.mostTokens + PROMPTS.most,
  })),
});

function translate(body: JsonObject): Translation {
  const { model, prompt, suffix, echo, logprobs, metadata } = body;
  const { kind, isSingle, texts } = listedInputs(prompt, PROMPTS);
  const choices = typeof body["n"] === "number" ? body["n"] : 1;
  if (isSet(suffix) && typeof suffix !== "string") throw invalid("suffix", "a string", suffix);
  if (isSet(echo) && typeof echo !== "boolean") throw invalid("echo", "true or false", echo);
  if (isSet(logprobs) && !isWithin(logprobs, 0, MAX_LOGPROBS))
    throw invalid("logprobs", `a whole number from 0 to ${MAX_LOGPROBS}`, logprobs);
  const best = bestOf(body, choices);
  if (choices * texts.length > MAX_CHOICES)
    throw new GatewayError(
      "invalid_request",
      `prompt may ask for at most ${MAX_CHOICES} choices in one call, n for each prompt; got ${choices * texts.length}.`,
      { param: "prompt" },
    );
  const memo: CompletionMemo = {
    inputs: kind,
    isSingle,
    encoding: null,
    model: typeof model === "string" ? model : null,
    echoes: echo === true,
    lengths: kind === "texts" ? texts.map(({ length }) => length) : [],
    choices,
  };
  return {
    chat: {
      ...(model !== undefined && { model }),
      messages: texts.map((content) => ({ role: "user", content })),
      ...Object.fromEntries(SAME.flatMap((name) => (isSet(body[name]) ? [[name, body[name]]] : []))),
      ...(isSet(logprobs) && { logprobs: true, ...(logprobs !== 0 && { top_logprobs: logprobs }) }),
      ...(isSet(suffix) && suffix !== "" && { suffix }),
      ...(echo === true && { echo }),
      ...(best !== null && { best_of: best }),
      ...(isSet(metadata) && { metadata }),
      ...passedMembers(body, KNOWN),
    },
    origins: { messages: isSingle ? ["prompt"] : texts.map((_, index) => `prompt[${index}]`), tools: [] },
    untranslated: [],
    memo,
  };
}

/** Returns null where it asks for no more than `n`. Throws `invalid_request`. */
function bestOf({ best_of: best, stream }: JsonObject, choices: number): number | null {
  if (!isSet(best)) return null;
  if (!isWithin(best, 1, MAX_BEST_OF)) throw invalid("best_of", `a whole number from 1 to ${MAX_BEST_OF}`, best);
  if (best < choices)
    throw new GatewayError("invalid_request", `best_of must not be less than n; got ${best} and ${choices}.`, {
      param: "best_of",
    });
  if (best === choices) return null;
  if (stream === true)
    throw new GatewayError("invalid_request", "best_of may not be more than n when stream is true.", {
      param: "best_of",
    });
  return best;
}

function isWithin(value: Json, least: number, most: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;
}
