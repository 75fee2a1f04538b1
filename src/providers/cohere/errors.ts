// Classifies errors of Cohere's API by the status first and then by texts, because there are no codes.
// https://docs.cohere.com/reference/errors
import { isObject, type Json } from "../../core/json.ts";
import {
  classOfStatus,
  describeErrorBody,
  filled,
  JUDGED_CHARACTERS,
  readErrorJson,
  type StatusClasses,
} from "../answers/error-body.ts";
import type { ErrorAnswer, FailureClass, UpstreamFailure } from "../upstream-failure.ts";

/** Statuses beside those that mean the same at every vendor. */
const OWN_STATUSES: StatusClasses = {
  // The request or the answer contains a word that is on the vendor's deny list.
  498: "content_policy",
  // Cancelled; the vendor advises to try again.
  499: "server",
  501: "invalid_request",
};

const REFUSED = ["invalid_request", "content_policy", "permission", "server"] as const;
/** Messages that state more than their status. The first rule that matches decides. */
const BY_TEXT: readonly {
  readonly under: readonly FailureClass[];
  readonly text: RegExp;
  readonly class: FailureClass;
}[] = [
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

/** Accepts any body and never throws. */
export function classifyError({ status, body }: ErrorAnswer): UpstreamFailure {
  const { message, type } = readError(body);
  const text = (message ?? describeErrorBody(status, body)).slice(0, JUDGED_CHARACTERS);
  const first = classOfStatus(status, OWN_STATUSES);
  return { class: classOfText(first, text), message: text, param: FIELD.exec(text)?.[1] ?? null, nativeCode: type };
}

export function classOfText(first: FailureClass, text: string): FailureClass {
  const judged = text.slice(0, JUDGED_CHARACTERS);
  return BY_TEXT.find((rule) => rule.under.includes(first) && rule.text.test(judged))?.class ?? first;
}

/** Proxies in front of the vendor have other forms: a bare string, `error`, `detail`, a list with one error. */
function readError(body: string): { readonly message: string | null; readonly type: string | null } {
  const value = readErrorJson(body);
  const outer: Json | undefined = Array.isArray(value) ? (value as readonly Json[])[0] : value;
  const inner =
    isObject(outer) && filled(outer["message"]) === null ? (outer["error"] ?? outer["detail"] ?? outer) : outer;
  if (typeof inner === "string") return { message: filled(inner), type: null };
  if (!isObject(inner)) return { message: null, type: null };
  return { message: filled(inner["message"]) ?? filled(inner["detail"]), type: filled(inner["error_type"]) };
}
