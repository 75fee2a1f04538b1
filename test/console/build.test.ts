// What the console weighs, and that its files are what a strict content security policy takes.
import { beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type BuiltFile, buildConsole } from "../../console/build.ts";
import { licencesOf } from "../../console/bundled-licences.ts";
import { projectFolder } from "../harness/processes/gateway-program.ts";

const KB = 1000;
let files: readonly BuiltFile[] = [];
beforeAll(async () => {
  files = await buildConsole();
});

const packed = ({ bytes }: BuiltFile): number => gzipSync(bytes, { level: 9 }).length;
const sum = (chosen: readonly BuiltFile[]): number => chosen.reduce((total, file) => total + packed(file), 0);
const ending = (end: string) => files.filter(({ path }) => path.endsWith(end));

test("the first page loads at most 130 kB of scripts and 15 kB of styles, and each later part at most 40", () => {
  const initial = ending(".js").filter(({ use }) => use === "initial");
  expect(initial.length).toBeGreaterThan(1);
  expect(sum(initial)).toBeLessThan(130 * KB);
  expect(sum(ending(".css"))).toBeLessThan(15 * KB);
  const lazy = ending(".js").filter(({ use }) => use === "lazy");
  expect(lazy.length).toBeGreaterThan(0);
  expect(
    lazy.map((file) => ({ path: file.path, isSmall: packed(file) < 40 * KB })).filter(({ isSmall }) => !isSmall),
  ).toEqual([]);
});

test("names below assets/ contain a hash, so that browsers can keep the files for ever", () => {
  const names = files.map(({ path }) => path).filter((path) => path.startsWith("assets/"));
  expect(names).toHaveLength(files.length - 2);
  expect(names.filter((path) => !/^assets\/[\w-]+-[a-z0-9]{8}\.(js|css)$/.test(path))).toEqual([]);
});

test("the shell has no inline script and no inline style, and names only files that exist", () => {
  const shell = new TextDecoder().decode(files.find(({ path }) => path === "index.html")!.bytes);
  expect(shell).not.toMatch(/<style|\sstyle=|\son\w+=|\{\{/);
  const scripts = [...shell.matchAll(/<script[^>]*>([^<]*)<\/script>/g)];
  expect(scripts.map(([, text]) => text)).toEqual(["", ""]);
  const named = [...shell.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path]) =>
    path!.slice("/console/".length),
  );
  expect(named.toSorted()).toEqual(
    files
      .filter(({ path }) => named.includes(path))
      .map(({ path }) => path)
      .toSorted(),
  );
  expect(named).toHaveLength(3);
});

test("the shell has the frame of the page, which is painted before the scripts have come", () => {
  const shell = new TextDecoder().decode(files.find(({ path }) => path === "index.html")!.bytes);
  expect(shell).toMatch(
    /<div id="console"><div class="shell"><header class="top">.*<svg class="logo".*<\/div><\/div>\n/,
  );
});

test("scripts name no path of the server, so that they work below the path of a proxy too", () => {
  const named = ending(".js").flatMap(({ path, bytes }) =>
    [...new TextDecoder().decode(bytes).matchAll(/["'`(=]\/console\b[^"'`)]{0,40}/g)].map(
      ([text]) => `${path}: ${text}`,
    ),
  );
  expect(named).toEqual([]);
});

test("nothing is loaded from elsewhere", () => {
  const loaded = files.filter(({ use }) => use !== "linked");
  const addresses = loaded.flatMap(({ bytes }) =>
    [...new TextDecoder().decode(bytes).matchAll(/https?:\/\/[\w.-]+/g)].map(([address]) => address),
  );
  // names of XML, and pages that messages of React refer to
  expect([...new Set(addresses)].filter((address) => !/^https?:\/\/(www\.w3\.org|react\.dev)$/.test(address))).toEqual(
    [],
  );
});

test("the text of licences has every package of which a script contains something, with its licence", async () => {
  const text = new TextDecoder().decode(files.find(({ path }) => path === "licences.txt")!.bytes);
  const parts = text.split(`\n\n${"-".repeat(80)}\n\n`).slice(1);
  const source = join(projectFolder, "console", "src", "main.tsx");
  // the maps of the scripts name their sources independently of what the build has asked the bundler for
  const { outputs } = await Bun.build({
    entrypoints: [source],
    target: "browser",
    splitting: true,
    minify: true,
    sourcemap: "external",
  });
  const maps = await Promise.all(outputs.filter(({ kind }) => kind === "sourcemap").map((map) => map.json()));
  const contained = (maps as { readonly sources: readonly string[] }[]).flatMap(({ sources }) =>
    sources.flatMap((path) => /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
  );
  expect(contained).toContain("react-dom");
  expect(parts.map((part) => part.slice(0, part.indexOf(" ")))).toEqual([...new Set(contained)].toSorted());
  const short = parts.filter((part) => !/permission|free to copy/i.test(part) || !/warrant/i.test(part));
  expect(short).toEqual([]);
});

test("a package without a text of its licence is not built in", () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-licences-"));
  const own = join(folder, "node_modules", "@acme", "bare");
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, "package.json"), JSON.stringify({ name: "@acme/bare", version: "1.0.0", license: "Acme-1" }));
  const built = (): string => licencesOf([join(own, "index.js")]);
  expect(built).toThrow("The package @acme/bare contains no text of its licence (Acme-1).");
  writeFileSync(join(own, "LICENSE.md"), "Do as you like.");
  expect(built()).toContain("@acme/bare 1.0.0 (Acme-1)\n\nDo as you like.");
  rmSync(folder, { recursive: true });
});
