// What the console knows of policies.
import type { Noun } from "../../configured/noun.ts";
import { visibleText } from "../../format/visible-text.ts";
import { EXAMPLE_MESSAGE, PolicyForm } from "./policy-form.tsx";
import { PolicySimulationPanel } from "./policy-simulation-panel.tsx";

export const POLICY_NOUN: Noun = {
  plural: "policies",
  screen: "/policies",
  one: "policy",
  many: "Policies",
  command: "policy",
  operation: "Policy",
  template: `rule: request.tool_names.exists(name, name.startsWith("pay_"))\nmessage: ${EXAMPLE_MESSAGE}\n`,
  purpose: "A policy denies calls by a rule, or searches their text with a guard that masks or blocks what it finds.",
  columns: [
    {
      head: "What it does",
      render: ({ rule, guard }) => (
        <span className="cut mono">
          {visibleText(typeof rule === "string" ? rule : `guard: ${JSON.stringify(guard)}`)}
        </span>
      ),
    },
    { head: "Mode", render: ({ mode }) => (mode === "audit" ? "only records" : "enforced") },
  ],
  Form: PolicyForm,
  isVersioned: true,
  Simulation: PolicySimulationPanel,
};
