// docs/integrations/callback.md: its module is checked against the types of the package as an author would do it, and receives a call.
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fencesOf, projectFolder, readPage } from "./pages.ts";

const module = fencesOf(readPage("docs/integrations/callback.md")).find(({ info }) => info === "ts")!.text;
const OPTIONS = {
  module: "preserve",
  target: "esnext",
  lib: ["esnext", "dom"],
  types: ["bun"],
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
};

async function checked(text: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-callback-"));
  try {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(projectFolder, join(folder, "node_modules/dragoman"));
    symlinkSync(join(projectFolder, "node_modules/@types"), join(folder, "node_modules/@types"));
    writeFileSync(join(folder, "on-call.ts"), text);
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: OPTIONS, files: ["on-call.ts"] }));
    const child = Bun.spawn([process.execPath, join(projectFolder, "node_modules/typescript/bin/tsc"), "-p", folder], {
      cwd: folder,
      stdout: "pipe",
      stderr: "pipe",
    });
    const [said, code] = [await child.stdout.text(), await child.exited];
    return code === 0 ? "" : said;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("the module of the page has the types that the package exports", async () =>
  expect(await checked(module)).toBe(""));
test("a mistake in it is seen", async () =>
  expect(await checked(module.replaceAll("modelAsked", "modelAskd"))).toContain("modelAskd"));
