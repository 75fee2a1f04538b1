// The thresholds of budgets (promise 4.6). Each is reported once in a window of its account, across all replicas, when
// that much of the budget is used or reserved.
import type { Account, Threshold } from "../core/limit.ts";
import type { LimitStore, AccountStatus } from "./limit-store.ts";

export interface Crossed {
  readonly account: Account;
  readonly threshold: Threshold;
  readonly standing: AccountStatus;
}

/**
 * Called with an account whose rule has thresholds, after it was charged or has refused a need. `refused` is its
 * standing at the refusal, else `null`.
 */
export type OnCharged = (account: Account, refused: AccountStatus | null) => void;

/** `onCrossed` never throws. */
export function thresholdWatch(
  store: Pick<LimitStore, "status" | "first">,
  onCrossed: (crossed: Crossed) => void,
): OnCharged {
  /** The thresholds already reported by this process, so that the store is not asked for every call. */
  const told = new WeakMap<Account, { readonly resetsAtMs: number | null; readonly percents: Set<number> }>();

  const judge = (account: Account, standing: AccountStatus, refused: boolean): void => {
    for (const threshold of account.rule.thresholds) {
      if (!isReached(threshold, standing, refused)) continue;
      let known = told.get(account);
      if (known === undefined || known.resetsAtMs !== standing.resetsAtMs)
        told.set(account, (known = { resetsAtMs: standing.resetsAtMs, percents: new Set() }));
      if (known.percents.has(threshold.percent)) continue;
      known.percents.add(threshold.percent);
      const tell = (isFirst: boolean): void => {
        if (isFirst) onCrossed({ account, threshold, standing });
      };
      const first = store.first(account, `threshold ${threshold.percent}`);
      if (first instanceof Promise) first.then(tell, () => {});
      else tell(first);
    }
  };

  return (account, refused) => {
    const standing = refused ?? store.status(account);
    if (standing instanceof Promise)
      standing.then(
        (known) => judge(account, known, false),
        () => {},
      );
    else judge(account, standing, refused !== null);
  };
}

/**
 * A budget that refuses may have too little left for any call, so a refusal at 90 percent or more counts as reaching
 * the threshold.
 */
function isReached({ percent }: Threshold, { used, limit }: AccountStatus, refused: boolean): boolean {
  return used * 100 >= percent * limit || (refused && used * 10 >= limit * 9);
}
