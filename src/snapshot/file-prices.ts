// The prices of the configuration file, in the same form as those of the store.
import type { PriceDocument } from "../accounting/price-settings.ts";
import type { Configured } from "../core/configured.ts";
import type { Identities } from "../store/records.ts";
import type { Configuration } from "./configuration.ts";

export function pricesOfFile(
  { prices, tenants, projects }: Pick<Configuration, "prices" | "tenants" | "projects">,
  identities: Pick<Identities, "projects">,
): readonly Configured<PriceDocument>[] {
  const of = (
    place: string,
    documents: Readonly<Record<string, PriceDocument>>,
    tenantId: string | null,
    projectId: string | null,
  ): readonly Configured<PriceDocument>[] =>
    Object.entries(documents).map(([name, document]) => ({
      id: `${place}prices.${name}`,
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
    ...of("", prices, null, null),
    ...[...tenants].flatMap(([id, scope]) => of(`tenants.${id}.`, scope.prices, id, null)),
    ...[...projects].flatMap(([id, scope]) => of(`projects.${id}.`, scope.prices, tenantOf.get(id) ?? null, id)),
  ];
}
