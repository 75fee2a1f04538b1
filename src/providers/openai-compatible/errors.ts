// Reads a provider's error, in any of the forms that OpenAI-compatible servers and the proxies in front of them use, as
// one UpstreamFailure.
import { isObject, isSet, isWholeNumber, type Json, type JsonObject } from "../../core/json.ts";
import {
  classOfStatus,
  describeErrorBody,
  isWebPage,
  JUDGED_CHARACTERS,
  readErrorJson,
} from "../answers/error-body.ts";
import type { ErrorAnswer, UpstreamFailure } from "../interface/upstream-failure.ts";
import { CODE_RULES, OWN_STATUSES, TEXT_RULES } from "./error-rules.ts";
import type { ErrorRule, OpenAICompatibleRow } from "./row.ts";

/** More tokens than the account may send in a minute: https://github.com/Aider-AI/aider/issues/1880 */
const BEYOND_LIMIT = /^request too large\b/i;

export type ErrorClassifier = ReturnType<typeof errorClassifier>;

export function errorClassifier(row: Pick<OpenAICompatibleRow, "errors" | "causeAt" | "statusAt">) {
  const own = row.errors ?? [];
  const byCode = [...own.filter((rule) => rule.codes !== undefined), ...CODE_RULES];
  const byText = [...own.filter((rule) => rule.codes === undefined), ...TEXT_RULES];

  function classifyParsed(status: number, parsed: Json, body: string): UpstreamFailure {
    const facts = readError(ownStatus(parsed, row.statusAt) ?? parsed, row.causeAt);
    const named = status === 200 ? (facts.status ?? status) : status;
    const message = facts.message === "" ? describeErrorBody(named, body) : facts.message.slice(0, JUDGED_CHARACTERS);
    const rule =
      byCode.find((candidate) => matches(candidate, named, facts)) ??
      byText.find((candidate) => matches(candidate, named, facts));
    const kind = rule?.class ?? classOfStatus(named, OWN_STATUSES);
    return {
      class: kind,
      message,
      param: facts.param,
      nativeCode: facts.codes[0] ?? null,
      ...(kind === "rate_limit" && BEYOND_LIMIT.test(message) && { isOfRequest: true as const }),
    };
  }

  return {
    /** The same for a body that has already been parsed. `body` is its text. */
    classifyParsed,
    classify: ({ status, body }: ErrorAnswer) => classifyParsed(status, parseOrText(body), body),
    /** Whether something that came with status 200 is an error and not an answer. */
    isError: (value: Json) => isErrorObject(value) || ownStatus(value, row.statusAt) !== null,
  };
}

/**
 * The vendor's own status, when it is not 0, in OpenAI's form. An error object beside it is more precise and has
 * precedence.
 */
function ownStatus(value: Json, at: OpenAICompatibleRow["statusAt"]): JsonObject | null {
  if (at === undefined || !isObject(value) || isFilled(value["error"])) return null;
  const holder = value[at[0]];
  const code = isObject(holder) ? holder[at[1]] : undefined;
  if (!isObject(holder) || typeof code !== "number" || code === 0) return null;
  return { error: { code, message: holder[at[2]] ?? "" } };
}

function matches(rule: ErrorRule, status: number, facts: ErrorFacts): boolean {
  if (rule.statuses !== undefined && !rule.statuses.includes(status)) return false;
  if (rule.codes !== undefined && !facts.codes.some((code) => rule.codes!.includes(code.toLowerCase()))) return false;
  return rule.text === undefined || rule.text.test(facts.message.slice(0, JUDGED_CHARACTERS));
}

function isErrorObject(value: Json): boolean {
  if (Array.isArray(value)) return isObject(value[0]) && isErrorObject(value[0]);
  if (!isObject(value)) return false;
  if (isFilled(value["error"])) return true;
  if (isSet(value["choices"])) return false;
  return (
    value["object"] === "error" ||
    value["type"] === "error" ||
    isSet(value["detail"]) ||
    typeof value["message"] === "string" ||
    Array.isArray(value["errors"])
  );
}

/** Some servers send an empty `error` beside every answer. */
function isFilled(error: Json | undefined): boolean {
  if (error === undefined || error === null || error === false || error === "") return false;
  return typeof error !== "object" || Object.keys(error).length > 0;
}

interface ErrorFacts {
  readonly message: string;
  readonly param: string | null;
  /** Code and type, unchanged. */
  readonly codes: readonly string[];
  /** The HTTP status that the error itself names. */
  readonly status: number | null;
}
const NO_FACTS: ErrorFacts = { message: "", param: null, codes: [], status: null };

function readError(value: Json | undefined, causeAt: OpenAICompatibleRow["causeAt"]): ErrorFacts {
  if (typeof value === "string") return { ...NO_FACTS, message: isWebPage(value) ? "" : value.trim() };
  if (Array.isArray(value)) return readError(value[0] as Json | undefined, causeAt);
  if (!isObject(value)) return NO_FACTS;
  const inner = value["error"] ?? firstOf(value["errors"]);
  // The forms {"error": "message", "code": ...} (xAI, Hugging Face, LM Studio) and {"error": {...}} (OpenAI).
  if (typeof inner === "string")
    return { ...factsOf({ ...value, message: inner, type: value["type"] ?? value["error_type"] ?? null }) };
  if (isObject(inner)) return withCause(factsOf(inner, value), inner, causeAt);
  if (Array.isArray(inner)) return readError(inner, causeAt);
  return factsOf(value);
}

function firstOf(list: Json | undefined): Json | undefined {
  return Array.isArray(list) ? (list[0] as Json | undefined) : undefined;
}

/** `outer` supplies what the error object itself leaves out. */
function factsOf(error: JsonObject, outer: JsonObject = {}): ErrorFacts {
  const detail = readDetail(error["detail"] ?? outer["detail"]);
  const message = [
    error["message"],
    error["msg"],
    detail.message,
    error["description"] /* Writer */,
    error["title"],
    outer["message"],
  ].find((text) => typeof text === "string" && text.trim() !== "");
  const nested = isObject(error["message"]) ? factsOf(error["message"]) : null;
  const innerCode = isObject(error["innererror"]) ? error["innererror"]["code"] : undefined;
  return {
    message: ((message as string | undefined) ?? nested?.message ?? "").trim(),
    param: typeof error["param"] === "string" && error["param"] !== "" ? error["param"] : detail.param,
    codes: [error["code"], error["type"], error["error_code"], innerCode, outer["type"]].flatMap(codeText),
    status:
      [error["status"], error["status_code"], error["code"], outer["status"], outer["code"]]
        .map(statusOf)
        .find((status) => status !== null) ?? null,
  };
}

function codeText(value: Json | undefined): readonly string[] {
  return typeof value === "string" && value !== "" ? [value] : typeof value === "number" ? [String(value)] : [];
}

function statusOf(value: Json | undefined): number | null {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return isWholeNumber(status, 400, 599) ? status : null;
}

/** FastAPI's form: a string, or a list of {loc, msg, type}. https://fastapi.tiangolo.com/tutorial/handling-errors/ */
function readDetail(detail: Json | undefined): { readonly message: string | null; readonly param: string | null } {
  if (typeof detail === "string") return { message: detail, param: null };
  if (isObject(detail)) return { message: readError(detail, undefined).message || null, param: null };
  if (!Array.isArray(detail)) return { message: null, param: null };
  const findings = (detail as readonly Json[]).filter(isObject).map((finding) => {
    const place = Array.isArray(finding["loc"]) ? finding["loc"].filter((step) => step !== "body").join(".") : "";
    return { place, message: typeof finding["msg"] === "string" ? finding["msg"] : "invalid" };
  });
  if (findings.length === 0) return { message: null, param: null };
  return {
    message: findings.map(({ place, message }) => (place === "" ? message : `${place}: ${message}`)).join("; "),
    param: findings[0]!.place || null,
  };
}

/** Adds the message of the provider behind this one, because it is the message that a person can act on. */
function withCause(facts: ErrorFacts, error: JsonObject, causeAt: OpenAICompatibleRow["causeAt"]): ErrorFacts {
  if (causeAt === undefined) return facts;
  const holder = error[causeAt[0]];
  const raw = isObject(holder) ? holder[causeAt[1]] : undefined;
  if (raw === undefined || raw === null) return facts;
  const cause = readError(typeof raw === "string" ? parseOrText(raw) : raw, undefined);
  if (cause.message === "" || facts.message.includes(cause.message)) return facts;
  return {
    ...facts,
    message: facts.message === "" ? cause.message : `${facts.message}: ${cause.message}`,
    codes: [...facts.codes, ...cause.codes],
  };
}

function parseOrText(body: string): Json {
  const parsed = readErrorJson(body);
  return parsed === undefined ? body : parsed;
}
