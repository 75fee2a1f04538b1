// The screens: each is found by its path below the scope. The code of a screen is loaded with its first use.
import type { ComponentType } from "react";
import { loadedOnUse } from "../components/loaded-on-use.tsx";
import { Pending } from "../components/pending.tsx";
import type { Noun } from "../configured/noun.ts";

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

/** The page of a single thing. */
type Detail = ComponentType<{ readonly id: string }>;

const screen = <Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> =>
  loadedOnUse(load, <Pending what="The screen" />);

/** The configured objects of one kind in the scope. */
const objectList = (load: () => Promise<Noun>): ComponentType =>
  screen(async () => {
    const [{ ConfiguredList }, noun] = await Promise.all([import("../configured/configured-list.tsx"), load()]);
    return () => <ConfiguredList noun={noun} />;
  });

/** One of them. */
const objectPage = (load: () => Promise<Noun>): Detail =>
  screen(async () => {
    const [{ ConfiguredPage }, noun] = await Promise.all([import("../configured/configured-page.tsx"), load()]);
    return ({ id }) => <ConfiguredPage noun={noun} id={id} />;
  });

const loadPolicyNoun = async (): Promise<Noun> => (await import("./policies/policy-noun.tsx")).POLICY_NOUN;
const loadPriceNoun = async (): Promise<Noun> => (await import("./prices/price-noun.tsx")).PRICE_NOUN;
const loadRouteNoun = async (): Promise<Noun> => (await import("./routes/route-noun.tsx")).ROUTE_NOUN;
const loadToolServerNoun = async (): Promise<Noun> => (await import("./tools/tool-server-noun.tsx")).TOOL_SERVER_NOUN;

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
    component: objectList(loadRouteNoun),
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
    component: objectList(loadPriceNoun),
  },
  {
    path: "/policies",
    group: "Configuration",
    title: "Policies",
    letter: "x",
    needs: "list*Policies",
    component: objectList(loadPolicyNoun),
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
export const DETAILS: Readonly<Record<string, Detail>> = {
  "/people": screen(async () => (await import("./people/user-screen.tsx")).UserScreen),
  "/policies": objectPage(loadPolicyNoun),
  "/prices": objectPage(loadPriceNoun),
  "/tools": objectPage(loadToolServerNoun),
  "/routes": objectPage(loadRouteNoun),
  "/limits": screen(async () => (await import("./limits/limit-screen.tsx")).LimitScreen),
  "/providers": screen(async () => (await import("./providers/provider-screen.tsx")).ProviderScreen),
  "/calls": screen(async () => (await import("./call/call-screen.tsx")).CallScreen),
  "/tokens": screen(async () => (await import("./tokens/token-screen.tsx")).TokenScreen),
};
