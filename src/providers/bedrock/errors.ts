// Classifies errors of Bedrock's runtime: by the exception's name when the body or the stream gives it, then by the
// status, and last by texts, because the name of a non-streaming error is only in a header.
// https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
import type { JsonObject } from "../../core/json.ts";
import { classOfStatus, filled, type StatusClasses } from "../answers/error-body.ts";
import { readNamedError, refinedClass, type TextRule } from "../answers/named-error.ts";
import type { ErrorAnswer, FailureClass, UpstreamFailure } from "../interface/upstream-failure.ts";

/** Classes by name in lower case: streams begin the name with a small letter, bodies with a capital. */
const BY_NAME: ReadonlyMap<string, FailureClass> = new Map<string, FailureClass>(
  Object.entries({
    validationexception: "invalid_request",
    validationerror: "invalid_request",
    accessdeniedexception: "permission",
    unrecognizedclientexception: "authentication",
    invalidsignatureexception: "authentication",
    incompletesignatureexception: "authentication",
    missingauthenticationtokenexception: "authentication",
    expiredtokenexception: "authentication",
    expiredtoken: "authentication",
    invalidclienttokenid: "authentication",
    resourcenotfoundexception: "not_found",
    throttlingexception: "rate_limit",
    toomanyrequestsexception: "rate_limit",
    servicequotaexceededexception: "quota",
    modelnotreadyexception: "overloaded",
    modeltimeoutexception: "timeout",
    modelerrorexception: "server",
    modelerror: "server",
    modelstreamerrorexception: "server",
    modelstreamerror: "server",
    internalserverexception: "server",
    internalfailure: "server",
    internalstreamfailure: "server",
    serviceunavailableexception: "overloaded",
    serviceunavailable: "overloaded",
  } as const),
);

/** Statuses beside those that mean the same at every vendor. */
const OWN_STATUSES: StatusClasses = {
  // The model failed; the request was valid.
  424: "server",
};

/** Messages that state more than the class under which they are sent. */
const BY_TEXT: readonly TextRule[] = [
  {
    under: ["invalid_request"],
    text: /(?:input|prompt) is too long|too many (?:input )?tokens|context (?:window|length|limit)|expected maxlength: ?\d|(?:number of )?input tokens.{0,60}exceed|exceed.{0,80}(?:maximum|limit).{0,40}tokens|prompt: length/i,
    class: "context_length",
  },
  {
    under: ["invalid_request"],
    text: /could not resolve the foundation model|end of its life|marked by provider as legacy|(?:model|^endpoint) .{0,80}not found/i,
    class: "not_found",
  },
  {
    under: ["invalid_request"],
    text: /content filter|content moderation|usage polic|acceptable use/i,
    class: "content_policy",
  },
  {
    under: ["invalid_request"],
    text: /account is not authorized|not authorized to perform|^operation not allowed/i,
    class: "permission",
  },
  // a limit per minute is over soon
  { under: ["rate_limit"], text: /tokens per day/i, class: "quota" },
  {
    under: ["permission"],
    text: /security token|signature|bearer token|api key|authentication (?:failed|token)|expired/i,
    class: "authentication",
  },
];

/** SageMaker repeats the message of its container in the first of these. */
const MESSAGES = ["OriginalMessage", "message", "Message", "detail", "msg"];

/** `name` is the exception's name when the stream gives it. */
export function classifyError(answer: ErrorAnswer, name: string | null = null): UpstreamFailure {
  const { text, error } = readNamedError(answer, ({ error: inner, detail }) => inner ?? detail, MESSAGES);
  const nativeCode = name ?? nameOf(error);
  const first =
    (nativeCode === null ? undefined : BY_NAME.get(nativeCode.toLowerCase())) ??
    classOfStatus(answer.status, OWN_STATUSES);
  return { class: refinedClass(first, text, BY_TEXT), message: text, param: null, nativeCode };
}

/**
 * Reads the same name from `com.amazon.coral.validate#ValidationException`, `ValidationException:http://internal...`
 * and the bare name.
 */
function nameOf({ __type: type, code, ErrorCode: errorCode }: JsonObject): string | null {
  const name = filled(type) ?? filled(code) ?? filled(errorCode);
  return name === null ? null : (/(?:^|#)(\w{1,100})(?::|$)/.exec(name.slice(0, 300))?.[1] ?? null);
}
