// The bill of materials of a release: every package from which the executable is built is in it, and no other.
import { expect, test } from "bun:test";
import { billOfMaterials } from "../../release/sbom.ts";
import lock from "../../package-lock.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };

interface Bill {
  readonly components: readonly { readonly name: string; readonly version: string; readonly "bom-ref": string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly metadata: { readonly timestamp: string };
}

const bill = billOfMaterials(86_400) as Bill;
const names = new Set(bill.components.map(({ name }) => name));

const nameOf = (path: string): string =>
  /^(?:@[^/]+\/)?[^/]+/.exec(path.slice(path.lastIndexOf("node_modules/") + 13))![0];

/** Packages of which something is in the executable. */
async function imported(): Promise<ReadonlySet<string>> {
  const built = await Bun.build({
    entrypoints: [`${import.meta.dir}/../../src/main.ts`, `${import.meta.dir}/../../console/src/main.tsx`],
    target: "bun",
    metafile: true,
    throw: false,
  });
  expect(built.success).toBe(true);
  return new Set(
    Object.keys(built.metafile!.inputs).flatMap((path) => (path.includes("node_modules/") ? nameOf(path) : [])),
  );
}

test("names every package that the gateway or its console imports, and what these need", async () => {
  const there = await imported();
  expect(there.size).toBeGreaterThan(20);
  expect([...there].filter((name) => !names.has(name))).toEqual([]);
  expect(names.has("bun")).toBe(true);
});

test("names no package with which the gateway is only developed", () => {
  const shipped = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));
  const development = Object.keys(manifest.devDependencies).filter((name) => !shipped.has(name));
  const locked = lock.packages as Readonly<Record<string, { readonly version?: string; readonly dev?: boolean }>>;
  // Another version of the same package may be needed by one that is shipped.
  const strangers = bill.components.filter(({ name, version }) => {
    const found = locked[`node_modules/${name}`];
    return development.includes(name) && found?.dev === true && found.version === version;
  });
  expect(development).toContain("typescript");
  expect(strangers).toEqual([]);
});

test("each reference is of one of its components, and each component is there once", () => {
  const known = new Set(bill.components.map((component) => component["bom-ref"]));
  expect(known.size).toBe(bill.components.length);
  const told = bill.dependencies.flatMap(({ dependsOn }) => dependsOn);
  expect(told.filter((ref) => !known.has(ref))).toEqual([]);
});

test("is the same for the same source", () => {
  expect(billOfMaterials(86_400)).toEqual(bill);
  expect(bill.metadata.timestamp).toBe("1970-01-02T00:00:00Z");
});
