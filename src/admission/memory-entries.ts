// The counts of limits in the memory of one process: what fits into them, which of them are forgotten, and how they are
// restored at a start and written as rows.

// Decides (money and limits): In which period does a call count that ends in a later one? By: `endNeed`. Also:
// `windows.ts` (`giveBack`). Rule: What it reserved counts where it was admitted, and what it used beyond that where it ends.
import type { LimitRule } from "../core/configured/limit.ts";
import type { KeptCount } from "../store/journal/limit-counts.ts";
import type { AccountStatus, Need, Shortage } from "./limit-store.ts";
import { type HeldUnits, unknownHolds } from "./held-units.ts";
import { type JournalledAccounts, laterState } from "./journalled-accounts.ts";
import { type KeptHolds, type KeptState, nameOf, ruleOfKey, stateOf } from "./kept-state.ts";
import {
  advance,
  charge,
  type Count,
  emptyAtMs,
  fitsAtMs,
  giveBack,
  keptWindow,
  newCount,
  restore,
  type Times,
} from "./windows.ts";

/** What a rule has counted so far. */
export type RuleEntries = ReturnType<typeof newEntries>;

export function newEntries(key: string, tenant: TenantValues) {
  return {
    key,
    tenant,
    /** The count of a rule whose scope has no `*`, and of all values beyond the maximum. */
    only: null as Entry | null,
    /** Ordered from the least to the most recently used, once there are many. */
    byValue: new Map<string, Entry>(),
    /** Whether the counts are no longer among those of all rules, because they counted nothing. */
    isForgotten: false,
  };
}

/** How many values the rules of one tenant have with a count of their own. */
export interface TenantValues {
  values: number;
}

/** Adds a value that the rule does not have yet. */
export function addValue({ byValue, tenant }: RuleEntries, entry: Entry): void {
  byValue.set(entry.value, entry);
  tenant.values += 1;
}

/** One count with its name. */
export type Entry = ReturnType<typeof newEntry>;

export function newEntry({ key }: { readonly key: string }, rule: Pick<LimitRule, "kind" | "window">, value: string) {
  return {
    rule: key,
    value,
    count: newCount(rule),
    /** What workers hold of it; `null` until a worker reserves. */
    held: null as HeldUnits | null,
    /** What workers of earlier processes held of it, which still ran when this one began. */
    earlierHolds: null as KeptHolds | null,
    /** The stamp of what was kept of it when this process began, or 0: what earlier processes granted later is not in that. */
    restoredStamp: 0,
    /** The stamp of the latest operation that changed the count. */
    stamp: 0,
    /** Whether the entry is queued to be written. */
    isKept: false,
  };
}

/** `awaited` are workers of earlier processes that still run. */
export function keptRow(
  { rule, value, count, held, earlierHolds, restoredStamp, stamp }: Entry,
  times: Times,
  throughOf: (holder: string) => number,
  awaited: readonly string[],
): KeptCount {
  const { marks } = count;
  const window = keptWindow(count, times);
  if (window === null && marks === null) return { rule, value, state: null };
  const state: KeptState = {
    stamp,
    parts: window?.parts ?? [[count.head, 0]],
    ...(marks !== null && { marks: [...marks] }),
    ...((held !== null || earlierHolds !== null || awaited.length > 0) && {
      held: { ...unknownHolds(awaited, restoredStamp), ...held?.kept(count, times, throughOf), ...earlierHolds },
    }),
  };
  return { rule, value, state: JSON.stringify(state) };
}

export interface Restored {
  /** Rows that no longer count anything. */
  readonly dropped: readonly KeptCount[];
  /** Counts for which more is known than was kept. */
  readonly later: readonly Entry[];
}

/** Restores the counts before any call uses their rules. `seen` is called with every stamp. */
export function restoreAll(
  rows: readonly KeptCount[],
  journalled: JournalledAccounts,
  rules: Map<string, RuleEntries>,
  entriesOf: (key: string) => RuleEntries,
  times: Times,
  seen: (stamp: number) => void,
): Restored {
  const dropped: KeptCount[] = [];
  const later: Entry[] = [];
  const known = new Map(journalled.accounts);
  const restoreOne = (key: string, value: string, kept: KeptState): void => {
    const { kind, window } = ruleOfKey(key);
    const entries = rules.get(key) ?? entriesOf(key);
    const entry = newEntry(entries, { kind, window }, value);
    const { count } = entry;
    const corrected = laterState(kept, { kind, window }, journalled.of(nameOf({ rule: key, value })), times);
    const isLater = corrected !== null;
    const { parts, stamp = 0, held } = corrected ?? kept;
    entry.stamp = stamp;
    entry.earlierHolds = held ?? null;
    entry.restoredStamp = kept.stamp ?? 0;
    seen(entry.stamp);
    restore(count, { parts }, times);
    if (kept.marks !== undefined && kept.parts[0]?.[0] === count.head) count.marks = new Set(kept.marks);
    if (count.total === 0 && count.marks === null) {
      dropped.push({ rule: key, value, state: null });
      return;
    }
    rules.set(key, entries);
    if (value === "") entries.only = entry;
    else addValue(entries, entry);
    if (isLater) later.push(entry);
  };
  for (const { rule, value, state } of rows) {
    restoreOne(rule, value, stateOf(state));
    known.delete(nameOf({ rule, value }));
  }
  for (const { rule, value } of known.values()) restoreOne(rule, value, { parts: [] });
  return { dropped, later };
}

/** How many values, or rules, are checked for idleness whenever a new one appears. */
const LOOKED_AT = 4;
export function moveToEnd(byValue: Map<string, Entry>, value: string, entry: Entry): void {
  byValue.delete(value);
  byValue.set(value, entry);
}

/**
 * Removes those of the least recently used values that count nothing, and of which nothing was reported in this period;
 * the others move to the end and are checked again later.
 */
export function dropIdle({ byValue, tenant }: RuleEntries, times: Times): void {
  let left = LOOKED_AT;
  for (const [value, entry] of byValue) {
    if (left-- === 0) return;
    if (!isIdle(entry, times)) moveToEnd(byValue, value, entry);
    else if (byValue.delete(value)) tenant.values -= 1;
  }
}

/** The same for rules, which may not be configured any more. */
export function dropIdleRules(rules: Map<string, RuleEntries>, times: Times): void {
  let left = LOOKED_AT;
  for (const [key, entries] of rules) {
    if (left-- === 0) return;
    dropIdle(entries, times);
    if (entries.only !== null && isIdle(entries.only, times)) entries.only = null;
    rules.delete(key);
    entries.isForgotten = entries.only === null && entries.byValue.size === 0;
    if (!entries.isForgotten) rules.set(key, entries);
  }
}

function isIdle({ count, isKept, earlierHolds }: Entry, times: Times): boolean {
  advance(count, times);
  return count.total === 0 && count.open === 0 && count.marks === null && !isKept && earlierHolds === null;
}

const MIN_KEPT_MS = 60_000;
/** A window that has passed before a process can start again is not worth keeping. */
export function outlives({ slidesMs, window }: Count): boolean {
  return slidesMs === 0 ? window !== null : slidesMs >= MIN_KEPT_MS;
}

/** A need of 0 units always fits. */
export function isShort({ total }: Count, units: number, limit: number): boolean {
  return units > 0 && total + units > limit;
}

export function statusOf(count: Count, limit: number, times: Times): AccountStatus {
  const { total } = count;
  return { limit, used: total, remaining: total < limit ? limit - total : 0, resetsAtMs: emptyAtMs(count, times) };
}

/** Of the needs that do not fit, the one that fits last. */
export function shortest(needs: readonly Need[], entries: readonly Entry[], times: Times): Shortage | null {
  let found: Shortage | null = null;
  let lastMs = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < needs.length; index++) {
    const need = needs[index]!;
    const {
      units,
      force,
      account: { rule },
    } = need;
    const { count } = entries[index]!;
    if (force || !isShort(count, units, rule.limit)) continue;
    const exceedsLimit = units > rule.limit;
    const at = exceedsLimit ? null : fitsAtMs(count, units, rule.limit, times);
    const order = at ?? (exceedsLimit ? Number.POSITIVE_INFINITY : Number.MAX_VALUE);
    if (found !== null && order <= lastMs) continue;
    lastMs = order;
    found = { need, status: statusOf(count, rule.limit, times), fitsAtMs: at, exceedsLimit, unavailable: false };
  }
  return found;
}

/**
 * Unused units go back to the bucket from which they were taken; usage beyond the reservation is charged now. A slot is
 * given back in any case.
 */
export function endNeed(
  count: Count,
  { account: { rule }, units }: Need,
  bucket: number,
  used: number,
  times: Times,
): void {
  advance(count, times);
  count.open -= 1;
  count.reserved -= units;
  const kept = rule.unit === "concurrency" ? 0 : used;
  if (kept < units) giveBack(count, bucket, units - kept);
  else if (kept > units) charge(count, kept - units);
}
