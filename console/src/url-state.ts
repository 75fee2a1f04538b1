// The state of a screen is in its URL: filter, range, sort, tab and what is open. Default values are left out. A fragment stays as it is.
import { useCallback, useMemo } from "react";
import { useLocation, useSearch } from "wouter";

export interface UrlState {
  readonly get: (name: string) => string | null;
  /** Those of these names that are set. */
  readonly only: (names: readonly string[]) => URLSearchParams;
  /** Null removes. `replace` leaves no entry in the history, so that Back does not stop at each letter of a filter. */
  readonly set: (changes: Readonly<Record<string, string | null>>, options?: { readonly replace?: boolean }) => void;
  /** The query with the changes, for links. */
  readonly with: (changes: Readonly<Record<string, string | null>>) => string;
}

export function useUrlState(): UrlState {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const changed = useCallback(
    (changes: Readonly<Record<string, string | null>>): string => {
      const next = new URLSearchParams(search);
      for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === "") next.delete(name);
        else next.set(name, value);
      }
      const text = next.toString();
      return text === "" ? "" : `?${text}`;
    },
    [search],
  );
  return useMemo(() => {
    const now = new URLSearchParams(search);
    return {
      get: (name) => now.get(name),
      only: (names) => new URLSearchParams(names.flatMap((name) => (now.has(name) ? [[name, now.get(name)!]] : []))),
      set: (changes, { replace = false } = {}) => navigate(path + changed(changes) + location.hash, { replace }),
      with: changed,
    };
  }, [search, path, navigate, changed]);
}
