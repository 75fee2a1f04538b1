// The whole configuration file, made of the sections that the folders export. Every key has a default, so that an empty
// file is valid.
import { z } from "zod";
import { pricesSection } from "../accounting/price-settings.ts";
import { limitStoreSection } from "../admission/limit-store-settings.ts";
import { cacheSection } from "../cache/cache-settings.ts";
import { budgetsSection, limitsSection } from "../admission/settings.ts";
import { consoleSection } from "../auth/logins/console-settings.ts";
import { loginsSection } from "../auth/logins/login-settings.ts";
import { contentLogSection } from "../auth/settings/content-settings.ts";
import { NO_PROVIDER, policiesSection, serviceProvider } from "../policies/policy-settings.ts";
import { settingsSection } from "../auth/settings/scope-settings.ts";
import { memoizePerObject } from "../core/memoization.ts";
import type { ReadSecretFile, Variables } from "../config/expansion.ts";
import { readConfigFile, readConfigText } from "../config/file.ts";
import { readSecretFile } from "../config/secret-file.ts";
import { corsSection, logSection, opsSection, serverSection } from "../config/sections.ts";
import { integrationsSection } from "../observe/integrations/integration-settings.ts";
import { webhooksSection } from "../observe/webhooks/webhook-settings.ts";
import { providersSection, type ProviderFamily } from "../providers/settings.ts";
import { type RouteConfiguration, routeProblems } from "../routing/route-problems.ts";
import { toolServersSection } from "../mcp/settings.ts";
import { auditSection } from "../store/audit/audit-settings.ts";
import { callsSection } from "../store/calls/call-retention.ts";
import { ledgerSection } from "../store/journal/ledger-settings.ts";
import { routeDefaultsSection, routesSection } from "../routing/settings.ts";
import { projectsSection, tenantsSection } from "./scopes.ts";

export const configurationSchema = memoizePerObject(schemaOf);

function schemaOf(families: readonly ProviderFamily[]) {
  const sections = z.strictObject({
    server: serverSection,
    log: logSection,
    cors: corsSection,
    ops: opsSection,
    oidc: loginsSection,
    console: consoleSection,
    ledger: ledgerSection,
    limit_store: limitStoreSection,
    cache: cacheSection,
    calls: callsSection,
    audit: auditSection,
    integrations: integrationsSection,
    providers: providersSection(families),
    routes: routesSection,
    route_defaults: routeDefaultsSection,
    prices: pricesSection,
    limits: limitsSection,
    budgets: budgetsSection,
    policies: policiesSection.meta({
      title: "Policies",
      description: "Rules that deny calls, and guards over their text, for all tenants: docs/policies.md.",
    }),
    webhooks: webhooksSection,
    tool_servers: toolServersSection,
    content_log: contentLogSection,
    settings: settingsSection,
    tenants: tenantsSection,
    projects: projectsSection,
  });
  return sections.superRefine((file, context) => {
    // A section with an error is not compiled, so there is nothing to check against.
    if (context.issues.length > 0) return;
    const providers = new Set([...families.map(({ id }) => id), ...file.providers.entries.keys()]);
    for (const { path, message } of routeProblems(routesOf(file), providers, new Set(file.server.conditionHeaders)))
      context.addIssue({ code: "custom", path: [...path], message });
    for (const [path, policies] of policiesOf(file))
      for (const [name, policy] of Object.entries(policies))
        if (isUnknown(serviceProvider(policy), providers))
          context.addIssue({
            code: "custom",
            path: [...path, name, "guard", "service", "provider"],
            message: NO_PROVIDER,
          });
  });
}

type Policies = z.output<typeof policiesSection>;

function policiesOf({
  policies,
  tenants,
  projects,
}: Pick<Configuration, "policies" | "tenants" | "projects">): readonly (readonly [readonly string[], Policies])[] {
  const inside = (section: string, scopes: Configuration["tenants"]) =>
    [...scopes].map(([id, scope]) => [[section, id, "policies"], scope.policies] as const);
  return [[["policies"], policies], ...inside("tenants", tenants), ...inside("projects", projects)];
}

function isUnknown(id: string | undefined, known: ReadonlySet<string>): boolean {
  return id !== undefined && !known.has(id);
}

export function routesOf({
  routes,
  route_defaults: defaults,
  tenants,
  projects,
}: Pick<Configuration, "routes" | "route_defaults" | "tenants" | "projects">): RouteConfiguration {
  return { global: { routes, defaults }, tenants, projects };
}

export type Configuration = z.output<ReturnType<typeof configurationSchema>>;

export interface ConfigurationInput {
  /** As shown in problems. */
  readonly file: string;
  readonly text: string;
  readonly families: readonly ProviderFamily[];
  readonly environment: Variables;
  /** As in `ConfigFile`. */
  readonly readSecret?: ReadSecretFile;
}

/** Throws ConfigurationError. */
export function parseConfiguration({ families, ...file }: ConfigurationInput): Configuration {
  return readConfigFile({ ...file, schema: configurationSchema(families) });
}

export interface ConfigurationSource extends Pick<ConfigurationInput, "families" | "environment"> {
  readonly file: string | null;
  /** What names the file, for the error when it cannot be read. */
  readonly setting?: string;
  /** What was read from the file earlier; it is read now when this is left out. */
  readonly text?: string;
  /** As in `LoadedConfiguration`: files of these paths are not read. */
  readonly secrets?: SecretTexts;
}

/** What the files of secrets hold that a configuration names, by their paths. */
export type SecretTexts = Readonly<Record<string, string>>;

/** A configuration, and what it was read from. */
export interface LoadedConfiguration {
  /** `null` for the defaults, whose text is empty. */
  readonly file: string | null;
  readonly text: string;
  readonly secrets: SecretTexts;
  readonly configuration: Configuration;
}

/** The configuration of a file, or the defaults when `file` is `null`. Throws ConfigurationError. */
export function loadConfiguration({
  file,
  setting,
  text = file === null ? "" : readConfigText(file, setting),
  secrets: known = {},
  families,
  environment,
}: ConfigurationSource): LoadedConfiguration {
  const secrets: Record<string, string> = {};
  const readSecret: ReadSecretFile = (path) => {
    const given = known[path];
    const found = given === undefined ? readSecretFile(path) : { text: given };
    if ("text" in found) secrets[path] = found.text;
    return found;
  };
  const configuration = parseConfiguration({ file: file ?? "defaults", text, families, environment, readSecret });
  return { file, text, secrets, configuration };
}
