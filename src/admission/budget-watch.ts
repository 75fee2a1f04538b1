// How full budgets are, for metrics: remembers of each budget the account that was fullest when calls were last charged here, and asks for it when it is read.
import { LATE, within } from "../core/timeout.ts";
import type { CallRecord } from "../core/record.ts";
import type { LimitRule } from "../core/limit.ts";
import type { Snapshot } from "../core/snapshot.ts";
import type { Observer } from "../observe/observer.ts";
import type { BudgetStanding } from "../observe/metrics/rule-meters.ts";
import type { LimitStore, Standing } from "./limit-store.ts";

const MAX_BUDGETS = 500;
/** A store that is away holds up nobody who reads. */
const MOST_WAIT_MS = 500;

interface Seen {
  readonly tenantId: string;
  readonly projectId: string;
  readonly tokenId: string;
  value: string;
  after: number;
}

export interface BudgetWatch extends Observer {
  standings(): Promise<readonly BudgetStanding[]>;
}

export function openBudgetWatch(limits: Pick<LimitStore, "standing">, snapshot: () => Snapshot): BudgetWatch {
  const budgets = new Map<string, Seen>();
  /** Limits share the record's list with budgets, and are looked up once. */
  let others = new Set<string>();
  const ruleOf = (
    id: string,
    { tenantId, projectId, tokenId }: Pick<Seen, "tenantId" | "projectId" | "tokenId">,
  ): LimitRule | undefined =>
    snapshot()
      .limitRules.forCaller(tenantId, projectId, tokenId)
      ?.rules.find((rule) => rule.id === id && rule.kind === "budget");

  return {
    publish({ limits: touches, tenantId, projectId, tokenId }: CallRecord) {
      if (tenantId === null || projectId === null || tokenId === null) return;
      for (const { id, value, after } of touches) {
        if (others.has(id)) continue;
        const seen = budgets.get(id);
        if (seen === undefined) {
          const caller = { tenantId, projectId, tokenId };
          if (ruleOf(id, caller) === undefined) {
            if (others.size >= MAX_BUDGETS) others = new Set();
            others.add(id);
          } else if (budgets.size < MAX_BUDGETS) budgets.set(id, { ...caller, value, after });
        } else if (value === seen.value || after > seen.after) Object.assign(seen, { value, after });
      }
    },
    async standings() {
      const asked = await Promise.all(
        [...budgets].map(async ([id, seen]): Promise<BudgetStanding | null> => {
          const rule = ruleOf(id, seen);
          if (rule === undefined) {
            budgets.delete(id);
            return null;
          }
          const standing = await knownStanding(limits.standing({ rule, value: seen.value }));
          if (standing === null) return null;
          seen.after = standing.used;
          return { budget: id, name: rule.name, used: standing.limit === 0 ? 1 : standing.used / standing.limit };
        }),
      );
      return asked.filter((standing) => standing !== null);
    },
  };
}

/** Null: it is not known in time. */
async function knownStanding(asked: Standing | Promise<Standing>): Promise<Standing | null> {
  if (!(asked instanceof Promise)) return asked;
  try {
    const standing = await within(asked, MOST_WAIT_MS);
    return standing === LATE ? null : standing;
  } catch {
    return null;
  }
}
