// Writes off, at the request of an operator, what gateways that never come back had leased of budgets without end or
// reserved for calls in flight; every other window frees such units by ending. Only an operator can know that a gateway
// never comes back and spent little of it: what it spent in the tenth of a second after its last report, and what its
// last calls used, is unknown. A gateway that comes back all the same first states what it has really charged (rules 8
// and 10 of docs/design/shared-limits.md).
import type { Cluster, Redis } from "ioredis";
import { type ConnectionOptions, openClient } from "./valkey-connection.ts";
import { keysOf } from "./valkey.ts";

export interface WrittenOff {
  readonly replica: string;
  /** By the store's clock. */
  readonly seenMs: number;
  readonly tenant: string;
  readonly budget: string;
  /** As in the rule: `tokens` or `nano_usd`. */
  readonly unit: string;
  /** The value of the budget's scope, or its hash, where each value has an account of its own. */
  readonly value: string;
  readonly units: number;
  /** The part of the units that was reserved for calls in flight whose end was never reported. */
  readonly reserved: number;
}

export interface ReconcileOptions extends ConnectionOptions {
  /** Only these replicas; `null` for all that were not seen for a minute. */
  readonly replicas: readonly string[] | null;
  readonly dryRun: boolean;
}

const SILENT_MS = 60_000;
/**
 * For a named replica. This is longer than a live replica that holds anything stays silent, and longer than any lease.
 */
const NAMED_SILENT_MS = 5000;
const ANSWERS_WITHIN_MS = 5000;
const SCANNED_AT_ONCE = 1000;
const TOTAL_ACCOUNTS = "dragoman:{*}:a:*:budget.*.total:*";
const ACCOUNT_KEY = /^dragoman:\{(?<tenant>[^}]*)\}:a:(?<budget>.+):budget\.(?<unit>\w+)\.total:(?<value>.*)$/s;

/**
 * KEYS: replicas, group, account, the replica's part of it. ARGV: the replica, how long it must have been silent, and 1
 * to change anything. Returns the units, when the replica was last seen, and how many of the units were reserved for
 * calls. One script reads and writes: a replica that came back between two commands would lose what it used since.
 */
const SCRIPT = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local held, at, idle = string.match(redis.call('HGET', KEYS[3], 'h:' .. ARGV[1]) or '', '(%d+):(%d+):(%d+)')
if not at then return { 0, 0, 0 } end
local seen = math.max(tonumber(at), tonumber(redis.call('HGET', KEYS[2], 's:' .. ARGV[1]) or '0'), tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '0'))
local units = math.min(tonumber(held), tonumber(redis.call('HGET', KEYS[4], '0') or '0'), tonumber(redis.call('HGET', KEYS[3], 'b:0') or '0'))
if now - seen < tonumber(ARGV[2]) or units <= 0 then return { 0, seen, 0 } end
if ARGV[3] == '1' then
  local less = string.format('%.0f', -units)
  redis.call('HINCRBY', KEYS[3], 'b:0', less)
  redis.call('HINCRBY', KEYS[4], '0', less)
  redis.call('HDEL', KEYS[3], 'h:' .. ARGV[1])
  -- whatever it still has to say, it says by stating all of it
  redis.call('HDEL', KEYS[2], 'j:' .. ARGV[1])
end
return { units, seen, units - math.min(tonumber(idle), units) }
`;

/** Rejects when the store does not answer. */
export async function reconcile(options: ReconcileOptions): Promise<readonly WrittenOff[]> {
  const client = await openClient(options, ANSWERS_WITHIN_MS);
  const keys = keysOf(options.clusterNodes !== null);
  const found: WrittenOff[] = [];
  try {
    for await (const key of totalAccounts(client)) {
      const { tenant, budget, unit, value } = ACCOUNT_KEY.exec(key)!.groups as Record<
        "tenant" | "budget" | "unit" | "value",
        string
      >;
      const [, live, group] = keys.group(tenant);
      for (const replica of holders(await client.hkeys(key), options.replicas)) {
        const silentMs = options.replicas === null ? SILENT_MS : NAMED_SILENT_MS;
        const [units, seenMs, reserved] = (await client.eval(
          SCRIPT,
          4,
          live!,
          group!,
          key,
          keys.own(key, replica),
          replica,
          silentMs,
          options.dryRun ? 0 : 1,
        )) as [number, number, number];
        if (units > 0) found.push({ replica, seenMs, tenant, budget, unit, value, units, reserved });
      }
    }
  } finally {
    client.disconnect();
  }
  return found.toSorted((a, b) => a.seenMs - b.seenMs);
}

function holders(fields: readonly string[], only: readonly string[] | null): readonly string[] {
  const ids = fields.filter((field) => field.startsWith("h:")).map((field) => field.slice(2));
  return only === null ? ids : ids.filter((id) => only.includes(id));
}

async function* totalAccounts(client: Redis | Cluster): AsyncGenerator<string> {
  const nodes = "nodes" in client ? client.nodes("master") : [client];
  const seen = new Set<string>();
  for (const node of nodes) {
    let cursor = "0";
    do {
      const [next, keys] = await node.scan(cursor, "MATCH", TOTAL_ACCOUNTS, "COUNT", SCANNED_AT_ONCE);
      cursor = next;
      for (const key of keys) {
        if (seen.has(key) || !ACCOUNT_KEY.test(key)) continue;
        seen.add(key);
        yield key;
      }
    } while (cursor !== "0");
  }
}
