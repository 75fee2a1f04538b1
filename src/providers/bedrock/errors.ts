// Errors of Bedrock's runtime by class: the exception's name where the body or the stream tells it, then the status, and texts last, because the name of a
// plain answer's error stands in a header alone. https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import {
  classOfStatus,
  describeErrorBody,
  filled,
  JUDGED_CHARACTERS,
  readErrorJson,
  type StatusClasses,
} from "../error-body.ts";
import type { ErrorAnswer, FailureClass, UpstreamFailure } from "../provider.ts";

/** By the name in small letters: streams spell it with a small first letter, bodies with a large one. */
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

/** Beside what a status says at every vendor. */
const OWN_STATUSES: StatusClasses = {
  // the model failed, not the request
  424: "server",
};

/** What is said under a class that says less. */
const BY_TEXT: readonly { readonly under: FailureClass; readonly text: RegExp; readonly class: FailureClass }[] = [
  {
    under: "invalid_request",
    text: /(?:input|prompt) is too long|too many (?:input )?tokens|context (?:window|length|limit)|expected maxlength: ?\d|(?:number of )?input tokens.{0,60}exceed|exceed.{0,80}(?:maximum|limit).{0,40}tokens|prompt: length/i,
    class: "context_length",
  },
  {
    under: "invalid_request",
    text: /could not resolve the foundation model|end of its life|marked by provider as legacy|(?:model|^endpoint) .{0,80}not found/i,
    class: "not_found",
  },
  {
    under: "invalid_request",
    text: /content filter|content moderation|usage polic|acceptable use/i,
    class: "content_policy",
  },
  { under: "invalid_request", text: /account is not authorized|not authorized to perform/i, class: "permission" },
  {
    under: "permission",
    text: /security token|signature|bearer token|api key|authentication (?:failed|token)|expired/i,
    class: "authentication",
  },
];

/** Copes with any body. `name`: the exception's, where the stream tells it. */
export function classifyError({ status, body }: ErrorAnswer, name: string | null = null): UpstreamFailure {
  const told = readError(body);
  const nativeCode = name ?? told.name;
  const first =
    (nativeCode === null ? undefined : BY_NAME.get(nativeCode.toLowerCase())) ?? classOfStatus(status, OWN_STATUSES);
  const message = (told.message ?? describeErrorBody(status, body)).slice(0, JUDGED_CHARACTERS);
  const refined = BY_TEXT.find((rule) => rule.under === first && rule.text.test(message));
  return { class: refined?.class ?? first, message, param: null, nativeCode };
}

interface NamedError {
  readonly name: string | null;
  /** Null when the body says nothing. */
  readonly message: string | null;
}

/** Proxies in front have forms of their own: a bare string, `error`, `detail`, a list with one error. */
function readError(body: string): NamedError {
  const value = readErrorJson(body);
  const outer: Json | undefined = Array.isArray(value) ? (value as readonly Json[])[0] : value;
  const inner = isObject(outer) ? (outer["error"] ?? outer["detail"] ?? outer) : outer;
  const first = Array.isArray(inner) ? (inner as readonly Json[])[0] : inner;
  if (typeof first === "string") return { name: null, message: filled(first) };
  if (!isObject(first)) return { name: null, message: null };
  // SageMaker says what its container said
  const message =
    filled(first["OriginalMessage"]) ??
    filled(first["message"]) ??
    filled(first["Message"]) ??
    filled(first["detail"]) ??
    filled(first["msg"]);
  return { name: nameOf(first), message };
}

/** `com.amazon.coral.validate#ValidationException`, `ValidationException:http://internal...` and the bare name are one. */
function nameOf({ __type: type, code, ErrorCode: errorCode }: JsonObject): string | null {
  const name = filled(type) ?? filled(code) ?? filled(errorCode);
  return name === null ? null : (/(?:^|#)(\w{1,100})(?::|$)/.exec(name.slice(0, 300))?.[1] ?? null);
}
