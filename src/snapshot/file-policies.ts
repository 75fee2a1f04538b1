// The policies of the configuration file, as they stand beside those of the store.
import type { PolicyDocument } from "../auth/policy-settings.ts";
import type { Configured } from "../core/configured.ts";
import type { Identities } from "../store/records.ts";
import type { Configuration } from "./configuration.ts";

/** A project that the database does not have has no calls, and no policies. */
export function policiesOfFile({ policies, tenants, projects }: Pick<Configuration, "policies" | "tenants" | "projects">, identities: Pick<Identities, "projects">): readonly Configured<PolicyDocument>[] {
  const of = (place: string, documents: Readonly<Record<string, PolicyDocument>>, tenantId: string | null, projectId: string | null): readonly Configured<PolicyDocument>[] =>
    Object.entries(documents).map(([name, document]) => ({ id: `file.${place}policies.${name}`, name, tenantId, projectId, origin: "file", setBy: null, version: 0, document }));
  const tenantOf = new Map(identities.projects.map(({ id, tenantId }) => [id, tenantId]));
  return [
    ...of("", policies, null, null),
    ...[...tenants].flatMap(([id, scope]) => of(`tenants.${id}.`, scope.policies, id, null)),
    ...[...projects].flatMap(([id, scope]) => (tenantOf.has(id) ? of(`projects.${id}.`, scope.policies, tenantOf.get(id)!, id) : [])),
  ];
}
