// What the console knows of limits and of budgets, which share a screen.
import type { LimitState } from "../../api/types.ts";
import type { Noun } from "../../configured/noun.ts";
import { BudgetForm, LimitForm } from "./limit-forms.tsx";

export const LIMIT_NOUNS: Readonly<Record<LimitState["kind"], Noun>> = {
  limit: {
    plural: "limits",
    screen: "/limits",
    one: "limit",
    many: "Limits",
    command: "limit",
    operation: "Limit",
    template: "metric: requests\nwindow: minute\nlimit: 600\n",
    purpose:
      "A limit bounds requests or tokens in any second, minute, hour or day, or the number of calls at the same time.",
    columns: [],
    Form: LimitForm,
  },
  budget: {
    plural: "budgets",
    screen: "/limits",
    one: "budget",
    many: "Budgets",
    command: "budget",
    operation: "Budget",
    template: 'usd: "100.00"\nwindow: month\nthresholds: [80]\n',
    purpose:
      "A budget bounds what calls may cost, or their tokens, in a day, week or month of the calendar in UTC, or in total.",
    columns: [],
    Form: BudgetForm,
  },
};
