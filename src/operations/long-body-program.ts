// Where the program of the thread of long bodies is.
import { threadFile } from "../core/concurrency/thread-file.ts";

export function longBodyProgram(): URL {
  return threadFile(import.meta.url, "operations/long-body-entry.ts");
}
