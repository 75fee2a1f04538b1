// Rules that classify the errors of every OpenAI-compatible provider, as data. Codes come first, because they do not
// change with the wording; texts come last. Sources: the vendors' error pages named in the rows, and reported error
// bodies.
import type { StatusClasses } from "../answers/error-body.ts";
import type { ErrorRule } from "./row.ts";

export const CODE_RULES: readonly ErrorRule[] = [
  {
    class: "context_length",
    codes: [
      "context_length_exceeded",
      "context_window_exceeded",
      "exceed_context_size_error",
      "too_many_prompt_tokens",
      "model_max_prompt_tokens_exceeded",
      "prompt_too_long",
      "tokens_limit_reached" /* GitHub Models */,
    ],
  },
  {
    class: "quota",
    codes: [
      "insufficient_quota",
      "billing_hard_limit_reached",
      "billing_not_active",
      "insufficient_balance",
      "insufficient_funds",
      "insufficient_credits",
      "credit_limit_exceeded",
      "payment_required",
      "token_quota_reached" /* watsonx.ai */,
      "insufficient_user_quota" /* New API */,
    ],
  },
  {
    class: "rate_limit",
    codes: [
      "rate_limit_exceeded",
      "rate_limit_error",
      "rate_limited",
      "too_many_requests",
      "too_many_requests_error",
      "request_quota_exceeded",
      "token_quota_exceeded",
      "tokens_per_minute_limit_exceeded",
    ],
  },
  {
    class: "content_policy",
    codes: [
      "content_filter",
      "content_policy_violation",
      "responsibleaipolicyviolation",
      "moderation_blocked",
      "content_blocked",
    ],
  },
  {
    class: "authentication",
    codes: [
      "invalid_api_key",
      "invalid_authentication",
      "authentication_error",
      "incorrect_api_key",
      "missing_api_key",
      "unauthorized",
      "invalid_token",
    ],
  },
  {
    class: "permission",
    codes: [
      "permission_denied",
      "permission_error",
      "unsupported_country_region_territory",
      "access_denied",
      "organization_restricted" /* Groq */,
    ],
  },
  {
    class: "not_found",
    codes: [
      "model_not_found",
      "invalid_model",
      "model_not_available",
      "model_not_supported",
      "unknown_model",
      "unavailable_model" /* GitHub Models */,
      "model_decommissioned" /* Groq */,
      "notfounderror",
      "deploymentnotfound",
      "operationnotsupported" /* Azure: the deployment's model has no such operation */,
    ],
  },
  {
    class: "overloaded",
    codes: [
      "overloaded",
      "overloaded_error",
      "engine_overloaded",
      "service_unavailable",
      "unavailable_error",
      "provider_overloaded",
      "server_overloaded",
      "capacity_exceeded" /* Groq's flex tier, with the status 498 */,
    ],
  },
  { class: "reference", codes: ["previous_response_not_found", "file_not_found"] },
  { class: "timeout", codes: ["timeout", "request_timeout", "gateway_timeout"] },
];

const REFUSALS = [200, 400, 403, 404, 413, 422] as const;

export const TEXT_RULES: readonly ErrorRule[] = [
  {
    class: "context_length",
    statuses: [...REFUSALS, 500],
    text: /(maximum|max) (context|prompt|model|input) length|context[ _](length|window|size)|exceeds? the (available )?context|(prompt|input|request|conversation)( text)? is too long|too many (input |prompt )?tokens|reduce the length of the (messages|prompt|input)|tokens? .{0,40}must be <=/i,
  },
  {
    class: "context_length",
    statuses: [...REFUSALS, 500],
    text: /model token limit|max(imum)? (context limit|number of tokens|message tokens)|exceeds? (the )?context limit|input tokens? exceeds?|range of input length should be|input (token )?length (is )?too long|(prompt_tokens|max_total_tokens) .{0,40}must be less than|current length is \d{1,12} while limit is|prompt exceeds max length|token count .{0,40}exceeds the limit|maximum allowed (input )?length|must have less than \d{1,12} tokens|number of input tokens \d{1,12} cannot exceed/i,
  },
  {
    class: "authentication",
    statuses: REFUSALS,
    text: /(incorrect|invalid|wrong|missing|no|expired|revoked) (api|access|auth)[ _-]?(key|token|credential)|api[ _-]?key (is )?(incorrect|invalid|missing|not valid|not found|expired)/i,
  },
  {
    class: "quota",
    statuses: [...REFUSALS, 429],
    text: /(insufficient|not enough) (balance|credits?|funds|quota)|balance is insufficient|exceeded your current quota|(out of|no remaining|used all available|have any) credits?|no credits remaining|credit balance is too low|requires more credits|billing (hard )?limit|key limit exceeded|spend(ing)? limit/i,
  },
  {
    class: "content_policy",
    statuses: REFUSALS,
    text: /content (management |moderation )?policy|usage (guidelines|polic)|content violates|content exists risk|(inappropriate|prohibited)[ _]content|blocked by (the |our )?(content|safety) filter|flagged (as|by|for)|safety (system|check)|moderation (system|filter|polic|check)/i,
  },
  {
    class: "reference",
    statuses: [200, 400, 404],
    text: /\b(?:item|response|conversation|container|vector store|file|prompt) with id .{1,200}(?:not found|does not exist)|no such (?:file|vector ?store|container) /i,
  },
  {
    class: "not_found",
    statuses: [200, 400, 404, 422],
    text: /\bmodel\b.{0,200}(does not exist|not found|not exist)|not a valid model|(invalid|unknown|unrecognized) model|no such model/i,
  },
  { class: "rate_limit", statuses: [...REFUSALS, 500, 503], text: /rate[ _-]?limit|too many requests/i },
  { class: "overloaded", statuses: [200, 500, 502], text: /overloaded|at capacity|high demand/i },
  // An error inside an answer has no status of its own, so that only its type tells whose fault it is:
  // https://platform.openai.com/docs/guides/error-codes, https://docs.vllm.ai/en/latest/serving/openai_compatible_server
  {
    class: "invalid_request",
    statuses: [200],
    codes: ["invalid_request_error", "badrequesterror", "invalid_argument", "invalid_parameter_error"],
  },
];

/** Statuses beside those that mean the same at every vendor. */
export const OWN_STATUSES: StatusClasses = { 410: "not_found" };
