// Builds the console's static files: `node bin/run.mjs console/build.ts [folder]` writes console/dist, or the folder that is named.
// Scripts are bundled and split by Bun, and import each other by relative names; the style sheets are joined here, because Bun's bundler replaces `light-dark()` by what follows the
// system's theme only. Names in assets/ contain a hash of what the file holds. https://bun.com/docs/bundler
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { licencesOf } from "./bundled-licences.ts";
import { Starting } from "./src/shell/starting.tsx";

/** Where the gateway serves the files. In the shell, it puts the path before it under which a proxy has the gateway. */
const PUBLIC_PATH = "/console/";
const ASSETS = "assets";
const STYLE_SHEETS = ["tokens", "elements", "shell", "parts", "tables", "screens", "play", "configured", "charts"];

export interface BuiltFile {
  /** From the folder of the build, such as `assets/main-1a2b3c4d.js`. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** `initial` files are loaded with every page, `lazy` ones with the first screen that needs them, `linked` ones when somebody follows a link. */
  readonly use: "shell" | "initial" | "lazy" | "linked";
}

export async function buildConsole(): Promise<readonly BuiltFile[]> {
  const source = join(import.meta.dir, "src");
  const { scripts, sources } = await bundled(join(source, "main.tsx"), "esm");
  const early = await bundled(join(source, "theme-start.ts"), "iife");
  const [theme] = early.scripts;
  const licences = licencesOf([...sources, ...early.sources]);
  const style = styleSheet(source);
  const initial = loadedAtStart(scripts);
  const shell = readFileSync(join(source, "shell.html"), "utf8")
    .replace("{{theme}}", PUBLIC_PATH + theme!.path)
    .replace("{{style}}", PUBLIC_PATH + style.path)
    .replace("{{starting}}", renderToStaticMarkup(createElement(Starting)))
    .replace("{{main}}", PUBLIC_PATH + scripts.find(({ isEntry }) => isEntry)!.path);
  return [
    { path: "index.html", bytes: new TextEncoder().encode(shell), use: "shell" },
    { path: "licences.txt", bytes: new TextEncoder().encode(licences), use: "linked" },
    { ...style, use: "initial" },
    { path: theme!.path, bytes: theme!.bytes, use: "initial" },
    ...scripts.map(({ path, bytes }) => ({
      path,
      bytes,
      use: initial.has(path) ? ("initial" as const) : ("lazy" as const),
    })),
  ];
}

interface Script {
  readonly path: string;
  readonly isEntry: boolean;
  readonly bytes: Uint8Array;
}

interface Bundle {
  readonly scripts: readonly Script[];
  /** Paths of the files of which the scripts contain something. */
  readonly sources: ReadonlySet<string>;
}

/** `iife` is for a script that runs while the page is parsed, and so is one file. */
async function bundled(entry: string, format: "esm" | "iife"): Promise<Bundle> {
  const built = await Bun.build({
    entrypoints: [entry],
    target: "browser",
    format,
    splitting: format === "esm",
    minify: true,
    metafile: true,
    naming: { entry: `${ASSETS}/[name]-[hash].[ext]`, chunk: `${ASSETS}/[name]-[hash].[ext]` },
    define: { "process.env.NODE_ENV": '"production"' },
    jsx: { runtime: "automatic", development: false },
  });
  const scripts = await Promise.all(
    built.outputs.map(async (output) => ({
      path: `${ASSETS}/${basename(output.path)}`,
      isEntry: output.kind === "entry-point",
      bytes: new Uint8Array(await output.arrayBuffer()),
    })),
  );
  const contained = Object.values(built.metafile!.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [resolve(path)] : [])),
  );
  return { scripts, sources: new Set(contained) };
}

/** The entry and what it imports with `import ... from`, directly or through others. */
function loadedAtStart(scripts: readonly Script[]): ReadonlySet<string> {
  const reached = new Set<string>();
  const waiting = scripts.filter(({ isEntry }) => isEntry);
  for (let script = waiting.pop(); script !== undefined; script = waiting.pop()) {
    if (reached.has(script.path)) continue;
    reached.add(script.path);
    const text = new TextDecoder().decode(script.bytes);
    for (const [, name] of text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)) {
      const found = scripts.find(({ path }) => path === `${ASSETS}/${name}`);
      if (found !== undefined) waiting.push(found);
    }
  }
  return reached;
}

function styleSheet(source: string): Omit<BuiltFile, "use"> {
  const text = STYLE_SHEETS.map((name) => compacted(readFileSync(join(source, "style", `${name}.css`), "utf8"))).join(
    "",
  );
  const hash = Bun.hash(text).toString(36).padStart(8, "0").slice(-8);
  return { path: `${ASSETS}/style-${hash}.css`, bytes: new TextEncoder().encode(text) };
}

/** Without comments and indentation; the sheets contain no strings with such characters. */
function compacted(css: string): string {
  return css
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([{};,]) ?/g, "$1")
    .trim();
}

/** The folder is replaced as a whole, so that a gateway never serves a shell whose files are missing. */
export function writeFiles(files: readonly BuiltFile[], folder: string): void {
  const next = `${folder}.${process.pid}`;
  rmSync(next, { recursive: true, force: true });
  mkdirSync(join(next, ASSETS), { recursive: true });
  for (const { path, bytes } of files) writeFileSync(join(next, path), bytes);
  // Another process may write the same folder at the same time.
  for (let attempt = 1; ; attempt++) {
    rmSync(folder, { recursive: true, force: true });
    try {
      renameSync(next, folder);
      return;
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === "ENOTEMPTY" && attempt < MOST_ATTEMPTS) continue;
      rmSync(next, { recursive: true, force: true });
      throw thrown;
    }
  }
}

const MOST_ATTEMPTS = 20;

if (import.meta.main) {
  const folder = process.argv[2] ?? join(import.meta.dir, "dist");
  const files = await buildConsole();
  writeFiles(files, folder);
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0);
  process.stderr.write(
    `console: ${files.length} files, ${Math.round(bytes / 1000)} kB, in ${relative(process.cwd(), folder)}\n`,
  );
}
