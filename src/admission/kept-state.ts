// What stands in the row of a kept count: its text, and the key of its rule.
import type { LimitRule } from "../core/limit.ts";
import { type KeptWindow, newCount, restore, type Times } from "./windows.ts";

export interface KeptState extends KeptWindow {
  readonly stamp?: number;
  readonly marks?: readonly string[];
}

/** A rule whose limit is changed goes on with its count; one whose unit or window is changed begins a new one. */
export function keyOf({
  tenantId,
  id,
  kind,
  unit,
  window,
}: Pick<LimitRule, "tenantId" | "id" | "kind" | "unit" | "window">): string {
  return [tenantId, id, kind, unit, window].join("\n");
}

export const NOTHING_KEPT: KeptState = { parts: [] };

export function ruleOfKey(key: string): Pick<LimitRule, "kind" | "window"> {
  const [, , kind, , window] = key.split("\n") as [string, string, LimitRule["kind"], string, LimitRule["window"]];
  return { kind, window };
}

export function stateOf(state: string | null): KeptState {
  return state === null ? NOTHING_KEPT : (JSON.parse(state) as KeptState);
}

/** What of it counts now. */
export function unitsOf(kept: KeptState, rule: Pick<LimitRule, "kind" | "window">, times: Times): number {
  const count = newCount(rule);
  restore(count, kept, times);
  return count.total;
}
