// The software bill of materials of a release in the form of CycloneDX 1.6: every package that the gateway, its console
// and its runtime consist of, from the lock file. https://cyclonedx.org/docs/1.6/json/
import lock from "../package-lock.json" with { type: "json" };
import manifest from "../package.json" with { type: "json" };

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

interface Component {
  readonly type: "library";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: "SHA-512"; readonly content: string }[];
  readonly licenses?: readonly ({ readonly license: { readonly id: string } } | { readonly expression: string })[];
}

const packages = lock.packages as Readonly<Record<string, LockedPackage>>;
/** The gateway itself, and the console, whose packages are bundled into its files. */
const ROOTS = ["", "console"];
const FOLDER = "node_modules/";

/** `madeAt` is in seconds since 1970, so that the same source gives the same file. */
export function billOfMaterials(madeAt: number): object {
  const places = neededPackages();
  const dependencies = [...places].map(([place, needs]) => ({
    ref: refOf(place),
    dependsOn: [...new Set(needs.map(refOf))].toSorted(),
  }));
  const own = ROOTS.flatMap((root) => dependenciesOf(root));
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(madeAt * 1000).toISOString().replace(".000Z", "Z"),
      component: {
        type: "application",
        "bom-ref": OWN_REF,
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
        purl: OWN_REF,
        licenses: [{ license: { id: manifest.license } }],
      },
    },
    components: unique([...places.keys()].map(componentAt)),
    dependencies: unique([{ ref: OWN_REF, dependsOn: [...new Set(own.map(refOf))].toSorted() }, ...dependencies]),
  };
}

const OWN_REF = `pkg:npm/${manifest.name}@${manifest.version}`;

/** Places in the lock file with the places of what they need. */
function neededPackages(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const waiting = ROOTS.flatMap((root) => dependenciesOf(root));
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (found.has(place)) continue;
    const needs = dependenciesOf(place);
    found.set(place, needs);
    waiting.push(...needs);
  }
  return found;
}

/**
 * Optional packages count where they are in the lock file; peers that a package can do without do not, but for those of
 * the gateway itself, which are in the executables.
 */
function dependenciesOf(place: string): readonly string[] {
  const {
    dependencies = {},
    optionalDependencies = {},
    peerDependencies = {},
    peerDependenciesMeta = {},
  } = packages[place] ?? {};
  const peers = Object.keys(peerDependencies).filter(
    (name) => place === "" || peerDependenciesMeta[name]?.optional !== true,
  );
  const names = [...new Set([...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers])];
  return names.flatMap((name) => {
    const found = resolved(name, place);
    if (found === null && name in dependencies) throw new Error(`The lock file lacks ${name}, which ${place} needs.`);
    return found ?? [];
  });
}

/** As Node finds a package: in the folder itself, and in every one above. */
function resolved(name: string, from: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(`/${FOLDER}`)))) {
    const place = folder === "" ? FOLDER + name : `${folder}/${FOLDER}${name}`;
    if (packages[place] !== undefined) return place;
    if (folder === "") return null;
  }
}

const nameAt = (place: string): string => place.slice(place.lastIndexOf(FOLDER) + FOLDER.length);

function refOf(place: string): string {
  return `pkg:npm/${nameAt(place).replace("@", "%40")}@${packages[place]!.version}`;
}

function componentAt(place: string): Component {
  const { version = "", integrity, license } = packages[place]!;
  return {
    type: "library",
    "bom-ref": refOf(place),
    name: nameAt(place),
    version,
    purl: refOf(place),
    ...(integrity?.startsWith("sha512-") && {
      hashes: [{ alg: "SHA-512" as const, content: Buffer.from(integrity.slice(7), "base64").toString("hex") }],
    }),
    ...(license !== undefined && {
      licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }],
    }),
  };
}

/** In the order of their references, each once. */
function unique<T extends { readonly "bom-ref": string } | { readonly ref: string }>(all: readonly T[]): readonly T[] {
  const refOfOne = (one: T): string => ("ref" in one ? one.ref : one["bom-ref"]);
  return [...new Map(all.map((one) => [refOfOne(one), one])).values()].toSorted((one, other) =>
    refOfOne(one) < refOfOne(other) ? -1 : 1,
  );
}
