// What runs the executable elsewhere: the image's file and the unit of systemd, as far as they can be judged without an
// engine. Building and running the image is part of making a release.
import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { runCli } from "../harness/processes/gateway-process.ts";
import { projectFolder as PROJECT } from "../harness/processes/gateway-program.ts";

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

test("the unit is started again however often the database is away, and after a reload that came too early", () => {
  const set = (name: string): string | undefined => new RegExp(`^${name}=(.*)$`, "m").exec(UNIT)?.[1];
  expect([set("StartLimitIntervalSec"), set("Restart"), set("RestartForceExitStatus")]).toEqual([
    "0",
    "on-failure",
    "SIGHUP",
  ]);
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
    writeFileSync(
      unit,
      UNIT.replaceAll("/usr/local/bin/dragoman", JSON.stringify(process.execPath).replaceAll("%", "%%")),
    );
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

describe("the files of Compose", () => {
  const folder = join(DEPLOY, "compose");
  const read = (name: string): Composed => parse(readFileSync(join(folder, name), "utf8")) as Composed;
  const alone = read("compose.yaml");
  const shared = read("compose.shared.yaml");

  test("set only variables that the gateway knows, and mount where the image writes and the variables point", () => {
    const page = readFileSync(join(import.meta.dir, "../../docs/configuration.md"), "utf8");
    const variables = [alone, shared].flatMap(({ services }) => Object.keys(services["gateway"]!.environment));
    expect(variables.length).toBeGreaterThan(1);
    expect(variables.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
    const { environment, volumes, ports, read_only: isReadOnly } = alone.services["gateway"]!;
    const targets = volumes!.map((volume) => volume.split(":")[1]);
    expect(targets).toEqual([of("VOLUME")[0], environment["DRAGOMAN_CONFIG"]]);
    expect(ports).toEqual([`127.0.0.1:4100:${of("EXPOSE")[0]}`]);
    expect(isReadOnly).toBe(true);
  });

  test("give the key that encrypts the secrets of the database to the gateway alone", () => {
    const page = readFileSync(join(import.meta.dir, "../../docs/install.md"), "utf8");
    const files = (name: string): readonly string[] => shared.services[name]!.env_file ?? [];
    expect(page).toContain("DRAGOMAN_MASTER_KEY=$(openssl");
    const [, sharedFile] = /cat > (\S+\.env) <<END\n(?:\w+=.*\n)*DRAGOMAN_MASTER_KEY=/.exec(page)!;
    expect(files("gateway")).toContain(sharedFile!);
    for (const name of Object.keys(shared.services)) {
      if (name !== "gateway") expect([name, files(name).includes(sharedFile!)]).toEqual([name, false]);
      for (const file of files(name).filter((one) => one !== "provider-keys.env")) expect(page).toContain(`> ${file}`);
    }
  });

  test("wait for services that exist and have a health check, and declare each volume", () => {
    for (const { services, volumes } of [alone, shared]) {
      for (const { depends_on: needed = {}, volumes: mounted = [] } of Object.values(services)) {
        for (const name of Object.keys(needed)) expect(services[name]!.healthcheck).toBeDefined();
        const named = mounted.map((volume) => volume.split(":")[0]!).filter((source) => !source.startsWith("."));
        expect(named.filter((name) => !Object.hasOwn(volumes, name))).toEqual([]);
      }
    }
    const store = new URL(shared.services["gateway"]!.environment["DRAGOMAN_LIMIT_STORE_URL"]!);
    expect(Object.keys(shared.services)).toContain(store.hostname);
  });

  test("stop the gateway later than it ends by itself, with a configuration that it accepts", async () => {
    const configuration = join(folder, "dragoman.yaml");
    const checked = await runCli(["check", configuration]);
    expect([checked.code, checked.stderr]).toEqual([0, ""]);
    const { server } = parse(readFileSync(configuration, "utf8")) as { readonly server: { readonly drain_s: number } };
    expect(Number.parseInt(alone.services["gateway"]!.stop_grace_period!)).toBeGreaterThan(server.drain_s);
  });
});

test("the workflow of a release runs scripts that exist, with no more rights than it needs", () => {
  const workflow = parse(readFileSync(join(PROJECT, ".github/workflows/release.yml"), "utf8")) as Workflow;
  expect(workflow.permissions).toEqual({ contents: "read" });
  const commands = Object.values(workflow.jobs).flatMap(({ steps }) =>
    steps.flatMap(({ run = "" }) => run.split("\n")),
  );
  const scripts = commands.flatMap((command) => /^npm (?:run )?(test|[\w:]+)/.exec(command)?.[1] ?? []);
  const known = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")) as Manifest;
  expect(scripts.toSorted()).toEqual(
    ["ci", "lint", "release", "release:image", "release:image", "test", "typecheck"].toSorted(),
  );
  expect(scripts.filter((name) => name !== "ci" && !Object.hasOwn(known.scripts, name))).toEqual([]);
});

interface Composed {
  readonly services: Readonly<Record<string, ComposedService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}
interface ComposedService {
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly read_only?: boolean;
  readonly env_file?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly healthcheck?: unknown;
  readonly stop_grace_period?: string;
}
interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}
interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
}
