// Takes over the configuration of another gateway: from its text to the sections of ours, the secrets that stood in it,
// and a report about each of its values. What it makes is checked before it is returned.
import { ConfigurationError } from "../config/problem.ts";
import type { ProviderFamily } from "../providers/settings.ts";
import { parseConfiguration } from "../snapshot/configuration.ts";
import { bifrost } from "./bifrost/import-bifrost.ts";
import { openDraft } from "./draft.ts";
import { parseForeignFile } from "./foreign-file.ts";
import type { GatewayImport, ImportChoices } from "./gateway-import.ts";
import { litellm } from "./litellm/import-litellm.ts";
import { openrouter } from "./openrouter/import-openrouter.ts";
import { portkey } from "./portkey/import-portkey.ts";
import { openReport, type ReportLine } from "./report.ts";
import { openSecrets, type SecretFile } from "./secrets.ts";

export const GATEWAYS = { litellm, portkey, openrouter, bifrost } as const satisfies Readonly<
  Record<string, GatewayImport>
>;
export type GatewayName = keyof typeof GATEWAYS;

export interface ForeignConfiguration {
  readonly gateway: GatewayName;
  /** As shown in problems. */
  readonly file: string;
  readonly text: string;
  /** The absolute path of the folder in which the import will stand. */
  readonly folder: string;
  readonly families: readonly ProviderFamily[];
  readonly choices: ImportChoices;
}

export interface Imported {
  /** The sections of our configuration file, with references in place of secrets. */
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly secrets: readonly SecretFile[];
  readonly report: readonly ReportLine[];
}

/** Throws ConfigurationError where the text is no configuration of this gateway. */
export function importConfiguration({ gateway, file, text, folder, families, choices }: ForeignConfiguration): Imported {
  const { run, yaml } = GATEWAYS[gateway];
  const foreign = parseForeignFile({ file, text, yaml });
  const byId = new Map(families.map((family) => [family.id, family]));
  const draft = openDraft(byId);
  const secrets = openSecrets(folder);
  const report = openReport(foreign);
  run({ foreign, claims: report, draft, secrets, families: byId, choices });
  const imported = { configuration: draft.configuration(), secrets: secrets.files(), report: report.lines() };
  refuseUnusable(imported, file, families);
  return imported;
}

const FILE_REFERENCE = /\$\{file:[^}]*\}/g;
const NOTHING_SET = { get: () => undefined };

/**
 * The files of the secrets do not exist yet, so each is checked with the text that it will have. No variable is set: the
 * configuration has to be valid on any machine.
 */
function refuseUnusable(
  { configuration, secrets }: Omit<Imported, "report">,
  file: string,
  families: readonly ProviderFamily[],
): void {
  const texts = new Map(secrets.map(({ name, text }) => [name, text]));
  const inPlace = (value: unknown): unknown => {
    if (typeof value === "string") return value.replaceAll(FILE_REFERENCE, (reference) => literalOf(reference, texts));
    if (Array.isArray(value)) return value.map(inPlace);
    return typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inPlace(member)]))
      : value;
  };
  try {
    parseConfiguration({
      file: "the imported configuration",
      text: JSON.stringify(inPlace(configuration)),
      families,
      environment: NOTHING_SET,
    });
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    throw new ConfigurationError([
      {
        file,
        line: null,
        column: null,
        path: "",
        message: "what became of it is no valid configuration of Dragoman, so nothing was written:",
      },
      ...thrown.problems,
    ]);
  }
}

function literalOf(reference: string, texts: ReadonlyMap<string, string>): string {
  const text = Array.from(texts).find(([name]) => reference.endsWith(`/${name}}`))?.[1] ?? "";
  return text.replaceAll("${", "$${");
}
