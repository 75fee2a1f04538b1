// Secrets that stand in plain text in the configuration of another gateway. Each gets a file of its own beside the
// configuration that the import makes, which refers to it.
import { join } from "node:path";
import { contentOf, type Reference } from "./reference.ts";

export interface SecretFile {
  /** Relative to the folder of the import. */
  readonly name: string;
  readonly text: string;
}

export type Secrets = ReturnType<typeof openSecrets>;

export const SECRETS_FOLDER = "secrets";
const MAX_NAME = 60;

/** `folder` is the absolute path at which the import will stand. */
export function openSecrets(folder: string) {
  const kept = new Map<string, string>();
  /** Returns the path of the file. The same secret under the same name has one. */
  const keepFile = (wanted: string, text: string): string => {
    const base = wanted
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "_")
      .replaceAll(/^_+|_+$/g, "")
      .slice(0, MAX_NAME);
    let name = base === "" ? "secret" : base;
    for (let count = 2; kept.has(name) && kept.get(name) !== text; count += 1) name = `${base}_${count}`;
    kept.set(name, text);
    return join(folder, SECRETS_FOLDER, name);
  };
  return {
    keepFile,
    /** Returns a reference to what the file contains. */
    keep: (wanted: string, text: string): Reference => contentOf(keepFile(wanted, text)),
    files: () => Array.from(kept, ([name, text]) => ({ name: join(SECRETS_FOLDER, name), text })),
  };
}
