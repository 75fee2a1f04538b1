// What the gateway keeps is for the user that runs it alone: files are made with these rights, and files that came with others, from a backup, get them.
import { chmodSync, statSync } from "node:fs";

export const OWNERS_FILE = 0o600;
export const OWNERS_FOLDER = 0o700;
const OTHERS = 0o077;

export interface NarrowedRights {
  /** Files that others could use, and cannot any more. */
  readonly narrowed: readonly string[];
  /** Files that others can still use, because this user may not change their rights. */
  readonly left: readonly string[];
}

/** Where the system has no such rights, there is nothing to do. */
export function narrowRights(paths: readonly string[]): NarrowedRights {
  const narrowed: string[] = [];
  const left: string[] = [];
  if (process.platform === "win32") return { narrowed, left };
  for (const path of paths) {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined || (found.mode & OTHERS) === 0) continue;
    try {
      chmodSync(path, found.isDirectory() ? OWNERS_FOLDER : OWNERS_FILE);
      narrowed.push(path);
    } catch {
      left.push(path);
    }
  }
  return { narrowed, left };
}
