// Encodes a ChatRequest as a prediction: https://replicate.com/docs/reference/http. For a single user turn the model's
// own template is used. A longer conversation, or one whose prompt the caller shapes, is sent as a finished prompt.
import type { ChatParams, ChatRequest } from "../../core/chat.ts";
import { type JsonObject, present } from "../../core/json.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import type { Target } from "../../core/target.ts";
import { type Joins, joinTexts } from "../conversation/join-texts.ts";
import { turnsOf } from "../prompt-template/conversation.ts";
import { PROMPT_PARAMETERS } from "../conversation/prompt-parameters.ts";
import { joinedPrompt, promptOf } from "../prompt-template/prompt.ts";
import { type EncodedRequest, type JoinedText, mappedNames, type WirePlaces } from "../interface/encoded-request.ts";
import { stopWords, withExtra } from "../raw-completions/body.ts";
import { OPENAI_MODELS } from "./capabilities.ts";

/** What followUp and the decoders need to know about the request. */
export interface ReplicateMemo {
  readonly baseUrl: string;
  readonly stream: boolean;
}

/** Models whose template the caller can replace: https://replicate.com/meta/meta-llama-3.1-405b-instruct */
const OWN_TEMPLATE = /^(meta|mistralai)\//;
/** Models whose output bound has the older name: https://replicate.com/meta/llama-2-70b-chat */
const OLDER_BOUND = /^(meta\/(llama-2|codellama)|mistralai\/)/;
const SERVER_ADDS_BOS = { serverAddsBos: true } as const;
const VERSION = /^[^:]+:[0-9a-f]{64}$/;

const RESERVED_INSIDE = {
  "input.prompt": "messages",
  "input.messages": "messages",
  "input.system_prompt": "messages",
  "input.prompt_template": "roles or hf_model_name",
  "input.max_tokens": "max_completion_tokens",
  "input.max_new_tokens": "max_completion_tokens",
  "input.max_completion_tokens": "max_completion_tokens",
};

const PLACES: WirePlaces = PROMPT_PARAMETERS.map((name) => [name, "input.prompt"]);

export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const { params } = request;
  const stream = params.stream === true;
  const { path, version } = placeOf(target.model);
  const body = present({ version, input: inputOf(request, target.model), stream: stream ? true : undefined });
  // Some configured addresses contain the version.
  const baseUrl = target.baseUrl.replace(/\/v1$/, "");
  const memo: ReplicateMemo = { baseUrl, stream };
  return {
    request: {
      url: `${baseUrl}/v1/${path}`,
      // Replicate holds the response back until the answer is complete, for at most a minute.
      headers: { ...target.headers, "content-type": "application/json", ...(!stream && { prefer: "wait" }) },
      body: JSON.stringify(withExtra(body, request.extra, RESERVED_INSIDE)),
    },
    memo,
    mapped: mappedNames(params, PLACES),
  };
}

/** The name is `owner/name`, `owner/name:<version>` or `deployments/owner/name`. */
function placeOf(model: string): { readonly path: string; readonly version: string | undefined } {
  if (VERSION.test(model)) return { path: "predictions", version: model };
  const segments = model.split("/").map(encodeURIComponent).join("/");
  return { path: `${model.startsWith("deployments/") ? "" : "models/"}${segments}/predictions`, version: undefined };
}

function inputOf({ messages, params }: ChatRequest, model: string): JsonObject {
  return present({
    ...promptMembers(messages, params, model),
    temperature: params.temperature,
    top_p: params.top_p,
    [boundName(model)]: params.max_completion_tokens ?? params.max_tokens,
    presence_penalty: params.presence_penalty,
    frequency_penalty: params.frequency_penalty,
    seed: params.seed,
    stop_sequences: joinedStops(params.stop),
    reasoning_effort: params.reasoning_effort,
    verbosity: params.verbosity,
  });
}

function promptMembers(messages: ChatRequest["messages"], params: ChatParams, model: string): JsonObject {
  const question = singleQuestion(messages, params);
  if (question !== null) return question;
  const { text } = promptOf({ messages, params }, model, SERVER_ADDS_BOS);
  return { prompt: text, ...(OWN_TEMPLATE.test(model) && { prompt_template: "{prompt}" }) };
}

/** `null` where the conversation is sent as one prompt. */
function singleQuestion(messages: ChatRequest["messages"], params: ChatParams, joins: Joins = null): JsonObject | null {
  if (PROMPT_PARAMETERS.some((name) => params[name] !== undefined)) return null;
  const turns = turnsOf(messages, joins);
  const spoken = turns.filter(({ role }) => role !== "system");
  const leads = turns.slice(0, turns.length - spoken.length).every(({ role }) => role === "system");
  if (spoken.length !== 1 || spoken[0]!.role !== "user" || !leads) return null;
  const leading = turns.slice(0, -1).map(({ content }) => content);
  const system = joinTexts(leading, "\n\n", joins);
  return { prompt: spoken[0]!.content, ...(turns.length > 1 && { system_prompt: system }) };
}

export function joinedTexts({ messages, params }: ChatRequest, { model }: Target): readonly JoinedText[] {
  const joins: JoinedText[] = [];
  const question = singleQuestion(messages, params, joins);
  return question === null ? [joinedPrompt({ messages, params }, model, SERVER_ADDS_BOS)] : joins;
}

function boundName(model: string): string {
  if (OPENAI_MODELS.test(model)) return "max_completion_tokens";
  return OLDER_BOUND.test(model) ? "max_new_tokens" : "max_tokens";
}

function joinedStops(stop: ChatParams["stop"]): string | undefined {
  const sequences = stopWords(stop, []);
  if (sequences?.some((sequence) => sequence.includes(",")) === true)
    throw unsupportedValue(
      "stop",
      "Replicate takes stop sequences as one comma-separated string, so a sequence must not contain a comma.",
    );
  return sequences?.join(",");
}
