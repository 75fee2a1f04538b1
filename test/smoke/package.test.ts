// The published package: what is in it, and that it runs from an empty folder with install scripts off, which is how npm 12 installs it.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageFolder } from "../../bin/runtime.mjs";
import lock from "../../package-lock.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };

const INSTALL_TIMEOUT_MS = 180_000;
const scratch = mkdtempSync(join(tmpdir(), "dragoman-package-"));
const project = join(scratch, "project");
let tarball = "";
let contents: readonly string[] = [];

interface Run {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

async function run(command: readonly string[], cwd: string): Promise<Run> {
  // npm tells its settings to what it starts: the npm under test begins without them, but for where packages come from
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^npm_(?!config_(registry|cache|cafile|proxy|https_proxy|userconfig|globalconfig)$)/i.test(name),
  );
  const child = Bun.spawn([...command], {
    cwd,
    env: Object.fromEntries(kept),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, exitCode };
}

beforeAll(async () => {
  const built = await run(["npm", "run", "console:build"], packageFolder);
  if (built.exitCode !== 0) throw new Error(`npm run console:build: ${built.stderr}`);
  const packed = await run(["npm", "pack", "--json", "--ignore-scripts", "--pack-destination", scratch], packageFolder);
  if (packed.exitCode !== 0) throw new Error(`npm pack: ${packed.stderr}`);
  // a list up to npm 11, an object by package name from npm 12
  const report = Object.values(
    JSON.parse(packed.stdout) as Record<
      string,
      { readonly filename: string; readonly files: readonly { readonly path: string }[] }
    >,
  )[0];
  if (report === undefined) throw new Error("npm pack told no package");
  tarball = join(scratch, report.filename);
  contents = report.files.map(({ path }) => path);

  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{"name": "somebody", "version": "1.0.0", "private": true}\n');
  const installed = await run(
    ["npm", "install", tarball, "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"],
    project,
  );
  if (installed.exitCode !== 0) throw new Error(`npm install: ${installed.stderr}`);
}, INSTALL_TIMEOUT_MS);

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

test("the package holds what it runs from", () => {
  for (const path of [
    "package.json",
    "LICENSE",
    "README.md",
    "bunfig.toml",
    "tsconfig.json",
    "bin/dragoman.mjs",
    "bin/runtime.mjs",
    "src/main.ts",
    "console/dist/index.html",
  ])
    expect(contents).toContain(path);
});

test("the package holds no tests, no data, no secrets, no packages and no development scripts", () => {
  const strangers = contents.filter((path) =>
    /^(test|bench|data|node_modules|\.ci|\.git)\/|\.(test|suite)\.ts$|(^|\/)\.env|\.(sqlite|db|tgz|log)$|^bin\/run\.mjs$|^docs\/.*\.ts$|^console\/(?!dist\/)|package-lock\.json$/.test(
      path,
    ),
  );
  expect(strangers).toEqual([]);
  const known =
    /^(bin|src|docs|examples|deploy|console)\/|^(package\.json|bunfig\.toml|tsconfig\.json|dragoman\.schema\.json|LICENSE|[A-Z]+\.md)$/;
  expect(contents.filter((path) => !known.test(path))).toEqual([]);
});

test("installed without development packages and without install scripts, the command runs", async () => {
  expect(existsSync(join(project, "node_modules", "dragoman", "bin", "dragoman.mjs"))).toBe(true);
  const entries = Object.entries(lock.packages as Readonly<Record<string, { readonly dev?: boolean }>>);
  const nameOf = (path: string): string => path.slice(path.lastIndexOf("node_modules/"));
  // in a version of their own beside ours, packages that we develop with may be needed all the same
  const needed = new Set(entries.flatMap(([path, entry]) => (entry.dev === true ? [] : [nameOf(path)])));
  const development = entries.flatMap(([path, entry]) =>
    entry.dev === true && !needed.has(nameOf(path)) ? [path] : [],
  );
  expect(development.length).toBeGreaterThan(0);
  expect(development.filter((path) => existsSync(join(project, path)))).toEqual([]);
  const version = await run(["npx", "--no-install", "dragoman", "version"], project);
  expect(version).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(manifest.version) as string });
});

test("a wrong command is reported with an exit code, through npx too", async () => {
  const wrong = await run(["npx", "--no-install", "dragoman", "no-such-command"], project);
  expect(wrong.exitCode).not.toBe(0);
  expect(wrong.stdout + wrong.stderr).toContain("no-such-command");
});

test("[d14.6] a start from a folder that has no such package names a command that runs there", async () => {
  const elsewhere = join(scratch, "elsewhere");
  mkdirSync(elsewhere);
  const launcher = join(project, "node_modules", ".bin", "dragoman");
  const child = Bun.spawn(["node", launcher, "serve", "--port", "0"], { cwd: elsewhere, stdout: "pipe" });
  let output = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += text;
    if (output.includes("console link")) child.kill();
  }
  expect(await child.exited).toBe(0);
  const [, command] = /with: (.*) --data/.exec(output)!;
  expect(command).toEndWith(" console link");
  const help = await run(["bash", "-c", `${command!} --help`], elsewhere);
  expect(help).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("--user <id>") as string });
});
