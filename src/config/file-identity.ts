// Tells whether a file was replaced by another one at the same path.
import { statSync } from "node:fs";

/** Returns the device and the inode of the file at a path, which another file there does not have; `null` where there is no file. */
export function identityOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}
