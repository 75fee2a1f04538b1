// The counts of all accounts in the memory of one process, by rule and value, and the order of what changed them.
import type { LimitRule } from "../core/configured/limit.ts";
import type { KeptCount } from "../store/journal/limit-counts.ts";
import type { JournalledAccounts } from "./journalled-accounts.ts";
import { keyOf, ruleOfKey } from "./kept-state.ts";
import { type Account, FULL_RULES } from "./limit-store.ts";
import {
  addValue,
  dropIdle,
  dropIdleRules,
  type Entry,
  moveToEnd,
  newEntries,
  newEntry,
  restoreAll,
  type Restored,
  type RuleEntries,
  type TenantValues,
} from "./memory-entries.ts";
import { advance, type Times } from "./windows.ts";

export class MemoryAccounts {
  readonly #maxValues: number;
  readonly #rules = new Map<string, RuleEntries>();
  readonly #known = new WeakMap<LimitRule, RuleEntries>();
  readonly #tenants = new Map<string, TenantValues>();
  #stamp = 0;
  /** Rules and values that are new since idle ones were removed. */
  #added = 0;

  /**
   * `maxValues` is the most values of one rule with a count of their own; the rules of a tenant have FULL_RULES times as
   * many together. Further values share one count until one of these is idle.
   */
  constructor(maxValues: number) {
    this.#maxValues = maxValues;
  }

  /** Returns the count of an account, which begins when it is first asked for, at this time. */
  entryOf({ rule, value }: Account, times: Times): Entry {
    const entries = this.#entriesOf(rule);
    const entry =
      value === "" ? (entries.only ??= newEntry(entries, rule, "")) : this.#valued(entries, rule, value, times);
    advance(entry.count, times);
    return entry;
  }

  /**
   * Removes counts that count nothing: a few for each new one, so that they do not accumulate. Counts that were returned
   * before and not charged are lost by it.
   */
  tidy(times: Times): void {
    for (; this.#added > 0; this.#added--) dropIdleRules(this.#rules, times);
  }

  /** Returns a count by the key of its rule, if it has begun. */
  counted(key: string, value: string): Entry | null {
    const known = this.#rules.get(key);
    return (value === "" ? known?.only : known?.byValue.get(value)) ?? null;
  }

  /** Begins a count by the key of its rule. */
  begin(key: string, value: string): Entry {
    const entries = this.#rules.getOrInsertComputed(key, this.#newEntries);
    const entry = newEntry(entries, ruleOfKey(key), value);
    if (value === "") entries.only = entry;
    else addValue(entries, entry);
    return entry;
  }

  all(): readonly Entry[] {
    return [...this.#rules.values()].flatMap(({ only, byValue }) => [
      ...(only === null ? [] : [only]),
      ...byValue.values(),
    ]);
  }

  /** Restores what was kept and journalled before any call uses a count. */
  restore(rows: readonly KeptCount[], journalled: JournalledAccounts, times: Times): Restored {
    return restoreAll(rows, journalled, this.#rules, this.#newEntries, times, (stamp) => this.seen(stamp));
  }

  /** Increases even when the wall clock is set back, and from one process to the next. */
  nextStamp({ wallMs }: Times): number {
    return (this.#stamp = Math.max(this.#stamp + 1, Math.floor(wallMs) * 1000));
  }

  /** Later stamps are greater than this one. */
  seen(stamp: number): void {
    this.#stamp = Math.max(this.#stamp, stamp);
  }

  /** The key of a rule begins with its tenant. */
  readonly #newEntries = (key: string): RuleEntries =>
    newEntries(
      key,
      this.#tenants.getOrInsertComputed(key.slice(0, key.indexOf("\n")), () => ({ values: 0 })),
    );

  #entriesOf(rule: LimitRule): RuleEntries {
    const there = this.#known.get(rule);
    if (there?.isForgotten === false) return there;
    const entries = this.#rules.getOrInsertComputed(keyOf(rule), (key) => {
      this.#added += 1;
      return this.#newEntries(key);
    });
    this.#known.set(rule, entries);
    return entries;
  }

  #valued(entries: RuleEntries, rule: LimitRule, value: string, times: Times): Entry {
    const { byValue } = entries;
    const there = byValue.get(value);
    if (there !== undefined) {
      if (byValue.size > this.#maxValues / 2) moveToEnd(byValue, value, there);
      return there;
    }
    // Also here, because idle ones make room.
    dropIdle(entries, times);
    if (byValue.size >= this.#maxValues || entries.tenant.values >= FULL_RULES * this.#maxValues) {
      // idle values of other rules make room too
      this.#added += 1;
      return (entries.only ??= newEntry(entries, rule, ""));
    }
    const fresh = newEntry(entries, rule, value);
    addValue(entries, fresh);
    this.#added += 1;
    return fresh;
  }
}
