// The launcher: Node starts it and Bun runs the program, wherever npm put it; the working directory has no influence.
import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { bunProgram, isolation, packageFolder } from "../../bin/runtime.mjs";
import manifest from "../../package.json" with { type: "json" };

const scratch = realpathSync(mkdtempSync(join(tmpdir(), "dragoman-launcher-")));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const PROBE = `
console.log(JSON.stringify({ args: process.argv.slice(2), cwd: process.cwd(), secret: process.env.SECRET ?? null, requests: process.env.BUN_CONFIG_MAX_HTTP_REQUESTS }));
const mode = process.argv[2];
if (mode === "exit") process.exit(Number(process.argv[3]));
if (mode === "die") process.kill(process.pid, process.argv[3]);
if (mode === "wait") {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => { console.log(signal); process.exit(40); });
  setInterval(() => {}, 1000);
  console.log("ready");
}
if (mode === "note") {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => { console.log(signal); if (signal === "SIGHUP") process.exit(40); });
  setInterval(() => {}, 1000);
  console.log("ready");
}
if (mode === "import") await import("aliased").then(() => console.log("imported"), (error) => console.log(error.message));
`;

/** A package that holds the launcher and a probe for src/main.ts, without node_modules. */
function makePackage(name: string): string {
  const folder = join(scratch, name);
  mkdirSync(join(folder, "src"), { recursive: true });
  for (const file of ["bin", "bunfig.toml", "tsconfig.json"])
    cpSync(join(packageFolder, file), join(folder, file), { recursive: true });
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({
      name: "dragoman",
      version: "0.0.0",
      type: "module",
      dependencies: { bun: manifest.dependencies.bun },
    }),
  );
  writeFileSync(join(folder, "src", "main.ts"), PROBE);
  return folder;
}

/** Bun as npm left it in this checkout, seen from another folder. */
function linkBun(folder: string): void {
  const program = bunProgram(packageFolder);
  if (program === undefined) throw new Error("no Bun program in this checkout");
  const from = dirname(dirname(program));
  const name = from.includes("@oven") ? join("@oven", from.split(/[\\/]/).at(-1) ?? "") : "bun";
  mkdirSync(join(folder, "node_modules", "@oven"), { recursive: true });
  symlinkSync(from, join(folder, "node_modules", name), "junction");
  if (name !== "bun")
    cpSync(
      join(packageFolder, "node_modules", "bun", "package.json"),
      join(folder, "node_modules", "bun", "package.json"),
      { recursive: true },
    );
}

interface Run {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

function start(
  folder: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string | undefined>> } = {},
): Bun.Subprocess<"ignore", "pipe", "pipe"> {
  const { BUN_CONFIG_MAX_HTTP_REQUESTS: _, ...inherited } = process.env;
  return Bun.spawn(["node", join(folder, "bin", "dragoman.mjs"), ...args], {
    cwd: options.cwd ?? folder,
    env: { ...inherited, ...options.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

async function run(...parameters: Parameters<typeof start>): Promise<Run> {
  const child = start(...parameters);
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return {
    stdout,
    stderr,
    exitCode: child.exitCode,
    signal: child.signalCode === null ? null : String(child.signalCode),
  };
}

function probed({ stdout }: Run): Record<string, unknown> {
  return JSON.parse(stdout.split("\n")[0] ?? "") as Record<string, unknown>;
}

const ready = makePackage("ready");
linkBun(ready);

describe("what the command gets", () => {
  test("its arguments unchanged, and the folder of its user", async () => {
    const elsewhere = join(scratch, "elsewhere");
    mkdirSync(elsewhere);
    const args = ["serve", "--data", "./data", "--config=mine.yaml", "--help", "two words", ""];
    expect(probed(await run(ready, args, { cwd: elsewhere }))).toMatchObject({ args, cwd: elsewhere });
  });

  test("room for 65535 requests at once, unless the user set another number", async () => {
    expect(probed(await run(ready, []))).toMatchObject({ requests: "65535" });
    expect(probed(await run(ready, [], { env: { BUN_CONFIG_MAX_HTTP_REQUESTS: "300" } }))).toMatchObject({
      requests: "300",
    });
  });
});

describe("the working directory decides nothing", () => {
  const hostile = join(scratch, "hostile");
  mkdirSync(hostile);
  writeFileSync(join(hostile, "bunfig.toml"), 'preload = ["./hostile.ts"]\n[install]\nauto = "force"\n');
  writeFileSync(join(hostile, "hostile.ts"), 'console.log("HOSTILE CODE RUNS");\n');
  writeFileSync(
    join(hostile, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { baseUrl: ".", paths: { "*": ["./hostile.ts"] } } }),
  );
  for (const name of [".env", ".env.local", ".env.development", ".env.production"])
    writeFileSync(join(hostile, name), "SECRET=from the folder\n");

  test("its bunfig.toml, tsconfig.json and .env files are not read, and nothing is downloaded", async () => {
    const { stdout, exitCode } = await run(ready, ["import"], { cwd: hostile });
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain("HOSTILE");
    expect(stdout).toContain("Cannot find package 'aliased'");
    expect(probed({ stdout, stderr: "", exitCode, signal: null })).toMatchObject({ cwd: hostile, secret: null });
  });

  test("and each flag is needed: without it Bun reads the file", async () => {
    const flags = isolation(ready);
    const without = async (dropped: string): Promise<string> => {
      const kept = flags.filter((flag) => !flag.startsWith(dropped));
      expect(kept).toHaveLength(flags.length - 1);
      const child = Bun.spawn([process.execPath, ...kept, join(ready, "src", "main.ts"), "import"], {
        cwd: hostile,
        env: { PATH: process.env["PATH"] },
        stdout: "pipe",
        stderr: "ignore",
      });
      return child.stdout.text();
    };
    expect(await without("--no-env-file")).toContain("from the folder");
    expect(await without("--config")).toStartWith("HOSTILE CODE RUNS");
    // the alias takes the place of the program itself
    expect(await without("--tsconfig-override")).toBe("HOSTILE CODE RUNS\n");
  });
});

describe("endings", () => {
  test("the exit code is passed on", async () => {
    expect(await run(ready, ["exit", "0"])).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await run(ready, ["exit", "7"])).toMatchObject({ exitCode: 7, stderr: "" });
  });

  test("a death by signal is passed on", async () => {
    for (const signal of ["SIGKILL", "SIGTERM"]) expect(await run(ready, ["die", signal])).toMatchObject({ signal });
  });

  test("SIGINT, SIGTERM and SIGHUP reach the command, which ends in its own way", async () => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      const child = start(ready, ["wait"]);
      let printed = "";
      const decoder = new TextDecoder();
      for await (const bytes of child.stdout) {
        printed += decoder.decode(bytes);
        if (printed.endsWith("ready\n")) child.kill(signal);
      }
      expect([await child.exited, printed.split("\n").at(-2)]).toEqual([40, signal]);
    }
  });

  test("each signal is passed on once", async () => {
    const child = start(ready, ["note"]);
    const next = { ready: "SIGTERM", SIGTERM: "SIGINT", SIGINT: "SIGHUP" } as const;
    const printed: string[] = [];
    let rest = "";
    const decoder = new TextDecoder();
    for await (const bytes of child.stdout) {
      rest += decoder.decode(bytes);
      const lines = rest.split("\n");
      rest = lines.pop()!;
      printed.push(...lines.filter((line) => !line.startsWith("{")));
      const signal = next[printed.at(-1) as keyof typeof next];
      // in a process of its own, as a shell has it: one that arrived twice would come before the next one
      if (signal !== undefined) child.kill(signal);
    }
    expect([await child.exited, printed]).toEqual([40, ["ready", "SIGTERM", "SIGINT", "SIGHUP"]]);
  });
});

describe("missing packages", () => {
  /** A stand-in for npm that writes down how it is called; `ci` fails when `brokenCi` is set, else Bun appears as if installed. */
  function fakeNpm(
    folder: string,
    { brokenCi = false } = {},
  ): { readonly env: Record<string, string>; calls(): readonly string[] } {
    const bin = join(scratch, `npm-for-${folder.split("/").at(-1)}`);
    mkdirSync(bin);
    const made = join(bin, "made");
    mkdirSync(made);
    linkBun(made);
    writeFileSync(
      join(bin, "npm"),
      `#!/bin/sh\necho "$@" >> "${bin}/calls"\necho "npm talks"\n${brokenCi ? '[ "$1" = ci ] && exit 1\n' : ""}cp -RP "${made}/node_modules" "${folder}/"\n`,
    );
    chmodSync(join(bin, "npm"), 0o755);
    return {
      env: { PATH: `${bin}:${process.env["PATH"]}` },
      calls: () => (existsSync(join(bin, "calls")) ? readFileSync(join(bin, "calls"), "utf8").trim().split("\n") : []),
    };
  }

  test("a checkout installs once, and npm's output stays out of stdout", async () => {
    const folder = makePackage("fresh-checkout");
    writeFileSync(join(folder, "package-lock.json"), "{}");
    const npm = fakeNpm(folder);
    const first = await run(folder, ["exit", "5"], { env: npm.env });
    expect(first.exitCode).toBe(5);
    expect(first.stdout).not.toContain("npm talks");
    expect(first.stderr).toContain("npm talks");
    expect((await run(folder, ["exit", "6"], { env: npm.env })).exitCode).toBe(6);
    expect(npm.calls()).toEqual(["ci --no-audit --no-fund --loglevel=error --include=optional"]);
  });

  test("where npm ci fails, npm install completes the folder, and an existing folder is only completed", async () => {
    const stale = makePackage("stale-lock");
    writeFileSync(join(stale, "package-lock.json"), "{}");
    const npm = fakeNpm(stale, { brokenCi: true });
    expect((await run(stale, ["exit", "5"], { env: npm.env })).exitCode).toBe(5);
    expect(npm.calls()).toEqual([
      "ci --no-audit --no-fund --loglevel=error --include=optional",
      "install --no-save --no-audit --no-fund --loglevel=error --include=optional",
    ]);

    const partial = makePackage("partial");
    writeFileSync(join(partial, "package-lock.json"), "{}");
    mkdirSync(join(partial, "node_modules"));
    const other = fakeNpm(partial);
    expect((await run(partial, ["exit", "5"], { env: other.env })).exitCode).toBe(5);
    expect(other.calls()).toEqual(["install --no-save --no-audit --no-fund --loglevel=error --include=optional"]);
  });

  test("an installed package reports what is missing and never installs, lock file or not", async () => {
    const folder = makePackage("project/node_modules/dragoman");
    writeFileSync(join(folder, "package-lock.json"), "{}");
    const npm = fakeNpm(folder);
    const { exitCode, stdout, stderr } = await run(folder, ["exit", "0"], { env: npm.env });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toStartWith(`dragoman: bun ${manifest.dependencies.bun}: not installed.`);
    expect(npm.calls()).toEqual([]);
  });

  test("a missing program is reported by its name", async () => {
    const folder = makePackage("project/node_modules/lost");
    linkBun(folder);
    rmSync(join(folder, "src", "main.ts"));
    expect(await run(folder, [])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("main.ts is missing") as string,
    });
  });
});

describe("the files of the web console", () => {
  /** A build that appends to a file, or fails when its source says so. */
  const BUILD = `
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
if (readFileSync(import.meta.dir + "/src/page.ts", "utf8").includes("broken")) throw new Error("this source is broken");
mkdirSync(process.argv[2], { recursive: true });
appendFileSync(process.argv[2] + "/index.html", "built ");
`;

  function withConsole(name: string): string {
    const folder = makePackage(name);
    linkBun(folder);
    mkdirSync(join(folder, "console", "src"), { recursive: true });
    writeFileSync(join(folder, "package-lock.json"), "{}");
    writeFileSync(join(folder, "console", "package.json"), JSON.stringify({ dependencies: {} }));
    writeFileSync(join(folder, "console", "build.ts"), BUILD);
    writeFileSync(join(folder, "console", "src", "page.ts"), "");
    return folder;
  }

  const builds = (folder: string): string => {
    const page = join(folder, "console", "dist", "index.html");
    return existsSync(page) ? readFileSync(page, "utf8") : "";
  };
  /** Changes the source, with a time that no clock is too coarse for. */
  function change(folder: string, text: string, laterS: number): void {
    const source = join(folder, "console", "src", "page.ts");
    writeFileSync(source, text);
    const time = Date.now() / 1000 + laterS;
    utimesSync(source, time, time);
  }

  test("are built by a checkout before it serves, and again only when the source has changed", async () => {
    const folder = withConsole("console-checkout");
    await run(folder, ["version"]);
    expect(builds(folder)).toBe("");
    await run(folder, ["serve"]);
    await run(folder, ["serve"]);
    expect(builds(folder)).toBe("built ");
    change(folder, "1", 60);
    await run(folder, ["serve"]);
    expect(builds(folder)).toBe("built built ");
  });

  test("that cannot be built are reported, and the gateway starts without them", async () => {
    const folder = withConsole("console-broken");
    change(folder, "broken", 0);
    const { exitCode, stdout, stderr } = await run(folder, ["serve"]);
    expect({ exitCode, args: JSON.parse(stdout.split("\n")[0]!) }).toMatchObject({
      exitCode: 0,
      args: { args: ["serve"] },
    });
    expect(stderr).toContain("the web console could not be built");
    expect(stderr).toContain("this source is broken");
  });

  test("are never built by an installed package", async () => {
    const folder = withConsole("installed/node_modules/dragoman");
    await run(folder, ["serve"]);
    expect(builds(folder)).toBe("");
  });
});

describe("the location of Bun's program", () => {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const machine = process.arch === "arm64" ? "aarch64" : process.arch;
  const program = process.platform === "win32" ? "bun.exe" : "bun";
  // on Linux the musl build bears its own name
  const platformNames = [`@oven/bun-${system}-${machine}`, `@oven/bun-${system}-${machine}-musl`];

  function put(folder: string, name: string, version: string, file: string, bytes: number): string {
    const path = join(folder, "node_modules", name, "bin", file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(join(folder, "node_modules", name, "package.json"), JSON.stringify({ name, version }));
    writeFileSync(path, "");
    truncateSync(path, bytes);
    return path;
  }
  function layout(name: string): string {
    const folder = join(scratch, name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), "{}");
    return folder;
  }

  test("in the platform package, before the install script's copy", () => {
    const folder = layout("both");
    const copy = put(folder, "bun", "9.9.9", "bun.exe", 2_000_000);
    expect(bunProgram(folder)).toBe(copy);
    const found = platformNames.map((name) => put(folder, name, "9.9.9", program, 2_000_000));
    expect(found).toContain(bunProgram(folder) ?? "");
  });

  test("not in the placeholder, and not in an empty platform package", () => {
    const folder = layout("placeholder");
    put(folder, "bun", "9.9.9", "bun.exe", 450);
    for (const name of platformNames) mkdirSync(join(folder, "node_modules", name, "bin"), { recursive: true });
    for (const name of platformNames)
      writeFileSync(join(folder, "node_modules", name, "package.json"), '{"version":"9.9.9"}');
    expect(bunProgram(folder)).toBeUndefined();
  });

  test("above us, where npm hoists it, and below `bun`, where it nests it", () => {
    const project = layout("hoisted");
    const us = layout("hoisted/node_modules/dragoman");
    put(project, "bun", "9.9.9", "bun.exe", 450);
    const hoisted = platformNames.map((name) => put(project, name, "9.9.9", program, 2_000_000));
    expect(hoisted).toContain(bunProgram(us) ?? "");

    const nested = layout("nested");
    put(nested, "bun", "9.9.9", "bun.exe", 450);
    const below = platformNames.map((name) =>
      put(join(nested, "node_modules", "bun"), name, "9.9.9", program, 2_000_000),
    );
    expect(below).toContain(bunProgram(nested) ?? "");
  });

  test("never in the platform package of a neighbour's other version", () => {
    const project = layout("neighbour");
    const us = layout("neighbour/node_modules/dragoman");
    for (const name of platformNames) put(project, name, "1.0.0", program, 2_000_000);
    const ours = put(us, "bun", "9.9.9", "bun.exe", 2_000_000);
    expect(bunProgram(us)).toBe(ours);
  });

  test("in this checkout", () => {
    expect(existsSync(bunProgram(packageFolder) ?? "")).toBe(true);
  });
});
