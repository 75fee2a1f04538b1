// The answers of the admin API that the console reads. `npm run docs` writes this file from the OpenAPI document.

export interface AccessAsOf {
  /** Time in UTC. */
  readonly at: string;
  /** The version of the configuration then; the versions of the tenant say what it contained. */
  readonly configuration_version: number;
  readonly users: readonly {
    readonly id: string;
    readonly name: string;
    readonly operator: boolean;
    /** Whether the user has a company login, whose claims can give further roles at each login. */
    readonly company_login: boolean;
    readonly roles: readonly HeldRole[];
  }[];
  /** The access tokens that were valid then. */
  readonly tokens: readonly ({
    readonly id: string;
    readonly name: string;
    readonly kind: "project" | "personal";
    readonly project_id: string | null;
    readonly user_id: string | null;
    /** Calls need the role developer or a higher one. */
    readonly roles: readonly HeldRole[];
    readonly permissions: readonly ("byo_endpoint" | "custom_price" | "debug" | "read_content" | "vendor_objects" | "ops")[];
    readonly models: readonly string[];
    readonly routes: readonly string[];
    readonly ip: readonly string[];
    /** Time in UTC. */
    readonly expires_at: string;
  })[];
}

/** Who did it. All fields are null for the gateway itself and for the command line on the database's machine. */
export interface Actor {
  readonly token_id: string | null;
  readonly user_id: string | null;
  readonly tenant_id: string | null;
  readonly role: "viewer" | "developer" | "maintainer" | "admin" | "owner" | null;
}

export interface AttemptCost {
  readonly provider: string;
  readonly model: string;
  readonly price_id: string;
  readonly parts: readonly CostPart[];
  /** The sum of the parts, rounded up once to a whole nano-dollar. */
  readonly cost_usd: string;
}

export interface Attention {
  readonly kind: "budget" | "limit" | "provider" | "route" | "token" | "price";
  /** The id of the budget, limit or token, the name of the provider or route, or `<provider>:<model>`. */
  readonly subject: string;
  readonly text: string;
  /** When it happens; null if it happens now. */
  readonly at: string | null;
}

export interface AttentionList {
  /** What happens now, then what happens first. */
  readonly data: readonly Attention[];
  /** Time in UTC. */
  readonly as_of: string;
}

export interface AuditChain {
  /** Null for what concerns no tenant. */
  readonly tenant_id: string | null;
  readonly rows: number;
  /** Rows that were removed because of their age: `audit.keep_days`. */
  readonly removed: number;
  /** Time in UTC. */
  readonly newest_removed_at: string | null;
  readonly head: {
    /** The number of a row; 0 stands for the beginning. */
    readonly sequence: number;
    readonly hash: string;
  };
  readonly problems: readonly ({
    readonly problem: "changed" | "missing" | "head" | "rewritten";
    readonly sequence: number;
    readonly message: string;
  })[];
}

export interface AuditRow {
  readonly id: string;
  /** Time in UTC. */
  readonly at: string;
  readonly actor: Actor;
  /** Address of the client. */
  readonly address: string | null;
  /** How it was asked for: on a page of the console, with the command line, or by another client of the API; null where that is not known. */
  readonly via: "console" | "cli" | "api" | null;
  /** The session of the console. */
  readonly session_id: string | null;
  readonly action: string;
  readonly outcome: "done" | "refused";
  readonly kind: string;
  readonly target_id: string | null;
  readonly target_name: string | null;
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  /** Values before and after the change; secrets are masked. */
  readonly before?: unknown;
  /** Values before and after the change; secrets are masked. */
  readonly after?: unknown;
  readonly note: string | null;
  readonly version: number | null;
  /** Its number in the chain of its tenant: docs/audit.md. */
  readonly sequence: number;
  /** Its hash in the chain, which depends on all rows before it. */
  readonly hash: string;
}

export interface Call {
  readonly trace_id: string;
  /** Time in UTC. */
  readonly at: string;
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly token_id: string | null;
  readonly user_id: string | null;
  readonly end_user: string | null;
  readonly route: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly stream: boolean;
  readonly cancelled: boolean;
  readonly attempts: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_usd: string | null;
  readonly total_ms: number;
  readonly first_content_ms: number | null;
  /** `model` as the caller wrote it. */
  readonly model_asked: string | null;
  /** The finish reason of the first choice. */
  readonly finish_reason: string | null;
  /** False if the gateway process ended before the call did; the call was then charged the most that it might have used, which is an estimate. */
  readonly settled: boolean;
  /** What was called, such as `chat.completions`. */
  readonly operation: string;
  /** What became of the call in the response cache; null where it was off. */
  readonly cache: "hit" | "miss" | "bypass" | null;
  /** Whether the gateway estimated the usage, because the provider reported none. */
  readonly estimated: boolean;
}

export interface CallBucket {
  /** Time in UTC. */
  readonly at: string;
  readonly calls: number;
  readonly errors: number;
  /** The number of calls with usage whose price is not known. */
  readonly unpriced: number;
  /** The number of calls whose usage the gateway estimated, because the provider reported none. */
  readonly estimated: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_usd: string;
  readonly mean_ms: number | null;
  /** Approximate: estimated from counts of calls by duration. */
  readonly p50_ms: number | null;
  /** Approximate, as `p50_ms`. */
  readonly p95_ms: number | null;
}

export interface CallCost {
  readonly attempts: readonly AttemptCost[];
  readonly cost_usd: string;
}

export interface CallDetail {
  readonly trace_id: string;
  /** Time in UTC. */
  readonly at: string;
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly token_id: string | null;
  readonly user_id: string | null;
  readonly end_user: string | null;
  readonly route: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly stream: boolean;
  readonly cancelled: boolean;
  readonly attempts: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_usd: string | null;
  readonly total_ms: number;
  readonly first_content_ms: number | null;
  /** `model` as the caller wrote it. */
  readonly model_asked: string | null;
  /** The finish reason of the first choice. */
  readonly finish_reason: string | null;
  /** False if the gateway process ended before the call did; the call was then charged the most that it might have used, which is an estimate. */
  readonly settled: boolean;
  /** What was called, such as `chat.completions`. */
  readonly operation: string;
  /** What became of the call in the response cache; null where it was off. */
  readonly cache: "hit" | "miss" | "bypass" | null;
  /** Whether the gateway estimated the usage, because the provider reported none. */
  readonly estimated: boolean;
  /** Null, as the following members, if the record is not kept any more. */
  readonly verdict: CallVerdict | null;
  /** Medians of the route's calls in the project; null if there are fewer than five. */
  readonly usual: UsualCall | null;
  /** The cost as a sum; null if today's prices do not come to exactly what the call has cost. */
  readonly cost: CallCost | null;
  readonly limits: readonly CallLimit[] | null;
  /** Null if `around=false` was asked for. */
  readonly around: CallsAround | null;
  /** Null if the token is not known any more. */
  readonly token_name: string | null;
  /** Where the trace of the call is shown: by the integrations that have received it and have a `trace_url`. */
  readonly trace_links: readonly TraceLink[];
  readonly content: ContentState;
  /** All details of the call, with the field names of the log; null if they are older than details are kept. */
  readonly record: Readonly<Record<string, unknown>> | null;
}

export interface CallFacet {
  readonly dimension: "project" | "token" | "user" | "route" | "provider" | "model" | "operation" | "status" | "code";
  readonly value: string | null;
  readonly calls: number;
  readonly errors: number;
  /** Null for `status` and `code`. */
  readonly cost_usd: string | null;
}

export interface CallFacets {
  readonly data: readonly CallFacet[];
  /** How many further values each dimension has. */
  readonly others: Readonly<Record<string, number>>;
  /** The names of the access tokens of this answer by id, as far as they are known. */
  readonly token_names: Readonly<Record<string, string>>;
  /** Failed calls before this time are not counted in `status` and `code`, because one request counts a bounded number of them; null if all are. */
  readonly looked_to: string | null;
  /** Time in UTC. */
  readonly from: string;
  /** Time in UTC. */
  readonly to: string;
  /** The figures are those of the calls in the database at this time; a call is there moments after its end. */
  readonly as_of: string;
}

export interface CallHistogram {
  /** The buckets in the order of time, the empty ones too. */
  readonly data: readonly CallBucket[];
  /** The end of the last bucket. */
  readonly to: string;
  readonly bucket: "1m" | "5m" | "15m" | "1h" | "6h" | "1d";
  /** Calls before this time are not counted, because one request counts a bounded number of single calls, or because they are not kept any more; null if all are. Hourly sums are not bounded; they answer where the bucket is an hour or more and only callers, `route`, `provider`, `model` and `operation` are filtered. */
  readonly looked_to: string | null;
  /** The figures are those of the calls in the database at this time; a call is there moments after its end. */
  readonly as_of: string;
  /** Before this time, hours in which the period begins, ends or has a midnight count as a whole where they begin (of end users: days in UTC), because their calls are not kept any more; null if all is exact. */
  readonly whole_until: string | null;
}

export interface CallLimit {
  readonly id: string;
  /** Null if it is not configured any more. */
  readonly name: string | null;
  readonly kind: "limit" | "budget" | null;
  readonly value: string | null;
  readonly metric: "requests" | "tokens" | "concurrency" | "usd";
  readonly window: string | null;
  /** A count, or for money US dollars as decimal text. */
  readonly limit: number | string | null;
  /** A count, or for money US dollars as decimal text. */
  readonly before: number | string;
  /** A count, or for money US dollars as decimal text. */
  readonly reserved: number | string;
  /** A count, or for money US dollars as decimal text. */
  readonly settled: number | string | null;
  /** A count, or for money US dollars as decimal text. */
  readonly after: number | string;
  readonly refused: string | null;
  readonly would_refuse: boolean;
  /** The end of the budget's period in which the call began. */
  readonly resets_at: string | null;
}

export interface CallVerdict {
  readonly kind: "explained" | "unsettled" | "left" | "refused" | "failed" | "cached" | "fallback" | "hedged" | "dear" | "slow" | "usual";
  /** One sentence that says what decided the call. */
  readonly text: string;
  /** Sentences about what else is out of the ordinary. */
  readonly notes: readonly string[];
}

export interface CallsAround {
  /** Of the same end user within five minutes. */
  readonly end_user: readonly Call[];
  /** With the same `session_id` in `metadata`. */
  readonly session: readonly Call[];
  /** With the same error code in the same hour, the first of them. */
  readonly error: readonly Call[];
  /** How many calls have the same error code in the same hour. */
  readonly errors: number;
}

export interface Change {
  readonly action: "create" | "change" | "remove";
  readonly kind: string;
  readonly id: string;
  readonly name: string | null;
  readonly tenant_id: string;
  readonly project_id: string | null;
  /** Values before and after the change; secrets are masked. */
  readonly before?: unknown;
  /** Values before and after the change; secrets are masked. */
  readonly after?: unknown;
}

export interface ChangedCalls {
  readonly calls: number;
  /** Some of these calls, the newest first. */
  readonly trace_ids: readonly string[];
}

export interface Claim {
  readonly id: string;
  readonly tenant_id: string;
  /** Null for a personal token. */
  readonly project_id: string | null;
  /** The name of the token that it gives. */
  readonly name: string;
  readonly state: "open" | "redeemed" | "expired" | "revoked";
  /** Id of the user who made it, or `token:` and the id of a token. */
  readonly created_by: string;
  /** Time in UTC. */
  readonly created_at: string;
  /** Time in UTC. */
  readonly expires_at: string;
  /** Time in UTC. */
  readonly redeemed_at: string | null;
  /** The token that was made of it. */
  readonly token_id: string | null;
}

export interface CodeCount {
  readonly code: string;
  readonly attempts: number;
}

export interface CompanyLogin {
  readonly name: string;
  readonly issuer: string;
  /** Whether people log in to the console there. */
  readonly console: boolean;
  /** What a token gives in addition to what the database has for its user. */
  readonly roles: readonly LoginRole[];
}

export interface CompanyLogins {
  readonly data: readonly CompanyLogin[];
}

export interface ContentState {
  /** `kept`: it can be read. `explained`: the call was an explanation, of which nothing is kept. `off`: the content log is off for the project now. `elsewhere`: only integrations receive it. `unsampled`: the call is not in the share of calls that is kept. `expired`: it was kept for its time. `missing`: the content log is on, but has nothing of the call: it was off then, the content was deleted, or the process was killed before it was written. */
  readonly state: "kept" | "explained" | "off" | "elsewhere" | "unsampled" | "expired" | "missing";
  /** Time in UTC. */
  readonly kept_until: string | null;
}

export interface CostPart {
  readonly what: string;
  readonly units: number;
  readonly usd_per_million: string;
  readonly usd: string;
}

export interface DependentRoute {
  readonly name: string;
  /** The project that has the route by itself. */
  readonly project_id: string | null;
}

export interface Draft {
  readonly kind: string;
  readonly name: string;
  /** Null if there is no draft. */
  readonly text: string | null;
  readonly base_etag: string | null;
  /** The ETag of the object now. If it differs, somebody else has published a change meanwhile. */
  readonly current_etag: string | null;
  /** Time in UTC. */
  readonly saved_at: string | null;
}

export interface DraftList {
  readonly data: readonly DraftSummary[];
}

export interface DraftSummary {
  readonly kind: string;
  readonly name: string;
  /** Time in UTC. */
  readonly saved_at: string;
}

export interface Drain {
  readonly provider: string;
  /** Null for all models of the provider. */
  readonly model: string | null;
  /** Time in UTC. */
  readonly until: string;
  readonly note: string | null;
  /** The id of the user, or `token:` and the id of the token, that began it. */
  readonly begun_by: string;
  /** Time in UTC. */
  readonly begun_at: string;
}

export interface Gateway {
  readonly version: string;
  /** The gateway's clock. */
  readonly at: string;
  readonly license: string;
  readonly ready: boolean;
  /** Where browsers reach it; null where no console is served. */
  readonly console_url: string | null;
  /** As the configuration file says: `calls`, `audit` and `content_log`. */
  readonly retention: {
    /** Days that single calls are kept; null for ever, as below. */
    readonly calls_days: number | null;
    readonly call_details_days: number | null;
    readonly audit_days: number | null;
    readonly audit_refused_days: number | null;
    /** Whether tenants may keep prompts and answers. */
    readonly content_allowed: boolean;
  };
  /** The section `console` of the configuration file. */
  readonly console: {
    readonly served: boolean;
    readonly session_idle_s: number;
    readonly session_max_s: number;
    readonly project_tokens: boolean;
    readonly insecure_http: boolean;
  };
  /** How it is run; null for those who are no operators. */
  readonly run: {
    /** Why it is not ready. */
    readonly not_ready: string | null;
    readonly configuration_file: string | null;
    readonly host: string;
    readonly port: number;
    readonly workers: number;
    readonly database: "sqlite" | "postgresql";
    readonly limit_store: "memory" | "valkey";
  } | null;
}

export interface HeldRole {
  /** Null for the role in the whole tenant. */
  readonly project_id: string | null;
  readonly role: "viewer" | "developer" | "maintainer" | "admin" | "owner";
}

export interface Integration {
  /** Its name in the section `integrations` of the configuration file. */
  readonly name: string;
  readonly type: string;
  /** `failing`: the last delivery failed. `waiting`: nothing was delivered since the gateway started. */
  readonly state: "delivering" | "failing" | "waiting" | "disabled";
  /** Whether it gets prompts and answers, where the tenant keeps them. */
  readonly content: boolean;
  readonly only: "all" | "errors";
  /** The share of the calls, or of the traces, that it gets: 0 to 1. */
  readonly sample: number;
  /** The projects of the scope whose calls it gets; null for all of them. */
  readonly projects: readonly string[] | null;
  /** Since the gateway started, to half a second. */
  readonly last_delivery_at: string | null;
  /** Time in UTC. */
  readonly last_failure_at: string | null;
  /** Only for operators: what the receiver said when it failed. */
  readonly last_error: string | null;
  /** Only for operators, because they count the calls of all tenants since the start. */
  readonly figures: IntegrationFigures | null;
}

export interface IntegrationFigures {
  readonly delivered: number;
  /** Failed attempts, each of one batch. */
  readonly failures: number;
  readonly retries: number;
  /** Calls that wait to be delivered. */
  readonly queued: number;
  /** Calls that were not delivered, by reason, as in the metric `dragoman_integration_shed_total`. */
  readonly not_delivered: {
    readonly queue_full?: number;
    readonly handover?: number;
    readonly refused?: number;
    readonly given_up?: number;
    readonly thread_ended?: number;
    readonly shutdown?: number;
  };
}

export interface Integrations {
  readonly data: readonly Integration[];
}

export interface IssuedToken {
  readonly id: string;
  readonly kind: "project" | "personal";
  readonly name: string;
  readonly tenant_id: string;
  readonly project_id: string | null;
  readonly user_id: string | null;
  /** The role of a project token; null for personal tokens, which have the roles of their user. */
  readonly role: "viewer" | "developer" | "maintainer" | "admin" | "owner" | null;
  readonly permissions: readonly ("byo_endpoint" | "custom_price" | "debug" | "read_content" | "vendor_objects" | "ops")[];
  readonly models: readonly string[];
  readonly routes: readonly string[];
  readonly ip: readonly string[];
  readonly state: "live" | "expired" | "revoked";
  /** Time in UTC. */
  readonly created_at: string;
  readonly created_by: string | null;
  /** Time in UTC. */
  readonly expires_at: string;
  /** Time in UTC. */
  readonly revoked_at: string | null;
  /** The ETag of this state, to be sent back as `if-match`. */
  readonly etag: string;
  /** The access token itself. It is shown only once: null in a dry run and when a request is repeated with the same idempotency key. */
  readonly token: string | null;
}

export interface LimitAccount {
  /** The value with a count of its own where the scope has `*`: those are shown that have used most lately. Null where all share one count. */
  readonly value: string | null;
  /** With what is reserved for calls that run. */
  readonly used: number | string;
  /** The part of `used` that is set aside for calls that run. Null for `concurrency`, and where several gateways count together. */
  readonly reserved: number | string | null;
  /** A count, or for money US dollars as decimal text. */
  readonly remaining: number | string;
  /** The used part of the limit; 1 is all of it. */
  readonly share: number;
  /** Time in UTC. */
  readonly resets_at: string | null;
  /** Of a budget: when it will be reached at the rate of the last six hours, or at that of its period where this is not known for its scope. The time of the answer where it is reached; null if it resets before, or nothing is used. */
  readonly hits_at: string | null;
}

export interface LimitConsumer {
  readonly dimension: "project" | "token";
  readonly value: string | null;
  /** Of an access token; null if it is not known. */
  readonly name: string | null;
  readonly calls: number;
  readonly tokens: number;
  readonly cost_usd: string;
}

export interface LimitDay {
  readonly day: string;
  readonly calls: number;
  readonly tokens: number;
  readonly cost_usd: string;
}

export interface LimitDetail {
  readonly id: string;
  readonly name: string;
  readonly kind: "limit" | "budget";
  readonly project_id: string | null;
  readonly scope: Readonly<Record<string, string>>;
  readonly metric: "requests" | "tokens" | "concurrency" | "usd";
  readonly window: string | null;
  readonly mode: "enforce" | "audit";
  /** A count, or for money US dollars as decimal text. */
  readonly limit: number | string;
  /** When the budget's period began; null if it has none. */
  readonly begins_at: string | null;
  readonly accounts: readonly LimitAccount[];
  /** Who has used most in the period of a budget. Null for a limit, and where the scope has globs, for which there are no sums. */
  readonly consumers: readonly LimitConsumer[] | null;
  /** What was used on each day in UTC; null as `consumers`. */
  readonly days: readonly LimitDay[] | null;
  /** Time in UTC. */
  readonly as_of: string;
}

export interface LimitState {
  readonly id: string;
  readonly name: string;
  readonly kind: "limit" | "budget";
  readonly project_id: string | null;
  readonly scope: Readonly<Record<string, string>>;
  readonly metric: "requests" | "tokens" | "concurrency" | "usd";
  readonly window: string | null;
  readonly mode: "enforce" | "audit";
  /** A count, or for money US dollars as decimal text. */
  readonly limit: number | string;
  /** When the budget's period began; null if it has none. */
  readonly begins_at: string | null;
  readonly accounts: readonly LimitAccount[];
}

export interface LimitStates {
  /** The first that will be reached first, then the fullest. */
  readonly data: readonly LimitState[];
  /** How many further limits there are. */
  readonly others: number;
  /** Time in UTC. */
  readonly as_of: string;
}

export interface ListedToken {
  readonly id: string;
  readonly kind: "project" | "personal";
  readonly name: string;
  readonly tenant_id: string;
  readonly project_id: string | null;
  readonly user_id: string | null;
  /** The role of a project token; null for personal tokens, which have the roles of their user. */
  readonly role: "viewer" | "developer" | "maintainer" | "admin" | "owner" | null;
  readonly permissions: readonly ("byo_endpoint" | "custom_price" | "debug" | "read_content" | "vendor_objects" | "ops")[];
  readonly models: readonly string[];
  readonly routes: readonly string[];
  readonly ip: readonly string[];
  readonly state: "live" | "expired" | "revoked";
  /** Time in UTC. */
  readonly created_at: string;
  readonly created_by: string | null;
  /** Time in UTC. */
  readonly expires_at: string;
  /** Time in UTC. */
  readonly revoked_at: string | null;
  /** The ETag of this state, to be sent back as `if-match`. */
  readonly etag: string;
  /** When its last call began; null where no call of it is kept. Only calls of operations count. */
  readonly last_used_at: string | null;
}

export interface LogPage {
  readonly data: readonly LoggedCall[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
  /** Where the search stopped before the page was full, because one request searches a bounded number of calls; continue with `next_cursor`. Null if the page is full or the last. */
  readonly looked_to: string | null;
  /** The names of the access tokens of this answer by id, as far as they are known. */
  readonly token_names: Readonly<Record<string, string>>;
}

export interface LoggedCall {
  readonly trace_id: string;
  /** Time in UTC. */
  readonly at: string;
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly token_id: string | null;
  readonly user_id: string | null;
  readonly end_user: string | null;
  readonly route: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly stream: boolean;
  readonly cancelled: boolean;
  readonly attempts: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_usd: string | null;
  readonly total_ms: number;
  readonly first_content_ms: number | null;
  /** `model` as the caller wrote it. */
  readonly model_asked: string | null;
  /** The finish reason of the first choice. */
  readonly finish_reason: string | null;
  /** False if the gateway process ended before the call did; the call was then charged the most that it might have used, which is an estimate. */
  readonly settled: boolean;
  /** What was called, such as `chat.completions`. */
  readonly operation: string;
  /** What became of the call in the response cache; null where it was off. */
  readonly cache: "hit" | "miss" | "bypass" | null;
  /** Whether the gateway estimated the usage, because the provider reported none. */
  readonly estimated: boolean;
}

export interface LoggedCallDetail {
  readonly trace_id: string;
  /** Time in UTC. */
  readonly at: string;
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly token_id: string | null;
  readonly user_id: string | null;
  readonly end_user: string | null;
  readonly route: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly stream: boolean;
  readonly cancelled: boolean;
  readonly attempts: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_usd: string | null;
  readonly total_ms: number;
  readonly first_content_ms: number | null;
  /** `model` as the caller wrote it. */
  readonly model_asked: string | null;
  /** The finish reason of the first choice. */
  readonly finish_reason: string | null;
  /** False if the gateway process ended before the call did; the call was then charged the most that it might have used, which is an estimate. */
  readonly settled: boolean;
  /** What was called, such as `chat.completions`. */
  readonly operation: string;
  /** What became of the call in the response cache; null where it was off. */
  readonly cache: "hit" | "miss" | "bypass" | null;
  /** Whether the gateway estimated the usage, because the provider reported none. */
  readonly estimated: boolean;
  /** All details of the call, with the field names of the log; null if they are older than details are kept. */
  readonly record: Readonly<Record<string, unknown>> | null;
  /** Until when the content of the call is kept; null if it is not kept. */
  readonly content_kept_until: string | null;
}

export interface LoginRole {
  /** The claim of the token; dots lead into objects. */
  readonly claim: string;
  /** What the claim has to be or to contain; null for any value. */
  readonly value: string | null;
  readonly role: "viewer" | "developer" | "maintainer" | "admin" | "owner";
  /** Null for the role in the whole tenant. */
  readonly project_id: string | null;
  readonly permissions: readonly ("byo_endpoint" | "custom_price" | "debug" | "read_content" | "vendor_objects" | "ops")[];
  readonly operator: boolean;
}

export interface Model {
  readonly id: string;
  readonly object: "model";
  readonly created: number;
  readonly owned_by: string;
  readonly name?: string;
  readonly context_length?: number;
  readonly supported_parameters?: readonly string[];
  readonly operations?: readonly string[];
}

export interface ModelList {
  readonly object: "list";
  readonly data: readonly Model[];
}

export interface NewCalls {
  readonly places: readonly NewCallsOfPlace[];
}

export interface NewCallsOfPlace {
  readonly place: string;
  /** In the order of their ends. A call may come twice. */
  readonly data: readonly Call[];
  readonly token_names: Readonly<Record<string, string>>;
  /** There were more calls than are listed here. Read the list of calls. */
  readonly more: boolean;
}

export interface NewClaim {
  readonly id: string;
  readonly tenant_id: string;
  /** Null for a personal token. */
  readonly project_id: string | null;
  /** The name of the token that it gives. */
  readonly name: string;
  readonly state: "open" | "redeemed" | "expired" | "revoked";
  /** Id of the user who made it, or `token:` and the id of a token. */
  readonly created_by: string;
  /** Time in UTC. */
  readonly created_at: string;
  /** Time in UTC. */
  readonly expires_at: string;
  /** Time in UTC. */
  readonly redeemed_at: string | null;
  /** The token that was made of it. */
  readonly token_id: string | null;
  /** The link to pass on. It is shown only once: null in a dry run and when a request is repeated with the same idempotency key. */
  readonly link: string | null;
}

export interface ObjectVersion {
  readonly number: number;
  /** Time in UTC. */
  readonly at: string;
  readonly actor: Actor;
  readonly rolled_back_to: number | null;
  /** Why it was made, as `note` of the change said. */
  readonly note: string | null;
  readonly change: Change;
  /** Calls of the route from this version to the next one; null where they are not counted. */
  readonly calls: VersionCalls | null;
}

/** The newest first, at most 100. */
export interface ObjectVersions {
  readonly data: readonly ObjectVersion[];
  readonly as_of: string;
}

export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
}

export interface PolicySimulation {
  readonly policy: string;
  readonly calls: number;
  /** Time in UTC. */
  readonly from: string | null;
  /** Time in UTC. */
  readonly to: string | null;
  /** Calls that are left out, because their details are not kept any more. */
  readonly without_record: number;
  /** What the policy of this name really did in these calls. */
  readonly recorded: {
    readonly denied: number;
    readonly would_deny: number;
    readonly masked: number;
    readonly failed: number;
  };
  /** What the published policy decides about the calls; null when no such policy is published. */
  readonly now: PolicyVerdicts | null;
  /** With the policy of the request; null if it has none. */
  readonly proposed: PolicyVerdicts | null;
  readonly newly_denied: ChangedCalls;
  readonly newly_allowed: ChangedCalls;
  /** Whose calls these are, those with the most first; at most 20. */
  readonly who: readonly ({
    readonly project_id: string | null;
    readonly token_id: string | null;
    readonly newly_denied: number;
    readonly newly_allowed: number;
  })[];
  /** Time in UTC. */
  readonly as_of: string;
}

export interface PolicyVerdicts {
  readonly allowed: number;
  readonly denied: number;
  /** Calls of which the record does not hold what the policy reads. */
  readonly unknown: number;
}

export interface ProjectTokenList {
  readonly data: readonly ListedToken[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

export interface ProviderFailure {
  /** When its call began. */
  readonly at: string;
  /** Of the call, which another target may have answered. */
  readonly trace_id: string;
  readonly model: string;
  /** Of the provider's response; null if there was none, or if the details of the call are not kept. */
  readonly status: number | null;
  readonly code: string;
}

export interface ProviderHealth {
  readonly id: string;
  readonly type: string;
  readonly enabled: boolean;
  /** `down`: every known target is avoided, or all of at least five attempts failed; `degraded`: one target is avoided, or a fifth of at least five attempts failed; `unused`: there was no attempt. */
  readonly status: "ok" | "degraded" | "down" | "unused";
  /** What the provider was asked: retries, hedges and fallbacks count, and calls that were refused before do not. */
  readonly attempts: number;
  /** Attempts that the provider let fail, also where another target answered the call; not those that the gateway or the caller ended, nor those for which it accepted no more requests. */
  readonly errors: number;
  /** Approximate: estimated from counts of attempts by duration. */
  readonly p50_ms: number | null;
  /** Approximate, as `p50_ms`. */
  readonly p95_ms: number | null;
  /** Those that were called lately by this gateway. */
  readonly targets: readonly ProviderTarget[];
  /** The error codes of these attempts. */
  readonly codes: readonly CodeCount[];
  readonly last_failure: ProviderFailure;
  /** The routes that have it among their targets; of a tenant, those of its projects as well. */
  readonly routes: readonly DependentRoute[];
  /** Why it, or one of its models, gets no calls for a while. */
  readonly drains: readonly Drain[];
}

export interface ProviderHealths {
  readonly data: readonly ProviderHealth[];
  /** The calls whose attempts are counted began at this time or later. */
  readonly from: string;
  /** Time in UTC. */
  readonly as_of: string;
}

export interface ProviderTarget {
  readonly model: string;
  /** Of the circuit breaker: `open` targets are not called. `rate_limited`: the provider asked to wait. */
  readonly state: "closed" | "open" | "half_open" | "rate_limited";
  /** The recent time to the first content. */
  readonly first_content_ms: number | null;
  /** How long the target is still avoided. */
  readonly open_for_ms: number | null;
}

export interface ProviderTest {
  readonly ok: boolean;
  readonly model: string;
  /** The operation with which it was tested. */
  readonly operation: "chat.completions" | "completions" | "embeddings" | "rerank" | "moderations";
  /** The status with which the call ended; null in a dry run. */
  readonly status: number | null;
  readonly duration_ms: number;
  /** The beginning of what the model answered; null where that is no text. */
  readonly text: string | null;
  /** The error code of a call that failed. */
  readonly code: string | null;
  /** What failed, in the provider's words as far as it has any. */
  readonly message: string | null;
  /** Of the call, which is in the list of calls. */
  readonly trace_id: string | null;
}

export interface RouteSimulation {
  readonly route: string;
  readonly calls: number;
  /** Time in UTC. */
  readonly from: string | null;
  /** Time in UTC. */
  readonly to: string | null;
  readonly left_out: readonly {
    readonly reason: string;
    readonly calls: number;
  }[];
  /** Earlier calls were not looked at, because one request reads a bounded number of them; null if all were. */
  readonly looked_to: string | null;
  /** What really became of these calls. */
  readonly recorded: {
    readonly targets: readonly {
      readonly target: string;
      readonly calls: number;
    }[];
    readonly failed: number;
    readonly cost_usd: string;
  };
  /** What becomes of the calls with the published route; null when no such route is published. */
  readonly now: SimulatedOutcome | null;
  /** With the route of the request; null if it has none. */
  readonly proposed: SimulatedOutcome | null;
  readonly difference: SimulatedDifference;
  /** The tests of the proposed route or, without one, of the route as it is. */
  readonly tests: readonly ({
    readonly name: string;
    readonly passed: boolean;
    readonly fault: string | null;
  })[];
  /** Tests that hold and are made of the calls, where the route has none; they can be sent as its `tests`. */
  readonly suggested_tests: readonly {
    readonly name: string;
  }[];
  /** Time in UTC. */
  readonly as_of: string;
}

export interface SimulatedDifference {
  readonly moved_calls: number;
  readonly moves: readonly ({
    readonly from: string | null;
    readonly to: string | null;
    readonly calls: number;
    /** Some of these calls, the newest first. */
    readonly trace_ids: readonly string[];
  })[];
  readonly newly_failed: number;
  readonly newly_answered: number;
  /** Of the calls whose cost is known on both sides; negative if they would cost less. */
  readonly cost_usd: string;
  readonly sentences: readonly string[];
}

export interface SimulatedFailure {
  readonly code: string;
  readonly calls: number;
  /** Some of these calls, the newest first. */
  readonly trace_ids: readonly string[];
}

export interface SimulatedOutcome {
  readonly answered: number;
  readonly failed: number;
  readonly attempts: number;
  readonly failures: readonly SimulatedFailure[];
  /** Calls that a target does not take, whatever becomes of them elsewhere. */
  readonly refusals: readonly SimulatedRefusal[];
  readonly targets: readonly SimulatedTarget[];
  /** Limits, budgets and policies that would refuse some of the answered calls at the targets that answer them. Limits and budgets count these calls alone, each at its own time. */
  readonly rules: readonly SimulatedRule[];
  readonly cost_usd: string;
  /** Answered calls whose cost is not known. */
  readonly unpriced: number;
  readonly first_content_ms: Percentiles;
  readonly total_ms: Percentiles;
}

export interface SimulatedRefusal {
  readonly target: string | null;
  readonly code: string;
  readonly param: string | null;
  readonly message: string;
  readonly calls: number;
  /** Some of these calls, the newest first. */
  readonly trace_ids: readonly string[];
}

export interface SimulatedRule {
  readonly kind: "limit" | "budget" | "policy";
  readonly name: string;
  /** Answered calls that it would refuse. */
  readonly calls: number;
  /** Calls of which the records do not hold what a policy reads. */
  readonly unknown: number;
  /** Some of these calls, the newest first. */
  readonly trace_ids: readonly string[];
}

export interface SimulatedTarget {
  readonly target: string;
  /** Calls that it answers. */
  readonly calls: number;
  readonly share: number;
  readonly refused: number;
  /** Calls whose prompts are too long for its model. */
  readonly too_long: number;
  readonly cost_usd: string;
  readonly unpriced: number;
  /** Recorded answers of the target, from which its times are taken; 0 if its times are not known. */
  readonly recorded_answers: number;
}

export interface TenantAuditList {
  readonly data: readonly AuditRow[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

export interface TenantClaimList {
  readonly data: readonly Claim[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

export interface Token {
  readonly id: string;
  readonly kind: "project" | "personal";
  readonly name: string;
  readonly tenant_id: string;
  readonly project_id: string | null;
  readonly user_id: string | null;
  /** The role of a project token; null for personal tokens, which have the roles of their user. */
  readonly role: "viewer" | "developer" | "maintainer" | "admin" | "owner" | null;
  readonly permissions: readonly ("byo_endpoint" | "custom_price" | "debug" | "read_content" | "vendor_objects" | "ops")[];
  readonly models: readonly string[];
  readonly routes: readonly string[];
  readonly ip: readonly string[];
  readonly state: "live" | "expired" | "revoked";
  /** Time in UTC. */
  readonly created_at: string;
  readonly created_by: string | null;
  /** Time in UTC. */
  readonly expires_at: string;
  /** Time in UTC. */
  readonly revoked_at: string | null;
  /** The ETag of this state, to be sent back as `if-match`. */
  readonly etag: string;
}

export interface TraceLink {
  readonly name: string;
  readonly url: string;
}

export interface Usage {
  readonly data: readonly UsageRow[];
  readonly next_cursor: string | null;
  /** The sums over all groups; only on the first page. */
  readonly totals: UsageTotals | null;
  /** The figures are those of the calls in the database at this time; a call is there moments after its end. */
  readonly as_of: string;
  /** Before this time, hours in which the period begins, ends or has a midnight count as a whole where they begin (of end users: days in UTC), because their calls are not kept any more; null if all is exact. */
  readonly whole_until: string | null;
}

export interface UsageRow {
  readonly group: Readonly<Record<string, string | null>>;
  readonly calls: number;
  readonly errors: number;
  /** The number of calls with usage whose price is not known. */
  readonly unpriced: number;
  /** The number of calls whose usage the gateway estimated, because the provider reported none. */
  readonly estimated: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_usd: string;
  readonly mean_ms: number | null;
  /** Approximate: estimated from counts of calls by duration. */
  readonly p50_ms: number | null;
  /** Approximate, as `p50_ms`. */
  readonly p95_ms: number | null;
  readonly total_ms: number;
  /** Number of calls by duration: the upper bound of each bucket, and `more`. */
  readonly latency_ms: Readonly<Record<string, number>>;
}

export interface UsageTotals {
  readonly calls: number;
  readonly errors: number;
  /** The number of calls with usage whose price is not known. */
  readonly unpriced: number;
  /** The number of calls whose usage the gateway estimated, because the provider reported none. */
  readonly estimated: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_usd: string;
  readonly mean_ms: number | null;
  /** Approximate: estimated from counts of calls by duration. */
  readonly p50_ms: number | null;
  /** Approximate, as `p50_ms`. */
  readonly p95_ms: number | null;
  readonly total_ms: number;
  /** Number of calls by duration: the upper bound of each bucket, and `more`. */
  readonly latency_ms: Readonly<Record<string, number>>;
}

export interface UsualCall {
  /** How many calls are compared: the last ones before this one that were answered. */
  readonly calls: number;
  readonly cost_usd: string | null;
  readonly total_ms: number;
  readonly first_content_ms: number | null;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

export interface VerifiedAudit {
  /** Whether no row was changed or removed since it was written. */
  readonly intact: boolean;
  /** The key that verifies exports: Ed25519, 32 bytes in base64. */
  readonly public_key: string;
  readonly chains: readonly AuditChain[];
}

export interface VersionCalls {
  readonly calls: number;
  readonly errors: number;
  readonly cost_usd: string;
}

export interface View {
  readonly id: string;
  /** The screen of the console, as it stands in the path: `calls`. */
  readonly screen: string;
  readonly name: string;
  /** The query of the screen's address, such as `q=status:429&range=7d`. */
  readonly query: string;
  /** Whether the screen begins with it where its address says nothing else. One view may. */
  readonly is_default: boolean;
  /** Null for a view of the caller. */
  readonly project_id: string | null;
  /** Id of the user who made it, or `token:` and the id of a token. */
  readonly created_by: string;
  /** Time in UTC. */
  readonly created_at: string;
  /** The ETag of this state, to be sent back as `if-match`. */
  readonly etag: string;
}

export interface ViewList {
  readonly data: readonly View[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

export interface WebhookDelivery {
  readonly id: string;
  /** `pending`: waiting or being attempted; `dead`: given up after the last attempt. */
  readonly state: "pending" | "delivered" | "dead";
  readonly type: "audit.head" | "budget.threshold_reached" | "call.refused" | "target.breaker_opened" | "target.breaker_closed" | "token.created" | "token.rotated" | "token.revoked" | "token.expiring" | "token.expired" | "webhook.test";
  /** The header `webhook-id` of every attempt. */
  readonly event_id: string;
  readonly webhook_id: string;
  readonly webhook_name: string | null;
  /** Tenant of the webhook. Null if the configuration file defines it for all tenants. */
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  /** Attempts since it was last put into the queue. */
  readonly attempts: number;
  /** Time in UTC. */
  readonly created_at: string;
  /** Time in UTC. */
  readonly next_attempt_at: string | null;
  /** Time in UTC. */
  readonly ended_at: string | null;
  /** Null if the receiver did not answer. */
  readonly last_status: number | null;
  readonly last_error: string | null;
}

export interface WebhookDeliveryList {
  readonly data: readonly WebhookDelivery[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}
