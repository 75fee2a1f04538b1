// Says of what and how a release was made, in the form of SLSA's provenance, unsigned: who publishes a release signs
// what is to be signed. https://slsa.dev/spec/v1.0/provenance
import lock from "../package-lock.json" with { type: "json" };
import manifest from "../package.json" with { type: "json" };
import type { Source } from "./source.ts";

/** `digests`: SHA-256 in hexadecimal digits by the name of the file. */
export function provenance({ commit, isChanged }: Source, digests: ReadonlyMap<string, string>): object {
  const runtime = (lock.packages as Readonly<Record<string, { readonly integrity?: string }>>)["node_modules/bun"];
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: [...digests].map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "npm run release",
        externalParameters: { version: manifest.version },
        resolvedDependencies: [
          { name: manifest.name, digest: { gitCommit: commit }, annotations: { hasLocalChanges: isChanged } },
          { name: "bun", annotations: { version: manifest.dependencies.bun, integrity: runtime?.integrity ?? "" } },
        ],
      },
      runDetails: { builder: { id: "npm run release" } },
    },
  };
}
