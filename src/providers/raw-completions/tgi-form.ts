// Text Generation Inference's own form: /generate and /generate_stream, or its root that accepts both, as Inference
// Endpoints serve it. https://github.com/huggingface/text-generation-inference/blob/main/docs/openapi.json
import { type CapabilityCells, emulated, mapped, NATIVE, UNSUPPORTED, same } from "../../core/capability.ts";
import type { ChatAnswer, ChatChunk, ChatParams, FinishReason, Usage } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, listIn, textOrEmpty, present } from "../../core/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { readErrorJson } from "../answers/error-body.ts";
import type { AnswerRules } from "../openai-compatible/answer-rules.ts";
import { finishReasonOf } from "../openai-compatible/finish-reasons.ts";
import type { DecodeContext } from "../interface/encoded-request.ts";
import { chunkOf, type StreamDecoder } from "../interface/stream-decoder.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";
import { describeText, parseSentJson, requireSentObject } from "../answers/sent-json.ts";
import { mainTokenCount, usageOfText } from "../../core/record/token-count.ts";
import { onlyText, stopWords } from "./body.ts";
import { AS_MANY_CALLS, NEVER_IN_PROMPTS, PROMPT_CELLS, STOP_NOTE } from "./cells.ts";
import { schemaOf } from "./openai-form.ts";
import type { CompletionForm } from "./row.ts";
import { stopTrimmer, type StopTrimmer, withoutStop } from "./stop-text.ts";

const CELLS: CapabilityCells = {
  ...NEVER_IN_PROMPTS,
  ...PROMPT_CELLS,
  temperature: mapped("parameters.temperature; 0 is sent as do_sample false"),
  top_p: mapped("parameters.top_p; 1 is not sent, because the server refuses it"),
  n: AS_MANY_CALLS,
  stream: mapped("a different address, or stream"),
  stream_options: emulated("the last event reports the usage"),
  stop: mapped(`parameters.stop; ${STOP_NOTE}`),
  ...same(mapped("parameters.max_new_tokens"), "max_tokens", "max_completion_tokens"),
  frequency_penalty: mapped("parameters.frequency_penalty"),
  ...same(UNSUPPORTED, "presence_penalty", "logit_bias", "user"),
  response_format: mapped("parameters.grammar of type json"),
  seed: mapped("parameters.seed"),
  logprobs: mapped("details, with parameters.top_n_tokens"),
  top_logprobs: mapped("parameters.top_n_tokens"),
  text: NATIVE,
};

interface TgiMemo {
  /** `null` when no log probabilities were requested. */
  readonly topLogprobs: number | null;
  readonly stop: readonly string[];
}
const NO_MEMO: TgiMemo = { topLogprobs: null, stop: [] };
const memoOf = ({ memo }: DecodeContext): TgiMemo => (isObject(memo) ? (memo as unknown as TgiMemo) : NO_MEMO);

/** `place` returns the address, and what the body says of the kind of answer. */
function generateForm(
  place: (baseUrl: string, isStream: boolean) => { readonly url: string; readonly says?: JsonObject },
): CompletionForm {
  return {
    framing: "sse",
    cells: CELLS,
    reserved: ["inputs"],
    reservedInside: {
      "parameters.max_new_tokens": "max_completion_tokens",
      "parameters.return_full_text": "not sent, because the prompt is never repeated",
      "parameters.details": "not sent, because details are always requested",
    },
    errors: [{ class: "server", codes: ["generation", "incomplete_generation"] }],
    encode(_row, { params }, target, prompt) {
      const { parameters, memo } = generation(params, prompt.stop);
      const { url, says = {} } = place(target.baseUrl, params.stream === true);
      // The server has one model and ignores its name. The name is sent for proxies in front of several servers.
      return { url, body: { model: target.model, inputs: onlyText(prompt), parameters, ...says }, memo };
    },
    decoders: (rules) => ({
      decodeResponse: (body, context) => decodeAnswer(body, memoOf(context), rules),
      openStream: (context) => new TgiStream(memoOf(context), rules),
    }),
  };
}

/** The form of a server that users run themselves. */
export const tgiForm: CompletionForm = generateForm((baseUrl, isStream) => ({
  url: `${baseUrl}/${isStream ? "generate_stream" : "generate"}`,
}));

/** The root of an endpoint: one address, where `stream` selects the kind of answer. */
export const endpointForm: CompletionForm = generateForm((baseUrl, isStream) => ({
  url: baseUrl,
  ...(isStream && { says: { stream: true } }),
}));

function generation(
  params: ChatParams,
  added: readonly string[],
): { readonly parameters: JsonObject; readonly memo: TgiMemo } {
  const { temperature, top_p: topP, response_format: format } = params;
  const stop = stopWords(params.stop, added);
  const topLogprobs = params.logprobs === true ? (params.top_logprobs ?? 0) : null;
  const parameters = present({
    details: true,
    return_full_text: false,
    max_new_tokens: params.max_completion_tokens ?? params.max_tokens,
    ...(temperature === 0 ? { do_sample: false } : temperature !== undefined && { do_sample: true, temperature }),
    top_p: topP === 1 ? undefined : topP,
    frequency_penalty: params.frequency_penalty,
    seed: params.seed,
    stop,
    top_n_tokens: topLogprobs === null ? undefined : Math.max(topLogprobs, 1),
    grammar: format === undefined || format.type === "text" ? undefined : { type: "json", value: schemaOf(format) },
  });
  return { parameters, memo: { topLogprobs, stop: stop ?? [] } };
}

function decodeAnswer(body: string, memo: TgiMemo, rules: AnswerRules): ChatAnswer {
  const parsed = parseSentJson(body, "answer");
  const answer = Array.isArray(parsed) ? (parsed[0] as Json | undefined) : parsed;
  if (!isObject(answer) || typeof answer["generated_text"] !== "string") {
    if (rules.errors.isError(parsed)) throw new StreamError(rules.errors.classifyParsed(200, parsed, body));
    throw new MalformedAnswer(
      isObject(answer)
        ? "The provider's answer has no generated_text."
        : `The provider's answer is ${describeText(body)} without an answer in it.`,
    );
  }
  const details = isObject(answer["details"]) ? answer["details"] : {};
  const finish = finishOf(details, rules);
  const content =
    finish.native === "stop_sequence" ? withoutStop(answer["generated_text"], memo.stop) : answer["generated_text"];
  const usage = usageOf(details);
  return {
    choices: [
      {
        index: 0,
        message: { content },
        finish_reason: finish.reason ?? "stop",
        ...(finish.native !== null && { native_finish_reason: finish.native }),
        ...(memo.topLogprobs !== null && {
          logprobs: logprobsOf(details["tokens"], details["top_tokens"], memo.topLogprobs),
        }),
      },
    ],
    ...(usage !== null && { usage }),
  };
}

/** `native` is the server's own finish reason when it differs from OpenAI's. */
function finishOf(
  details: JsonObject,
  { finishReasons }: AnswerRules,
): { readonly reason: FinishReason | null; readonly native: string | null } {
  const native = details["finish_reason"];
  const reason = finishReasonOf(native, finishReasons);
  return { reason, native: reason !== null && reason !== native ? (native as string) : null };
}

/**
 * Returns both figures or `null`. The length of the input comes with streams, and with non-streaming answers only when
 * the input's tokens were requested.
 */
function usageOf(details: JsonObject): Usage | null {
  const { generated_tokens: generated, input_length: input, prefill } = details;
  const prompt =
    typeof input === "number" ? input : Array.isArray(prefill) && prefill.length > 0 ? prefill.length : null;
  return typeof generated !== "number" || prompt === null
    ? null
    : usageOfText(mainTokenCount(prompt), mainTokenCount(generated));
}

function logprobsOf(tokens: Json | undefined, tops: Json | undefined, most: number): JsonObject {
  const list = listIn(tokens);
  const alternatives = listIn(tops);
  const entries = list
    .map((token, index) => [token, alternatives[index]] as const)
    .filter(([token]) => isObject(token) && token["special"] !== true);
  return {
    content: entries.map(([token, others]) => ({
      ...tokenOf(token),
      top_logprobs: listIn(others).slice(0, most).map(tokenOf),
    })),
    refusal: null,
  };
}

function tokenOf(token: Json | undefined): JsonObject {
  const { text, logprob } = isObject(token) ? token : {};
  return { token: textOrEmpty(text), logprob: typeof logprob === "number" ? logprob : 0 };
}

class TgiStream implements StreamDecoder {
  readonly #memo: TgiMemo;
  readonly #rules: AnswerRules;
  readonly #trimmer: StopTrimmer;

  constructor(memo: TgiMemo, rules: AnswerRules) {
    this.#memo = memo;
    this.#rules = rules;
    this.#trimmer = stopTrimmer(memo.stop);
  }

  push({ event, data }: SseEvent): readonly ChatChunk[] {
    const { token, top_tokens: alternatives, details } = this.#readEvent(event, data);
    const chunks = isObject(token) && token["special"] !== true ? this.#tokenChunks(token, alternatives) : [];
    return isObject(details) ? [...chunks, this.#lastChunk(details)] : chunks;
  }

  end(): readonly ChatChunk[] {
    const rest = this.#trimmer.end(false);
    return rest === "" ? [] : [chunkOf({ content: rest })];
  }

  /** An error that is not JSON is its own message. */
  #readEvent(event: string, data: string): JsonObject {
    const { errors } = this.#rules;
    const value = event === "error" ? (readErrorJson(data) ?? data) : parseSentJson(data, "event");
    if (event === "error" || (errors.isError(value) && !(isObject(value) && isObject(value["token"]))))
      throw new StreamError(errors.classifyParsed(200, value, data));
    return requireSentObject(value, "event");
  }

  #tokenChunks(token: JsonObject, alternatives: Json | undefined): readonly ChatChunk[] {
    const { topLogprobs } = this.#memo;
    const content = typeof token["text"] === "string" ? this.#trimmer.push(token["text"]) : "";
    const logprobs = topLogprobs === null ? null : logprobsOf([token], [alternatives ?? null], topLogprobs);
    return content === "" && logprobs === null
      ? []
      : [{ choices: [{ index: 0, delta: { content }, ...(logprobs !== null && { logprobs }) }] }];
  }

  #lastChunk(details: JsonObject): ChatChunk {
    const { reason, native } = finishOf(details, this.#rules);
    const content = this.#trimmer.end(native === "stop_sequence");
    const usage = usageOf(details);
    return {
      choices: [
        {
          index: 0,
          delta: content === "" ? {} : { content },
          finish_reason: reason ?? "stop",
          ...(native !== null && { native_finish_reason: native }),
        },
      ],
      ...(usage !== null && { usage }),
    };
  }
}
