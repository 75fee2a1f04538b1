// Objects kept in Valkey or Redis 7, which several gateways share. All names of one tenant have one hash tag, so that a
// script may use them together on a cluster. A set by time of expiry says which objects are the oldest of the tenant, and
// a hash how many bytes each of them takes. Ids are addresses, and values are sealed (sealed-store.ts).
import { type ConnectionOptions, openClient, REFUSED_WHEN_FULL } from "../../admission/valkey/valkey-connection.ts";
import type { Clock } from "../../core/clock.ts";
import { digestOf } from "../../core/text/digest.ts";
import { KEEPING_BOUNDS, type KeepingBounds, type KeptStore, NoRoom } from "./kept-store.ts";

const COMMAND_MS = 1000;
/**
 * The share of the memory that may be used on a server with the policy `noeviction`. Others that use the server, such as
 * the counts of limits, need memory there too.
 */
const MOST_USED = 0.8;
/** What calls say of themselves while they run is smaller, and is kept also where memory is short. */
const MARK_BYTES = 1024;

/**
 * Takes an object and its size out; what is not there leaves nothing behind. `sizes` has the bytes of each object, and
 * their sum under an empty name.
 */
const TAKE_OUT = `
local function take_out(address)
  local sizes = KEYS[1] .. 'sizes'
  redis.call('DEL', KEYS[1] .. 'object:' .. address)
  redis.call('ZREM', KEYS[1] .. 'index', address)
  local bytes = tonumber(redis.call('HGET', sizes, address) or '0')
  if redis.call('HDEL', sizes, address) == 0 then return tonumber(redis.call('HGET', sizes, '') or '0') end
  return redis.call('HINCRBY', sizes, '', 0 - bytes)
end`;
/** Returns 0 where the server that holds the tenant has little memory left. One that evicts makes room itself. */
const ROOM = `
if #ARGV[4] > ${MARK_BYTES} then
  local told = redis.pcall('INFO', 'memory')
  if type(told) == 'string' then
    local most = tonumber(string.match(told, '\\nmaxmemory:(%d+)') or '0')
    local used = tonumber(string.match(told, '\\nused_memory:(%d+)') or '0')
    local evicts = not string.find(told, '\\nmaxmemory_policy:noeviction', 1, true)
    if most > 0 and used > most * ${MOST_USED} and not evicts then return 0 end
  end
  ${REFUSED_WHEN_FULL}
end`;
/**
 * KEYS: the prefix of objects and the index, both of the tenant. ARGV: now, expiry, the tenant's bound, the body, the
 * project or nothing, the addresses. The server may have evicted the index or the sizes, so that the sizes count what is
 * not there any more: where the new object alone is left, they begin anew with it.
 */
const KEEP = `${TAKE_OUT}${ROOM}
local objects, parts, index, sizes = KEYS[1] .. 'object:', KEYS[1] .. 'part:', KEYS[1] .. 'index', KEYS[1] .. 'sizes'
for _, address in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', ARGV[1])) do take_out(address) end
take_out(ARGV[6])
redis.call('HSET', objects .. ARGV[6], 'body', ARGV[4], 'until', ARGV[2], 'project', ARGV[5])
redis.call('PEXPIREAT', objects .. ARGV[6], ARGV[2])
for i = 7, #ARGV do redis.call('SET', parts .. ARGV[i], ARGV[6], 'PXAT', ARGV[2]) end
local total = tonumber(redis.call('HGET', sizes, '') or '0') + #ARGV[4]
while total > tonumber(ARGV[3]) do
  local oldest = redis.call('ZRANGE', index, 0, 0)[1]
  if not oldest then
    redis.call('DEL', sizes)
    total = #ARGV[4]
    break
  end
  total = take_out(oldest) + #ARGV[4]
end
redis.call('ZADD', index, ARGV[2], ARGV[6])
redis.call('HSET', sizes, ARGV[6], #ARGV[4], '', total)
redis.call('PEXPIREAT', index, ARGV[2])
redis.call('PEXPIREAT', sizes, ARGV[2])
return 1`;
/** KEYS: the prefix. ARGV: the address. */
const FIND = `
local address = ARGV[1]
if redis.call('EXISTS', KEYS[1] .. 'object:' .. address) == 0 then
  address = redis.call('GET', KEYS[1] .. 'part:' .. address)
  if not address then return false end
end
local found = redis.call('HMGET', KEYS[1] .. 'object:' .. address, 'body', 'until')
if not found[1] then return false end
return {address, found[1], found[2]}`;
const REMOVE = `${TAKE_OUT}
take_out(ARGV[1])
return 1`;

/**
 * KEYS: the prefix and the index. ARGV: the project, or nothing for all. Names of parts without an object lead to nothing,
 * and expire.
 */
const REMOVE_ALL = `${TAKE_OUT}
for _, address in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  if ARGV[1] == '' or redis.call('HGET', KEYS[1] .. 'object:' .. address, 'project') == ARGV[1] then take_out(address) end
end
return 1`;

type Scripted = {
  dragomanKeep(...args: readonly (string | number | Buffer)[]): Promise<number>;
  dragomanFindBuffer(...args: readonly string[]): Promise<readonly [Buffer, Buffer, Buffer] | null>;
  dragomanRemove(...args: readonly string[]): Promise<number>;
  dragomanRemoveAll(...args: readonly string[]): Promise<number>;
};

export async function openValkeyStore(
  options: ConnectionOptions,
  clock: Pick<Clock, "now">,
  bounds: KeepingBounds = KEEPING_BOUNDS,
): Promise<KeptStore<Uint8Array>> {
  const client = await openClient(options, COMMAND_MS);
  client.defineCommand("dragomanKeep", { lua: KEEP, numberOfKeys: 1 });
  client.defineCommand("dragomanFind", { lua: FIND, numberOfKeys: 1 });
  client.defineCommand("dragomanRemove", { lua: REMOVE, numberOfKeys: 1 });
  client.defineCommand("dragomanRemoveAll", { lua: REMOVE_ALL, numberOfKeys: 2 });
  const scripts = client as unknown as Scripted;
  return {
    isAway: false,
    get untilMs() {
      return clock.now() + bounds.lifetimeMs;
    },
    async keep({ tenantId, projectId, ids, value }) {
      if (value.length > bounds.objectBytes) return false;
      const nowMs = clock.now();
      const untilMs = Math.ceil(nowMs + bounds.lifetimeMs);
      const project = projectId ?? "";
      const body = Buffer.from(value);
      const { tenantBytes } = bounds;
      const kept = await scripts
        .dragomanKeep(prefixOf(tenantId), nowMs, untilMs, tenantBytes, body, project, ...ids)
        .catch(refusedByFull);
      if (kept === 0) throw new NoRoom("the server has little memory left");
      return true;
    },
    async find(tenantId, id) {
      const found = await scripts.dragomanFindBuffer(prefixOf(tenantId), id);
      if (found === null) return null;
      const [address, value, until] = found;
      const untilMs = Number(until.toString());
      return untilMs > clock.now() ? { ids: [address.toString()], value, untilMs } : null;
    },
    async remove(tenantId, id) {
      await scripts.dragomanRemove(prefixOf(tenantId), id);
    },
    async removeAll(tenantId, projectId) {
      const prefix = prefixOf(tenantId);
      await scripts.dragomanRemoveAll(prefix, `${prefix}index`, projectId ?? "");
    },
    close: () => client.disconnect(),
  };
}

/** Returns 0 for the refusal of a server that has no memory left. Throws any other error. */
function refusedByFull(thrown: unknown): number {
  if (thrown instanceof Error && thrown.message.startsWith("OOM ")) return 0;
  throw thrown;
}

function prefixOf(tenantId: string): string {
  return `dragoman:kept:{${digestOf(tenantId)}}:`;
}
