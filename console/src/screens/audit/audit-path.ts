// What the views of the audit log ask of the admin API.
import { adminPath, type Scope } from "../../scope/scope.ts";
import type { UrlState } from "../../url-state.ts";
import { NARROWING } from "./access-as-of.tsx";
import { FILTER_NAMES } from "./audit-filter.tsx";

export function pathOf(view: string, scope: Scope, state: UrlState): string {
  const written = (base: string, query: URLSearchParams): string =>
    adminPath(scope, base) + (query.size === 0 ? "" : `?${query.toString()}`);
  if (view === "check") return adminPath(scope, "/audit/verify");
  if (view !== "as-of") return written("/audit", state.only(FILTER_NAMES));
  const at = state.get("at") ?? new Date().toISOString();
  return written("/audit/as_of", new URLSearchParams([["at", at], ...state.only(NARROWING.map(([name]) => name))]));
}
