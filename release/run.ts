// `npm run release [-- --out <folder>] [--only <target>,...]`: makes what a release consists of, from this checkout: the
// npm package, an executable for each system, the bill of materials, checksums, and a statement of how it was made.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };
import { buildExecutable } from "./executable.ts";
import { run } from "./command.ts";
import { provenance } from "./provenance.ts";
import { foreignRuntime } from "./runtimes.ts";
import { billOfMaterials } from "./sbom.ts";
import { PROJECT, readSource } from "./source.ts";
import { type Target, TARGETS, targetNamed } from "./targets.ts";

const NAME = `${manifest.name}-${manifest.version}`;
/** What lies beside the executable in its archive. */
const BESIDE = ["LICENSE", "README.md", "CHANGELOG.md", "dragoman.schema.json"];

/** npm writes the same bytes for the same files. */
async function packPackage(folder: string): Promise<void> {
  await run(["npm", "run", "--silent", "console:build"], PROJECT);
  await run(["npm", "pack", "--ignore-scripts", "--pack-destination", folder], PROJECT);
}

/** An archive with the executable and what lies beside it, in a folder of its name. */
async function packExecutable(target: Target, folder: string, madeAt: number): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "dragoman-release-"));
  const inside = `${NAME}-${target.name}`;
  try {
    mkdirSync(join(scratch, inside));
    // The name of the file is in the file: it is the same in each build.
    await buildExecutable({
      path: join(scratch, inside, `dragoman${target.ending}`),
      foreign: await foreignRuntime(target),
    });
    for (const name of BESIDE) writeFileSync(join(scratch, inside, name), readFileSync(join(PROJECT, name)));
    const same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", `--mtime=@${madeAt}`];
    await run(["tar", ...same, "--mode=u=rwX,go=rX", "-cf", `${inside}.tar`, inside], scratch);
    await run(["gzip", "--no-name", `${inside}.tar`], scratch);
    renameSync(join(scratch, `${inside}.tar.gz`), join(folder, `${inside}.tar.gz`));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function digestsOf(folder: string): ReadonlyMap<string, string> {
  return new Map(
    readdirSync(folder)
      .toSorted()
      .map((name) => [name, new Bun.CryptoHasher("sha256").update(readFileSync(join(folder, name))).digest("hex")]),
  );
}

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: { out: { type: "string" }, only: { type: "string" } },
});
const out = resolve(values.out ?? join(PROJECT, "release", "out", manifest.version));
const targets = values.only === undefined ? TARGETS : values.only.split(",").map(targetNamed);
const from = await readSource();
if (from.isChanged)
  process.stderr.write("release: the checkout has changes that are not committed; the statement says so\n");
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await packPackage(out);
for (const target of targets) {
  process.stderr.write(`release: ${target.name}${target.isTested ? "" : " (built, not run by the tests)"}\n`);
  await packExecutable(target, out, from.madeAt);
}
const write = (name: string, content: object): void =>
  writeFileSync(join(out, name), `${JSON.stringify(content, null, 2)}\n`);
write(`${NAME}.cdx.json`, billOfMaterials(from.madeAt));
write(`${NAME}.provenance.json`, provenance(from, digestsOf(out)));
const sums = [...digestsOf(out)].map(([name, digest]) => `${digest}  ${name}\n`);
writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
process.stderr.write(`release: ${sums.length + 1} files in ${out}\n`);
