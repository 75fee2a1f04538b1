// Prometheus metrics of limits, budgets and policies: what they refused, and how full budgets are.
import { Counter, Gauge, type Registry } from "prom-client";
import type { CallRecord } from "../../core/record/record.ts";
import { bounded, MOST } from "./labels.ts";

/** How full a budget is. When several values have accounts of their own under it, this is the fullest account. */
export interface BudgetStatus {
  readonly budget: string;
  readonly name: string;
  /** The used fraction: 1 when all of it is used. */
  readonly used: number;
}

/** `budgets` is called when metrics are scraped. */
export function openRefusalMeters(registry: Registry, budgets: () => Promise<readonly BudgetStatus[]>) {
  const registers = [registry];
  const nameOf = bounded(MOST.rule);
  const wouldRefuse = new Counter({
    name: "dragoman_limit_would_refuse_total",
    help: "Reservations that a limit or budget in audit mode would have refused.",
    labelNames: ["limit"],
    registers,
  });
  const refusals = new Counter({
    name: "dragoman_refusals_total",
    help: "Attempts that a limit, budget or policy refused, by code and by its id or name.",
    labelNames: ["code", "rule"],
    registers,
  });
  const policyEffects = new Counter({
    name: "dragoman_policies_total",
    help: "Calls in which a policy took effect, by its effect.",
    labelNames: ["policy", "effect"],
    registers,
  });
  const thresholds = new Counter({
    name: "dragoman_budget_thresholds_total",
    help: "Thresholds that budgets have reached.",
    labelNames: ["budget"],
    registers,
  });
  new Gauge({
    name: "dragoman_budget_used_ratio",
    help: "Used and reserved share of a budget, 1 for all of it. If the budget has several accounts, it is the fullest, as of the last charge here.",
    labelNames: ["budget", "name"],
    registers,
    aggregator: "max",
    async collect() {
      const statuses = await budgets();
      this.reset();
      for (const { budget, name, used } of statuses.slice(0, MOST.rule))
        this.set({ budget: nameOf(budget), name }, used);
    },
  });
  return {
    thresholdReached: (budgetId: string): void => thresholds.inc({ budget: nameOf(budgetId) }),
    count({ limits, policies, code }: CallRecord): void {
      for (const { id, wouldRefuse: would, refused } of limits) {
        if (would) wouldRefuse.inc({ limit: nameOf(id) });
        if (refused !== undefined) refusals.inc({ code: refused, rule: nameOf(id) });
      }
      for (const { name, effect } of policies) {
        policyEffects.inc({ policy: nameOf(name), effect });
        if (effect === "denied") refusals.inc({ code: "policy_violation", rule: nameOf(name) });
      }
      // No budget was checked; each would have reported its own refusal.
      if (code === "model_unpriced") refusals.inc({ code, rule: "none" });
    },
  };
}
