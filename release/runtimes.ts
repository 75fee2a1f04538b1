// Runtimes of other systems, which npm downloads and checks against the registry's hash. They have the version of the
// runtime with which the project is developed.
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { ownTarget, type Target } from "./targets.ts";

/** Undefined for the system of this machine. Throws with npm's message when the runtime cannot be installed. */
export async function foreignRuntime(
  target: Target,
): Promise<{ readonly target: Target; readonly runtime: string } | undefined> {
  return target.name === ownTarget() ? undefined : { target, runtime: await downloadedRuntime(target) };
}

async function downloadedRuntime({ runtime, ending }: Target): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-runtime-"));
  const version = manifest.dependencies.bun;
  // The package is for another system, which only --force installs.
  const flags = ["--force", "--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = Bun.spawn(["npm", "install", ...flags, "--prefix", folder, `${runtime}@${version}`], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const [told, code] = await Promise.all([npm.stderr.text(), npm.exited]);
  const path = join(folder, "node_modules", runtime, "bin", `bun${ending}`);
  if (code !== 0 || !existsSync(path)) throw new Error(`npm could not install ${runtime} ${version}: ${told.trim()}`);
  return path;
}
