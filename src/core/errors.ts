// The catalogue of all errors that the gateway returns. Code that throws chooses only an error code: status, type,
// source and whether to retry always come from here. The body has the form of OpenAI's errors, which official clients
// turn into typed exceptions (promise 5.1).
import type { JsonObject } from "./json.ts";

export type ErrorSource = "client" | "gateway" | "upstream";

export interface CatalogueEntry {
  readonly status: number;
  /** `error.type` of the body. */
  readonly type: string;
  readonly source: ErrorSource;
  /** When false, the response has `x-should-retry: false`, because the same call cannot succeed. */
  readonly retry: boolean;
  readonly meaning: string;
  readonly cure: string;
}

const entry = (
  status: number,
  type: string,
  source: ErrorSource,
  retry: boolean,
  meaning: string,
  cure: string,
): CatalogueEntry => ({ status, type, source, retry, meaning, cure });
const badRequest = (meaning: string, cure: string, status = 400): CatalogueEntry =>
  entry(status, "invalid_request_error", "client", false, meaning, cure);
const unauthenticated = (meaning: string, cure: string): CatalogueEntry =>
  entry(401, "authentication_error", "client", false, meaning, cure);
const forbidden = (meaning: string, cure: string): CatalogueEntry =>
  entry(403, "permission_error", "client", false, meaning, cure);
const missing = (meaning: string, cure: string): CatalogueEntry =>
  entry(404, "not_found_error", "client", false, meaning, cure);
const unavailable = (meaning: string, cure: string): CatalogueEntry =>
  entry(503, "server_error", "gateway", true, meaning, cure);
const upstreamFault = (status: number, meaning: string, cure: string): CatalogueEntry =>
  entry(status, "server_error", "upstream", true, meaning, cure);

export const CATALOGUE = {
  // errors in what the client sent
  invalid_json: badRequest(
    "The body is not a JSON object in UTF-8, or a member name occurs twice in one of its objects; `param` is its path.",
    "Send a JSON object, with each name once.",
  ),
  invalid_request: badRequest(
    "A field is missing, has the wrong type or is out of range.",
    "The message says what is expected at `param`.",
  ),
  unsupported_parameter: badRequest(
    "The provider does not support a common parameter of the request.",
    "Leave it out, or set `drop_params` to true.",
  ),
  unsupported_value: badRequest(
    "The provider supports the parameter but not this value.",
    "Send one of the values in the message.",
  ),
  unsupported_content_block: badRequest(
    "The provider cannot take a content block of this type.",
    "Send the content in another form or to another model.",
  ),
  reserved_parameter: badRequest(
    "A pass-through field would overwrite a field that the gateway sets.",
    "Use the common parameter instead.",
  ),
  unknown_reference: badRequest(
    "The request names something that lives at a vendor, such as a file, which this project has not received through this gateway, or not from this provider.",
    "Send the content itself or a credential of your own, or use a token with the permission `vendor_objects`.",
  ),
  model_not_in_route: badRequest(
    "The request names a route and a model that is not one of its targets.",
    "Leave `model` out, or name one of the route's targets.",
  ),
  target_not_eligible: badRequest(
    "No target of the route is for this call: `when` and `share` of its targets and fallbacks leave the call out.",
    "Call another route or model. The operator can give the route a target or a fallback without a condition.",
  ),
  project_required: badRequest(
    "The personal token has access to more than one project.",
    "Send `project_id`, or the header `x-gateway-project-id`.",
  ),
  header_not_allowed: badRequest(
    "The request sets a provider header that callers cannot set.",
    "Leave the header out; send credentials in `api_key`.",
  ),
  address_not_allowed: badRequest(
    "The gateway may not call the address in the request.",
    "Use a public http or https address. The operator can allow private addresses with `providers.allow_private_addresses`; content is always fetched from public addresses only.",
  ),
  content_unavailable: badRequest(
    "Content at a URL could not be fetched for a provider that does not take URLs.",
    "Check the URL and the size of the content, or send it as a data URI.",
  ),
  missing_token: unauthenticated("No access token was sent.", "Send the header `Authorization: Bearer <token>`."),
  invalid_token: unauthenticated(
    "The access token is malformed or unknown.",
    "Check the token, or create one with `dragoman token create`.",
  ),
  expired_token: unauthenticated(
    "The access token has expired.",
    "Rotate it, or create a new one with `dragoman token create`.",
  ),
  revoked_token: unauthenticated("The access token was revoked.", "Create a new one with `dragoman token create`."),
  session_required: unauthenticated(
    "The console's request has no session, or its session has ended.",
    "Log in at `/console`. Programs use `/api/v1` with an access token.",
  ),
  login_failed: unauthenticated(
    "The token or the login link opens no session of the console, or the claim link gives no token; the answer is the same for every reason.",
    "Check the token, or make a link with `dragoman console link` on the gateway's machine.",
  ),
  console_refused: forbidden(
    "The request does not come from the console's own page, or over a connection on which the console is not used.",
    "Open the console over https or on the gateway's machine: [console.md](console.md).",
  ),
  recent_login_required: forbidden(
    "The console's session may do this only within 15 minutes after its login.",
    "Log in again, and repeat the request.",
  ),
  too_many_logins: entry(
    429,
    "rate_limit_error",
    "client",
    true,
    "Too many logins to the console have failed from this address or with this token.",
    "Log in with a valid token, which is always let in, or try again after `retry-after`.",
  ),
  insufficient_role: forbidden(
    "The role of the token, or of its user, does not allow the request.",
    "Use a token with the role that the message names; calls of models need developer or higher.",
  ),
  scope_mismatch: forbidden(
    "The token belongs to another tenant or project than the request names.",
    "Leave `tenant_id` and `project_id` out, or use a token of that project.",
  ),
  permission_required: forbidden(
    "The request uses a field that needs a special permission.",
    "Use a token with that permission: `dragoman token create --permission ...`.",
  ),
  policy_violation: forbidden(
    "A policy of the tenant or project forbids the call.",
    "`error.metadata.policy` names the policy; ask who administers it.",
  ),
  model_unpriced: forbidden(
    "A budget in US dollars applies, but the model has no known price.",
    "Set its price (`prices` in the file, or the admin API), or set the budget's `unpriced` to `allow`.",
  ),
  address_forbidden: forbidden(
    "The access token may not be used from this address.",
    "Call from an address in the token's `ip` ranges; behind a proxy the operator sets `server.trusted_proxies`.",
  ),
  read_only: forbidden(
    "The object is set in the configuration file, or was set by a higher role.",
    "Change the file, or ask a user with that role.",
  ),
  not_found: missing(
    "The path is unknown, or belongs to another tenant.",
    "Calls of models are POST /api/v1/chat/completions; /api/v1/openapi.json lists the paths of the admin API.",
  ),
  route_not_found: missing(
    "No route has this name.",
    "`GET /api/v1/models` lists the routes of this token; `direct` means none.",
  ),
  model_not_found: missing(
    "The provider or model is unknown or not enabled.",
    "`GET /api/v1/models` lists what this token may call.",
  ),
  operation_not_served: missing(
    "The gateway does not serve this operation.",
    "Configure the client to call chat completions; the message says how.",
  ),
  not_implemented: entry(
    501,
    "invalid_request_error",
    "gateway",
    false,
    "The gateway serves the API that the path belongs to, but not this part of it.",
    "The message says what is served instead.",
  ),
  origin_not_allowed: forbidden(
    "A page in a browser asks for something that pages of its origin may not use.",
    "Name the origin in `cors.origins` of the configuration.",
  ),
  method_not_allowed: badRequest(
    "The path does not support this method.",
    "The header `allow` lists the methods.",
    405,
  ),
  already_exists: badRequest("The id or name exists already.", "Choose another, or change the existing one.", 409),
  conflict: badRequest("The current state does not allow the change.", "The message says why.", 409),
  etag_mismatch: badRequest(
    "The object has changed since it was read.",
    "Read it again, and send its new `etag` as `if-match`.",
    412,
  ),
  idempotency_mismatch: badRequest(
    "The idempotency key was used for another request.",
    "Use a new key for each request.",
    422,
  ),
  body_timeout: entry(
    408,
    "invalid_request_error",
    "client",
    true,
    "The body did not arrive in time.",
    "Send the body without pauses.",
  ),
  body_too_large: badRequest(
    "The body is larger than the configured limit.",
    "Send less, or raise `server.max_body_bytes`.",
    413,
  ),
  unsupported_media_type: badRequest("The content type is not JSON.", "Send `content-type: application/json`.", 415),
  tool_server_not_found: missing(
    "No tool server of the project has this label.",
    "Register it (`dragoman tool-server create`), or name its `server_url` with the permission `byo_endpoint`.",
  ),
  tool_not_found: missing(
    "No tool of the project's tool servers that the token may use has this name.",
    "List the tools again (`tools/list` at `/mcp`): a tool server may have removed it.",
  ),
  approval_required: forbidden(
    "A person has to approve the call of the tool, and the client cannot ask one.",
    "Use a client that supports elicitation, or set `require_approval: never` for the tool server.",
  ),
  // errors of the gateway
  internal_error: entry(500, "server_error", "gateway", true, "The gateway failed.", "Report it with the trace id."),
  shutting_down: unavailable(
    "The gateway is shutting down: it accepts no new calls, or ended this call because it did not finish in time.",
    "Try again; another replica, or this one after its restart, will answer.",
  ),
  gateway_overloaded: unavailable(
    "Too many calls in flight (in all or of the tenant), the queue of a target is full, or the memory for long requests or for bodies that are arriving, or the file descriptors of the gateway, are used up; or too many reports, simulations or readings of the audit log wait; or more limits and budgets apply to the call than can be counted.",
    "Try again shortly. The operator can raise `server.max_concurrent_calls`, `server.max_concurrent_calls_per_tenant`, `server.max_held_bytes`, the target's `max_concurrency` or `queue`, or the limit of open files (`ulimit -n`).",
  ),
  no_target_available: unavailable(
    "No target of the route is healthy, and the route does not allow attempts at unhealthy targets.",
    "Try again after `retry-after`. The operator can check the providers, or set the route's `on_exhausted` to `least_bad`.",
  ),
  target_drained: unavailable(
    "An admin of the tenant keeps calls from the target for a time, and there is no other target.",
    "Try again after `retry-after`, or name another model. An admin of the tenant can end the drain.",
  ),
  login_unavailable: unavailable(
    "The keys of a login's issuer cannot be fetched, and none are cached; or the console's login at an issuer did not get an answer that it can use.",
    "Try again. The operator has to check the issuer, or its address in `oidc`.",
  ),
  store_unavailable: unavailable(
    "The database cannot be read or written now, or a secret in it cannot be decrypted with the given master keys. Calls of models still work, except those that name a file or another thing at a vendor, explanations and replays.",
    "Try again, unless the message names a secret. The operator has to check the database or the master keys.",
  ),
  limit_store_unavailable: unavailable(
    "The limit store cannot be reached, and `on_store_failure` of a limit is `closed`.",
    "Try again. The operator has to check the limit store, or can change `on_store_failure`.",
  ),
  kept_store_unavailable: unavailable(
    "The store of responses that are kept cannot be reached, so that a call cannot refer to one; or a response cannot be deleted because its call does not end.",
    "Try again, or send the whole conversation. The operator has to check the Valkey or Redis of the response cache or of limits.",
  ),
  ledger_unavailable: unavailable(
    "The ledger cannot be written, so calls are refused.",
    "The operator has to free disk space, or can set `ledger.on_full` to `continue`.",
  ),
  stale_snapshot: unavailable(
    "The gateway has not reached its database for a minute and is configured to refuse calls in this case.",
    "Try again; another replica may answer. The operator has to check the database, or can set `server.stale_snapshot` to `serve`.",
  ),
  // errors of the provider, as the client sees them (promise 7.8)
  context_length_exceeded: entry(
    400,
    "invalid_request_error",
    "upstream",
    false,
    "The conversation is longer than the model's maximum context length.",
    "Shorten the conversation or use a model with a longer context.",
  ),
  content_policy_violation: entry(
    400,
    "invalid_request_error",
    "upstream",
    false,
    "The provider refused the content.",
    "Change the content.",
  ),
  upstream_invalid_request: entry(
    400,
    "invalid_request_error",
    "upstream",
    false,
    "The provider refused the request.",
    "The provider's message says why.",
  ),
  credential_rejected: entry(
    401,
    "authentication_error",
    "upstream",
    false,
    "The provider refused the credential in the request.",
    "Check `api_key`.",
  ),
  credential_forbidden: entry(
    403,
    "permission_error",
    "upstream",
    false,
    "The credential in the request does not have the necessary rights at the provider.",
    "Check the rights of `api_key`.",
  ),
  payment_required: entry(
    402,
    "insufficient_quota",
    "upstream",
    false,
    "The provider account of the credential in the request has no credit left.",
    "Top up the account at the provider, or send another `api_key`.",
  ),
  insufficient_quota: entry(
    429,
    "insufficient_quota",
    "upstream",
    false,
    "A budget has too little left for the call, or the quota of the credential in the request is used up.",
    "`error.metadata.limit` names the budget, and `resets_at` says when it is reset. If it is missing, check the account at the provider, or send another `api_key`.",
  ),
  rate_limit_exceeded: entry(
    429,
    "rate_limit_error",
    "upstream",
    true,
    "The limit in `error.metadata.limit` is reached, or the provider accepts no more requests for now.",
    "Try again after `retry-after`.",
  ),
  upstream_authentication: entry(
    502,
    "server_error",
    "upstream",
    false,
    "The provider refused the gateway's own credential.",
    "The operator has to check the provider's key; the provider's message is in the log.",
  ),
  upstream_quota: entry(
    502,
    "server_error",
    "upstream",
    false,
    "The quota of the gateway's account at the provider is used up.",
    "The operator has to check the account; the provider's message is in the log.",
  ),
  upstream_error: upstreamFault(502, "The provider failed.", "Try again."),
  upstream_connection: upstreamFault(
    502,
    "The provider could not be reached, or closed the connection.",
    "Try again; the operator checks the address.",
  ),
  upstream_invalid_response: upstreamFault(
    502,
    "The provider's answer does not follow its protocol.",
    "Try again; the operator checks the address.",
  ),
  upstream_incomplete: upstreamFault(502, "The provider's answer ended too early.", "Try again."),
  upstream_overloaded: upstreamFault(503, "The provider is overloaded.", "Try again shortly."),
  upstream_timeout: upstreamFault(504, "The provider did not answer in time.", "Try again, or raise `timeout`."),
  tool_server_failed: upstreamFault(
    502,
    "A tool server of the request could not be reached, or does not list its tools.",
    "Try again, or leave the server out. The operator can test it with `dragoman tools test`.",
  ),
  tool_timeout: upstreamFault(
    504,
    "A tool did not answer in time. The model gets this as the tool's result; only the record shows the code.",
    "Nothing to do. The operator can raise the server's `timeout_s`.",
  ),
  superseded: entry(
    499,
    "server_error",
    "gateway",
    true,
    "Another attempt of the same call was faster, or another request of the same attempt failed; only the record shows it.",
    "Nothing to do.",
  ),
  client_closed: entry(
    499,
    "invalid_request_error",
    "client",
    true,
    "The client disconnected before the answer was complete; only the record shows it.",
    "Nothing to do.",
  ),
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof CATALOGUE;

/** A response of a provider that is passed on to a client of the same form. */
export interface PassedResponse {
  readonly status: number;
  /** The body, without secrets of the gateway. */
  readonly body: string;
}

export interface ErrorDetails {
  /** The path of the field, such as `messages[2].content[1].image_url.url`. */
  readonly param?: string | null;
  readonly metadata?: JsonObject;
  /** Further response headers with lower-case names, such as `retry-after` and `allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Text for the log only: it never leaves the gateway. */
  readonly detail?: string;
  readonly cause?: unknown;
  readonly passed?: PassedResponse;
  /** `param` is a path in what the client wrote, even where that was translated. */
  readonly isWritten?: boolean;
}

/** In characters. Names in a request may have any length, and an error must not repeat megabytes of them. */
const MAX_MESSAGE = 16_384;
const MAX_PARAM = 1024;

function shortened(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}

export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly metadata: JsonObject | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly detail: string | null;
  /** The response of a provider that the client receives in place of the gateway's own; `null` when there is none. */
  readonly passed: PassedResponse | null;
  readonly isWritten: boolean;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(shortened(message, MAX_MESSAGE), details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "GatewayError";
    this.code = code;
    this.param = details.param == null ? null : shortened(details.param, MAX_PARAM);
    this.metadata = details.metadata;
    this.headers = details.headers ?? {};
    this.detail = details.detail ?? null;
    this.passed = details.passed ?? null;
    this.isWritten = details.isWritten ?? false;
  }

  /** Returns the same error with additional metadata. */
  withMetadata(more: JsonObject): GatewayError {
    return this.#with({ metadata: { ...this.metadata, ...more } });
  }

  /** Returns the same error, in whose place the client receives the provider's own response. */
  withPassed(passed: PassedResponse): GatewayError {
    return this.#with({ passed });
  }

  /** Returns the same error for a caller who knows the field by another name, which the message then quotes as well. */
  atField(param: string): GatewayError {
    const message = this.param === null ? this.message : this.message.replaceAll(`\`${this.param}\``, `\`${param}\``);
    return this.#with({ param }, message);
  }

  #with(changed: ErrorDetails, message = this.message): GatewayError {
    const { param, headers, metadata, detail, cause, passed, isWritten } = this;
    return new GatewayError(this.code, message, {
      param,
      headers,
      isWritten,
      ...(metadata !== undefined && { metadata }),
      ...(detail !== null && { detail }),
      ...(cause !== undefined && { cause }),
      ...(passed !== null && { passed }),
      ...changed,
    });
  }

  get entry(): CatalogueEntry {
    return CATALOGUE[this.code];
  }

  /** The status of the response. */
  get status(): number {
    return this.passed?.status ?? this.entry.status;
  }
}

/** An error that is over soon; the client is asked to try again after so many seconds. */
export function retryLater(code: ErrorCode, message: string, afterS: number): GatewayError {
  return new GatewayError(code, message, { headers: { "retry-after": String(afterS) } });
}

/** The error body of promise 5.1. */
export function errorBody(error: GatewayError, traceId: string): JsonObject {
  return {
    error: {
      message: error.message,
      type: error.entry.type,
      param: error.param,
      code: error.code,
      ...(error.metadata && { metadata: error.metadata }),
    },
    x_gateway_trace_id: traceId,
  };
}

/**
 * Turns any thrown value into an error of the catalogue. A value that is not a GatewayError is a fault of the gateway,
 * whose message goes only to the log.
 */
export function asGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const detail = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return new GatewayError(
    "internal_error",
    "The gateway failed while it handled this request. The operator finds the reason in the log under the trace id.",
    { detail, cause: thrown },
  );
}
