// Limits and budgets of the configuration file, with the names and scopes that they have among those of the store.
import type { ConfiguredLimits } from "../admission/compile-limits.ts";
import type { Configured } from "../core/configured.ts";
import type { Identities } from "../store/records.ts";
import type { Configuration } from "./configuration.ts";

interface Place {
  /** Before the name in the id: the same for as long as the entry stands there. */
  readonly path: string;
  readonly tenantId: string | null;
  readonly projectId: string | null;
}

/** Those of projects that the database does not have are left out. */
export function limitsOfFile({ limits, budgets, tenants, projects }: Pick<Configuration, "limits" | "budgets" | "tenants" | "projects">, identities: Pick<Identities, "projects">): ConfiguredLimits {
  const tenantOf = new Map(identities.projects.map(({ id, tenantId }) => [id, tenantId]));
  const places = [
    { at: { path: "file", tenantId: null, projectId: null } as Place, limits, budgets },
    ...[...tenants].map(([id, own]) => ({ at: { path: `file.tenants.${id}`, tenantId: id, projectId: null }, limits: own.limits, budgets: own.budgets })),
    ...[...projects].flatMap(([id, own]) => {
      const tenantId = tenantOf.get(id);
      return tenantId === undefined ? [] : [{ at: { path: `file.projects.${id}`, tenantId, projectId: id }, limits: own.limits, budgets: own.budgets }];
    }),
  ];
  return {
    limits: places.flatMap(({ at, limits: own }) => entriesAt(at, "limits", own)),
    budgets: places.flatMap(({ at, budgets: own }) => entriesAt(at, "budgets", own)),
  };
}

function entriesAt<T>({ path, tenantId, projectId }: Place, section: string, own: Readonly<Record<string, T>>): readonly Configured<T>[] {
  return Object.entries(own).map(([name, document]) => ({ id: `${path}.${section}.${name}`, name, tenantId, projectId, origin: "file", setBy: null, version: 0, document }));
}
