// The whole configuration file: the sections that the folders export, put together. Every key has a default, so that no file is a file too.
import { z } from "zod";
import type { Variables } from "../config/expansion.ts";
import { readConfigFile, readConfigText } from "../config/file.ts";
import { corsSection, logSection, opsSection, projectsSection, serverSection, settingsSection, tenantsSection } from "../config/sections.ts";
import { providersSection, type ProviderFamily } from "../providers/settings.ts";

export function configurationSchema(families: readonly ProviderFamily[]) {
  return z.strictObject({
    server: serverSection,
    log: logSection,
    cors: corsSection,
    ops: opsSection,
    providers: providersSection(families),
    settings: settingsSection,
    tenants: tenantsSection,
    projects: projectsSection,
  });
}

export type Configuration = z.output<ReturnType<typeof configurationSchema>>;

export interface ConfigurationInput {
  /** As it stands in problems. */
  readonly file: string;
  readonly text: string;
  readonly families: readonly ProviderFamily[];
  readonly environment: Variables;
}

/** Throws ConfigurationError. */
export function parseConfiguration({ file, text, families, environment }: ConfigurationInput): Configuration {
  return readConfigFile({ file, text, schema: configurationSchema(families), environment });
}

/** The configuration of a file, or the defaults where there is none. Throws ConfigurationError. */
export function loadConfiguration({ file, ...rest }: Omit<ConfigurationInput, "text" | "file"> & { readonly file: string | null }): Configuration {
  return parseConfiguration({ ...rest, file: file ?? "defaults", text: file === null ? "" : readConfigText(file) });
}
