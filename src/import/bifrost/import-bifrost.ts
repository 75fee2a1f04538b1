// Takes over the configuration file of Bifrost. https://docs.getbifrost.ai/quickstart/gateway/setting-up
import {
  bytesOf,
  isOn,
  millisecondsOf,
  MOST_RETRIES,
  numberOf,
  requestTimes,
  textOf,
  textsOf,
  wholeOf,
} from "../figures.ts";
import { type ForeignNode, NO_MEMBERS, refusalAt } from "../foreign-file.ts";
import { type GatewayImport, type ImportContext, moveSetting } from "../gateway-import.ts";
import { always, type Reasons, withoutMembers } from "../report.ts";
import { importProviders } from "./accounts.ts";
import { importPlugins } from "./plugins.ts";
import { importRoutingRules } from "./routing-rules.ts";
import { importToolServers } from "./tool-servers.ts";

/** One of these has to be in the file. */
const SECTIONS = ["providers", "client", "mcp", "governance", "plugins", "config_store", "logs_store"];
const LEVELS = ["trace", "debug", "info", "warn", "error"];

const OF_BOUNDS = "limits and budgets are made anew, each with what it counts: docs/limits.md";
const OF_GOVERNANCE: Reasons = {
  virtual_keys:
    "keys are not taken over yet: make a token for each with dragoman token create, and its bounds under limits and budgets",
  budgets: OF_BOUNDS,
  rate_limits: OF_BOUNDS,
};
const OF_PRICES = "prices are those of the bundled list and of the section prices: docs/prices.md";
const OF_STORES =
  "Dragoman has a database of its own: SQLite in its data folder, or the PostgreSQL of server.database_url";
const OF_THE_FILE: Reasons = {
  $schema: "it is about the file, not about calls",
  governance: "people and tokens are administered over the API: docs/identity.md",
  auth_config: "people log in to the console by a link, a token or an issuer: docs/console.md",
  encryption_key: "the master key is made at the first start, or set in DRAGOMAN_MASTER_KEY",
  source_of_truth: "the gateway always reads the file; what is stored over the admin API stands beside it",
  config_store: OF_STORES,
  logs_store: OF_STORES,
  vector_store: OF_STORES,
};

export const bifrost: GatewayImport = {
  yaml: "1.2",
  environment: () => ({ prefix: "env.", takesWords: false }),
  run: (context) => {
    const { claims, foreign } = context;
    const { file, root } = foreign;
    const wrong =
      root.kind !== "mapping" || !SECTIONS.some((key) => root.members.has(key))
        ? root
        : ["providers", "client", "governance"]
            .map((key) => root.members.get(key))
            .find((node) => node !== undefined && node.kind !== "mapping");
    if (wrong !== undefined)
      throw refusalAt(
        file,
        wrong,
        wrong === root
          ? `this is no configuration of Bifrost: it has none of ${SECTIONS.join(", ")}`
          : "expected a mapping",
      );
    const { members } = root;
    const fleet = importProviders(members.get("providers"), context);
    importNetwork(members.get("providers"), context);
    importClient(members.get("client"), context);
    importPlugins(members.get("plugins"), context);
    importToolServers(members.get("mcp"), context);
    const governance = members.get("governance");
    importRoutingRules(governance?.members.get("routing_rules"), fleet, context);
    withoutMembers(governance?.members, OF_GOVERNANCE, claims);
    claims.without(members.get("framework")?.members.get("pricing"), OF_PRICES);
    withoutMembers(members, OF_THE_FILE, claims);
  },
};

/** What an answer may take at a provider that sets no time: https://docs.getbifrost.ai/quickstart/go-sdk/provider-configuration. */
const SECONDS_THERE = 30;

/** Times and retries belong to providers there, and to all routes here: the greatest of them count. */
function importNetwork(providers: ForeignNode | undefined, { claims, draft }: ImportContext): void {
  const all = [...(providers?.members.values() ?? [])];
  const networks = all.flatMap((node) => node.members.get("network_config") ?? []);
  const read = (key: string): number[] => networks.flatMap((node) => numberOf(node.members.get(key)) ?? []);
  const times = read("default_request_timeout_in_seconds").filter((seconds) => seconds > 0);
  if (times.length > 0 && times.length < all.length) times.push(SECONDS_THERE);
  const retries = read("max_retries").filter((count) => Number.isInteger(count) && count >= 0);
  if (times.length > 0)
    for (const [key, ms] of Object.entries(requestTimes(millisecondsOf(Math.max(...times)))))
      draft.set("route_defaults", ["timeouts", key], ms);
  if (retries.length > 0) draft.set("route_defaults", ["retries"], Math.min(MOST_RETRIES, Math.max(...retries)));
  for (const { members } of networks) {
    claims.changed(
      members.get("default_request_timeout_in_seconds"),
      "route_defaults.timeouts.first_byte_ms",
      `the greatest of all providers counts, for each request until its answer begins; ${SECONDS_THERE} s are those of a provider that sets none`,
    );
    claims.changed(
      members.get("max_retries"),
      "route_defaults.retries",
      `the greatest of all providers counts; the most is ${MOST_RETRIES}`,
    );
    withoutMembers(members, OF_NETWORKS, claims);
  }
  for (const { members } of all) withoutMembers(members, OF_PROVIDERS, claims);
}

const OF_PAUSES = "the time between two attempts is not configured";
const OF_NETWORKS: Reasons = {
  retry_backoff_initial: OF_PAUSES,
  retry_backoff_max: OF_PAUSES,
  retry_backoff_initial_ms: OF_PAUSES,
  retry_backoff_max_ms: OF_PAUSES,
  extra_headers: "clients send headers for a provider in extra_headers, if their token may",
};
const OF_RECORDS = "each call has a record, of which no provider has settings of its own";
const OF_PROVIDERS: Reasons = {
  concurrency_and_buffer_size: "a target of a route has max_concurrency, and the route a queue",
  request_logging: OF_RECORDS,
  send_back_raw_request: OF_RECORDS,
  send_back_raw_response: OF_RECORDS,
  store_raw_request_response: OF_RECORDS,
};

function importClient(client: ForeignNode | undefined, context: ImportContext): void {
  const { claims } = context;
  const members = client?.members ?? NO_MEMBERS;
  const origins = members.get("allowed_origins");
  const listed = textsOf(origins).filter((text) => text === "*" || /^https?:\/\/[^/\s*]+$/.test(text));
  const areAllUsable = listed.length > 0 && listed.length === origins?.items.length;
  moveSetting(origins, ["cors", "origins"], areAllUsable ? listed : null, null, context);
  const size = members.get("max_request_body_size_mb");
  moveSetting(size, ["server", "max_body_bytes"], bytesOf(size), null, context);
  const days = members.get("log_retention_days");
  moveSetting(days, ["calls", "keep_days"], wholeOf(days, 1, 36_500), null, context);
  const drop = members.get("compat")?.members.get("should_drop_params");
  moveSetting(drop, ["settings", "drop_params"], isOn(drop) ? true : null, null, context);
  const logging = members.get("enable_logging");
  if (isOn(logging)) claims.taken(logging, always("the record that each call has"));
  const content = members.get("disable_content_logging");
  if (isOn(content)) claims.taken(content, always("content_log, which is off unless a tenant turns it on"));
  else
    claims.changed(
      content,
      always("content_log"),
      "prompts and answers are kept only if a tenant turns content_log on",
    );
  const enforced = members.get("enforce_governance_header") ?? members.get("enforce_auth_on_inference");
  const tokens = always("access tokens, which every call needs");
  claims.moved(enforced, tokens, isOn(enforced) ? null : "a call without a token is refused");
  const level = members.get("log_level");
  moveSetting(level, ["log", "level"], LEVELS.find((each) => each === textOf(level)) ?? null, null, context);
  withoutMembers(members, OF_CLIENTS, claims);
}

const NO_SUCH = "there is no such setting";
const OF_CLIENTS: Reasons = {
  allowed_headers: "web pages of the allowed origins may send any header",
  compat:
    "what a provider does not take is translated where it has a counterpart, and otherwise refused, or dropped and reported",
  allow_direct_keys: "callers send keys of their own in api_key, if their token may",
  initial_pool_size: NO_SUCH,
  drop_excess_requests: NO_SUCH,
  prometheus_labels: NO_SUCH,
  log_output_style: NO_SUCH,
  enable_governance: NO_SUCH,
  enable_litellm_fallbacks: NO_SUCH,
  allow_per_request_raw_override: NO_SUCH,
  allow_per_request_content_storage_override: NO_SUCH,
};
