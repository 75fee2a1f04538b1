// A file that gets its name once it is whole: a run that is stopped leaves nothing that looks like one.
import { randomBytes } from "node:crypto";
import { linkSync, renameSync, rmSync } from "node:fs";
import { codeOf } from "../../core/thrown.ts";

/** Two runs for one name at once have a file each, and the first that is whole gets the name. */
export function unfinishedPath(file: string): string {
  return `${file}.${randomBytes(6).toString("hex")}.unfinished`;
}

/** Gives the file its name, unless another file has got it meanwhile. Throws the system's error. */
export function placeAs(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw error;
    return renameSync(unfinished, file); // This file system has no second names.
  }
  rmSync(unfinished);
}
