// Properties of the repository: exact versions, a lock file without addresses, and no path of the machine on which it
// was written.
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { Glob, semver } from "bun";
import { packageFolder } from "../../bin/runtime.mjs";
import consoleManifest from "../../console/package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };

const MAX_TEXT_BYTES = 2_000_000;
/** Folders that every machine has, or that a temporary checkout stands in. */
const ORDINARY_FOLDERS = /^(\/|\/(tmp|var|usr|opt|home|srv|app|mnt|build|builds|github|workspace)(\/.*)?|[A-Z]:\\?)$/;

/** What git tracks or would track; without git, everything but what .gitignore names. */
function projectFiles(): readonly string[] {
  const listed = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: packageFolder,
    encoding: "utf8",
  });
  const paths =
    listed.status === 0
      ? listed.stdout.split("\0").filter((path) => path !== "")
      : [...new Glob("**/*").scanSync({ cwd: packageFolder, dot: true })].filter(
          (path) => !/^(node_modules|data|\.git)\//.test(path),
        );
  return paths.filter((path) => existsSync(join(packageFolder, path)) && statSync(join(packageFolder, path)).isFile());
}

/** Lines of text files that match, as `path:line text`. */
function linesWith(pattern: RegExp, except: readonly string[] = []): readonly string[] {
  return projectFiles()
    .filter((path) => !except.includes(path) && statSync(join(packageFolder, path)).size <= MAX_TEXT_BYTES)
    .flatMap((path) => {
      const text = readFileSync(join(packageFolder, path), "utf8");
      return text.includes("\0")
        ? []
        : text
            .split("\n")
            .flatMap((line, index) =>
              pattern.test(line) ? [`${path}:${index + 1} ${line.trim().slice(0, 120)}`] : [],
            );
    });
}

test("the oldest Node that package.json names is one that every dependency takes, and the pages name it too", () => {
  const oldest = manifest.engines.node.replace(">=", "");
  const refusing = Object.entries(
    lock.packages as Readonly<
      Record<string, { readonly engines?: { readonly node?: string }; readonly dev?: boolean }>
    >,
  )
    .filter(
      ([, { engines, dev }]) => dev !== true && engines?.node !== undefined && !semver.satisfies(oldest, engines.node),
    )
    .map(([name, { engines }]) => `${name} ${engines!.node}`);
  expect(refusing).toEqual([]);
  for (const page of ["README.md", "CONTRIBUTING.md", "docs/install.md", "docs/operations.md"])
    expect([page, readFileSync(join(packageFolder, page), "utf8")]).toEqual([
      page,
      expect.stringContaining(`Node ${oldest.replace(/\.0$/, "")} or newer`),
    ]);
});

test("the lock file records no download address and agrees with package.json", () => {
  const packages = lock.packages as Readonly<Record<string, { readonly resolved?: string; readonly link?: boolean }>>;
  const addresses = Object.entries(packages).flatMap(([name, { resolved, link }]) =>
    resolved === undefined || (link === true && manifest.workspaces.includes(resolved)) ? [] : [name],
  );
  expect(addresses).toEqual([]);
  expect(readFileSync(join(packageFolder, "package-lock.json"), "utf8")).not.toMatch(/https?:\/\/[^"]*\.tgz/);
  expect(lock.packages[""]).toMatchObject({
    version: manifest.version,
    dependencies: manifest.dependencies,
    devDependencies: manifest.devDependencies,
  });
  expect(lock.packages.console).toMatchObject({
    dependencies: consoleManifest.dependencies,
    devDependencies: consoleManifest.devDependencies,
  });
});

test("the lock file holds the packages of every platform, without which npm ci refuses it", () => {
  const packages = lock.packages as Readonly<
    Record<string, { readonly version?: string; readonly optionalDependencies?: Readonly<Record<string, string>> }>
  >;
  /** As Node looks for it: below the package that asks, then below each folder above. */
  const lockedVersion = (from: string, name: string): string | undefined => {
    const below = packages[`${from === "" ? "" : `${from}/`}node_modules/${name}`];
    if (below !== undefined || from === "") return below?.version;
    return lockedVersion(
      from.includes("/node_modules/") ? from.slice(0, from.lastIndexOf("/node_modules/")) : "",
      name,
    );
  };
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies).flatMap(([name, version]) =>
      /^\d/.test(version) && lockedVersion(path, name) !== version ? [`${name} ${version} for ${path}`] : [],
    ),
  );
  expect(missing).toEqual([]);
});

test("every version is exact, so that an old Node does not choose an older major", () => {
  const loose = [manifest, consoleManifest]
    .flatMap(({ dependencies, devDependencies }) => Object.entries({ ...dependencies, ...devDependencies }))
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
  expect(loose).toEqual([]);
});

test("every package with an install script is named in allowScripts, which npm 12 asks for", () => {
  const scripted = Object.entries(
    lock.packages as Readonly<Record<string, { readonly hasInstallScript?: boolean; readonly optional?: boolean }>>,
  )
    .filter(([, entry]) => entry.hasInstallScript === true && entry.optional !== true)
    .map(([path]) => path.replace(/^.*node_modules\//, ""));
  expect(scripted.filter((name) => !(name in manifest.allowScripts))).toEqual([]);
});

test("no file names a path of the machine it was written on", () => {
  const own = [homedir(), packageFolder, dirname(packageFolder)].filter((folder) => !ORDINARY_FOLDERS.test(folder));
  for (const folder of own)
    expect(linesWith(new RegExp(`(^|[^A-Za-z0-9_.-])${RegExp.escape(folder)}([/\\\\]|$)`))).toEqual([]);
  expect(linesWith(/(^|[^\w.-])\/(home|Users)\/(?!runner\b|user\b|you\b|node\b|bun\b|dragoman\b)[a-z]\w*\//)).toEqual(
    [],
  );
});

test("no file chooses where packages come from", () => {
  expect(
    linesWith(/^\s*(@[\w-]+:)?registry\s*=|--registry[= ]|_authToken/, ["test/packaging/repository.test.ts"]),
  ).toEqual([]);
});

test("no test is permanently disabled, and no work is left open", () => {
  const marks = ["to-do", "fix-me"].map((mark) => `\\b${mark.replace("-", "").toUpperCase()}\\b`);
  const open = new RegExp(["\\b(it|test|describe)\\.(only|skip|todo)\\(", ...marks].join("|"));
  expect(linesWith(open).filter((line) => /^[^:]*\.(ts|tsx|mjs|md):/.test(line))).toEqual([]);
});
