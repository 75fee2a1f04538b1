// Requests for legacy completions, in OpenAI's form: each prompt becomes a message, which goes out as a raw prompt.
// https://platform.openai.com/docs/api-reference/completions/create
import type { ChatRequest } from "../../core/chat.ts";
import { invalid, invalidRequest } from "../../core/refusals.ts";
import { choiceCount } from "../../core/request/choice-counts.ts";
import { type InputRules, listedInputs } from "../../engine/request/listed-inputs.ts";
import { translatedForm, type Translation } from "../../engine/request/translated-form.ts";
import { isSet, isWholeNumber, type JsonObject } from "../../core/json.ts";
import { type CommonParameter } from "../../core/params.ts";
import type { TaskMemo } from "../../providers/tasks/task.ts";
import { boundsWithTokens, listedTranslation, type OwnWords, placesIn } from "../listed-request.ts";

export interface CompletionMemo extends TaskMemo, OwnWords {
  /** The characters of each prompt; empty for tokens. */
  readonly lengths: readonly number[];
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
  checkOwn,
  names: { messages: "prompt", top_logprobs: "logprobs", max_completion_tokens: "max_tokens" },
  rawPrompts: { parameters: new Set(["suffix", "echo", "best_of"]), content: new Set(["suffix"]) },
  bounds: boundsWithTokens(PROMPTS),
});

function translate(body: JsonObject): Translation {
  const { prompt, suffix, echo, logprobs, best_of: best } = body;
  const { kind, isSingle, texts } = listedInputs(prompt, PROMPTS);
  const choices = typeof body["n"] === "number" ? body["n"] : 1;
  if (isSet(logprobs) && !isWholeNumber(logprobs, 0, MAX_LOGPROBS))
    throw invalid("logprobs", `a whole number from 0 to ${MAX_LOGPROBS}`, logprobs);
  return listedTranslation<CompletionMemo>(body, {
    contents: texts,
    places: placesIn("prompt", texts, isSingle),
    members: {
      ...Object.fromEntries(SAME.map((name) => [name, body[name]])),
      ...(isSet(logprobs) && { logprobs: true, ...(logprobs !== 0 && { top_logprobs: logprobs }) }),
      ...(suffix !== "" && { suffix }),
      ...(echo !== false && { echo }),
      // as many as `n` asks for nothing more
      ...(best !== choices && { best_of: best }),
    },
    known: KNOWN,
    memo: {
      inputs: kind,
      isSingle,
      encoding: null,
      lengths: kind === "texts" ? texts.map(({ length }) => length) : [],
    },
  });
}

function checkOwn(request: ChatRequest): void {
  const { suffix, echo, best_of: best } = request.extra;
  const { n = 1, stream } = request.params;
  if (isSet(suffix) && typeof suffix !== "string") throw invalid("suffix", "a string", suffix);
  if (isSet(echo) && typeof echo !== "boolean") throw invalid("echo", "true or false", echo);
  const choices = choiceCount(request);
  if (choices > MAX_CHOICES)
    throw invalidRequest(
      "prompt",
      `prompt may ask for at most ${MAX_CHOICES} choices in one call, n for each prompt; got ${choices}.`,
    );
  if (!isSet(best)) return;
  if (!isWholeNumber(best, 1, MAX_BEST_OF)) throw invalid("best_of", `a whole number from 1 to ${MAX_BEST_OF}`, best);
  if (best < n) throw invalidRequest("best_of", `best_of must not be less than n; got ${best} and ${n}.`);
  if (best > n && stream === true)
    throw invalidRequest("best_of", "best_of may not be more than n when stream is true.");
}
