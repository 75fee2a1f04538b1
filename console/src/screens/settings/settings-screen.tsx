// `/settings`: how the tenant or project in scope is set, where the records of its calls go, the reader's own sessions and choices, and what
// the gateway says of itself.
import type { ComponentType } from "react";
import { AsCode } from "../../components/as-code.tsx";
import { Tabs, useTab } from "../../components/tabs.tsx";
import { adminPath, type Scope, titleOf } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { AboutTab } from "./about-tab.tsx";
import { ConsoleTab } from "./console-tab.tsx";
import { GeneralTab } from "./general-tab.tsx";
import { IntegrationsTab } from "./integrations-tab.tsx";
import { OwnSessionsTab } from "./own-sessions-tab.tsx";

interface SettingsTab {
  readonly name: string;
  readonly label: string;
  readonly component: ComponentType;
  /** What it shows in the admin API; null where its parts say it themselves, or there is nothing in the scope. */
  readonly path: (scope: Scope) => string | null;
}

const GATEWAY_PATH = "/v1/admin/gateway";

const TABS: readonly SettingsTab[] = [
  {
    name: "general",
    label: "General",
    component: GeneralTab,
    path: (scope) => (scope.tenant === null ? null : adminPath(scope, "/settings")),
  },
  { name: "integrations", label: "Integrations", component: IntegrationsTab, path: () => null },
  { name: "sessions", label: "Your sessions", component: OwnSessionsTab, path: () => "/v1/admin/sessions" },
  { name: "console", label: "Console", component: ConsoleTab, path: () => GATEWAY_PATH },
  { name: "about", label: "About", component: AboutTab, path: () => GATEWAY_PATH },
];

export function SettingsScreen() {
  const scope = useScope();
  const [tab, choose] = useTab(TABS);
  const chosen = TABS.find(({ name }) => name === tab)!;
  const codePath = chosen.path(scope);
  return (
    <>
      <div className="title-row">
        <h1>Settings of {titleOf(scope)}</h1>
        {codePath !== null && <AsCode path={codePath} />}
      </div>
      <Tabs label="Settings" tabs={TABS} chosen={tab} choose={choose}>
        <chosen.component />
      </Tabs>
    </>
  );
}
