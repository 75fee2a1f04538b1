// The response cache of LiteLLM, which all callers share. https://docs.litellm.ai/docs/proxy/caching
import { cacheSecondsOf, isOn, secondsOf, textOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { always } from "../report.ts";
import { shownKey } from "../secret-shape.ts";
import { valkeyAddress } from "./valkey-address.ts";

const STORES: Readonly<Record<string, string>> = { local: "memory", disk: "sqlite", redis: "valkey" };
const SCOPE = "default";
/** How long answers are kept where LiteLLM's configuration does not say it. */
const TTL_S = 3600;

export function importCache(litellm: ReadonlyMap<string, ForeignNode>, context: ImportContext): void {
  const { claims, draft } = context;
  const node = litellm.get("cache");
  const params = litellm.get("cache_params");
  if (!isOn(node)) {
    claims.taken(node, always("cache, which is off by default"));
    claims.without(params, "the cache is off");
    return;
  }
  const [kind, time, mode] = ["type", "ttl", "mode"].map((name) => params?.members.get(name));
  const type = textOf(kind) ?? "redis";
  const store = STORES[type];
  if (store === undefined) {
    claims.without(
      node,
      `Dragoman has no cache of the type ${shownKey(type)}: it keeps exact answers in memory, in SQLite or in Valkey`,
    );
    claims.without(params, "the type of the cache has no counterpart");
    return;
  }
  const ttl = secondsOf(time?.value ?? null);
  const isByRequest = textOf(mode) === "default_off";
  const seconds = cacheSecondsOf(ttl === null || ttl === 0 ? TTL_S : ttl);
  draft.set("cache", ["store"], store);
  draft.set("tenants", [SCOPE, "settings", "cache_allowed"], true);
  if (!isByRequest) draft.set("projects", [SCOPE, "settings", "cache"], { ttl_s: seconds, scope: "project" });
  claims.changed(node, "cache", "callers of one project share answers, and not all callers");
  if (isByRequest)
    claims.changed(mode, `tenants.${SCOPE}.settings.cache_allowed`, "a request uses the cache if it asks for it");
  else claims.taken(mode, `projects.${SCOPE}.settings.cache`);
  if (ttl !== null)
    claims.moved(
      time,
      `projects.${SCOPE}.settings.cache.ttl_s`,
      seconds === ttl ? null : `answers are kept for ${seconds} seconds`,
    );
  const isNamedAlike = store === type || store === "memory";
  claims.moved(kind, "cache.store", isNamedAlike ? null : `it is called ${store} here`);
  if (store === "valkey") draft.set("cache", ["url"], valkeyAddress(params, "cache.url", context));
  claims.without(params, "the cache has no such setting");
}
