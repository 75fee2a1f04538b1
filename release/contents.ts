// What an executable holds besides the runtime: the modules with which its threads begin, and the files of the console.
import { join } from "node:path";
import { Glob } from "bun";
import { buildConsole } from "../console/build.ts";

/** Threads are files of their own, which a module names when it starts one. */
const THREADS = "**/*-{worker,entry}.ts";

export interface Contents {
  /** The modules with which threads begin, by their paths below `src/`. */
  readonly threads: readonly string[];
  readonly console: readonly { readonly path: string; readonly bytes: Uint8Array }[];
}

/** Returns what every executable of this checkout holds; the console is built for it. */
export async function contentsOf(source: string): Promise<Contents> {
  const threads = [...new Glob(THREADS).scanSync({ cwd: source })].toSorted();
  return { threads, console: await buildConsole() };
}

/** The folder of Bun's file system inside an executable, below which the bundler keeps the paths of modules. */
const INSIDE = "root";

/** Returns the paths of what an executable lacks. A file of the console has to be in it byte for byte. */
export function missingIn(executable: Uint8Array, { threads, console }: Contents): readonly string[] {
  const file = Buffer.from(executable.buffer, executable.byteOffset, executable.byteLength);
  const modules = threads.filter((thread) => {
    const path = join(INSIDE, thread.replace(/\.ts$/, ".js"));
    return !file.includes(path) && !file.includes(path.replaceAll("/", "\\"));
  });
  return [...modules, ...console.filter(({ bytes }) => !file.includes(bytes)).map(({ path }) => path)];
}
