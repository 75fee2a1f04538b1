// Starts a script of this package under the Bun program that npm installed, and passes signals and the exit code on.
// Bun's program is in the optional platform package of `bun`, which npm installs even when install scripts are off
// (npm 12, --ignore-scripts). The install script moves it to `bun/bin/bun.exe`, which is a placeholder until then.
// https://bun.com/docs/installation
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join, sep } from "node:path";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";

export const packageFolder = dirname(dirname(fileURLToPath(import.meta.url)));

const SMALLEST_PROGRAM_BYTES = 1_000_000;
const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2"];

/**
 * Runs `script` (an absolute path) with `args` and ends this process as the script ends. A checkout first installs what
 * is missing; an installed package says what is missing and exits with 1. `development` requires the dev dependencies
 * too. `withConsole` builds the files of the web console first where a checkout has none, or older ones than its source.
 */
export function start(script, args, { development = false, withConsole = false } = {}) {
  const manifest = readManifest(packageFolder);
  if (Number.parseInt(process.versions.node, 10) < 20)
    fail(`Node ${manifest.engines.node.replace(">=", "")} or newer is needed; this is ${process.version}.`);

  const builds = withConsole && isCheckout(packageFolder) && consoleIsOld();
  let missing = missingParts(manifest, development);
  const wanted = builds ? [...missing, ...missingPackages(consoleDependencies())] : missing;
  if (wanted.length > 0 && isCheckout(packageFolder)) {
    install(wanted, development);
    missing = missingParts(manifest, development);
  }
  if (missing.length > 0)
    fail(
      `${missing.join(", ")}: not installed. Install ${manifest.name} again with its optional dependencies (no --omit=optional).`,
    );
  if (!existsSync(script)) fail(`${script} is missing. Install ${manifest.name} again.`);
  if (builds) buildConsole();
  run(bunProgram(packageFolder), [...isolation(packageFolder), script, ...args]);
}

const consoleFolder = join(packageFolder, "console");

function consoleDependencies() {
  return Object.entries(readManifest(consoleFolder).dependencies);
}

/** Whether the console has a source here that is newer than what was built of it. */
function consoleIsOld() {
  const script = join(consoleFolder, "build.ts");
  if (!existsSync(script)) return false;
  const built = statSync(join(consoleFolder, "dist", "index.html"), { throwIfNoEntry: false });
  if (built === undefined) return true;
  const sources = readdirSync(join(consoleFolder, "src"), { recursive: true, withFileTypes: true });
  const paths = [script, ...sources.map((entry) => join(entry.parentPath ?? entry.path, entry.name))];
  return paths.some((path) => statSync(path).mtimeMs > built.mtimeMs);
}

/** The gateway serves calls without the console too, so a failure is told and does not end the start. */
function buildConsole() {
  const built = spawnSync(
    bunProgram(packageFolder),
    [...isolation(packageFolder), join(consoleFolder, "build.ts"), join(consoleFolder, "dist")],
    { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" },
  );
  if (built.status !== 0) say(`the web console could not be built and is not served: ${built.stderr.trim()}`);
}

/**
 * Without these options, Bun runs code of the folder in which it is started (preloads of its bunfig.toml, a path alias
 * `*` of its tsconfig.json) and reads its .env files.
 */
export function isolation(folder) {
  return [
    "--no-env-file",
    `--config=${join(folder, "bunfig.toml")}`,
    `--tsconfig-override=${join(folder, "tsconfig.json")}`,
    "--no-install",
  ];
}

/**
 * Bun's `fetch`, which integrations and an operator's callback module use, runs at most 256 requests at once unless this
 * variable is set before the process starts. An operator's own value stays.
 */
export function environment(given) {
  return { BUN_CONFIG_MAX_HTTP_REQUESTS: "65535", ...given };
}

/** The path of the real program of the `bun` that this package sees, or undefined. */
export function bunProgram(folder) {
  const bun = packageOf("bun", folder);
  if (bun === undefined) return undefined;
  const { version } = readManifest(bun);
  const name = process.platform === "win32" ? "bun.exe" : "bun";
  // A folder above may have the platform package of another version, for another package that needs Bun.
  const platform = platformPackages()
    .map((id) => packageOf(id, folder, version) ?? packageOf(id, bun, version))
    .filter((found) => found !== undefined);
  return [...platform.map((found) => join(found, "bin", name)), join(bun, "bin", "bun.exe")].find(isProgram);
}

function platformPackages() {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const base = `@oven/bun-${system === "android" ? "linux" : system}-${process.arch === "arm64" ? "aarch64" : process.arch}`;
  if (system === "android") return [`${base}-android`];
  const names = system === "linux" && isMusl() ? [`${base}-musl`, base] : [base];
  return names.flatMap((id) => [id, `${id}-baseline`]);
}

/** Whether programs of this Linux use musl in place of glibc. */
export function isMusl() {
  if (!process.report) return existsSync("/etc/alpine-release");
  process.report.excludeNetwork = true;
  return !process.report.getReport().header.glibcVersionRuntime;
}

function isProgram(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.isFile() && found.size >= SMALLEST_PROGRAM_BYTES;
}

/**
 * The folder of an installed package, found as Node finds it: in node_modules of `from` and of every folder above. Links
 * are followed (pnpm).
 */
function packageOf(name, from, version) {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(join(found, "package.json")) && (version === undefined || readManifest(found).version === version))
      return realpathSync(found);
    if (dirname(folder) === folder) return undefined;
  }
}

function missingParts(manifest, development) {
  const asked = Object.entries({ ...manifest.dependencies, ...(development ? manifest.devDependencies : {}) });
  const missing = missingPackages(asked);
  if (missing.length === 0 && bunProgram(packageFolder) === undefined)
    missing.push(`the program of bun ${manifest.dependencies.bun} for ${process.platform} ${process.arch}`);
  return missing;
}

function missingPackages(asked) {
  return asked
    .filter(([name]) => packageOf(name, packageFolder) === undefined)
    .map(([name, version]) => `${name} ${version}`);
}

function isCheckout(folder) {
  return existsSync(join(folder, "package-lock.json")) && !folder.split(sep).includes("node_modules");
}

/** `npm ci` replaces the folder, so an existing one is only completed: processes may be running from it. */
function install(missing, development) {
  const flags = [
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    "--include=optional",
    ...(development ? ["--include=dev"] : []),
  ];
  const complete = ["install", "--no-save", ...flags];
  const attempts = existsSync(join(packageFolder, "node_modules")) ? [complete] : [["ci", ...flags], complete];
  const what = missing.length > 3 ? `${missing.length} packages` : missing.join(", ");
  for (const args of attempts) {
    say(`not installed yet: ${what}; running npm ${args.join(" ")}`);
    const done = spawnSync("npm", args, {
      cwd: packageFolder,
      stdio: ["ignore", 2, 2],
      shell: process.platform === "win32",
    });
    if (done.error) fail(`npm could not be started: ${done.error.message}`);
    if (done.signal) process.exit(128 + constants.signals[done.signal]);
    if (done.status === 0) return;
  }
}

/**
 * The channel carries no message: it closes when this process ends, also by `kill -9`, and the gateway then stops
 * (src/cli/launcher.ts). The variable says that the channel is the launcher's. Bun's program for Windows has no channel.
 */
function run(program, args) {
  let child;
  // The handlers are set before the child exists, because a signal in between would end this process alone. A terminal
  // sends Ctrl-C to the whole foreground group; if it were forwarded too, the child would count two signals.
  for (const signal of FORWARDED)
    process.on(signal, () => (signal === "SIGINT" && isatty(0) ? undefined : child.kill(signal)));
  const hasChannel = process.platform !== "win32";
  child = spawn(program, args, {
    stdio: hasChannel ? ["inherit", "inherit", "inherit", "ipc"] : "inherit",
    env: { ...environment(process.env), ...(hasChannel && { DRAGOMAN_LAUNCHER: String(process.pid) }) },
  });
  followParent(child);
  child.on("error", (error) => fail(`${program} could not be started: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    for (const forwarded of FORWARDED) process.removeAllListeners(forwarded);
    process.kill(process.pid, signal);
    // Some signals do not end a Node process, such as one that is ignored here.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
  });
}

/** npm does not forward signals: when npm has ended, the signal was meant for the gateway, which then drains. */
function followParent(child) {
  if (process.env["npm_lifecycle_event"] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    child.kill("SIGTERM");
  }, 250);
  timer.unref();
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function say(message) {
  process.stderr.write(`dragoman: ${message}\n`);
}

function fail(message) {
  say(message);
  process.exit(1);
}
