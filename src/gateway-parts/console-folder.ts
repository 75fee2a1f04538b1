// Where the built files of the web console are: beside the sources, in a checkout and in the package.
import { existsSync } from "node:fs";
import { join } from "node:path";

export const CONSOLE_FOLDER = join(import.meta.dir, "../../console/dist");

/** Whether there is a page to open. */
export const isConsoleBuilt = (): boolean => existsSync(join(CONSOLE_FOLDER, "index.html"));
