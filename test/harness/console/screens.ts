// The screens that the console has, read from the console itself, so that a test of all screens takes in a new one by itself.
import { join } from "node:path";
import { projectFolder } from "../processes/gateway-program.ts";

export interface ConsoleScreen {
  /** Below the scope, such as `/calls`. */
  readonly path: string;
  readonly title: string;
  /** The operation without which there is nothing to show, with a star for the reach; null if the screen judges by itself. */
  readonly needs: string | null;
  /** Whether there are pages of single things below the path. */
  readonly hasDetails: boolean;
}

interface ScreensModule {
  readonly SCREENS: readonly Omit<ConsoleScreen, "hasDetails">[];
  readonly DETAILS: Readonly<Record<string, unknown>>;
}

/** By name, because the console is checked with the types of a browser, and tests are not. */
const module = (await import(join(projectFolder, "console/src/screens/screens.tsx"))) as ScreensModule;

export const CONSOLE_SCREENS: readonly ConsoleScreen[] = module.SCREENS.map(({ path, title, needs }) => ({
  path,
  title,
  needs,
  hasDetails: module.DETAILS[path] !== undefined,
}));
