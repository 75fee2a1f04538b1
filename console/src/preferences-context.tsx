// Hands the reader's preferences to the components, and applies the theme.
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { type Preferences, readPreferences, writePreferences } from "./preferences.ts";

interface Chosen {
  readonly preferences: Preferences;
  readonly choose: (change: Partial<Preferences>) => void;
}

const PreferencesContext = createContext<Chosen | null>(null);

export function PreferencesProvider({ children }: { readonly children: ReactNode }) {
  const [preferences, setPreferences] = useState(() => readPreferences(globalThis.localStorage));
  useEffect(() => {
    const { theme } = preferences;
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  }, [preferences]);
  const chosen = useMemo(
    () => ({
      preferences,
      choose(change: Partial<Preferences>) {
        const next = { ...preferences, ...change };
        writePreferences(globalThis.localStorage, next);
        setPreferences(next);
      },
    }),
    [preferences],
  );
  return <PreferencesContext value={chosen}>{children}</PreferencesContext>;
}

export function usePreferences(): Chosen {
  return useContext(PreferencesContext)!;
}
