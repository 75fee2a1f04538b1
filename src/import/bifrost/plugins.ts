// Plugins of Bifrost that have a counterpart: traces over OTLP, metrics and the cache of answers.
// https://docs.getbifrost.ai/features/observability/otel
import { isPlainAddress } from "../../providers/credentials/credential-settings.ts";
import { cacheSecondsOf, isOff, isOn, MOST_TTL_S, secondsOf, textOf, wholeOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { always } from "../report.ts";

const TRACES_PATH = /\/v1\/traces\/?$/;
/** The port of OTLP over HTTP; over gRPC, which is not spoken here, it is 4317. */
const HTTP_PORT = 4318;
const METRICS = always("/metrics, which is always there");
const RECORDS = always("limits, budgets and the record of each call, which are always there");
const TOKENS = always("access tokens, which every call needs");
const CACHE = "projects.default.settings.cache";
const CACHE_ALLOWED = "tenants.default.settings.cache_allowed";
const EQUAL = "only calls that are exactly equal share an answer, and callers of one project share them";
const BY_REQUEST = "a request uses the cache if it asks for it, as it does there with x-bf-cache-key: docs/cache.md";
const TTL_S = 300;

export function importPlugins(plugins: ForeignNode | undefined, context: ImportContext): void {
  const { claims } = context;
  for (const node of plugins?.items ?? []) {
    const name = textOf(node.members.get("name")) ?? "";
    const enabled = node.members.get("enabled");
    if (isOff(enabled)) claims.without(node, "the plugin is off");
    else if (name === "otel") importTraces(node, context);
    else if (name === "semantic_cache") importCache(node, context);
    else if (name === "telemetry") {
      for (const each of [node.members.get("name"), enabled]) claims.taken(each, METRICS);
      claims.without(node, "which labels metrics have is not configured");
    } else if (name === "governance" || name === "logging") {
      for (const each of [node.members.get("name"), enabled]) claims.taken(each, RECORDS);
      const mandatory = node.members.get("config")?.members.get("is_vk_mandatory");
      claims.moved(mandatory, TOKENS, isOn(mandatory) ? null : "a call without a token is refused");
    } else claims.without(node, "there is no such integration; docs/integrations has those that there are");
  }
}

function importTraces(node: ForeignNode, { claims, draft }: ImportContext): void {
  const config = node.members.get("config");
  const profiles = config?.members.get("profiles")?.items ?? (config === undefined ? [] : [config]);
  const made: string[] = [];
  for (const { members } of profiles) {
    const url = members.get("collector_url");
    const endpoint = endpointOf(textOf(url) ?? "");
    if (endpoint === null) {
      claims.without(url, "expected the address of a collector");
      continue;
    }
    const id = draft.freeName("integrations", "otel");
    const service = members.get("service_name");
    const label = textOf(service);
    made.push(id);
    draft.set("integrations", [id], { type: "otlp", endpoint, ...(label !== null && { service_name: label }) });
    const isGrpc = textOf(members.get("protocol")) === "grpc";
    const how = isGrpc ? `traces are sent over HTTP, to port ${HTTP_PORT}` : null;
    claims.moved(url, `integrations.${id}.endpoint`, how);
    claims.taken(service, `integrations.${id}.service_name`);
    claims.changed(members.get("protocol"), `integrations.${id}`, "OTLP is spoken over HTTP");
    claims.changed(
      members.get("trace_type"),
      `integrations.${id}`,
      "spans have the attributes of OpenTelemetry for generative AI",
    );
  }
  for (const key of ["name", "enabled"])
    claims.taken(node.members.get(key), () => made.map((id) => `integrations.${id}`));
}

function endpointOf(text: string): string | null {
  const address = /^https?:/.test(text)
    ? text.replace(TRACES_PATH, "")
    : `http://${text.replace(/:\d+$/, "")}:${HTTP_PORT}`;
  return text !== "" && isPlainAddress(address) ? address : null;
}

/**
 * Bifrost keeps answers of those requests alone that have a cache key, by a header or by default_cache_key:
 * https://docs.getbifrost.ai/features/semantic-caching
 */
function importCache(node: ForeignNode, { claims, draft }: ImportContext): void {
  const config = node.members.get("config");
  const ttl = config?.members.get("ttl");
  const key = config?.members.get("default_cache_key");
  const isForAll = textOf(key) !== null;
  const seconds = ttl === undefined ? null : (wholeOf(ttl, 1, MOST_TTL_S) ?? secondsOf(ttl.value));
  const kept = cacheSecondsOf(seconds ?? TTL_S);
  draft.set("tenants", ["default", "settings", "cache_allowed"], true);
  if (isForAll) draft.set("projects", ["default", "settings", "cache"], { ttl_s: kept, scope: "project" });
  const at = isForAll ? CACHE : CACHE_ALLOWED;
  claims.changed(node.members.get("name"), at, isForAll ? EQUAL : `${EQUAL}; ${BY_REQUEST}`);
  claims.taken(node.members.get("enabled"), at);
  if (isForAll) claims.changed(key, CACHE, "the cache is for all calls of the project, and needs no key");
  if (!isForAll) claims.without(ttl, BY_REQUEST);
  else if (seconds !== null)
    claims.moved(ttl, `${CACHE}.ttl_s`, kept === seconds ? null : `an answer is kept for 1 to ${MOST_TTL_S} seconds`);
  claims.without(config, "the cache compares whole calls, not their meaning");
}
