// Errors of this form: https://platform.claude.com/docs/en/api/errors. Code and path of ours stand in headers.
import type { ErrorForm } from "../../engine/call/called-operation.ts";
import { visibleHeader } from "../../engine/call/reply-headers.ts";
import { type ErrorCode, type GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  501: "not_supported",
  504: "timeout_error",
};

const OWN_TYPES: Partial<Readonly<Record<ErrorCode, string>>> = {
  insufficient_quota: "billing_error",
  upstream_overloaded: "overloaded_error",
  gateway_overloaded: "overloaded_error",
};

/**
 * What a client can do without, by the path of its part of the request: programs that know this word leave the part out
 * and ask again. The word has to be the whole message.
 */
const CAN_DO_WITHOUT: readonly (readonly [path: RegExp, word: string])[] = [
  [/^output_config\.effort$/, "effort_unsupported"],
  [/^(?:output_config\.format|output_format)/, "structured_outputs_unsupported"],
];

/** The blocks that a target does not take, by their type, which the message names. */
const BLOCK_WORDS: Readonly<Record<string, string>> = { image: "image_block", document: "document_block" };
const REFUSED_BLOCK = /\b(?:blocks|content|is) of type "?(\w+)/;

const REFUSALS: ReadonlySet<ErrorCode> = new Set(["unsupported_parameter", "unsupported_value"]);

/** The words by which programs recognize that the conversation has to be shortened. */
const TOO_LONG = "prompt is too long";

const PLAIN: ErrorForm = {
  body: (error, traceId) => bodyOf(error, messageOf(error), traceId),
  headers: (_, traceId) => ({ "request-id": traceId }),
};

export const MESSAGE_ERRORS: ErrorForm = {
  body: (error, traceId) => bodyOf(error, wordFor(error) ?? messageOf(error), traceId),
  headers: (error, traceId) => ({
    ...PLAIN.headers!(error, traceId),
    ...(wordFor(error) !== null && { "x-gateway-error-message": visibleHeader(error.message) }),
  }),
  without: { deviation: "capability_words", form: PLAIN },
};

function bodyOf(error: GatewayError, message: string, traceId: string): JsonObject {
  const details = detailsOf(error);
  const said = { type: typeOf(error), message, ...(details !== null && { details }) };
  return { type: "error", error: said, request_id: traceId };
}

/**
 * The codes after which the vendor's libraries send the whole conversation, without a thread or under a new one:
 * `ThreadState` of https://github.com/anthropics/anthropic-sdk-typescript
 */
function detailsOf({ code, param }: GatewayError): JsonObject | null {
  if (param === "thread" && REFUSALS.has(code)) return { error_code: "thread_unsupported_request" };
  if (param === "thread.previous_message_id" && code === "unknown_reference") return { error_code: "thread_not_found" };
  return null;
}

function typeOf({ code, entry: { status } }: GatewayError): string {
  return OWN_TYPES[code] ?? TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
}

function wordFor({ code, param, message }: GatewayError): string | null {
  if (code === "unsupported_content_block") {
    const word = BLOCK_WORDS[REFUSED_BLOCK.exec(message)?.[1] ?? ""];
    return word === undefined ? null : `capability_rejected: ${word}`;
  }
  if (param === null || !REFUSALS.has(code)) return null;
  const known = CAN_DO_WITHOUT.find(([path]) => path.test(param));
  return known === undefined ? null : `capability_rejected: ${known[1]}`;
}

function messageOf({ code, message }: GatewayError): string {
  return code !== "context_length_exceeded" || message.toLowerCase().includes(TOO_LONG)
    ? message
    : `${TOO_LONG}: ${message}`;
}
