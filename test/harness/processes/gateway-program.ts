// The program that tests start as the gateway. A run of all tests builds the executable of a release first, which is
// tested so, and because some 250 starts that each read, translate and compile all modules take a third of the run's CPU
// time; a run of few files starts src/main.ts itself. https://bun.com/docs/bundler/executables
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

export const projectFolder = resolve(import.meta.dir, "../../..");

/** The variable that names the executable to the processes of the tests. */
export const PROGRAM_VARIABLE = "DRAGOMAN_TEST_PROGRAM";

/** The command line of the gateway from the source of a checkout, as bin/dragoman.mjs runs it, without a command. */
export function sourceCommandOf(folder: string): readonly string[] {
  return [
    process.execPath,
    "--no-env-file",
    `--config=${join(folder, "bunfig.toml")}`,
    "--no-install",
    join(folder, "src/main.ts"),
  ];
}

export const sourceCommand: readonly string[] = sourceCommandOf(projectFolder);

const builtProgram = ((): string | null => {
  const program = process.env[PROGRAM_VARIABLE];
  return program !== undefined && existsSync(program) ? program : null;
})();

/** Whether the run has built an executable. */
export const isExecutable = builtProgram !== null;

/** The executable where the run has built one, else the gateway from its source. */
export const gatewayCommand: readonly string[] = builtProgram === null ? sourceCommand : [builtProgram];

/** The file behind the command `dragoman`: the executable where the run has built one, else the launcher. */
export const gatewayFile = builtProgram ?? join(projectFolder, "bin/dragoman.mjs");

/** Writes the executable to `path`. Returns whether that worked; if not, the tests start the gateway from its source. */
export async function buildProgram(path: string): Promise<boolean> {
  const builder = join(projectFolder, "release/executable.ts");
  // In a process of its own, which gives the memory of the bundler back.
  const child = Bun.spawn([...sourceCommand.slice(0, -1), builder, path], {
    cwd: projectFolder,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
  });
  return (await child.exited) === 0 && existsSync(path);
}
