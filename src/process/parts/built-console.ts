// Where the built files of the web console are: beside the sources, in a checkout and in the package. The build of a
// single executable (release/executable.ts) puts a module in the place of this one that names the files inside.
import { existsSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dir, "../../../console/dist");

/** The path of a built file by its name, such as `assets/main-1a2b3c4d.js`; null where it is known not to exist. */
export function consoleFile(name: string): string | null {
  return join(FOLDER, name);
}

/** Whether there is a page to open. */
export const isConsoleBuilt = (): boolean => existsSync(join(FOLDER, "index.html"));
