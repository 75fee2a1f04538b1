// Answers kept in Valkey or Redis 7, which several gateways share. All names of one tenant have one hash tag, so that a
// script may use them together on a cluster. Two sets by time of expiry, of the tenant and of each route, say what a purge
// has to remove; the server removes what has expired, and what has no room (`maxmemory-policy`).
import type { Cluster, Redis } from "ioredis";
import { type ConnectionOptions, openClient, REFUSED_WHEN_FULL } from "../admission/valkey/valkey-connection.ts";
import { digestOf } from "../core/text/digest.ts";
import type { AnswerCache, CacheEntry, CachePlace } from "./answer-cache.ts";

const COMMAND_MS = 1000;
/** A purge also holds for answers that a gateway whose clock is ahead by this much asked for before it. */
const SKEW_MS = 2000;
/** An answer that was asked for before a purge arrives within this time. */
const PURGE_KEPT_MS = 86_400_000;
const TENANTS = "dragoman:cache:tenants";
const FIELDS = ["tenant", "route", "asked", "expires", "body"] as const;

/**
 * KEYS: the answer, the answers of the tenant and of the route, the purges. ARGV: key, route, time of asking and of
 * expiry, now, tenant, body.
 */
const PUT = `
for _, place in ipairs({'', 'route:' .. ARGV[2], 'key:' .. ARGV[1]}) do
  local at = redis.call('HGET', KEYS[4], place)
  if at and tonumber(at) >= tonumber(ARGV[3]) then return 0 end
end
${REFUSED_WHEN_FULL}
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'tenant', ARGV[6], 'route', ARGV[2], 'asked', ARGV[3], 'expires', ARGV[4], 'body', ARGV[7])
redis.call('PEXPIREAT', KEYS[1], ARGV[4])
for i = 2, 3 do
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', ARGV[5])
  redis.call('ZADD', KEYS[i], ARGV[4], ARGV[1])
  local last = redis.call('ZRANGE', KEYS[i], -1, -1, 'WITHSCORES')
  redis.call('PEXPIREAT', KEYS[i], last[2])
end
return 1`;
/**
 * KEYS: the purges, the set of what is purged. ARGV: the place, the time, for how long it is known, the prefix of answers,
 * now (`isAskedBefore`). Returns how many were removed, and how many are left.
 * A server that is full removes answers all the same; it does not note the purge, and takes no answers either.
 */
const PURGE = `
local count = 0
for _, key in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local asked = redis.call('HGET', ARGV[4] .. key, 'asked')
  if asked and (tonumber(asked) <= tonumber(ARGV[2]) or tonumber(asked) > tonumber(ARGV[5])) then
    redis.call('DEL', ARGV[4] .. key)
    redis.call('ZREM', KEYS[2], key)
    count = count + 1
  end
end
redis.pcall('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {count, redis.call('ZCARD', KEYS[2])}`;
/** The same for one answer. KEYS: the purges, the answer. ARGV: the place, the time, for how long it is known, the route or nothing. */
const PURGE_KEY = `
if ARGV[4] ~= '' and redis.call('HGET', KEYS[2], 'route') ~= ARGV[4] then return 0 end
local count = redis.call('DEL', KEYS[2])
redis.pcall('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return count`;

type Scripted = {
  dragomanCachePut(...args: readonly (string | number | Buffer)[]): Promise<number>;
  dragomanCachePurge(...args: readonly (string | number)[]): Promise<readonly [removed: number, left: number]>;
  dragomanCachePurgeKey(...args: readonly (string | number)[]): Promise<number>;
};

export async function openValkeyCache(options: ConnectionOptions): Promise<AnswerCache> {
  const client = await openClient(options, COMMAND_MS);
  client.defineCommand("dragomanCachePut", { lua: PUT, numberOfKeys: 4 });
  client.defineCommand("dragomanCachePurge", { lua: PURGE, numberOfKeys: 2 });
  client.defineCommand("dragomanCachePurgeKey", { lua: PURGE_KEY, numberOfKeys: 2 });
  return new ValkeyCache(client, client as unknown as Scripted);
}

class ValkeyCache implements AnswerCache {
  readonly #client: Redis | Cluster;
  readonly #scripts: Scripted;

  constructor(client: Redis | Cluster, scripts: Scripted) {
    this.#client = client;
    this.#scripts = scripts;
  }

  async get({ tenantId, key }: { readonly tenantId: string; readonly key: string }, nowMs: number) {
    const values = await this.#client.hmgetBuffer(`${answersOf(tenantId)}${key}`, ...FIELDS);
    const [tenant, route, asked, expires, body] = values;
    if (tenant == null || route == null || asked == null || expires == null || body == null) return null;
    const entry: CacheEntry = {
      key,
      tenantId: tenant.toString(),
      route: route.toString(),
      askedAtMs: Number(asked.toString()),
      expiresAtMs: Number(expires.toString()),
      body,
    };
    return entry.tenantId === tenantId && entry.expiresAtMs > nowMs ? entry : null;
  }

  async put({ key, tenantId, route, askedAtMs, expiresAtMs, body }: CacheEntry, nowMs: number): Promise<void> {
    if (expiresAtMs <= nowMs) return;
    // before the answer, so that there is no answer of a tenant that is not known, and again behind a purge that came between
    await this.#client.sadd(TENANTS, tenantId);
    await this.#scripts.dragomanCachePut(
      `${answersOf(tenantId)}${key}`,
      indexOf({ tenantId }),
      indexOf({ tenantId, route }),
      purgesOf(tenantId),
      key,
      route,
      askedAtMs,
      Math.ceil(expiresAtMs),
      nowMs,
      tenantId,
      Buffer.from(body),
    );
    await this.#client.sadd(TENANTS, tenantId);
  }

  async purge({ tenantId, route, key }: CachePlace, purgedAtMs: number, nowMs: number): Promise<number> {
    const [purges, atMs] = [purgesOf(tenantId), purgedAtMs + SKEW_MS];
    if (key !== undefined)
      return await this.#scripts.dragomanCachePurgeKey(
        purges,
        `${answersOf(tenantId)}${key}`,
        `key:${key}`,
        atMs,
        PURGE_KEPT_MS,
        route ?? "",
      );
    const [removed, left] = await this.#scripts.dragomanCachePurge(
      purges,
      indexOf({ tenantId, route }),
      route === undefined ? "" : `route:${route}`,
      atMs,
      PURGE_KEPT_MS,
      answersOf(tenantId),
      nowMs + SKEW_MS,
    );
    if (route === undefined && left === 0) await this.#forget(tenantId);
    return removed;
  }

  /** An answer that is kept meanwhile makes the tenant known again. */
  async #forget(tenantId: string): Promise<void> {
    await this.#client.srem(TENANTS, tenantId);
    if ((await this.#client.zcard(indexOf({ tenantId }))) > 0) await this.#client.sadd(TENANTS, tenantId);
  }

  async tenants(): Promise<readonly string[]> {
    return await this.#client.smembers(TENANTS);
  }

  figures(): null {
    return null;
  }

  close(): void {
    this.#client.disconnect();
  }
}

const answersOf = (tenantId: string): string => `dragoman:cache:{${digestOf(tenantId)}}:answer:`;
const purgesOf = (tenantId: string): string => `dragoman:cache:{${digestOf(tenantId)}}:purged`;
const indexOf = ({ tenantId, route }: Pick<CachePlace, "tenantId" | "route">): string =>
  `dragoman:cache:{${digestOf(tenantId)}}:index${route === undefined ? "" : `:route:${route}`}`;
