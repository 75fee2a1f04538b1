// The stored form of a count that outlives the process: the text in its row, and the key of its rule.
import type { LimitRule } from "../core/configured/limit.ts";
import type { KeptCount } from "../store/journal/limit-counts.ts";
import { type KeptWindow, newCount, restore, type Times } from "./windows.ts";

/** Units with their date, as in KeptWindow. */
export type Part = readonly [ms: number, units: number];

/** What a worker held of one account when its count was stored. */
export interface KeptHold {
  /** The last of its settlements that are in the count. */
  readonly through: number;
  /** Reservations after this stamp are not in the count of the supervisor that made them; by default that of the count. */
  readonly since?: number;
  /** Its units, which are part of the count. */
  readonly parts: readonly Part[];
  /** Those of `parts` that a later process took from the journal, because they were reserved after `since`. */
  readonly later?: readonly Part[];
}

export type KeptHolds = Readonly<Record<string, KeptHold>>;

export interface KeptState extends KeptWindow {
  readonly stamp?: number;
  readonly marks?: readonly string[];
  /** What workers held of it, which is part of the count. */
  readonly held?: KeptHolds;
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

export const NOTHING_KEPT: KeptState = { parts: [] };

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
