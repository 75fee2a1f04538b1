// The tenant and project that a page is about. They stand in its path, `/console/<tenant>/<project>/...`, so that a link means the same
// for the next reader; `-` stands for all.
import { visibleText } from "../format/visible-text.ts";

export interface Scope {
  readonly tenant: string | null;
  readonly project: string | null;
}

export interface Place {
  readonly scope: Scope;
  /** The path below the scope, such as `/calls`. */
  readonly path: string;
}

const ALL = "-";

/** Of a path below `/console`; null where it names no scope. */
export function placeOf(path: string): Place | null {
  const [, tenant = "", project = "", ...rest] = path.split("/");
  if (tenant === "" || project === "") return null;
  return {
    scope: { tenant: named(tenant), project: named(project) },
    path: `/${rest.filter((part) => part !== "").join("/")}`,
  };
}

function named(part: string): string | null {
  return part === ALL ? null : decoded(part);
}

/** Browsers leave broken escapes in a path as they are. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The path below `/console`. */
export function pathIn({ tenant, project }: Scope, path: string): string {
  const part = (name: string | null): string => (name === null ? ALL : encodeURIComponent(name));
  return `/${part(tenant)}/${part(project)}${path}`;
}

/** The path of an operation that exists for the gateway, a tenant and a project. */
export function adminPath({ tenant, project }: Scope, path: string): string {
  if (project !== null) return `/v1/admin/projects/${encodeURIComponent(project)}${path}`;
  if (tenant !== null) return `/v1/admin/tenants/${encodeURIComponent(tenant)}${path}`;
  return `/v1/admin${path}`;
}

export function titleOf({ tenant, project }: Scope): string {
  return visibleText(project ?? tenant ?? "All tenants");
}
