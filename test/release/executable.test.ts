// The executable of a release, started in a folder that is not its own: what is inside, and what has no influence on it.
// The whole suite runs against it too (test/run.ts).
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanEnvironment, startGateway } from "../harness/processes/gateway-process.ts";
import { buildProgram, gatewayFile, isExecutable } from "../harness/processes/gateway-program.ts";
import { contentsOf, missingIn } from "../../release/contents.ts";
import manifest from "../../package.json" with { type: "json" };

const scratch = mkdtempSync(join(tmpdir(), "dragoman-executable-"));
let program = gatewayFile;

beforeAll(async () => {
  if (isExecutable) return;
  program = join(scratch, "dragoman");
  expect(await buildProgram(program)).toBe(true);
}, 120_000);
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

async function told(args: readonly string[], cwd = scratch): Promise<string> {
  const child = Bun.spawn([program, ...args], { cwd, env: cleanEnvironment(), stdin: "ignore", stderr: "pipe" });
  const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return out + errors;
}

describe("[d15.1] the single executable", () => {
  test("serves the whole console from inside", async () => {
    const gateway = await startGateway({ command: [program] });
    try {
      const page = await (await fetch(`${gateway.url}/console/`)).text();
      const files = [...page.matchAll(/"\/console\/(assets\/[^"]+)"/g)].map(([, path]) => path!);
      expect(files.length).toBeGreaterThanOrEqual(3);
      const waiting = [...files];
      const seen = new Set(files);
      for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
        const answer = await fetch(`${gateway.url}/console/${path}`);
        expect([path, answer.status]).toEqual([path, 200]);
        for (const [, name] of (await answer.text()).matchAll(/"\.\/([\w-]+-[a-z0-9]{8}\.js)"/g)) {
          if (!seen.has(`assets/${name}`)) waiting.push(`assets/${name}`);
          seen.add(`assets/${name}`);
        }
      }
      // The screens are parts that the first scripts name.
      expect(seen.size).toBeGreaterThan(30);
    } finally {
      await gateway.stop();
    }
  });

  test("holds the module of each thread and each file of the console; one that lacks any is not released", async () => {
    const file = readFileSync(program);
    const contents = await contentsOf(join(import.meta.dir, "..", "..", "src"));
    expect(contents.threads.length).toBeGreaterThan(5);
    expect(contents.console.length).toBeGreaterThan(30);
    expect(missingIn(file, contents)).toEqual([]);
    const thread = "store/journal/journal-entry";
    for (let at = file.indexOf(`${thread}.js`); at !== -1; at = file.indexOf(`${thread}.js`)) file.fill(0, at, at + 1);
    const { path, bytes } = contents.console.find(({ path: name }) => name.endsWith(".js"))!;
    for (let at = file.indexOf(bytes); at !== -1; at = file.indexOf(bytes)) file.fill(0, at, at + 1);
    expect(missingIn(file, contents)).toEqual([`${thread}.ts`, path]);
  });

  test("reads no settings of the runtime in the folder where it is started", async () => {
    const folder = join(scratch, "hostile");
    mkdirSync(folder);
    writeFileSync(join(folder, "bunfig.toml"), 'preload = ["./hostile.ts"]\n');
    writeFileSync(join(folder, "hostile.ts"), 'console.log("HOSTILE CODE RUNS");\n');
    writeFileSync(join(folder, ".env"), "DRAGOMAN_DATA=from-the-folder\nPORT=1\n");
    writeFileSync(join(folder, "tsconfig.json"), '{"compilerOptions": {"paths": {"*": ["./hostile.ts"]}}}');
    writeFileSync(join(folder, "package.json"), '{"name": "hostile", "version": "9.9.9"}');
    expect(await told(["--version"], folder)).toBe(`${manifest.version}\n`);
    expect(await told(["check"], folder)).not.toContain("HOSTILE");
  });
});
