// `npm run release:image [-- --platform linux/arm64] [--base <image> | --debian] [--out <folder>]`: builds the image of
// the gateway with buildah and writes it as an archive for `docker load` and `podman load`. With `--debian` the base is made of packages of the Debian on
// which it runs, for machines that reach no registry.
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };
import { run } from "./command.ts";
import { makeDebianBase } from "./debian-base.ts";
import { buildExecutable } from "./executable.ts";
import { foreignRuntime } from "./runtimes.ts";
import { billOfMaterials } from "./sbom.ts";
import { PROJECT, readSource } from "./source.ts";
import { targetNamed } from "./targets.ts";

const CONTAINERFILE = join(PROJECT, "deploy/container/Containerfile");
/** Targets and Debian's names of the architectures, by the platform of the image. */
const PLATFORMS: Readonly<Record<string, { readonly target: string; readonly debian: string }>> = {
  "linux/amd64": { target: "linux-x64", debian: "amd64" },
  "linux/arm64": { target: "linux-arm64", debian: "arm64" },
};
/** Nothing runs while the image is built. Docker's format has a place for the health check, which OCI's lacks. */
const BUILD = ["build", "--isolation", "chroot", "--format", "docker", "--timestamp"];

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    platform: { type: "string" },
    base: { type: "string" },
    debian: { type: "boolean", default: false },
    out: { type: "string" },
    name: { type: "string" },
  },
});
const platform = values.platform ?? (process.arch === "arm64" ? "linux/arm64" : "linux/amd64");
const known = PLATFORMS[platform];
if (known === undefined) throw new Error(`--platform has to be one of ${Object.keys(PLATFORMS).join(", ")}.`);
if (Bun.which("buildah") === null)
  throw new Error("Building an image needs the program buildah: apt-get install buildah");
const out = resolve(values.out ?? join(PROJECT, "release", "out", manifest.version));
const name = values.name ?? `dragoman:${manifest.version}`;
const { commit, madeAt } = await readSource();
const scratch = mkdtempSync(join(tmpdir(), "dragoman-image-"));
try {
  const context = join(scratch, "context");
  mkdirSync(join(context, "data"), { recursive: true, mode: 0o700 });
  const foreign = await foreignRuntime(targetNamed(known.target));
  await buildExecutable({ path: join(context, "dragoman"), foreign });
  chmodSync(join(context, "dragoman"), 0o755);
  copyFileSync(join(PROJECT, "LICENSE"), join(context, "LICENSE"));
  writeFileSync(join(context, "sbom.cdx.json"), `${JSON.stringify(billOfMaterials(madeAt), null, 2)}\n`);
  const base = values.debian ? await debianImage(join(scratch, "base"), known.debian) : values.base;
  const build = (key: string, value: string): string[] => ["--build-arg", `${key}=${value}`];
  await run(
    [
      "buildah",
      ...BUILD,
      String(madeAt),
      "--platform",
      platform,
      "--file",
      CONTAINERFILE,
      "--tag",
      name,
      ...build("VERSION", manifest.version),
      ...build("REVISION", commit),
      ...(base === undefined ? [] : build("BASE", base)),
      context,
    ],
    scratch,
  );
  mkdirSync(out, { recursive: true });
  const archive = join(out, `dragoman-${manifest.version}-${platform.replace("/", "-")}.image.tar`);
  rmSync(archive, { force: true });
  await run(["buildah", "push", name, `docker-archive:${archive}:${name}`], scratch);
  process.stderr.write(`release: the image ${name} is in ${archive}\n`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** An image of nothing but the base. Returns its name. */
async function debianImage(folder: string, architecture: string): Promise<string> {
  mkdirSync(folder, { mode: 0o755 });
  await makeDebianBase(folder, architecture);
  const file = join(scratch, "Base");
  writeFileSync(file, "FROM scratch\nCOPY . /\n");
  const tag = `localhost/dragoman-base:${architecture}`;
  await run(
    ["buildah", ...BUILD, String(madeAt), "--platform", `linux/${architecture}`, "--file", file, "--tag", tag, folder],
    scratch,
  );
  return tag;
}
