// Configuration, identities and environment compiled into the one value that calls read. Pure, and total over what the schema accepts.
import type { Environment } from "../config/environment.ts";
import type { Snapshot } from "../core/snapshot.ts";
import type { ProviderFamily } from "../providers/settings.ts";
import type { Identities } from "../store/store.ts";
import type { Configuration } from "./configuration.ts";
import { compileProviders } from "./provider-table.ts";

export interface CompileInput {
  readonly configuration: Configuration;
  readonly identities: Identities;
  readonly families: readonly ProviderFamily[];
  readonly environment: Environment;
  readonly version: number;
}

export function compileSnapshot({ configuration, identities, families, environment, version }: CompileInput): Snapshot {
  return {
    version,
    tokens: new Map(identities.tokens.map((token) => [token.id, token])),
    projects: new Map(identities.projects.map((project) => [project.id, project])),
    memberships: Map.groupBy(identities.memberships, ({ userId }) => userId),
    providers: compileProviders(configuration.providers, families, environment).providers,
    settings: configuration.settings,
    tenantSettings: configuration.tenants,
    projectSettings: configuration.projects,
    allowPrivateAddresses: environment.allowPrivateAddresses ?? configuration.providers.allowPrivateAddresses,
    limits: configuration.server.limits,
    corsOrigins: configuration.cors.origins,
    opsOpen: configuration.ops.open,
  };
}

/** What is no mistake and yet probably not what was meant; each a sentence for the log. */
export function configurationNotices({ configuration, identities, families, environment }: Omit<CompileInput, "version">): readonly string[] {
  const unknown = (section: string, ids: Iterable<string>, known: readonly { readonly id: string }[]): readonly string[] => {
    const there = new Set(known.map(({ id }) => id));
    return [...ids].filter((id) => !there.has(id)).map((id) => `${section}.${id} has settings in the file, and the database has no such ${section.slice(0, -1)}`);
  };
  return [
    ...compileProviders(configuration.providers, families, environment).notices,
    ...unknown("tenants", configuration.tenants.keys(), identities.tenants),
    ...unknown("projects", configuration.projects.keys(), identities.projects),
  ];
}
