// Builds the gateway as a single executable: the runtime, every module of src/ with its threads, and the files of the
// web console. `node bin/run.mjs release/executable.ts <file> [target]`; the target is that of this machine unless one
// of release/targets.ts is named. https://bun.com/docs/bundler/executables
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { BunPlugin } from "bun";
import { type Contents, contentsOf, missingIn } from "./contents.ts";
import { systemOf } from "./file-header.ts";
import { foreignRuntime } from "./runtimes.ts";
import { type Target, targetNamed } from "./targets.ts";

const PROJECT = join(import.meta.dir, "..");
const SOURCE = join(PROJECT, "src");

export interface ExecutableOptions {
  /** Where the executable is written. */
  readonly path: string;
  /** Another system and the path of its runtime; without it, that of this process. */
  readonly foreign?: { readonly target: Target; readonly runtime: string } | undefined;
}

/**
 * Throws with the messages of the bundler when the source does not compile, and for an executable that is for another
 * system or incomplete.
 */
export async function buildExecutable({ path, foreign }: ExecutableOptions): Promise<void> {
  const contents = await contentsOf(SOURCE);
  mkdirSync(dirname(path), { recursive: true });
  const built = await Bun.build({
    entrypoints: ["main.ts", ...contents.threads].map((file) => join(SOURCE, file)),
    // Threads look for their files below it.
    root: SOURCE,
    target: "bun",
    format: "esm",
    // Compiled code is in the file, which saves half a second of the start.
    bytecode: true,
    // Names stay, so that a stack in an error report can be read.
    minify: { whitespace: true, syntax: true, identifiers: false },
    plugins: [embeddedConsole(contents)],
    compile: {
      outfile: path,
      // Without the target Bun takes the runtime for one of this machine.
      ...(foreign !== undefined && { target: foreign.target.compiled, executablePath: foreign.runtime }),
      // Settings in the folder of its user have no influence on the gateway.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      // The packages that a callback module of the operator imports are found beside that module.
      autoloadPackageJson: true,
    },
    throw: false,
  });
  if (!built.success) throw new Error(built.logs.map(String).join("\n"));
  const file = readFileSync(path);
  const system = systemOf(file);
  if (foreign !== undefined && !foreign.target.name.startsWith(String(system)))
    throw new Error(`${path} was built for ${foreign.target.name}, but its header says ${system ?? "nothing known"}.`);
  const missing = missingIn(file, contents);
  if (missing.length > 0) throw new Error(`${path} lacks ${missing.join(", ")}.`);
}

/** Puts the files of the console into the executable, in the place of the module that looks for them on the disk. */
function embeddedConsole({ console: files }: Contents): BunPlugin {
  const contents = [
    ...files.map((_, index) => `import file${index} from "console:${index}" with { type: "file" };`),
    `const FILES = new Map([${files.map(({ path }, index) => `[${JSON.stringify(path)}, file${index}]`).join(", ")}]);`,
    "export const consoleFile = (name) => FILES.get(name) ?? null;",
    "export const isConsoleBuilt = () => true;",
  ].join("\n");
  return {
    name: "embedded console",
    setup(build) {
      build.onLoad({ filter: /[\\/]parts[\\/]built-console\.ts$/ }, () => ({ contents, loader: "js" }));
      build.onResolve({ filter: /^console:\d+$/ }, ({ path }) => ({ path: path.slice(8), namespace: "console" }));
      build.onLoad({ filter: /.*/, namespace: "console" }, ({ path }) => ({
        contents: files[Number(path)]!.bytes,
        loader: "file",
      }));
    },
  };
}

if (import.meta.main) {
  const [path, name] = process.argv.slice(2);
  if (path === undefined)
    throw new Error("Name the file to write: node bin/run.mjs release/executable.ts <file> [target]");
  await buildExecutable({
    path: resolve(path),
    foreign: name === undefined ? undefined : await foreignRuntime(targetNamed(name)),
  });
}
