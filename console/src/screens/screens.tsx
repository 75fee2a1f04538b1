// The screens: each is found by its path below the scope. The code of a screen is loaded with its first use.
import type { ComponentType } from "react";
import { loadedOnUse } from "../components/loaded-on-use.tsx";
import { Pending } from "../components/pending.tsx";

/** What the menu puts together. */
export const GROUPS = ["Traffic", "Try", "Configuration", "Access"] as const;

export interface Screen {
  readonly path: string;
  readonly group: (typeof GROUPS)[number];
  readonly title: string;
  /** The letter after `g` that goes there. */
  readonly letter: string;
  /** The operation without which there is nothing to show, with a star for the reach; null if the screen judges by itself. */
  readonly needs: string | null;
  readonly component: ComponentType;
}

const screen = <Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> =>
  loadedOnUse(load, <Pending what="The screen" />);

/** In the order of the menu. */
export const SCREENS: readonly Screen[] = [
  {
    path: "/",
    group: "Traffic",
    title: "Overview",
    letter: "o",
    needs: "read*Usage",
    component: screen(async () => (await import("./overview/overview-screen.tsx")).OverviewScreen),
  },
  {
    path: "/calls",
    group: "Traffic",
    title: "Calls",
    letter: "c",
    needs: "list*Logs",
    component: screen(async () => (await import("./calls/calls-screen.tsx")).CallsScreen),
  },
  {
    path: "/usage",
    group: "Traffic",
    title: "Usage",
    letter: "u",
    needs: "read*Usage",
    component: screen(async () => (await import("./usage/usage-screen.tsx")).UsageScreen),
  },
  {
    path: "/limits",
    group: "Traffic",
    title: "Limits",
    letter: "b",
    needs: "list*LimitStates",
    component: screen(async () => (await import("./limits/limits-screen.tsx")).LimitsScreen),
  },
  {
    path: "/play",
    group: "Try",
    title: "Playground",
    letter: "y",
    needs: null,
    component: screen(async () => (await import("./play/play-screen.tsx")).PlayScreen),
  },
  {
    path: "/start",
    group: "Try",
    title: "First call",
    letter: "f",
    needs: "list*Logs",
    component: screen(async () => (await import("./start/start-screen.tsx")).StartScreen),
  },
  {
    path: "/routes",
    group: "Configuration",
    title: "Routes",
    letter: "r",
    needs: "list*Routes",
    component: screen(async () => (await import("./routes/routes-screen.tsx")).RoutesScreen),
  },
  {
    path: "/providers",
    group: "Configuration",
    title: "Providers",
    letter: "p",
    needs: "list*ProviderHealth",
    component: screen(async () => (await import("./providers/providers-screen.tsx")).ProvidersScreen),
  },
  {
    path: "/models",
    group: "Configuration",
    title: "Models",
    letter: "m",
    needs: null,
    component: screen(async () => (await import("./models/models-screen.tsx")).ModelsScreen),
  },
  {
    path: "/prices",
    group: "Configuration",
    title: "Prices",
    letter: "i",
    needs: "list*Prices",
    component: screen(async () => (await import("./prices/prices-screen.tsx")).PricesScreen),
  },
  {
    path: "/policies",
    group: "Configuration",
    title: "Policies",
    letter: "x",
    needs: "list*Policies",
    component: screen(async () => (await import("./policies/policies-screen.tsx")).PoliciesScreen),
  },
  {
    path: "/tools",
    group: "Configuration",
    title: "Tools",
    letter: "s",
    needs: "list*ToolServers",
    component: screen(async () => (await import("./tools/tools-screen.tsx")).ToolsScreen),
  },
  {
    path: "/tokens",
    group: "Access",
    title: "Tokens",
    letter: "t",
    needs: "list*Tokens",
    component: screen(async () => (await import("./tokens/tokens-screen.tsx")).TokensScreen),
  },
  {
    path: "/people",
    group: "Access",
    title: "People",
    letter: "e",
    needs: "list*Memberships",
    component: screen(async () => (await import("./people/people-screen.tsx")).PeopleScreen),
  },
  {
    path: "/audit",
    group: "Access",
    title: "Audit",
    letter: "a",
    needs: "list*Audit",
    component: screen(async () => (await import("./audit/audit-screen.tsx")).AuditScreen),
  },
  {
    path: "/settings",
    group: "Access",
    title: "Settings",
    letter: "n",
    needs: null,
    component: screen(async () => (await import("./settings/settings-screen.tsx")).SettingsScreen),
  },
];

/** Pages of single things, by the path of their screen. */
export const DETAILS: Readonly<Record<string, ComponentType<{ readonly id: string }>>> = {
  "/people": screen(async () => (await import("./people/user-screen.tsx")).UserScreen),
  "/policies": screen(async () => (await import("./policies/policy-screen.tsx")).PolicyScreen),
  "/prices": screen(async () => (await import("./prices/price-screen.tsx")).PriceScreen),
  "/tools": screen(async () => (await import("./tools/tool-server-screen.tsx")).ToolServerScreen),
  "/routes": screen(async () => (await import("./routes/route-screen.tsx")).RouteScreen),
  "/limits": screen(async () => (await import("./limits/limit-screen.tsx")).LimitScreen),
  "/providers": screen(async () => (await import("./providers/provider-screen.tsx")).ProviderScreen),
  "/calls": screen(async () => (await import("./call/call-screen.tsx")).CallScreen),
  "/tokens": screen(async () => (await import("./tokens/token-screen.tsx")).TokenScreen),
};
