// The messages that are sent to the store on behalf of a dead process, made from the journal that it left: how much of
// its leases was used, by bucket, and that none of them is out any more.
import type { Keys } from "./accounts-of-rules.ts";
import type { JournalledBucket } from "./lease-journal.ts";
import { type MessageWithKeys, TIMINGS } from "./protocol.ts";

/** Higher than every sequence number of the dead process. */
const LAST_SEQUENCE = 2 ** 52;
const BUCKETS_A_MESSAGE = 100;

export function deadMessages(
  replica: string,
  buckets: readonly JournalledBucket[],
  keys: Pick<Keys, "group" | "own">,
): readonly MessageWithKeys[] {
  const byTag = Map.groupBy(buckets, ({ key }) => /\{(.*?)\}/.exec(key)?.[1] ?? "");
  return [...byTag].flatMap(([tag, of]) => {
    const parts: JournalledBucket[][] = [];
    for (let at = 0; at < of.length; at += BUCKETS_A_MESSAGE) parts.push(of.slice(at, at + BUCKETS_A_MESSAGE));
    return parts.map((part) => deadMessage(replica, part, keys.group(tag), keys));
  });
}

function deadMessage(
  replica: string,
  buckets: readonly JournalledBucket[],
  group: readonly string[],
  keys: Pick<Keys, "group" | "own">,
): MessageWithKeys {
  const accounts = [...new Map(buckets.map((each) => [each.key, each])).values()];
  const lineOf = new Map(accounts.map(({ key }, index) => [key, index + 1]));
  return {
    keys: [...group, ...accounts.flatMap(({ key }) => [key, keys.own(key, replica)])],
    replica,
    sequence: LAST_SEQUENCE,
    epoch: "",
    join: 3,
    leaseLifeMs: TIMINGS.leaseLifeMs,
    joinMs: TIMINGS.joinMs,
    accounts: accounts.map(({ limit, kind, windowMs }) => [limit, kind, windowMs, 1, 0, 0, 0] as const),
    // These go first: a bucket that has its own place overrides the statement that nothing is charged in later buckets.
    statements: buckets
      .toSorted((one, other) => Number(other.isLast) - Number(one.isLast))
      .map(({ key, bucket, units, isLast }) => [lineOf.get(key)!, isLast ? 2 : 0, bucket, units] as const),
    operations: [],
  };
}
