// Where the built files of the web console are: beside the sources, in a checkout and in the package.
import { join } from "node:path";

export const CONSOLE_FOLDER = join(import.meta.dir, "../../console/dist");
