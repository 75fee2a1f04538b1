// What the views of the audit log ask of the admin API.
import { adminPath, type Scope } from "../../scope/scope.ts";
import type { UrlState } from "../../url-state.ts";
import { NARROWING } from "./access-as-of.tsx";
import { FILTER_NAMES } from "./audit-filter.tsx";

export function pathOf(view: string, scope: Scope, state: UrlState): string {
  const chosen = (names: readonly string[]): readonly (readonly [string, string])[] =>
    names.flatMap((name) => {
      const value = state.get(name);
      return value === null ? [] : [[name, value] as const];
    });
  const written = (base: string, query: readonly (readonly [string, string])[]): string =>
    adminPath(scope, base) +
    (query.length === 0 ? "" : `?${new URLSearchParams(query.map((pair) => [...pair])).toString()}`);
  if (view === "check") return adminPath(scope, "/audit/verify");
  if (view !== "as-of") return written("/audit", chosen(FILTER_NAMES));
  const at = state.get("at") ?? new Date().toISOString();
  return written("/audit/as_of", [["at", at], ...chosen(NARROWING.map(([name]) => name))]);
}
