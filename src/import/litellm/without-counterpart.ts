// Why settings of LiteLLM have no counterpart, where this helps whoever reads the report. Settings that are not listed
// get the sentence that the import does not know them.
import type { ImportContext } from "../gateway-import.ts";
import { type Reasons, withoutMembers } from "../report.ts";
import { OF_HEALTH } from "./model-facts.ts";

const OF_WEBHOOKS = "events go to webhooks: docs/integrations/webhooks.md";
const OF_LOGINS = "logins of an issuer are configured under oidc: docs/identity.md";
const OF_PEOPLE =
  "people and tokens get their rights by roles, and limits and budgets are set under limits and budgets";
const OF_TOKENS =
  "who makes tokens is decided by roles, and what a token may spend by limits and budgets: docs/identity.md";
const OF_THE_DATABASE = "how the gateway writes to its database is not configured";
const OF_RECORDS = "each call has a record, from which budgets and usage are counted";
const OF_LABELS = "which metrics there are, and their labels, is not configured: docs/metrics.md";
const OF_TELEMETRY = "Dragoman reports nothing to its makers";

/** Of guardrails too. */
export const STAYS_MASKED = "what was masked stays masked in the answer";
const OF_WINDOWS = "periods of budgets are those of the calendar: docs/limits.md";

/** What LiteLLM reads under `litellm_settings`, and which is often written under `general_settings`. */
const OF_THE_OTHER_SECTION = [
  "drop_params",
  "json_logs",
  "max_budget",
  "budget_duration",
  "cache",
  "cache_params",
  "callbacks",
  "success_callback",
  "failure_callback",
  "request_timeout",
  "num_retries",
  "fallbacks",
  "allowed_fails",
] as const;
const IN_THE_ROUTER = "LiteLLM reads it under router_settings; if it has to count, move it there and import again";
const ELSEWHERE = "LiteLLM reads it under litellm_settings; if it has to count, move it there and import again";

const LITELLM: Reasons = {
  modify_params:
    "requests are never changed in silence; what a provider does not take is refused, or dropped and reported",
  additional_drop_params: "name the parameters in drop of a target, for the models that do not take them",
  default_team_settings: "integrations have tenants and projects, to which they can be bound",
  default_internal_user_params: OF_PEOPLE,
  default_end_user_params: 'a budget with the scope user: "*" holds for each end user',
  default_model: "a call names its model or route",
  max_parallel_requests: "limits of the metric concurrency bound calls at the same time",
  langfuse_default_tags: "tags of a trace are taken from the metadata of the call",
  service_callback: "metrics of the store and the limit store are at /metrics",
  service_callbacks: "metrics of the store and the limit store are at /metrics",
  redact_user_api_key_info: "records hold ids of tokens, never the tokens",
  extra_spend_tag_headers: "usage is told apart by the metadata of the call",
  tag_budget_config:
    "budgets are for tokens, users, models, providers, routes and projects, and not for the tags of a call",
  log_level: "log.level sets it",
  stream: "the request says whether it is a stream",
  timezone: "settings.timezone sets the zone of days in reports",
  telemetry: OF_TELEMETRY,
  enable_redis_auth_cache: OF_THE_DATABASE,
  guardrails: "write them under guardrails, each with guardrail_name and litellm_params, and import again",
  return_response_headers: "answers have headers of the gateway's own: docs/api.md",
  s3_callback_params: "no integration writes to S3; json_lines writes to files: docs/integrations/json-lines.md",
  mcp_semantic_tool_filter: "a call gets the tools that it names: docs/tools.md",
  disable_end_user_cost_tracking: OF_RECORDS,
  disable_end_user_cost_tracking_prometheus_only: OF_LABELS,
  prometheus_initialize_budget_metrics: OF_LABELS,
  include_cost_in_streaming_usage: "the cost of a call is in its record and in usage reports: docs/api.md",
  reasoning_auto_summary: "a target can set reasoning parameters in its params",
  custom_provider_map:
    "a provider in Python has no counterpart; a server with OpenAI's API can be a provider of the type custom",
  output_parse_pii: STAYS_MASKED,
  default_params: "LiteLLM does not read it; parameters of a model stand in its litellm_params",
};

const GENERAL: Reasons = {
  alerting: OF_WEBHOOKS,
  alerting_threshold: OF_WEBHOOKS,
  alerting_args: OF_WEBHOOKS,
  alert_types: OF_WEBHOOKS,
  alert_to_webhook_url: OF_WEBHOOKS,
  spend_report_frequency: "usage reports are made when somebody asks for them",
  enable_jwt_auth: OF_LOGINS,
  litellm_jwtauth: OF_LOGINS,
  enable_oauth2_auth: OF_LOGINS,
  allow_user_auth: OF_PEOPLE,
  default_internal_user_params: OF_PEOPLE,
  default_key_generate_params: OF_TOKENS,
  key_generation_settings: OF_TOKENS,
  upperbound_key_generate_params: OF_TOKENS,
  max_internal_user_budget: OF_PEOPLE,
  internal_user_budget_duration: OF_PEOPLE,
  max_parallel_requests: "a target of a route has max_concurrency",
  allow_client_side_credentials: "callers send keys of their own in api_key, if their token may",
  allowed_ips: "a token can be confined to addresses (ip)",
  pass_through_endpoints: "requests go to the operations of this gateway only",
  cooldown_time: IN_THE_ROUTER,
  stream_timeout: IN_THE_ROUTER,
  custom_sso: OF_LOGINS,
  ui_access_mode: OF_PEOPLE,
  custom_key_generate: OF_TOKENS,
  enforced_params: "a policy can refuse calls that lack something: docs/policies.md",
  store_audit_logs: "changes are always recorded: docs/audit.md",
  otel: "LiteLLM sends to OpenTelemetry by the callback otel; name it under callbacks and import again",
  custom_auth: "who may call is decided by access tokens and by issuers under oidc",
  store_model_in_db: "models that were added in its database are not in this file",
  allow_requests_on_db_unavailable:
    "calls go on with the last known configuration unless server.stale_snapshot is refuse",
  health_check_interval: OF_HEALTH,
  background_health_checks: OF_HEALTH,
  enable_health_check_routing: OF_HEALTH,
  database_connection_pool_limit: OF_THE_DATABASE,
  database_connection_timeout: OF_THE_DATABASE,
  proxy_batch_write_at: OF_THE_DATABASE,
  use_redis_transaction_buffer: OF_THE_DATABASE,
  enable_redis_auth_cache: OF_THE_DATABASE,
  disable_spend_logs: OF_RECORDS,
  disable_error_logs: OF_RECORDS,
  maximum_spend_logs_retention_interval: "what is too old is removed all the time",
  proxy_base_url: "console.url is the address at which browsers reach the gateway",
  infer_model_from_keys: "models are listed under providers, or taken from the bundled list",
  reject_clientside_metadata_tags:
    "conditions choose among targets, and what a caller must not do is a matter of policies",
  user_header_name: "the end user is named in the request's user or safety_identifier",
  key_management_system: "secrets stand in variables or in files: docs/credentials.md",
  telemetry: OF_TELEMETRY,
  completion_model: "a call names its model or route",
  proxy_budget_rescheduler_min_time: OF_WINDOWS,
  proxy_budget_rescheduler_max_time: OF_WINDOWS,
  disable_reset_budget: OF_WINDOWS,
  proxy_batch_polling_interval: "Dragoman does not serve batches: README.md lists its operations",
  forward_client_headers_to_llm_api: "clients send headers for a provider in extra_headers, if their token may",
  user_header_mappings: "the end user is named in the request's user or safety_identifier",
  enforce_user_param: "a policy can refuse calls that name no user: docs/policies.md",
  key_management_settings: "secrets stand in variables or in files: docs/credentials.md",
  use_azure_key_vault: "secrets stand in variables or in files: docs/credentials.md",
  use_google_kms: "secrets stand in variables or in files: docs/credentials.md",
  disable_prisma_schema_update: OF_THE_DATABASE,
  disable_adding_master_key_hash_to_db: OF_THE_DATABASE,
  ...Object.fromEntries(OF_THE_OTHER_SECTION.map((key) => [key, ELSEWHERE])),
};

const ROUTER: Reasons = {
  retry_after: "the time between two attempts is not configured; what a provider asks for is kept up to 10 seconds",
  retry_policy: "which failures are repeated is the same for all routes: docs/routes.md",
  model_group_retry_policy: "which failures are repeated is the same for all routes: docs/routes.md",
  allowed_fails_policy: "which failures count at a breaker is the same for all routes: docs/routes.md",
  disable_cooldowns: "a route has on_exhausted, and a breaker with failures as high as is wanted",
  default_model: "a call names its model or route",
  enable_tag_filtering: "no deployment that was taken over has a tag",
  tag_filtering_match_any: "no deployment that was taken over has a tag",
  routing_strategy_args: "strategies have no further settings",
  set_verbose: "log.level sets it",
  optional_pre_call_checks:
    "calls stay at a target with sticky, and conversations that are too long have context_window_fallbacks",
  cache_responses: "the cache is set by cache of litellm_settings: docs/cache.md",
  enable_pre_call_checks: "a conversation that is too long for a target is passed to the next one",
};

const NOT_SERVED = "Dragoman does not serve these operations";
const OF_POLICIES = "a policy here has a guard, and a scope that says for which calls it is: docs/policies.md";
const OF_THE_FILE: Reasons = {
  files_settings: NOT_SERVED,
  finetune_settings: NOT_SERVED,
  vector_store_registry: NOT_SERVED,
  search_tools: NOT_SERVED,
  assistant_settings: NOT_SERVED,
  policies: OF_POLICIES,
  policy_attachments: OF_POLICIES,
  prompts: "prompts are not stored; clients send them",
  callback_settings: "settings of integrations stand in their entries",
};

/** After everything else has spoken. */
export function reportPlainly({ foreign, claims }: ImportContext): void {
  const { members } = foreign.root;
  // some settings are read in several sections
  const others = Object.entries({ ...LITELLM, ...GENERAL, ...ROUTER }).filter(
    ([, why]) => why !== ELSEWHERE && why !== IN_THE_ROUTER,
  );
  for (const [section, reasons] of [
    ["litellm_settings", LITELLM],
    ["general_settings", GENERAL],
    ["router_settings", ROUTER],
  ] as const)
    withoutMembers(members.get(section)?.members, { ...Object.fromEntries(others), ...reasons }, claims);
  withoutMembers(members, OF_THE_FILE, claims);
}
