// What tenants, projects and routes say of the response cache: whether it may be used, for how long answers are kept, and
// who shares them.

// Decides (the response cache): For how long is an answer kept, and who shares it? By: `cacheUseSchema`. Also:
// `engine/cache/cache-use.ts` (`cacheUseAt`). Rule: `ttl_s`, at most 30 days, by calls of the same `scope`.
import { z } from "zod";
import { CACHE_SCOPES, type CacheSetting, MAX_CACHE_TTL_S } from "../../core/configured/cache.ts";

export const cacheUseSchema = z
  .union([
    z.boolean().refine((value) => !value, "expected a mapping with ttl_s, or false"),
    z.strictObject({
      ttl_s: z.number().min(1).max(MAX_CACHE_TTL_S).meta({
        title: "Seconds",
        description: "How long an answer is kept, and how old a kept answer may be.",
      }),
      scope: z.enum(CACHE_SCOPES).default("token").meta({
        title: "Scope",
        description:
          "Who shares an answer: calls of the same `token`, `user`, `project` or `tenant`. Calls of a token without a user share by token.",
      }),
    }),
  ])
  .optional();

export type CacheUseEntry = NonNullable<z.output<typeof cacheUseSchema>>;

/** `off` is what `false` says: the calls are not cached, whatever else says so. */
export function toCacheUse(entry: CacheUseEntry): CacheSetting | "off" {
  return typeof entry === "boolean" ? "off" : { ttlMs: entry.ttl_s * 1000, scope: entry.scope };
}
