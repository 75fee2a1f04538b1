// Compares docs/request-map.md with the files that real requests run through: a request runs through every file
// that the map names, and the map names every file of the deciding folders that it runs through.
import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { filesOfRequest, KINDS, type RequestKind } from "./request-files.ts";

const PROJECT = join(import.meta.dir, "../..");
const MAP = readFileSync(join(PROJECT, "docs/request-map.md"), "utf8");

const SECTIONS: Readonly<Record<RequestKind, string>> = {
  plain: "A plain call",
  stream: "A stream",
  tools: "A round of tools",
  admin: "An admin write",
};
/** What runs in every request of a kind, and is no step of it. */
const DECISIVE: Readonly<Record<RequestKind, RegExp>> = {
  plain: /^src\/(http|auth|admission|routing|engine|operations)\//,
  stream: /^src\/(http|auth|admission|routing|engine|operations)\//,
  tools: /^src\/(http|auth|admission|routing|engine|operations)\//,
  admin: /^src\/http\//,
};
/** Files that every call passes only to learn that it does not need them. */
const PASSED: ReadonlySet<string> = new Set([
  "src/engine/explain/explain.ts",
  "src/engine/call/call-audit.ts",
  "src/engine/objects/call-objects.ts",
  "src/engine/objects/vendor-references.ts",
  "src/engine/tools/open-tool-session.ts",
  "src/engine/long-bodies/long-sandbox-requests.ts",
  // timers of their own remove old windows and write the counts
  "src/admission/memory.ts",
  "src/admission/count-keeper.ts",
  "src/http/admin/configured/file-documents.ts",
  "src/http/admin/configured/route-rule.ts",
]);

/** The paths that a section names; a name without a folder stands beside the file before it. */
function namedIn(section: string): readonly string[] {
  const text = MAP.split(`\n## ${section}\n`)[1]?.split(/\n##/)[0];
  if (text === undefined) throw new Error(`docs/request-map.md has no section ${section}`);
  const rows = text.split("\n").filter((line) => line.startsWith("|"));
  return rows.flatMap((row) => {
    let folder = "";
    return [...row.split("|")[2]!.matchAll(/`([\w./-]+\.ts)`/g)].map(([, name]) => {
      const path = name!.includes("/") && existsSync(join(PROJECT, "src", name!)) ? name! : `${folder}/${name}`;
      folder = path.slice(0, path.lastIndexOf("/"));
      return `src/${path}`;
    });
  });
}

describe.each([...KINDS])("the map of a request: %s", (kind) => {
  let run: readonly string[];
  beforeAll(async () => {
    run = await filesOfRequest(kind, PROJECT);
  }, 600_000);

  test("names only files that the request runs through", () => {
    expect(namedIn(SECTIONS[kind]).filter((path) => !run.includes(path))).toEqual([]);
  });
  test("names every file of the deciding folders that the request runs through", () => {
    const named = new Set([
      ...(kind === "admin" ? [] : [...namedIn(SECTIONS.plain), "src/engine/handle.ts"]),
      ...namedIn(SECTIONS[kind]),
      ...PASSED,
    ]);
    expect(run.filter((path) => DECISIVE[kind].test(path) && !named.has(path))).toEqual([]);
  });
});

test("the one call of ARCHITECTURE.md runs through files of the map of a plain call", () => {
  const section = readFileSync(join(PROJECT, "ARCHITECTURE.md"), "utf8")
    .split("\n## One call from end to end\n")[1]!
    .split("\n## ")[0]!;
  const named = [...section.matchAll(/`([\w./-]+\.ts)`/g)].map(([, name]) => `src/${name}`);
  expect(named.length).toBeGreaterThan(20);
  const map = new Set([...namedIn(SECTIONS.plain), "src/engine/handle.ts"]);
  expect(named.filter((path) => !map.has(path))).toEqual([]);
});
