// The screens: each is found by its path below the scope. The code of a screen is loaded with its first use.
import { type ComponentType, lazy } from "react";

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

/** In the order of the menu. */
export const SCREENS: readonly Screen[] = [
  {
    path: "/",
    group: "Traffic",
    title: "Overview",
    letter: "o",
    needs: "read*Usage",
    component: lazy(async () => ({ default: (await import("./overview/overview-screen.tsx")).OverviewScreen })),
  },
  {
    path: "/calls",
    group: "Traffic",
    title: "Calls",
    letter: "c",
    needs: "list*Logs",
    component: lazy(async () => ({ default: (await import("./calls/calls-screen.tsx")).CallsScreen })),
  },
  {
    path: "/usage",
    group: "Traffic",
    title: "Usage",
    letter: "u",
    needs: "read*Usage",
    component: lazy(async () => ({ default: (await import("./usage/usage-screen.tsx")).UsageScreen })),
  },
  {
    path: "/limits",
    group: "Traffic",
    title: "Limits",
    letter: "b",
    needs: "list*LimitStates",
    component: lazy(async () => ({ default: (await import("./limits/limits-screen.tsx")).LimitsScreen })),
  },
  {
    path: "/play",
    group: "Try",
    title: "Playground",
    letter: "y",
    needs: null,
    component: lazy(async () => ({ default: (await import("./play/play-screen.tsx")).PlayScreen })),
  },
  {
    path: "/start",
    group: "Try",
    title: "First call",
    letter: "f",
    needs: "list*Logs",
    component: lazy(async () => ({ default: (await import("./start/start-screen.tsx")).StartScreen })),
  },
  {
    path: "/routes",
    group: "Configuration",
    title: "Routes",
    letter: "r",
    needs: "list*Routes",
    component: lazy(async () => ({ default: (await import("./routes/routes-screen.tsx")).RoutesScreen })),
  },
  {
    path: "/providers",
    group: "Configuration",
    title: "Providers",
    letter: "p",
    needs: "list*ProviderHealth",
    component: lazy(async () => ({ default: (await import("./providers/providers-screen.tsx")).ProvidersScreen })),
  },
  {
    path: "/models",
    group: "Configuration",
    title: "Models",
    letter: "m",
    needs: null,
    component: lazy(async () => ({ default: (await import("./models/models-screen.tsx")).ModelsScreen })),
  },
  {
    path: "/prices",
    group: "Configuration",
    title: "Prices",
    letter: "i",
    needs: "list*Prices",
    component: lazy(async () => ({ default: (await import("./prices/prices-screen.tsx")).PricesScreen })),
  },
  {
    path: "/policies",
    group: "Configuration",
    title: "Policies",
    letter: "x",
    needs: "list*Policies",
    component: lazy(async () => ({ default: (await import("./policies/policies-screen.tsx")).PoliciesScreen })),
  },
  {
    path: "/tools",
    group: "Configuration",
    title: "Tools",
    letter: "s",
    needs: "list*ToolServers",
    component: lazy(async () => ({ default: (await import("./tools/tools-screen.tsx")).ToolsScreen })),
  },
  {
    path: "/tokens",
    group: "Access",
    title: "Tokens",
    letter: "t",
    needs: "list*Tokens",
    component: lazy(async () => ({ default: (await import("./tokens/tokens-screen.tsx")).TokensScreen })),
  },
  {
    path: "/people",
    group: "Access",
    title: "People",
    letter: "e",
    needs: "list*Memberships",
    component: lazy(async () => ({ default: (await import("./people/people-screen.tsx")).PeopleScreen })),
  },
  {
    path: "/audit",
    group: "Access",
    title: "Audit",
    letter: "a",
    needs: "list*Audit",
    component: lazy(async () => ({ default: (await import("./audit/audit-screen.tsx")).AuditScreen })),
  },
  {
    path: "/settings",
    group: "Access",
    title: "Settings",
    letter: "n",
    needs: null,
    component: lazy(async () => ({ default: (await import("./settings/settings-screen.tsx")).SettingsScreen })),
  },
];

/** Pages of single things, by the path of their screen. */
export const DETAILS: Readonly<Record<string, ComponentType<{ readonly id: string }>>> = {
  "/people": lazy(async () => ({ default: (await import("./people/user-screen.tsx")).UserScreen })),
  "/policies": lazy(async () => ({ default: (await import("./policies/policy-screen.tsx")).PolicyScreen })),
  "/prices": lazy(async () => ({ default: (await import("./prices/price-screen.tsx")).PriceScreen })),
  "/tools": lazy(async () => ({ default: (await import("./tools/tool-server-screen.tsx")).ToolServerScreen })),
  "/routes": lazy(async () => ({ default: (await import("./routes/route-screen.tsx")).RouteScreen })),
  "/limits": lazy(async () => ({ default: (await import("./limits/limit-screen.tsx")).LimitScreen })),
  "/providers": lazy(async () => ({ default: (await import("./providers/provider-screen.tsx")).ProviderScreen })),
  "/calls": lazy(async () => ({ default: (await import("./call/call-screen.tsx")).CallScreen })),
  "/tokens": lazy(async () => ({ default: (await import("./tokens/token-screen.tsx")).TokenScreen })),
};
