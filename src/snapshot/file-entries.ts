// Entries of the configuration file, whether global, of a tenant or of a project, in the same form as entries of the
// same kind in the store.
import type { Configured } from "../core/configured/configured.ts";
import type { Identities } from "../store/records.ts";
import type { Configuration } from "./configuration.ts";

type Scopes = Pick<Configuration, "tenants" | "projects">;
type Scope = Configuration["tenants"] extends ReadonlyMap<string, infer S> ? S : never;

/**
 * `section` is the name of their kind in the file, which is also part of their ids; these stay the same as long as the
 * entries are in the file. `own` selects the entries of one scope. A project that is not in the database has no tenant
 * and no calls, so its entries are left out.
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
    documentsOfFile(`${path}.${section}.`, Object.entries(entries), { tenantId, projectId });
  const tenantOf = new Map(identities.projects.map(({ id, tenantId }) => [id, tenantId]));
  return [
    ...at("file", global, null, null),
    ...[...tenants].flatMap(([id, scope]) => at(`file.tenants.${id}`, own(scope), id, null)),
    ...[...projects].flatMap(([id, scope]) =>
      tenantOf.has(id) ? at(`file.projects.${id}`, own(scope), tenantOf.get(id)!, id) : [],
    ),
  ];
}

/** Documents of one place in the file, each with an id that begins with `prefix` and ends with its name. */
export function documentsOfFile<T>(
  prefix: string,
  documents: readonly (readonly [name: string, document: T])[],
  place: Pick<Configured<T>, "tenantId" | "projectId">,
): readonly Configured<T>[] {
  return documents.map(([name, document]) => ({
    id: `${prefix}${name}`,
    name,
    ...place,
    origin: "file",
    setBy: null,
    version: 0,
    document,
  }));
}
