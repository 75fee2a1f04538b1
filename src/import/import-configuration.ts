// Takes over the configuration of another gateway: from its text to the sections of ours, the secrets that stood in it,
// and a report about each of its values. What it makes is checked before it is returned.
import { ConfigurationError } from "../config/problem.ts";
import type { ProviderFamily } from "../providers/settings.ts";
import { parseConfiguration } from "../snapshot/configuration.ts";
import { bifrost } from "./bifrost/import-bifrost.ts";
import { openDraft } from "./draft.ts";
import { type ForeignFile, leavesOf, parseForeignFile } from "./foreign-file.ts";
import type { GatewayImport, ImportChoices } from "./gateway-import.ts";
import type { GatewayName } from "./gateway-names.ts";
import { litellm } from "./litellm/import-litellm.ts";
import { openrouter } from "./openrouter/import-openrouter.ts";
import { portkey } from "./portkey/import-portkey.ts";
import { written } from "./reference.ts";
import { type OpenReport, openReport, type ReportLine } from "./report.ts";
import { looksLikeSecret } from "./secret-shape.ts";
import { openSecrets, type SecretFile, type Secrets } from "./secrets.ts";

const GATEWAYS: Readonly<Record<GatewayName, GatewayImport>> = { litellm, portkey, openrouter, bifrost };

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
  const configuration = withoutSecrets(draft.configuration(), foreign, report, secrets);
  const imported = { configuration, secrets: secrets.files(), report: report.lines() };
  refuseUnusable(imported, file, families);
  return imported;
}

/** Texts of the file that look like secrets and were taken over as parameters, arguments, parts of an address and the like. */
function withoutSecrets(
  configuration: Readonly<Record<string, unknown>>,
  { root }: ForeignFile,
  report: OpenReport,
  secrets: Secrets,
): Readonly<Record<string, unknown>> {
  const suspects = [...leavesOf(root)].filter(({ value }) => typeof value === "string" && looksLikeSecret(value));
  const replace = (value: unknown, key: string): unknown => {
    const found = typeof value === "string" && !MODEL_KEYS.has(key) ? suspects.filter((node) => value.includes(String(node.value))) : [];
    if (found.length > 0) {
      report.areSecrets(found);
      return written(secrets.keep(key, String(value).replaceAll("$${", "${")));
    }
    if (Array.isArray(value)) return value.map((each) => replace(each, key));
    return typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replace(member, name)]))
      : value;
  };
  return replace(configuration, "secret") as Readonly<Record<string, unknown>>;
}

/** Names of models can have a hash in them. */
const MODEL_KEYS: ReadonlySet<string> = new Set(["model", "models", "targets", "id"]);

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
