// The counts of limits in the memory of one process, as the file of counts has them: restored at a start, and written as
// rows.
import type { LimitRule } from "../core/limit.ts";
import type { JournalledCount, KeptCount } from "../store/limit-counts.ts";
import { keyOf, type KeptState, ruleOfKey, stateOf } from "./kept-state.ts";
import { corrected, type Count, keptWindow, newCount, restore, type Times } from "./windows.ts";

/** One count with its name. */
export interface Entry {
  readonly rule: string;
  readonly value: string;
  readonly count: Count;
  /** Marks of the current period that `first` has already seen. */
  marks: Set<string> | null;
  /** The stamp of the latest operation that changed the count. */
  stamp: number;
  /** Whether the entry is queued to be written. */
  isKept: boolean;
}

/** What a rule has counted so far. */
export interface RuleEntries {
  readonly key: string;
  /** The count of a rule whose scope has no `*`, and of all values beyond the maximum. */
  only: Entry | null;
  /** Ordered from the least to the most recently used, once there are many. */
  readonly byValue: Map<string, Entry>;
}

export function newEntry({ key }: RuleEntries, rule: Pick<LimitRule, "kind" | "window">, value: string): Entry {
  return { rule: key, value, count: newCount(rule), marks: null, stamp: 0, isKept: false };
}

export function keptRow({ rule, value, count, marks, stamp }: Entry, times: Times): KeptCount {
  const window = keptWindow(count, times);
  if (window === null && marks === null) return { rule, value, state: null };
  const state: KeptState = {
    stamp,
    parts: window?.parts ?? [[count.head, 0]],
    ...(marks !== null && { marks: [...marks] }),
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
  journalled: readonly JournalledCount[],
  rules: Map<string, RuleEntries>,
  times: Times,
  seen: (stamp: number) => void,
): Restored {
  const dropped: KeptCount[] = [];
  const later: Entry[] = [];
  const known = new Map(journalled.map((each) => [`${keyOf(each)}\n${each.value}`, each]));
  const restoreOne = (key: string, value: string, kept: KeptState): void => {
    const { kind, window } = ruleOfKey(key);
    const entries = rules.get(key) ?? { key, only: null, byValue: new Map<string, Entry>() };
    const entry = newEntry(entries, { kind, window }, value);
    const last = known.get(`${key}\n${value}`);
    const isLater = last !== undefined && last.stamp > (kept.stamp ?? 0);
    const { parts } = isLater
      ? corrected(kept, { kind, window }, Math.min(last.stamp / 1000, times.wallMs), last.total)
      : kept;
    entry.stamp = Math.max(kept.stamp ?? 0, last?.stamp ?? 0);
    seen(entry.stamp);
    restore(entry.count, { parts }, times);
    if (kept.marks !== undefined && kept.parts[0]?.[0] === entry.count.head) entry.marks = new Set(kept.marks);
    if (entry.count.total === 0 && entry.marks === null) {
      dropped.push({ rule: key, value, state: null });
      return;
    }
    rules.set(key, entries);
    if (value === "") entries.only = entry;
    else entries.byValue.set(value, entry);
    if (isLater) later.push(entry);
  };
  for (const { rule, value, state } of rows) {
    restoreOne(rule, value, stateOf(state));
    known.delete(`${rule}\n${value}`);
  }
  for (const each of known.values()) restoreOne(keyOf(each), each.value, { parts: [] });
  return { dropped, later };
}
