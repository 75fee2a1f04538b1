// Why a path that the configuration, the environment or a flag names cannot be used, in words for the person who named
// it. The system's own errors have a code and a system call, and often name another path than the one at fault.
import { accessSync, constants, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** The message of each code that is about a path; the errors that name the culprit are in `pathFault`. */
const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "its symbolic links go round in a circle",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open",
  EIO: "the disk reports a fault",
};
/** What is wrong with a path that leads to a folder. Opening a folder to read it is no error of the system. */
export const FOLDER_INSTEAD = "it is a folder and not a file";
const DENIED: readonly string[] = ["EACCES", "EPERM"];
const NO_FOLDER: readonly string[] = ["ENOTDIR", "EEXIST"];

/** A clause that goes after the path and a colon. It contains only paths and never content of a file. */
export function pathFault(error: unknown, path: string): string {
  const { code = "", message } = (error ?? {}) as { readonly code?: string; readonly message?: string };
  if (DENIED.includes(code)) return denied();
  if (NO_FOLDER.includes(code)) {
    const culprit = nearestExisting(path);
    return culprit.isFolder ? "it exists already" : `${culprit.path} is a file and not a folder`;
  }
  if (code === "EISDIR") return FOLDER_INSTEAD;
  return WORDS[code] ?? message ?? String(error);
}

/** Whether the error is the system's, about a path, and can be explained with `pathFault`. */
export function isPathFault(error: unknown): error is Error & { readonly path: string } {
  const { code, path } = (error ?? {}) as { readonly code?: unknown; readonly path?: unknown };
  return (
    error instanceof Error &&
    typeof path === "string" &&
    typeof code === "string" &&
    (code in WORDS || code === "EISDIR" || [...DENIED, ...NO_FOLDER].includes(code))
  );
}

/**
 * Why this folder, which need not exist yet, cannot be used; `null` when nothing speaks against it. Nothing is created.
 * With `write`, files have to be made in it.
 */
export function folderFault(path: string, { write }: { readonly write: boolean }): string | null {
  try {
    const { path: found, isFolder } = nearestExisting(path);
    if (!isFolder) return `${found} is a file and not a folder`;
    if (write) accessSync(found, constants.R_OK | constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return pathFault(error, path);
  }
}

/** Why this file cannot be written, or made where it does not exist yet; `null` when nothing speaks against it. */
export function writtenFileFault(path: string): string | null {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return folderFault(dirname(resolve(path)), { write: true });
    if (found.isDirectory()) return FOLDER_INSTEAD;
    accessSync(path, constants.W_OK);
    return null;
  } catch (error) {
    return pathFault(error, path);
  }
}

/** Why this file cannot be read; `null` when nothing speaks against it. */
export function readFileFault(path: string): string | null {
  try {
    if (statSync(path).isDirectory()) return FOLDER_INSTEAD;
    accessSync(path, constants.R_OK);
    return null;
  } catch (error) {
    return pathFault(error, path);
  }
}

/** The path itself, or the nearest folder above it that exists. Throws the system's error. */
function nearestExisting(path: string): { readonly path: string; readonly isFolder: boolean } {
  for (let at = resolve(path); ; at = dirname(at)) {
    try {
      return { path: at, isFolder: statSync(at).isDirectory() };
    } catch (error) {
      const { code = "" } = error as { readonly code?: string };
      if ((code !== "ENOENT" && code !== "ENOTDIR") || at === dirname(at)) throw error;
    }
  }
}

function denied(): string {
  const user = process.getuid === undefined ? "" : ` (uid ${process.getuid()})`;
  return `the user that runs Dragoman${user} has no permission`;
}
