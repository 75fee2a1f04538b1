// Writes an import into a folder of its own. The folder appears whole or not at all, and nothing that exists is
// overwritten: everything is written beside it first, and then takes its name.
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { stringify } from "yaml";
import { pathFault } from "../config/path-fault.ts";
import { codeOf } from "../core/thrown.ts";
import type { Imported } from "./import-configuration.ts";
import { SECRETS_FOLDER } from "./secrets.ts";

export const CONFIGURATION_FILE = "dragoman.yaml";
export const REPORT_FILE = "report.json";

/** Throws an Error that says what is wrong with the folder. */
export function writeImport(folder: string, { configuration, secrets, report }: Imported, head: string): void {
  refuseFull(folder);
  mkdirSync(dirname(folder), { recursive: true });
  const beside = mkdtempSync(join(dirname(folder), `.${basename(folder)}-`));
  try {
    writeWhole(
      join(beside, CONFIGURATION_FILE),
      `${head}\n${stringify(configuration, { lineWidth: 0, aliasDuplicateObjects: false })}`,
      0o644,
    );
    writeWhole(join(beside, REPORT_FILE), `${JSON.stringify(report, null, 2)}\n`, 0o644);
    if (secrets.length > 0) mkdirSync(join(beside, SECRETS_FOLDER), { mode: 0o700 });
    for (const { name, text } of secrets) writeWhole(join(beside, name), `${text}\n`, 0o600);
    // takes the place of an empty folder too
    renameSync(beside, folder);
  } catch (thrown) {
    rmSync(beside, { recursive: true, force: true });
    throw new Error(`${folder} cannot be written: ${pathFault(thrown, folder)}`, { cause: thrown });
  }
}

function refuseFull(folder: string): void {
  try {
    if (readdirSync(folder).length === 0) return;
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return;
    throw new Error(`${folder} cannot be written: ${pathFault(thrown, folder)}`, { cause: thrown });
  }
  throw new Error(
    `${folder} is not empty; name a folder that does not exist yet, because an import overwrites nothing`,
  );
}

function writeWhole(path: string, text: string, mode: number): void {
  const descriptor = openSync(path, "wx", mode);
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
