// `dragoman import <gateway> <file>`: takes over the configuration of another gateway, prints what became of each of its
// values, and writes the files of ours.
import { counted } from "../core/text/counted.ts";
import { basename, resolve } from "node:path";
import { readConfigText } from "../config/file.ts";
import { PROVIDER_FAMILIES } from "../process/parts/provider-families.ts";
import { nameOf } from "../import/draft.ts";
import type { ImportChoices } from "../import/gateway-import.ts";
import { GATEWAY_LABELS, type GatewayName } from "../import/gateway-names.ts";
import { importConfiguration, type Imported } from "../import/import-configuration.ts";
import type { Needs } from "../import/needs.ts";
import { countOf, type ImportOutcome, type ReportLine } from "../import/report.ts";
import { CONFIGURATION_FILE, writeImport } from "../import/write-import.ts";
import { printJson, printLine, printTable } from "./output.ts";

export interface ImportFlags {
  readonly out?: string;
  readonly name?: string;
  readonly model?: readonly string[];
  readonly provider?: readonly string[];
  readonly json?: true;
}

/** Where the files would stand if they were written: references to secrets have to name some folder. */
const NO_FOLDER = "import";

/**
 * Returns the exit code: 1 when the configuration that was made has no route, or lacks a target. Throws
 * ConfigurationError for a file that is no configuration of the gateway.
 */
export function importForeign(gateway: GatewayName, file: string, flags: ImportFlags): number {
  const folder = resolve(flags.out ?? NO_FOLDER);
  if (folder.includes("}"))
    throw new Error(`--out ${folder}: the path of a secret cannot contain a brace; name another folder`);
  const imported = importConfiguration({
    gateway,
    file,
    text: readConfigText(file),
    folder,
    families: PROVIDER_FAMILIES,
    choices: choicesOf(file, flags),
  });
  if (flags.out !== undefined) writeImport(folder, imported, headOf(gateway));
  if (flags.json === true) printJson({ ...summaryOf(imported, flags), report: imported.report });
  else printReport(gateway, imported, flags);
  return isComplete(imported) ? 0 : 1;
}

function isComplete({ routes, missingTargets }: Imported): boolean {
  return routes > 0 && missingTargets.length === 0;
}

function choicesOf(file: string, { name, model = [], provider = [] }: ImportFlags): ImportChoices {
  const known = new Set(PROVIDER_FAMILIES.map(({ id }) => id));
  const providers = provider.map((pair): readonly [string, string] => {
    const [theirs = "", ours = ""] = pair.split("=");
    if (theirs === "" || !known.has(ours))
      throw new Error(
        `--provider ${pair}: expected <name there>=<provider here>; \`dragoman providers\` lists the providers`,
      );
    return [theirs, ours];
  });
  return {
    name: nameOf(name ?? basename(file).replace(/\.[a-z]+$/i, "")),
    models: model,
    providers: new Map(providers),
  };
}

function headOf(gateway: GatewayName): string {
  return `# Imported from ${GATEWAY_LABELS[gateway]} by dragoman import. report.json says what became of each value.`;
}

function summaryOf(imported: Imported, { out }: ImportFlags): object {
  const { report, routes, missingTargets, secrets, needs } = imported;
  return {
    folder: out === undefined ? null : resolve(out),
    complete: isComplete(imported),
    values: report.length,
    ...countOf(report),
    routes,
    missing_targets: missingTargets,
    secrets: secrets.map(({ name }) => name),
    needs,
  };
}

const WORDS: Readonly<Record<ImportOutcome, string>> = {
  taken: "taken",
  changed: "changed",
  without: "no counterpart",
};

function printReport(gateway: GatewayName, imported: Imported, { out }: ImportFlags): void {
  const { report, secrets } = imported;
  printAlike(report);
  const { taken, changed, without } = countOf(report);
  printLine("");
  printLine(
    `${counted(report.length, "value")} of ${GATEWAY_LABELS[gateway]}: ${taken} taken, ${changed} changed, ${without} without counterpart.`,
  );
  if (secrets.length > 0)
    printLine(
      out === undefined
        ? `Secrets in plain text in the file: ${secrets.length}; with --out each gets a file of its own.`
        : `Secrets that were in plain text: ${secrets.length}; each has a file of its own, which only you can read: ${secrets.map(({ name }) => name).join(", ")}.`,
    );
  printIncomplete(imported);
  printNeeds(imported.needs);
  printLine(
    out === undefined
      ? "Nothing was written; --out <folder> writes the configuration."
      : `${resolve(out, CONFIGURATION_FILE)} is written; try it with dragoman check and dragoman simulate.`,
  );
}

/**
 * One row for each setting that was taken alike from several members of a list, such as the models of a file: hundreds of
 * such rows would hide those that say what has changed or is missing.
 */
function printAlike(report: readonly ReportLine[]): void {
  const groups = Map.groupBy(report, (line) =>
    JSON.stringify(line.outcome === "taken" ? [line.path.replaceAll(/\[\d+\]/g, "[]"), line.note] : line),
  );
  printReportLines(
    Array.from(groups.values(), ([first, ...others]): ReportLine => {
      const { path, to } = first!;
      if (others.length === 0) return first!;
      const isApart = others.some((other) => other.to !== to);
      return {
        ...first!,
        path: `${path} and ${others.length} like it`,
        to: isApart ? `${to} and others` : to,
      };
    }),
  );
}

export function printReportLines(report: readonly ReportLine[]): void {
  printTable(
    ["LINE", "SETTING", "RESULT", "HERE"],
    report.map((line) => [String(line.line), line.path, WORDS[line.outcome], hereOf(line)]),
  );
}

function printIncomplete({ routes, missingTargets }: Imported): void {
  if (routes === 0) printLine(`The import is incomplete: the configuration has no route. ${NO_ROUTE}`);
  if (missingTargets.length === 0) return;
  printLine(
    `The import is incomplete: ${missingTargets.length} of the targets in the file are not in the configuration.`,
  );
  for (const { line, path, why } of missingTargets) printLine(`  line ${line}, ${path}: ${why}`);
}

const NO_ROUTE =
  "Only models of its providers can be called, as <provider>:<model> or <provider>/<model>; write a route, or name models with --model and import again.";

function printNeeds({ variables, settings }: Needs): void {
  if (variables.length > 0) printLine(`Variables to set in the environment of the gateway: ${variables.join(", ")}.`);
  for (const { place, variable } of settings)
    printLine(
      variable === null
        ? `${place} has to be set before its models can be called.`
        : `${place} has to be set before its models can be called, in the file or by the variable ${variable}.`,
    );
}

function hereOf({ to, note }: ReportLine): string {
  if (to === null) return note ?? "";
  return note === null ? to : `${to}: ${note}`;
}
