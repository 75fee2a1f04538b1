// Sets the chosen theme before the first paint. It is a file of its own that blocks, because the content security policy forbids inline scripts.
import { readPreferences } from "./preferences.ts";

const { theme } = readPreferences(globalThis.localStorage);
if (theme !== "system") document.documentElement.dataset["theme"] = theme;
