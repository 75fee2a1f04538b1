// What the store is told for a process that is dead, out of the journal that it left: what of its leases was used, by bucket, and that nothing of it is out.
import type { FoundJournal, JournalledBucket } from "./lease-journal.ts";
import { type MessageWithKeys, TIMINGS } from "./protocol.ts";

/** Above every number that the process itself gave. */
const LAST_SEQUENCE = 2 ** 52;
const BUCKETS_A_MESSAGE = 100;

export interface KeyNames {
  group(tag: string): readonly string[];
  own(key: string, replica: string): string;
}

export function deadMessages(
  { replica, buckets }: Pick<FoundJournal, "replica" | "buckets">,
  keys: KeyNames,
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
  keys: KeyNames,
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
    // a place of its own says more of a later bucket than that there is none
    statements: buckets
      .toSorted((one, other) => Number(other.isLast) - Number(one.isLast))
      .map(({ key, bucket, units, isLast }) => [lineOf.get(key)!, isLast ? 2 : 0, bucket, units] as const),
    operations: [],
  };
}
