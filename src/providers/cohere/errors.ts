// Classifies errors of Cohere's API by the status first and then by texts, because there are no codes.
// https://docs.cohere.com/reference/errors
import { classOfStatus, filled, type StatusClasses } from "../answers/error-body.ts";
import { readNamedError, refinedClass, type TextRule } from "../answers/named-error.ts";
import type { ErrorAnswer, FailureClass, UpstreamFailure } from "../interface/upstream-failure.ts";

/** Statuses beside those that mean the same at every vendor. */
const OWN_STATUSES: StatusClasses = {
  // The request or the answer contains a word that is on the vendor's deny list.
  498: "content_policy",
  // Cancelled; the vendor advises to try again.
  499: "server",
  501: "invalid_request",
};

const REFUSED = ["invalid_request", "content_policy", "permission", "server"] as const;
/** Messages that state more than their status. */
const BY_TEXT: readonly TextRule[] = [
  { under: REFUSED, text: /max tokens must be less than/i, class: "invalid_request" },
  {
    under: REFUSED,
    text: /too many tokens|size limit exceeded by|(?:prompt|input|message|conversation) is too long|(?:maximum|model'?s?) context|context (?:length|window|limit)/i,
    class: "context_length",
  },
  {
    under: REFUSED,
    text: /no api key supplied|invalid api (?:token|key)|api key has expired/i,
    class: "authentication",
  },
  {
    under: ["invalid_request", "permission"],
    text: /blocked output|blocked input|safety|content policy|usage guidelines/i,
    class: "content_policy",
  },
  { under: ["invalid_request"], text: /\bmodel\b.{0,200}not found/i, class: "not_found" },
  // The monthly quota of a trial key. Limits per minute are not a quota, because they reset soon.
  { under: ["rate_limit"], text: /(?:calls|requests|tokens) ?(?:\/|per) ?month|billing/i, class: "quota" },
  { under: ["server"], text: /overloaded|too many users/i, class: "overloaded" },
];

const FIELD =
  /^(?:invalid request: )?(?:the )?'?(model|messages|tools|tool_choice|strict_tools|documents|citation_options|response_format|safety_mode|max_tokens|stop_sequences|temperature|seed|frequency_penalty|presence_penalty|k|p|logprobs|thinking|priority)'?(?: parameter)? (?:must|is|may|cannot|has)\b/;

export function classifyError(answer: ErrorAnswer): UpstreamFailure {
  const { text, error } = readNamedError(
    answer,
    ({ message, error: inner, detail }) => (filled(message) === null ? (inner ?? detail) : null),
    ["message", "detail"],
  );
  return {
    class: classOfText(classOfStatus(answer.status, OWN_STATUSES), text),
    message: text,
    param: FIELD.exec(text)?.[1] ?? null,
    nativeCode: filled(error["error_type"]),
  };
}

export function classOfText(first: FailureClass, text: string): FailureClass {
  return refinedClass(first, text, BY_TEXT);
}
