// Classifies errors of the Messages API by their type first, then by the status. Texts refine the class where the
// vendor has no code of its own. https://platform.claude.com/docs/en/api/errors
import { isObject } from "../../core/json.ts";
import { classOfStatus } from "../answers/error-body.ts";
import { readNamedError, refinedClass, type TextRule } from "../answers/named-error.ts";
import type { ErrorAnswer, FailureClass, UpstreamFailure } from "../interface/upstream-failure.ts";

/** A map, because the provider's type may be a name that every object has. */
const BY_TYPE: ReadonlyMap<string, FailureClass> = new Map<string, FailureClass>(
  Object.entries({
    invalid_request_error: "invalid_request",
    request_too_large: "invalid_request",
    conflict_error: "invalid_request",
    authentication_error: "authentication",
    billing_error: "quota",
    permission_error: "permission",
    not_found_error: "not_found",
    rate_limit_error: "rate_limit",
    timeout_error: "timeout",
    overloaded_error: "overloaded",
    api_error: "server",
  } as const),
);

/**
 * Codes in the details of an error that state more than its type: limits that no waiting of a call cures, and what is
 * wrong with the account or its keys. https://github.com/anthropics/anthropic-sdk-typescript (errorCode)
 */
const BY_CODE: ReadonlyMap<unknown, FailureClass> = new Map<unknown, FailureClass>([
  ["contract_spend_limit_reached", "quota"],
  ["enforced_spend_limit_reached", "quota"],
  ["organization_on_hold", "permission"],
  ["claude_code_key_creator_not_member", "permission"],
  ["cmek_key_disabled", "permission"],
  ["cmek_key_network_blocked", "permission"],
]);

/** Messages that state more than the type under which the vendor sends them. */
const BY_TEXT: readonly TextRule[] = [
  {
    under: ["invalid_request"],
    text: /prompt is too long|exceeds? (?:the )?(?:model'?s )?(?:maximum )?context (?:limit|window|length)|prompt: length/i,
    class: "context_length",
  },
  {
    under: ["invalid_request"],
    text: /credit balance is too low|reached your specified API usage limits/i,
    class: "quota",
  },
  { under: ["invalid_request"], text: /content filtering policy|usage policy/i, class: "content_policy" },
  { under: ["invalid_request"], text: /organization has been disabled/i, class: "permission" },
  { under: ["server"], text: /^overloaded/i, class: "overloaded" },
];

/** The vendor names the field at the start of the message: `tools.0.custom.name: ...`. */
const FIELD =
  /^((?:model|messages|system|tools|tool_choice|max_tokens|temperature|top_[pk]|stop_sequences|stream|thinking|output_config|metadata|service_tier|container|mcp_servers|context_management|cache_control)(?:\.[\w-]+)*): /;

export function classifyError(answer: ErrorAnswer): UpstreamFailure {
  const named = readNamedError(answer, ({ error, detail }) => error ?? detail, ["message", "detail"]);
  const { type, details } = named.error;
  const nativeCode = typeof type === "string" && type !== "error" ? type : null;
  const first = (nativeCode === null ? undefined : BY_TYPE.get(nativeCode)) ?? classOfStatus(answer.status);
  const errorCode = isObject(details) ? details["error_code"] : undefined;
  // only conversations that the vendor keeps are named so
  if (first === "not_found" && typeof errorCode === "string" && errorCode.startsWith("thread_"))
    return { class: "reference", message: named.text, param: null, nativeCode: errorCode };
  return {
    class: BY_CODE.get(errorCode) ?? refinedClass(first, named.text, BY_TEXT),
    message: named.text,
    param: FIELD.exec(named.text)?.[1] ?? null,
    nativeCode,
  };
}
