// Takes over the configuration of another gateway: from its text to the sections of ours, the secrets that stood in it,
// and a report about each of its values. What it makes is checked before it is returned.
import type { ProviderFamily } from "../providers/settings.ts";
import { bifrost } from "./bifrost/import-bifrost.ts";
import { openDraft } from "./draft.ts";
import { openEnvironmentTexts } from "./environment-texts.ts";
import { parseForeignFile, type ForeignFile, leavesOf } from "./foreign-file.ts";
import type { GatewayImport, ImportChoices } from "./gateway-import.ts";
import type { GatewayName } from "./gateway-names.ts";
import { litellm } from "./litellm/import-litellm.ts";
import { openrouter } from "./openrouter/import-openrouter.ts";
import { portkey } from "./portkey/import-portkey.ts";
import { needsOf } from "./needs.ts";
import { openReport, type OpenReport } from "./report.ts";
import { openSecrets, type Secrets } from "./secrets.ts";
import { usablePart } from "./usable.ts";
import { writtenPlaces } from "./written-places.ts";
import { written } from "./reference.ts";
import { looksLikeSecret } from "./secret-shape.ts";

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

export type Imported = ReturnType<typeof importConfiguration>;

/** Throws ConfigurationError where the text is no configuration of this gateway. */
export function importConfiguration({ gateway, file, text, folder, families, choices }: ForeignConfiguration) {
  const { run, yaml, environment } = GATEWAYS[gateway];
  const foreign = parseForeignFile({ file, text, yaml });
  const byId = new Map(families.map((family) => [family.id, family]));
  const draft = openDraft(byId);
  const secrets = openSecrets(folder);
  const report = openReport(foreign);
  const form = environment?.(foreign.root) ?? { prefix: null, takesWords: false };
  const texts = openEnvironmentTexts(form, report, secrets);
  run({ foreign, claims: report, draft, secrets, texts, families: byId, choices });
  const made = withoutSecrets(draft.configuration(), foreign, report, secrets);
  const configuration = usablePart(made, report, secrets.files(), families);
  const isWritten = writtenPlaces(configuration);
  return {
    /** The sections of our configuration file, with references in place of secrets. */
    configuration,
    secrets: secrets.files(),
    report: report.lines(isWritten),
    /** How many routes the configuration has. */
    routes: Object.keys(configuration["routes"] ?? {}).length,
    missingTargets: report.missingTargets(isWritten),
    needs: needsOf(configuration, families),
  };
}

/** Names of models can have a hash in them. */
const MODEL_KEYS: ReadonlySet<string> = new Set(["model", "models", "targets", "id", "aliases"]);
/** What stands below it has names of the provider's own. */
const FREE_KEY = "params";

/**
 * Texts of the other gateway's file that look like secrets and were taken over as parameters, arguments, parts of an
 * address and the like get a file of their own too. Returns the configuration with a reference in the place of each.
 */
function withoutSecrets(
  configuration: Readonly<Record<string, unknown>>,
  { root }: ForeignFile,
  report: OpenReport,
  secrets: Secrets,
): Readonly<Record<string, unknown>> {
  const suspects = [...leavesOf(root)].filter(({ value }) => typeof value === "string" && looksLikeSecret(value));
  const replace = (value: unknown, key: string, isFree: boolean): unknown => {
    if (typeof value === "string" && (isFree || !MODEL_KEYS.has(key))) {
      const found = suspects.filter((node) => value.includes(String(node.value)));
      if (found.length === 0) return value;
      report.areSecrets(found);
      return written(secrets.keep(key, value.replaceAll("$${", "${")));
    }
    if (Array.isArray(value)) return value.map((each) => replace(each, key, isFree));
    return typeof value === "object" && value !== null
      ? Object.fromEntries(
          Object.entries(value).map(([name, member]) => [name, replace(member, name, isFree || name === FREE_KEY)]),
        )
      : value;
  };
  return replace(configuration, "secret", false) as Readonly<Record<string, unknown>>;
}
