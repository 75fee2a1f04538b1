// What the console knows of routes.
import type { Noun } from "../../configured/noun.ts";
import { fieldsOf } from "../../configured/noun.ts";
import { visibleText } from "../../format/visible-text.ts";
import { RouteComparisonTab } from "./route-comparison.tsx";
import { RouteForm } from "./route-form.tsx";
import { RouteSimulationPanel } from "./route-simulation-panel.tsx";
import { strategyOf, targetsOf, targetWords } from "./route-targets.ts";

export const ROUTE_NOUN: Noun = {
  plural: "routes",
  screen: "/routes",
  one: "route",
  many: "Routes",
  command: "route",
  operation: "Route",
  template: "targets:\n  - sandbox:echo\n",
  purpose:
    "A route is a name for one or more models. Clients name the route, and you decide which provider answers and what is tried when it fails.",
  columns: [
    {
      head: "Targets",
      render: (object) => {
        const [first, ...others] = targetsOf(fieldsOf(object)).map(({ model }) => visibleText(model));
        return (
          <span className="served cut">
            <b>{first}</b>
            {others.map((model) => ` → ${model}`).join("")}
          </span>
        );
      },
    },
    { head: "Strategy", render: (object) => strategyOf(fieldsOf(object)) },
  ],
  Form: RouteForm,
  isVersioned: true,
  Simulation: RouteSimulationPanel,
  Comparison: RouteComparisonTab,
  words: targetWords,
};
