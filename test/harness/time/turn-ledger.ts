// A ledger of settlements without a disk: it states the calls of a turn of the event loop when the turn ends.
import type { SettlementLedger } from "../../../src/store/journal/ledger.ts";

/** `state` is called with the calls of a turn before their settlements count. */
export function turnLedger(state: (calls: readonly string[]) => void = () => {}): SettlementLedger {
  let settled: { readonly traceId: string; readonly count: () => void }[] = [];
  const countSettled = (): boolean => {
    if (settled.length === 0) return false;
    const turn = settled;
    settled = [];
    state(turn.map(({ traceId }) => traceId));
    for (const { count } of turn) count();
    return true;
  };
  return {
    countBeside: () => {},
    countWhenStated(traceId, count) {
      settled.push({ traceId, count });
      if (settled.length === 1) setImmediate(countSettled);
    },
    countSettled,
  };
}
