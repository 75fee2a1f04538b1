// The licences of the packages that the console's scripts contain, as one text: the gateway serves it with the scripts, because most licences
// ask that their text goes wherever the code goes.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder of a package, at the beginning of the path of one of its files. */
const PACKAGE_FOLDER = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;
const LICENCE_FILE = /^(?:licen[cs]e|copying)(?:\.(?:md|txt))?$/i;
const NOTICE_FILE = /^notice(?:\.(?:md|txt))?$/i;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** `files` are the paths of all files that were bundled; those of the console itself have the licence of the gateway. */
export function licencesOf(files: Iterable<string>): string {
  const folders = new Set([...files].flatMap((path) => PACKAGE_FOLDER.exec(path)?.[0] ?? []));
  const packages = [...folders]
    .map((folder) => ({ folder, manifest: readManifest(folder) }))
    .toSorted((a, b) => (a.manifest.name < b.manifest.name ? -1 : 1));
  const parts = packages.map(
    ({ folder, manifest }) =>
      `${manifest.name} ${manifest.version} (${manifest.license ?? "see below"})\n\n${textsOf(folder, manifest)}`,
  );
  return ["The scripts of Dragoman's web console contain these packages.", ...parts].join(`\n\n${"-".repeat(80)}\n\n`);
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** Of a package that comes without a text, the text that its licence has everywhere. */
function textsOf(folder: string, { name, license }: Manifest): string {
  const names = readdirSync(folder);
  const own = names.filter((file) => LICENCE_FILE.test(file));
  const found = [...own, ...names.filter((file) => NOTICE_FILE.test(file))];
  if (own.length > 0) return found.map((file) => readFileSync(join(folder, file), "utf8").trim()).join("\n\n");
  const common = join(import.meta.dir, "licences", `${license}.txt`);
  if (!existsSync(common))
    throw new Error(
      `The package ${name} contains no text of its licence (${license}). Add the text as console/licences/${license}.txt.`,
    );
  return readFileSync(common, "utf8").trim();
}
