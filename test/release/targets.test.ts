// The systems of a release: each has a package of the runtime, and the pages say which were not run.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import lock from "../../package-lock.json" with { type: "json" };
import { ownTarget, TARGETS, targetNamed } from "../../release/targets.ts";

const runtime = (lock.packages as Readonly<Record<string, { readonly optionalDependencies?: object }>>)[
  "node_modules/bun"
]!;

test("each has a package of the runtime in the version of the lock file", () => {
  const packages = Object.keys(runtime.optionalDependencies ?? {});
  expect(TARGETS.filter((target) => !packages.includes(target.runtime))).toEqual([]);
});

test("a name that is none is refused with the names that are", () => {
  expect(() => targetNamed("amiga")).toThrow("linux-x64, ");
  expect(ownTarget() === null || targetNamed(ownTarget()!).name === ownTarget()).toBe(true);
});

test("[d15.1] docs/install.md says of each whether the tests have run against it", () => {
  const page = readFileSync(join(import.meta.dir, "../../docs/install.md"), "utf8");
  for (const { name, isTested } of TARGETS)
    expect(page).toMatch(new RegExp(`\\| \`${name}\` \\|.*\\| ${isTested ? "yes" : "no, built only"} \\|`));
});
