// Files of the gateway are accessible only to the user that runs it: files are created with these permissions, and
// files with wider ones, for example from a backup, are corrected.
import { chmodSync, statSync } from "node:fs";

export const OWNERS_FILE = 0o600;
export const OWNERS_FOLDER = 0o700;
const OTHERS = 0o077;

/** Makes files that other users could access the owner's alone. Does nothing where the system has no such permissions. */
export function narrowRights(paths: readonly string[]) {
  const narrowed: string[] = [];
  /** This user may not change their permissions. */
  const stillReadable: string[] = [];
  if (process.platform === "win32") return { narrowed, stillReadable };
  for (const path of paths) {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined || (found.mode & OTHERS) === 0) continue;
    try {
      chmodSync(path, found.isDirectory() ? OWNERS_FOLDER : OWNERS_FILE);
      narrowed.push(path);
    } catch {
      stillReadable.push(path);
    }
  }
  return { narrowed, stillReadable };
}
