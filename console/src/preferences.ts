// What a reader has chosen for this browser: theme, time zone, and whether single letters are commands (WCAG 2.1.4).
export interface Preferences {
  readonly theme: "system" | "light" | "dark";
  /** `local` is the zone of the browser, `tenant` that of the reports of the tenant in scope. */
  readonly zone: "local" | "utc" | "tenant";
  readonly letters: boolean;
}

const NAME = "dragoman.preferences";
const DEFAULTS: Preferences = { theme: "system", zone: "local", letters: true };

/** The defaults, where nothing readable is stored or the browser stores nothing. */
export function readPreferences(storage: Storage | undefined): Preferences {
  try {
    const stored = JSON.parse(storage?.getItem(NAME) ?? "{}") as Partial<Record<keyof Preferences, unknown>>;
    return {
      theme: stored.theme === "light" || stored.theme === "dark" ? stored.theme : DEFAULTS.theme,
      zone: stored.zone === "utc" || stored.zone === "tenant" ? stored.zone : DEFAULTS.zone,
      letters: stored.letters !== false,
    };
  } catch {
    return DEFAULTS;
  }
}

export function writePreferences(storage: Storage | undefined, preferences: Preferences): void {
  try {
    storage?.setItem(NAME, JSON.stringify(preferences));
  } catch {
    // A browser that stores nothing keeps the choice until the page is left.
  }
}
