// Imports a text without files, for tests, and reads what it made.
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import type { ImportChoices } from "../../src/import/gateway-import.ts";
import type { GatewayName } from "../../src/import/gateway-names.ts";
import { importConfiguration, type Imported } from "../../src/import/import-configuration.ts";
import type { ReportLine } from "../../src/import/report.ts";

export const FOLDER = "/srv/dragoman";
const NO_CHOICES: ImportChoices = { name: "imported", models: [], providers: new Map() };

export function imported(gateway: GatewayName, text: string, choices: Partial<ImportChoices> = {}): Imported {
  return importConfiguration({
    gateway,
    file: "theirs.yaml",
    text,
    folder: FOLDER,
    families: PROVIDER_FAMILIES,
    choices: { ...NO_CHOICES, ...choices },
  });
}

/** A section of the configuration that was made. */
export function section({ configuration }: Imported, name: string): Readonly<Record<string, unknown>> {
  return (configuration[name] ?? {}) as Readonly<Record<string, unknown>>;
}

/** The line about a value. */
export function lineAt({ report }: Imported, path: string): ReportLine {
  const [line, ...others] = report.filter((each) => each.path === path);
  if (line === undefined || others.length > 0)
    throw new Error(`${others.length + (line === undefined ? 0 : 1)} lines about ${path}`);
  return line;
}
