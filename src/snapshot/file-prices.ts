// The prices of the configuration file, in the same form as those of the store.
import type { PriceDocument } from "../accounting/price-settings.ts";
import type { Configured } from "../core/configured/configured.ts";
import type { Identities } from "../store/records.ts";
import type { Configuration } from "./configuration.ts";
import { documentsOfFile } from "./file-entries.ts";

export function pricesOfFile(
  { prices, tenants, projects }: Pick<Configuration, "prices" | "tenants" | "projects">,
  identities: Pick<Identities, "projects">,
): readonly Configured<PriceDocument>[] {
  const tenantOf = new Map(identities.projects.map(({ id, tenantId }) => [id, tenantId]));
  return [
    ...documentsOfFile("prices.", prices, { tenantId: null, projectId: null }),
    ...[...tenants].flatMap(([id, scope]) =>
      documentsOfFile(`tenants.${id}.prices.`, scope.prices, { tenantId: id, projectId: null }),
    ),
    ...[...projects].flatMap(([id, scope]) =>
      documentsOfFile(`projects.${id}.prices.`, scope.prices, { tenantId: tenantOf.get(id) ?? null, projectId: id }),
    ),
  ];
}
