// Kept counts with what the journals say of them: the last total of an account, or what calls of workers held, where that
// is newer than what was kept.
import type { LimitRule } from "../core/configured/limit.ts";
import type { JournalledCount, JournalledHold, KeptCount } from "../store/journal/limit-counts.ts";
import { withoutHolds } from "./held-units.ts";
import { keyOf, type KeptState, nameOf, NOTHING_KEPT, ruleOfKey, stateOf } from "./kept-state.ts";
import { corrected, type Times } from "./windows.ts";

export interface LaterState {
  readonly rule: string;
  readonly value: string;
  readonly state: KeptState;
}

/** What journals say of the counts. */
export interface Journalled {
  readonly counts: readonly JournalledCount[];
  readonly holds: readonly JournalledHold[];
}

/** What journals say of one account, and whether a worker runs. */
export interface AccountJournal {
  readonly count: JournalledCount | undefined;
  readonly holds: readonly JournalledHold[];
  readonly isRunning: (holder: string) => boolean;
}

/** What was kept, corrected by what the journals say where they are newer; `null` when they are not. */
export function laterState(
  kept: KeptState,
  rule: Pick<LimitRule, "kind" | "window">,
  { count, holds, isRunning }: AccountJournal,
  times: Times,
): KeptState | null {
  if (count === undefined || count.stamp <= (kept.stamp ?? 0)) return withoutHolds(kept, rule, holds, isRunning, times);
  const counted: KeptState = {
    stamp: count.stamp,
    ...(kept.marks !== undefined && { marks: kept.marks }),
    ...corrected(kept, rule, Math.min(count.stamp / 1000, times.wallMs), count.total),
  };
  return withoutHolds(counted, rule, holds, isRunning, times) ?? counted;
}

/** What journals say, by account. */
export class JournalledAccounts {
  readonly #counts: ReadonlyMap<string, JournalledCount>;
  readonly #holds: ReadonlyMap<string, readonly JournalledHold[]>;
  readonly #isRunning: (holder: string) => boolean;

  constructor({ counts, holds }: Journalled, isRunning: (holder: string) => boolean) {
    this.#counts = new Map(counts.map((each) => [accountName(each), each]));
    this.#holds = Map.groupBy(holds, accountName);
    this.#isRunning = isRunning;
  }

  of(name: string): AccountJournal {
    return { count: this.#counts.get(name), holds: this.#holds.get(name) ?? [], isRunning: this.#isRunning };
  }

  /** The accounts of which they say something. */
  get accounts(): ReadonlyMap<string, Pick<KeptCount, "rule" | "value">> {
    const all = [...this.#counts.values(), ...[...this.#holds.values()].map(([first]) => first!)];
    return new Map(all.map((each) => [accountName(each), { rule: keyOf(each), value: each.value }]));
  }
}

export function accountName(each: JournalledCount | JournalledHold): string {
  return nameOf({ rule: keyOf(each), value: each.value });
}

/** What was kept, replaced by what the journals say where they are newer. */
export function laterStates(
  rows: readonly KeptCount[],
  journalled: JournalledAccounts,
  times: Times,
): readonly LaterState[] {
  const named = new Map([...journalled.accounts, ...rows.map((row) => [nameOf(row), row] as const)]);
  const kept = new Map(rows.map((row) => [nameOf(row), stateOf(row.state)]));
  return [...named].flatMap(([name, { rule, value }]): LaterState[] => {
    const state = kept.get(name);
    const later = laterState(state ?? NOTHING_KEPT, ruleOfKey(rule), journalled.of(name), times) ?? state;
    return later === undefined ? [] : [{ rule, value, state: later }];
  });
}
