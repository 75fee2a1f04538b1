// What runs the executable elsewhere: the image's file and the unit of systemd, as far as they can be judged without an
// engine. Building and running the image is part of making a release.
import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const DEPLOY = join(import.meta.dir, "../../deploy");
const containerfile = readFileSync(join(DEPLOY, "container/Containerfile"), "utf8");
const UNIT = readFileSync(join(DEPLOY, "systemd/dragoman.service"), "utf8");
const analyze = Bun.which("systemd-analyze");
if (analyze === null) console.log("skipped: the unit of systemd, because there is no systemd-analyze here");

/** Instructions with the lines that continue them. */
const instructions = containerfile
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll("\\\n", " ")
  .split("\n")
  .filter((line) => line !== "");
const of = (name: string): readonly string[] =>
  instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));

test("the image needs no shell, and runs as a user without rights", () => {
  expect(of("RUN")).toEqual([]);
  expect(of("USER")).toEqual(["65532:65532"]);
  for (const command of [...of("ENTRYPOINT"), ...of("CMD"), of("HEALTHCHECK")[0]!.replace(/^.*CMD /, "")])
    expect(Array.isArray(JSON.parse(command))).toBe(true);
  expect(of("COPY").filter((line) => line.includes("/data"))).toEqual(["--chown=65532:65532 data /data"]);
});

test("what the image sets is known to the gateway", () => {
  const variables = of("ENV")[0]!.match(/\b[A-Z_]+(?==)/g)!;
  const page = readFileSync(join(import.meta.dir, "../../docs/configuration.md"), "utf8");
  const launcher = readFileSync(join(import.meta.dir, "../../bin/runtime.mjs"), "utf8");
  expect(variables.filter((name) => !page.includes(`\`${name}\``) && !launcher.includes(name))).toEqual([]);
});

test.skipIf(analyze === null)("systemd accepts the unit, and finds little that it could harm", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-unit-"));
  const unit = join(folder, "dragoman.service");
  const told = async (...args: readonly string[]): Promise<string> => {
    const child = Bun.spawn([analyze!, ...args], { stdin: "ignore", stderr: "pipe" });
    const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return out + errors;
  };
  try {
    // systemd looks for the program, which is not installed here.
    writeFileSync(unit, UNIT.replaceAll("/usr/local/bin/dragoman", process.execPath));
    // Units of the machine itself may be at fault too.
    const faults = (await told("verify", unit)).split("\n").filter((line) => line.includes("dragoman.service"));
    expect(faults).toEqual([]);
    const [, level = "10"] =
      /exposure level for dragoman\.service: ([\d.]+)/.exec(await told("security", "--offline=yes", unit)) ?? [];
    expect(Number(level)).toBeLessThan(2);
    // The judge can fail.
    writeFileSync(unit, UNIT.replace("Type=exec", "Type=nonsense"));
    expect(await told("verify", unit)).toContain("nonsense");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
