// The nouns of the admin API in one table: the commands of each noun are derived from its row.
import { CONFIGURED_NOUNS, type ConfiguredNoun } from "../../core/configured/configured.ts";

/** What is shown of a call, by the heading of the column. */
export const CALL_COLUMNS = {
  AT: "at",
  "TRACE ID": "trace_id",
  PROJECT: "project_id",
  OPERATION: "operation",
  MODEL: "model",
  STATUS: "status",
  CODE: "code",
  PROMPT: "prompt_tokens",
  COMPLETION: "completion_tokens",
  USD: "cost_usd",
  MS: "total_ms",
  "COPY OF": "mirror_of",
} as const;

export type Verb = "list" | "get" | "create" | "update" | "replace" | "set" | "delete";

export interface Noun {
  readonly word: string;
  readonly many: string;
  /** The last part of its path: `routes`. */
  readonly path: string;
  /**
   * Where it is stored: by itself, in a tenant, or in a tenant or a project. `own`: the caller's, unless a tenant is named; `personal`: the
   * caller's, unless a project is named.
   */
  readonly place: "none" | "own" | "personal" | "tenant" | "either";
  readonly verbs: readonly Verb[];
  /** The field that the name on the command line fills; `null` when each place has exactly one. */
  readonly named: "id" | "name" | "user_id" | null;
  /** Replaces `The <word> <name> is` in messages where that would not fit. */
  readonly subject?: string;
  /** The field of each column by its title; a dot leads into an object. */
  readonly columns: Readonly<Record<string, string>>;
  /** The rows are sums over groups, and are also available as CSV. */
  readonly sums?: true;
  /** A field of the response that is shown only once. */
  readonly shownOnce?: string;
  /** What is removed together with it. A removal then has to be confirmed. */
  readonly contains?: string;
  /** The list has no pages. */
  readonly isWhole?: true;
  /** Operators list those of all tenants. */
  readonly ofAll?: true;
  /** Its changes make versions of the configuration, which may have a note. */
  readonly isConfigured?: true;
  /** Its objects have tests, which an owner may override. */
  readonly isTested?: true;
}

const ALL: readonly Verb[] = ["list", "get", "create", "update", "delete"];

/** What the nouns of the configuration have in common, but for their place where it is another one. */
function configured(noun: ConfiguredNoun): Omit<Noun, "columns"> {
  return {
    word: CONFIGURED_NOUNS[noun].one.replace(" ", "-"),
    many: noun.replace("_", " "),
    path: noun,
    isConfigured: true,
    place: "either",
    verbs: ["list", "get", "create", "update", "replace", "delete"],
    named: "name",
  };
}

/** Rows for nouns that can only be listed, in a tenant or a project unless the row says otherwise: in pages, or as a whole. */
const PAGED_LIST = { place: "either", verbs: ["list"], named: null } as const;
const WHOLE_LIST = { ...PAGED_LIST, isWhole: true } as const;

const KEPT = { ORIGIN: "origin", "SET BY": "set_by", VERSION: "version" } as const;

export const NOUNS: readonly Noun[] = [
  {
    word: "tenant",
    many: "tenants",
    path: "tenants",
    place: "none",
    verbs: ALL,
    named: "id",
    columns: { ID: "id", NAME: "name" },
    contains: "its projects, users, tokens and configuration",
  },
  {
    word: "project",
    many: "projects",
    path: "projects",
    place: "none",
    verbs: ALL,
    named: "id",
    columns: { ID: "id", TENANT: "tenant_id", NAME: "name" },
    contains: "its tokens, memberships and configuration",
  },
  {
    word: "user",
    many: "users",
    path: "users",
    place: "tenant",
    verbs: ALL,
    named: "id",
    columns: { ID: "id", NAME: "name", "E-MAIL": "email", OPERATOR: "operator" },
    contains: "the user's roles and personal tokens",
  },
  {
    word: "member",
    many: "roles of users in a tenant or project",
    path: "memberships",
    place: "either",
    verbs: ["list", "set", "delete"],
    named: "user_id",
    subject: "The role of",
    columns: { USER: "user_id", TENANT: "tenant_id", PROJECT: "project_id", ROLE: "role" },
  },
  {
    ...configured("providers"),
    place: "tenant",
    columns: { NAME: "name", TYPE: "type", ADDRESS: "base_url", ...KEPT },
  },
  {
    ...configured("routes"),
    isTested: true,
    columns: { NAME: "name", STRATEGY: "strategy", TARGETS: "targets", ...KEPT },
  },
  {
    ...configured("policies"),
    columns: { ID: "id", NAME: "name", MODE: "mode", ...KEPT },
  },
  {
    ...configured("limits"),
    columns: {
      ID: "id",
      NAME: "name",
      METRIC: "metric",
      WINDOW: "window",
      LIMIT: "limit",
      SCOPE: "scope",
      MODE: "mode",
      ...KEPT,
    },
  },
  {
    ...configured("budgets"),
    columns: { ID: "id", NAME: "name", USD: "usd", TOKENS: "tokens", WINDOW: "window", SCOPE: "scope", ...KEPT },
  },
  {
    ...configured("prices"),
    columns: { NAME: "name", ...KEPT },
  },
  {
    ...configured("tool_servers"),
    columns: { NAME: "name", ADDRESS: "url", ...KEPT },
  },
  {
    ...configured("webhooks"),
    shownOnce: "secret",
    columns: { ID: "id", NAME: "name", ADDRESS: "url", EVENTS: "events", ENABLED: "enabled", ...KEPT },
  },
  {
    word: "settings",
    many: "settings",
    path: "settings",
    isConfigured: true,
    place: "either",
    verbs: ["get", "update", "replace", "delete"],
    named: null,
    subject: "The content of the settings",
    columns: {},
  },
  {
    word: "claim",
    many: "links that give an access token to whoever opens them first",
    path: "claims",
    place: "either",
    verbs: ["list", "create", "delete"],
    named: "name",
    shownOnce: "link",
    columns: {
      ID: "id",
      NAME: "name",
      STATE: "state",
      BY: "created_by",
      EXPIRES: "expires_at",
      TOKEN: "token_id",
    },
  },
  {
    word: "view",
    many: "saved views of the web console: your own, or those of a project",
    path: "views",
    place: "personal",
    verbs: ["list", "create", "update", "delete"],
    named: "name",
    columns: { ID: "id", SCREEN: "screen", NAME: "name", QUERY: "query", DEFAULT: "is_default", BY: "created_by" },
  },
  {
    word: "session",
    many: "sessions of the web console: your own, or those of a tenant",
    path: "sessions",
    place: "own",
    verbs: ["list", "delete"],
    named: "id",
    columns: {
      ID: "id",
      USER: "user_id",
      LOGIN: "login",
      ADDRESS: "address",
      STARTED: "started_at",
      SEEN: "seen_at",
      ENDS: "ends_at",
    },
  },
  {
    ...WHOLE_LIST,
    word: "company-login",
    many: "company logins with the roles that their claims give",
    path: "logins",
    place: "tenant",
    columns: { NAME: "name", ISSUER: "issuer", CONSOLE: "console", ROLES: "roles" },
  },
  {
    ...PAGED_LIST,
    word: "audit",
    many: "changes and refused attempts",
    path: "audit",
    ofAll: true,
    columns: {
      AT: "at",
      WHO: "actor",
      DID: "action",
      OUTCOME: "outcome",
      KIND: "kind",
      TARGET: "target_id",
      NAME: "target_name",
      VIA: "via",
    },
  },
  {
    ...PAGED_LIST,
    word: "usage",
    ofAll: true,
    many: "summed calls, tokens and cost",
    path: "usage",
    sums: true,
    columns: {
      OF: "group",
      CALLS: "calls",
      ERRORS: "errors",
      PROMPT: "prompt_tokens",
      COMPLETION: "completion_tokens",
      USD: "cost_usd",
      CACHED: "cached_tokens",
      "CACHE WRITES": "cache_write_tokens",
      "CACHE HITS": "cache_hit_rate",
      "CACHE SAVED": "cache_saved_usd",
    },
  },
  {
    word: "call",
    ofAll: true,
    many: "single calls",
    path: "calls",
    place: "either",
    verbs: ["list", "get"],
    named: "id",
    columns: CALL_COLUMNS,
  },
  {
    ...WHOLE_LIST,
    word: "histogram",
    ofAll: true,
    many: "calls over time",
    path: "calls/histogram",
    columns: { FROM: "at", CALLS: "calls", ERRORS: "errors", USD: "cost_usd", P50: "p50_ms", P95: "p95_ms" },
  },
  {
    ...WHOLE_LIST,
    word: "facets",
    ofAll: true,
    many: "the most frequent values among calls",
    path: "calls/facets",
    columns: { DIMENSION: "dimension", VALUE: "value", CALLS: "calls", ERRORS: "errors", USD: "cost_usd" },
  },
  {
    word: "limit-state",
    many: "how full limits and budgets are",
    path: "limit_states",
    place: "either",
    verbs: ["list", "get"],
    named: "id",
    isWhole: true,
    columns: { ID: "id", NAME: "name", WINDOW: "window", METRIC: "metric", LIMIT: "limit", ACCOUNTS: "accounts" },
  },
  {
    ...WHOLE_LIST,
    word: "provider-health",
    many: "how providers do",
    path: "provider_health",
    columns: {
      ID: "id",
      STATUS: "status",
      ATTEMPTS: "attempts",
      ERRORS: "errors",
      P50: "p50_ms",
      P95: "p95_ms",
      ROUTES: "routes",
    },
  },
  {
    ...WHOLE_LIST,
    word: "drain",
    many: "providers and models that get no calls for a while",
    path: "drains",
    place: "tenant",
    columns: { PROVIDER: "provider", MODEL: "model", UNTIL: "until", NOTE: "note", BY: "begun_by" },
  },
  {
    ...WHOLE_LIST,
    word: "draft",
    many: "your own drafts of routes and policies",
    path: "drafts",
    columns: { KIND: "kind", NAME: "name", SAVED: "saved_at" },
  },
  {
    ...WHOLE_LIST,
    word: "integration",
    many: "integrations that receive the records of calls, with their last delivery and failure",
    path: "integrations",
    ofAll: true,
    columns: {
      NAME: "name",
      TYPE: "type",
      STATE: "state",
      DELIVERED: "last_delivery_at",
      FAILED: "last_failure_at",
      CONTENT: "content",
      ERROR: "last_error",
    },
  },
  {
    word: "gateway",
    many: "the gateway's version, readiness, retention and console settings",
    path: "gateway",
    place: "none",
    verbs: ["get"],
    named: null,
    columns: {},
  },
  {
    ...WHOLE_LIST,
    word: "attention",
    many: "what needs somebody",
    path: "attention",
    columns: { KIND: "kind", SUBJECT: "subject", WHAT: "text", WHEN: "at" },
  },
  {
    word: "history",
    many: "versions of the configuration",
    path: "versions",
    place: "either",
    verbs: ["list", "get"],
    named: "id",
    columns: { VERSION: "number", AT: "at", WHO: "actor", CHANGES: "changes", "BACK TO": "rolled_back_to" },
  },
];
