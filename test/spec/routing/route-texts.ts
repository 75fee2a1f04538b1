// Routes for the specification's tests, written as an operator writes them.
import { readEnvironment } from "../../../src/config/environment.ts";
import type { Snapshot } from "../../../src/core/snapshot.ts";
import { PROVIDER_FAMILIES } from "../../../src/process/parts/provider-families.ts";
import { compileSnapshot } from "../../../src/snapshot/compile.ts";
import { parseConfiguration } from "../../../src/snapshot/configuration.ts";

/** What a snapshot has of the routes of a configuration file; the only project is `default` of the tenant `default`. */
export function routesOfText(text: string): Pick<Snapshot, "routes" | "tenantRoutes" | "projectRoutes"> {
  const environment = readEnvironment({});
  const configuration = parseConfiguration({ file: "f", text, families: PROVIDER_FAMILIES, environment });
  const identities = {
    tenants: [],
    projects: [{ id: "default", tenantId: "default", name: "default" }],
    users: [],
    memberships: [],
    tokens: [],
  };
  const { routes, tenantRoutes, projectRoutes } = compileSnapshot({
    configuration,
    identities,
    families: PROVIDER_FAMILIES,
    environment,
    version: 1,
  });
  return { routes, tenantRoutes, projectRoutes };
}
