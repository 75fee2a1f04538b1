// The screens: each is found by its path below the scope. The code of a screen is loaded with its first use.
import { type ComponentType, lazy } from "react";

export interface Screen {
  readonly path: string;
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
    path: "/calls",
    title: "Calls",
    letter: "c",
    needs: "list*Logs",
    component: lazy(async () => ({ default: (await import("./calls/calls-screen.tsx")).CallsScreen })),
  },
  {
    path: "/play",
    title: "Playground",
    letter: "y",
    needs: null,
    component: lazy(async () => ({ default: (await import("./play/play-screen.tsx")).PlayScreen })),
  },
  {
    path: "/usage",
    title: "Usage",
    letter: "u",
    needs: "read*Usage",
    component: lazy(async () => ({ default: (await import("./usage/usage-screen.tsx")).UsageScreen })),
  },
  {
    path: "/start",
    title: "First call",
    letter: "f",
    needs: "list*Logs",
    component: lazy(async () => ({ default: (await import("./start/start-screen.tsx")).StartScreen })),
  },
  {
    path: "/tokens",
    title: "Tokens",
    letter: "t",
    needs: "list*Tokens",
    component: lazy(async () => ({ default: (await import("./tokens/tokens-screen.tsx")).TokensScreen })),
  },
];

/** Pages of single things, by the path of their screen. */
export const DETAILS: Readonly<Record<string, ComponentType<{ readonly id: string }>>> = {
  "/calls": lazy(async () => ({ default: (await import("./call/call-screen.tsx")).CallScreen })),
  "/tokens": lazy(async () => ({ default: (await import("./tokens/token-screen.tsx")).TokenScreen })),
};
