// The stored form of a count that outlives the process: the text in its row, and the key of its rule.
import type { LimitRule } from "../core/limit.ts";
import type { JournalledCount, KeptCount } from "../store/limit-counts.ts";
import { corrected, type KeptWindow, newCount, restore, type Times } from "./windows.ts";

export interface KeptState extends KeptWindow {
  readonly stamp?: number;
  readonly marks?: readonly string[];
}

/** A rule whose limit is changed keeps its count; a rule whose unit or window is changed begins a new one. */
export function keyOf({
  tenantId,
  id,
  kind,
  unit,
  window,
}: Pick<LimitRule, "tenantId" | "id" | "kind" | "unit" | "window">): string {
  return [tenantId, id, kind, unit, window].join("\n");
}

const NOTHING_KEPT: KeptState = { parts: [] };

export function ruleOfKey(key: string): Pick<LimitRule, "kind" | "window"> {
  const [, , kind, , window] = key.split("\n") as [string, string, LimitRule["kind"], string, LimitRule["window"]];
  return { kind, window };
}

export function stateOf(state: string | null): KeptState {
  return state === null ? NOTHING_KEPT : (JSON.parse(state) as KeptState);
}

/** The units of a kept count that still count now. */
export function unitsOf(kept: KeptState, rule: Pick<LimitRule, "kind" | "window">, times: Times): number {
  const count = newCount(rule);
  restore(count, kept, times);
  return count.total;
}

export function nameOf({ rule, value }: Pick<KeptCount, "rule" | "value">): string {
  return `${rule}\n${value}`;
}

export interface LaterState {
  readonly rule: string;
  readonly value: string;
  readonly state: KeptState;
}

/** What was kept, replaced by what the journal says where the journal is newer. */
export function laterStates(
  rows: readonly KeptCount[],
  journalled: readonly JournalledCount[],
  times: Times,
): readonly LaterState[] {
  const kept = new Map(
    rows.map((row) => [`${row.rule}\n${row.value}`, { rule: row.rule, value: row.value, state: stateOf(row.state) }]),
  );
  for (const each of journalled) {
    const rule = keyOf(each);
    const state = kept.get(`${rule}\n${each.value}`)?.state ?? NOTHING_KEPT;
    if (each.stamp <= (state.stamp ?? 0)) continue;
    kept.set(`${rule}\n${each.value}`, {
      rule,
      value: each.value,
      state: {
        stamp: each.stamp,
        ...corrected(state, ruleOfKey(rule), Math.min(each.stamp / 1000, times.wallMs), each.total),
      },
    });
  }
  return [...kept.values()];
}
