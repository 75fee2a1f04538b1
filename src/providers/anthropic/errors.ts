// Classifies errors of the Messages API by their type first, then by the status. Texts refine the class where the
// vendor has no code of its own. https://platform.claude.com/docs/en/api/errors
import { isObject, type Json } from "../../core/json.ts";
import { classOfStatus, describeErrorBody, filled, JUDGED_CHARACTERS, readErrorJson } from "../answers/error-body.ts";
import type { ErrorAnswer, FailureClass, UpstreamFailure } from "../upstream-failure.ts";

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

/** Messages that state more than the type under which the vendor sends them. */
const BY_TEXT: readonly { readonly under: FailureClass; readonly text: RegExp; readonly class: FailureClass }[] = [
  {
    under: "invalid_request",
    text: /prompt is too long|exceeds? (?:the )?(?:model'?s )?(?:maximum )?context (?:limit|window|length)|prompt: length/i,
    class: "context_length",
  },
  {
    under: "invalid_request",
    text: /credit balance is too low|reached your specified API usage limits/i,
    class: "quota",
  },
  { under: "invalid_request", text: /content filtering policy|usage policy/i, class: "content_policy" },
  { under: "server", text: /^overloaded/i, class: "overloaded" },
];

/** The vendor names the field at the start of the message: `tools.0.custom.name: ...`. */
const FIELD =
  /^((?:model|messages|system|tools|tool_choice|max_tokens|temperature|top_[pk]|stop_sequences|stream|thinking|output_config|metadata|service_tier|container|mcp_servers|context_management|cache_control)(?:\.[\w-]+)*): /;

/** Accepts any body and never throws. */
export function classifyError({ status, body }: ErrorAnswer): UpstreamFailure {
  const { type, message, errorCode } = readError(body);
  const first = (type === null ? undefined : BY_TYPE.get(type)) ?? classOfStatus(status);
  const text = (message ?? describeErrorBody(status, body)).slice(0, JUDGED_CHARACTERS);
  // only conversations that the vendor keeps are named so
  if (errorCode?.startsWith("thread_") === true && first === "not_found")
    return { class: "reference", message: text, param: null, nativeCode: errorCode };
  const refined = BY_TEXT.find((rule) => rule.under === first && rule.text.test(text));
  return { class: refined?.class ?? first, message: text, param: FIELD.exec(text)?.[1] ?? null, nativeCode: type };
}

interface NamedError {
  readonly type: string | null;
  /** `null` when the body has no message. */
  readonly message: string | null;
  readonly errorCode?: string;
}

/** Proxies in front of the vendor have other forms: a bare string, `message`, `detail`, a list with one error. */
function readError(body: string): NamedError {
  const value = readErrorJson(body);
  const outer: Json | undefined = Array.isArray(value) ? (value as readonly Json[])[0] : value;
  const inner = isObject(outer) ? (outer["error"] ?? outer["detail"] ?? outer) : outer;
  if (typeof inner === "string") return { type: null, message: filled(inner) };
  if (!isObject(inner)) return { type: null, message: null };
  const { type, message, detail, details } = inner;
  const errorCode = isObject(details) ? details["error_code"] : undefined;
  return {
    ...(typeof errorCode === "string" && { errorCode }),
    type: typeof type === "string" && type !== "error" ? type : null,
    message: filled(message) ?? filled(detail) ?? null,
  };
}
