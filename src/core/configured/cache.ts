// The response cache as configuration, calls and records speak of it (promises 13.4 and 13.5): where it is on, who
// shares an answer, and what became of a call in it.

/** Who shares a kept answer, from the narrowest to the widest. */
export const CACHE_SCOPES = ["token", "user", "project", "tenant"] as const;
export type CacheScope = (typeof CACHE_SCOPES)[number];

/** How a route or a project keeps answers. */
export interface CacheSetting {
  /** How old a kept answer may be, and for how long an answer is kept. */
  readonly ttlMs: number;
  readonly scope: CacheScope;
}

/** What a request says of the cache. */
export interface CacheRequest {
  /** `null` when the request leaves it to its route or project. */
  readonly ttlMs: number | null;
  /** `null` as above. */
  readonly scope: CacheScope | null;
}

/** How long an answer is kept when the request turns the cache on and nothing says for how long. */
export const DEFAULT_CACHE_TTL_S = 300;
export const MAX_CACHE_TTL_S = 30 * 86_400;

export function isWiderScope(scope: CacheScope, than: CacheScope): boolean {
  return CACHE_SCOPES.indexOf(scope) > CACHE_SCOPES.indexOf(than);
}

/**
 * `hit`: the answer was kept, or another call was already waiting for it. `miss`: the provider was called. `bypass`: the
 * cache is on, but not for this call.
 */
export type CacheOutcome = "hit" | "miss" | "bypass";

/** Why a call goes past the cache although it is on. */
export type CacheBypass =
  /** The tenant does not allow the cache. */
  | "not_allowed"
  /** The client asked for it: `cache: false`, or `cache-control: no-store`. */
  | "no_store"
  /** The route or the project has turned the cache off. */
  | "turned_off"
  /** The call runs tools of tool servers. */
  | "tool_servers"
  /** The request brought the address of the provider. */
  | "callers_address"
  /** The request brought the credential. */
  | "callers_credential"
  /** A policy that applies to the call looks at the time. */
  | "time_policy"
  /** Several choices from a provider that returns one for each request. */
  | "several_requests"
  /** The request is so long that another thread holds it. */
  | "long_request"
  /** The gateway has no cache. */
  | "no_cache";

/** What the record says of a call that goes past the cache. */
export function bypassedCall(bypass: CacheBypass): CachedCall {
  return { outcome: "bypass", bypass, key: null, scope: null, ageMs: null, savedNanoUsd: null };
}

/** What the record of a call says of the cache. */
export interface CachedCall {
  readonly outcome: CacheOutcome;
  /** `null` unless the outcome is `bypass`. */
  readonly bypass: CacheBypass | null;
  /** By which the answer can be purged: 64 hex digits; `null` for a bypass. */
  readonly key: string | null;
  readonly scope: CacheScope | null;
  /** How long ago the kept answer was asked for; `null` unless it was kept. */
  readonly ageMs: number | null;
  /** What the call would have cost without the cache, beyond what it has cost; `null` when no price is known. */
  readonly savedNanoUsd: number | null;
}
