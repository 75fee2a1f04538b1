// Classifies errors of Google's APIs: by status codes and details first, by texts last. https://google.aip.dev/193,
// https://ai.google.dev/gemini-api/docs/troubleshooting
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import {
  classOfStatus,
  describeErrorBody,
  JUDGED_CHARACTERS,
  readErrorJson,
  type StatusClasses,
} from "../answers/error-body.ts";
import type { ErrorAnswer, FailureClass, UpstreamFailure } from "../interface/upstream-failure.ts";

/** Maps, because the reasons and status codes that a provider sends may be names that every object has. */
const CLASS_OF_REASON: ReadonlyMap<string, FailureClass> = new Map<string, FailureClass>(
  Object.entries({
    API_KEY_INVALID: "authentication",
    ACCESS_TOKEN_EXPIRED: "authentication",
    ACCESS_TOKEN_TYPE_UNSUPPORTED: "authentication",
    ACCOUNT_STATE_INVALID: "authentication",
    CREDENTIALS_MISSING: "authentication",
    BILLING_DISABLED: "quota",
  } as const),
);

const CLASS_OF_STATUS_WORD: ReadonlyMap<string, FailureClass> = new Map<string, FailureClass>(
  Object.entries({
    INVALID_ARGUMENT: "invalid_request",
    FAILED_PRECONDITION: "invalid_request",
    OUT_OF_RANGE: "invalid_request",
    UNIMPLEMENTED: "invalid_request",
    UNAUTHENTICATED: "authentication",
    PERMISSION_DENIED: "permission",
    NOT_FOUND: "not_found",
    RESOURCE_EXHAUSTED: "rate_limit",
    UNAVAILABLE: "overloaded",
    DEADLINE_EXCEEDED: "timeout",
    CANCELLED: "server",
    ABORTED: "server",
    INTERNAL: "server",
    DATA_LOSS: "server",
    UNKNOWN: "server",
  } as const),
);

/** Statuses beside those that mean the same at every vendor. */
const OWN_STATUSES: StatusClasses = {
  // an error inside an answer that names no status
  200: "invalid_request",
  499: "server",
};

/** The server has no code for a prompt that is too long, nor for content that it refuses before generation. */
const TOO_LONG =
  /exceeds the maximum number of tokens|input token count.*(exceeds|only supports)|maximum context length|context window/is;
const REFUSED_CONTENT = /responsible ai practices|usage guidelines|blocked by (the )?safety|safety filters?/i;
/** Vertex AI says of a model that a region does not have, and of one that a project may not call, that the request is wrong. */
const NOT_SERVED = /publisher model .{1,400} is not (servable|supported) in /is;
const NOT_ALLOWED = /is not allowed to use publisher model/i;
const PAYMENT_REQUIRED = 402;
const NO_CALLER = /unregistered callers|established identity|key was reported as leaked/i;
/** Quotas for which waiting a minute does not help: a daily quota, or money. */
const SPENT = /per day|PerDay|prepayment credits|spend(ing)? (cap|limit)|limit: 0\b/;

export function classifyError(answer: ErrorAnswer): UpstreamFailure {
  const body = readErrorJson(answer.body);
  const error = errorObject(body);
  const details = detailsOf(error);
  const reason = detail(details, "ErrorInfo")?.["reason"];
  const word = error?.["status"];
  const message = messageOf(body, error, details, answer);
  const nativeCode = [reason, word].find((code) => typeof code === "string") ?? error?.["code"];
  return {
    class: classOf(answer, textOrEmpty(reason), textOrEmpty(word), message, details),
    message,
    param: fieldOf(details),
    nativeCode: typeof nativeCode === "string" || typeof nativeCode === "number" ? String(nativeCode) : null,
    ...retryAfter(details),
  };
}

/**
 * `RetryInfo` gives the wait as a duration in seconds, such as "36s" or "1.5s". No header does.
 * https://google.aip.dev/193#retryinfo
 */
function retryAfter(details: readonly JsonObject[]): Pick<UpstreamFailure, "retryAfterMs"> {
  const delay = detail(details, "RetryInfo")?.["retryDelay"];
  const seconds = typeof delay === "string" && /^\d+(\.\d+)?s$/.test(delay) ? Number.parseFloat(delay) : null;
  return seconds === null ? {} : { retryAfterMs: Math.ceil(seconds * 1000) };
}

/** The HTTP status that an error inside a response names. */
export function statusOfError(frame: JsonObject): number | null {
  const error = frame["error"];
  const code = isObject(error) ? error["code"] : undefined;
  return typeof code === "number" && code >= 400 && code < 600 ? code : null;
}

function classOf(
  answer: ErrorAnswer,
  reason: string,
  word: string,
  message: string,
  details: readonly JsonObject[],
): FailureClass {
  const byReason = CLASS_OF_REASON.get(reason);
  if (byReason !== undefined) return byReason;
  // This status means that a payment is missing, whatever status code the body names.
  if (answer.status === PAYMENT_REQUIRED) return "quota";
  const general = CLASS_OF_STATUS_WORD.get(word) ?? classOfStatus(answer.status, OWN_STATUSES);
  if (general === "invalid_request" && TOO_LONG.test(message)) return "context_length";
  if (general === "invalid_request" && REFUSED_CONTENT.test(message)) return "content_policy";
  if (general === "invalid_request" && /api key (not valid|expired)/i.test(message)) return "authentication";
  if (general === "invalid_request" && NOT_SERVED.test(message)) return "not_found";
  if (general === "invalid_request" && NOT_ALLOWED.test(message)) return "permission";
  if (general === "permission" && NO_CALLER.test(message)) return "authentication";
  if (general === "rate_limit" && (SPENT.test(message) || quotaIds(details).some((id) => SPENT.test(id))))
    return "quota";
  return general;
}

/** The error is under `error`, in a list of one, or is the body itself. */
function errorObject(body: Json | undefined): JsonObject | null {
  const outer = Array.isArray(body) ? (body[0] as Json | undefined) : body;
  if (!isObject(outer)) return null;
  return isObject(outer["error"]) ? outer["error"] : outer;
}

function detailsOf(error: JsonObject | null): readonly JsonObject[] {
  return objectsIn(error?.["details"]);
}

function detail(details: readonly JsonObject[], type: string): JsonObject | undefined {
  return details.find((entry) => entry["@type"] === `type.googleapis.com/google.rpc.${type}`);
}

/** Returns ids such as `GenerateRequestsPerDayPerProjectPerModel-FreeTier`. */
function quotaIds(details: readonly JsonObject[]): readonly string[] {
  return objectsIn(detail(details, "QuotaFailure")?.["violations"])
    .map(({ quotaId }) => quotaId)
    .filter((id) => typeof id === "string");
}

function fieldOf(details: readonly JsonObject[]): string | null {
  const list = detail(details, "BadRequest")?.["fieldViolations"];
  const first = Array.isArray(list) ? (list[0] as Json | undefined) : undefined;
  const field = isObject(first) ? first["field"] : undefined;
  return typeof field === "string" && field !== "" ? field : null;
}

function messageOf(
  body: Json | undefined,
  error: JsonObject | null,
  details: readonly JsonObject[],
  answer: ErrorAnswer,
): string {
  const said = [
    error?.["message"],
    error?.["error"],
    error?.["detail"],
    detail(details, "LocalizedMessage")?.["message"],
    body,
  ];
  const message = said.find((text) => typeof text === "string" && text.trim() !== "");
  return (typeof message === "string" ? message : describeErrorBody(answer.status, answer.body)).slice(
    0,
    JUDGED_CHARACTERS,
  );
}
