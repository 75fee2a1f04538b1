// Files for commands, in a folder that is removed when the tests have ended.
import { afterAll } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "dragoman-files-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
/** Its path. */
export function writtenFile(text: string, name = `${(files += 1)}.yaml`): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}
