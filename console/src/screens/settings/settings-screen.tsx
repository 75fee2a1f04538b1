// `/settings`: how the tenant or project in scope is set, where the records of its calls go, the reader's own sessions and choices, and what
// the gateway says of itself.
import type { ComponentType } from "react";
import { Tabs } from "../../components/tabs.tsx";
import { titleOf } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { useUrlState } from "../../url-state.ts";
import { AboutTab } from "./about-tab.tsx";
import { ConsoleTab } from "./console-tab.tsx";
import { GeneralTab } from "./general-tab.tsx";
import { IntegrationsTab } from "./integrations-tab.tsx";
import { OwnSessionsTab } from "./own-sessions-tab.tsx";

interface SettingsTab {
  readonly name: string;
  readonly label: string;
  readonly component: ComponentType;
}

const TABS: readonly SettingsTab[] = [
  { name: "general", label: "General", component: GeneralTab },
  { name: "integrations", label: "Integrations", component: IntegrationsTab },
  { name: "sessions", label: "Your sessions", component: OwnSessionsTab },
  { name: "console", label: "Console", component: ConsoleTab },
  { name: "about", label: "About", component: AboutTab },
];

export function SettingsScreen() {
  const scope = useScope();
  const state = useUrlState();
  const chosen = TABS.find(({ name }) => name === state.get("tab")) ?? TABS[0]!;
  return (
    <>
      <h1>Settings of {titleOf(scope)}</h1>
      <Tabs
        label="Settings"
        tabs={TABS}
        chosen={chosen.name}
        choose={(name) => state.set({ tab: name === TABS[0]!.name ? null : name }, { replace: true })}
      >
        <chosen.component />
      </Tabs>
    </>
  );
}
