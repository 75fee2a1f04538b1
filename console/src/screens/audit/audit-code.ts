// What the views of the audit log show as a command and as a request of the admin API.
import { shellQuoted } from "../../format/shell-quoted.ts";
import { adminPath, type Scope } from "../../scope/scope.ts";
import type { UrlState } from "../../url-state.ts";
import { NARROWING } from "./access-as-of.tsx";
import { FILTER_NAMES } from "./audit-filter.tsx";

interface Code {
  readonly command: string;
  readonly path: string;
}

export function codeOf(view: string, scope: Scope, state: UrlState): Code {
  const chosen = (names: readonly string[]): readonly (readonly [string, string])[] =>
    names.flatMap((name) => {
      const value = state.get(name);
      return value === null ? [] : [[name, value] as const];
    });
  const written = (base: string, query: readonly (readonly [string, string])[]): string =>
    adminPath(scope, base) +
    (query.length === 0 ? "" : `?${new URLSearchParams(query.map((pair) => [...pair])).toString()}`);
  const words = (...parts: readonly string[]): string => parts.map(shellQuoted).join(" ");
  if (view === "check")
    return {
      command: words("dragoman", "audit", "verify", ...placeOf(scope)),
      path: adminPath(scope, "/audit/verify"),
    };
  if (view === "as-of") {
    const at = state.get("at") ?? new Date().toISOString();
    const narrowed = chosen(NARROWING.map(([name]) => name));
    const flags = narrowed.flatMap(([name, value]) => [`--${name.replace("_id", "")}`, value]);
    return {
      command: words("dragoman", "audit", "as-of", at, ...placeOf(scope), ...flags),
      path: written("/audit/as_of", [["at", at], ...narrowed]),
    };
  }
  const filter = chosen(FILTER_NAMES);
  const flags = filter.length === 0 ? [] : ["--filter", ...filter.map(([name, value]) => `${name}=${value}`)];
  return { command: words("dragoman", "audit", ...placeOf(scope), ...flags), path: written("/audit", filter) };
}

function placeOf({ tenant, project }: Scope): readonly string[] {
  if (project !== null) return ["--project", project];
  return tenant === null ? ["--all"] : ["--tenant", tenant];
}
