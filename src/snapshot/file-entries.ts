// What the configuration file names for all, for a tenant or for a project, as it stands beside the same kind of things of the store.
import type { Configured } from "../core/configured.ts";
import type { Identities } from "../store/records.ts";
import type { Configuration } from "./configuration.ts";

type Scopes = Pick<Configuration, "tenants" | "projects">;
type Scope = Configuration["tenants"] extends ReadonlyMap<string, infer S> ? S : never;

/**
 * `section`: their word in the file, and in their ids, which stay the same for as long as the entries stand there. `own`: those of one scope. A project that the database does not have has no
 * tenant and no calls: what is named for it is left out.
 */
export function entriesOfFile<T>(
  section: string,
  global: Readonly<Record<string, T>>,
  { tenants, projects }: Scopes,
  own: (scope: Scope) => Readonly<Record<string, T>>,
  identities: Pick<Identities, "projects">,
): readonly Configured<T>[] {
  const at = (
    path: string,
    entries: Readonly<Record<string, T>>,
    tenantId: string | null,
    projectId: string | null,
  ): readonly Configured<T>[] =>
    Object.entries(entries).map(([name, document]) => ({
      id: `${path}.${section}.${name}`,
      name,
      tenantId,
      projectId,
      origin: "file",
      setBy: null,
      version: 0,
      document,
    }));
  const tenantOf = new Map(identities.projects.map(({ id, tenantId }) => [id, tenantId]));
  return [
    ...at("file", global, null, null),
    ...[...tenants].flatMap(([id, scope]) => at(`file.tenants.${id}`, own(scope), id, null)),
    ...[...projects].flatMap(([id, scope]) =>
      tenantOf.has(id) ? at(`file.projects.${id}`, own(scope), tenantOf.get(id)!, id) : [],
    ),
  ];
}
