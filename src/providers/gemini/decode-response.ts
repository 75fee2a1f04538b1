// Decodes a GenerateContentResponse into a ChatAnswer.
// https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
import { parseSentJson } from "../answers/sent-json.ts";
import type { AnswerChoice, ChatAnswer } from "../../core/chat.ts";
import { isObject, type JsonObject, textOrEmpty } from "../../core/json.ts";
import type { DecodeContext } from "../interface/encoded-request.ts";
import { MalformedAnswer, withCounted } from "../interface/upstream-failure.ts";
import { citationsOf, TextPositions } from "./citations.ts";
import {
  audioId,
  averageLogprobs,
  blockReasonOf,
  candidatesOf,
  finishMessage,
  identityOf,
  partsOf,
  readFrame,
  refusalNotes,
  renamedOf,
  safetyRatings,
} from "./decode-answer.ts";
import { decodeLogprobs } from "./decode-logprobs.ts";
import { keepBeside, decodeParts } from "./decode-parts.ts";
import { billedSearches, decodeServiceTier, decodeUsage, queriesOf, withSearches } from "./decode-usage.ts";
import type { RenamedFunctions } from "./encode-tools.ts";
import { finishReason, nativeFinish } from "./finish-reasons.ts";

export function decodeResponse(body: string, context: DecodeContext, value?: JsonObject): ChatAnswer {
  const frame = readFrame(body, value ?? parseSentJson(body, "answer"));
  const identity = identityOf(frame);
  const queries = candidatesOf(frame).reduce((sum, candidate) => sum + queriesOf(candidate), 0);
  const usage = withSearches(decodeUsage(frame["usageMetadata"]), billedSearches(queries, context.model));
  const choices = withCounted(
    () => usage,
    () => choicesOf(frame, renamedOf(context.memo), identity.id),
  );
  const tier = decodeServiceTier(frame["usageMetadata"]);
  return { ...identity, choices, usage, ...(tier !== null && { service_tier: tier }) };
}

/** Throws MalformedAnswer. */
function choicesOf(
  frame: JsonObject,
  renamed: RenamedFunctions,
  answerId: string | undefined,
): readonly AnswerChoice[] {
  const candidates = candidatesOf(frame);
  if (candidates.length > 0)
    return candidates.map((candidate, index) => decodeCandidate(candidate, index, renamed, answerId));
  const blocked = blockReasonOf(frame);
  if (blocked === null) throw new MalformedAnswer("The provider's answer has no candidates and does not say why.");
  return [blockedChoice(blocked, frame)];
}

/** A refused prompt becomes an answer whose content was withheld. */
function blockedChoice(reason: string, frame: JsonObject): AnswerChoice {
  return {
    index: 0,
    message: { content: null },
    finish_reason: "content_filter",
    native_finish_reason: reason,
    ...refusalNotes(frame),
  };
}

function decodeCandidate(
  candidate: JsonObject,
  position: number,
  renamed: RenamedFunctions,
  answerId: string | undefined,
): AnswerChoice {
  const parts = partsOf(candidate);
  const message = decodeParts(parts, new Set(), renamed);
  const spoken = parts.map((part) => (isObject(part) && part["thought"] !== true ? textOrEmpty(part["text"]) : ""));
  const text = new TextPositions();
  text.append(message.content ?? "");
  const citations = citationsOf(candidate, text, spoken);
  keepBeside(message, candidate);
  const index = typeof candidate["index"] === "number" ? candidate["index"] : position;
  if (message.audio !== undefined) message.audio = { id: audioId(answerId, index), ...message.audio };
  const native = nativeFinish(candidate["finishReason"]);
  // In a non-streaming answer an unspecified reason counts as a normal finish, while an absent field means that there
  // is none.
  const ended = candidate["finishReason"] !== undefined && candidate["finishReason"] !== null;
  const logprobs = decodeLogprobs(candidate["logprobsResult"]);
  return {
    index,
    message: { ...message, content: message.content ?? null, ...(citations.length > 0 && { annotations: citations }) },
    finish_reason: ended ? finishReason(native ?? "STOP", message.tool_calls !== undefined) : null,
    ...(native !== null && { native_finish_reason: native, ...finishMessage(candidate) }),
    ...(logprobs !== null && { logprobs }),
    ...averageLogprobs(candidate),
    ...safetyRatings(candidate),
  };
}
