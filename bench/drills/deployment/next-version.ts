// A next version of the gateway for drills of upgrades: a copy of this one with a migration that adds a column, and a
// contraction that makes it required, so that the former version could no longer create a project.
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder, sourceCommandOf } from "../../../test/harness/processes/gateway-program.ts";

export const NEXT_VERSION = "99.0.0";
const NEXT_STEP = 9000;

/** Writes the program into `folder`, and returns the command that runs it. */
export function makeNextVersion(folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true });
  for (const name of ["src", "bunfig.toml", "tsconfig.json", "package.json"])
    cpSync(join(projectFolder, name), join(folder, name), { recursive: true });
  symlinkSync(join(projectFolder, "node_modules"), join(folder, "node_modules"));
  change(join(folder, "package.json"), /"version": "[^"]+"/, `"version": "${NEXT_VERSION}"`);
  const migrations = join(folder, "src/store/migrations.ts");
  change(migrations, 'import type { Kysely } from "kysely";', 'import { type Kysely, sql } from "kysely";');
  change(
    migrations,
    "export const HISTORY: SchemaHistory = { migrations: MIGRATIONS, contractions: {} };",
    `export const HISTORY: SchemaHistory = {
  migrations: {
    ...MIGRATIONS,
    "${NEXT_STEP}-drill": { up: async (db) => void (await sql\`alter table projects add column drill text\`.execute(db)) },
  },
  contractions: {
    "drill-required": {
      oldest: { step: ${NEXT_STEP}, version: "${NEXT_VERSION}" },
      async up(db) {
        await sql\`update projects set drill = ''\`.execute(db);
        await sql\`alter table projects alter column drill set not null\`.execute(db);
      },
    },
  },
};`,
  );
  return sourceCommandOf(folder);
}

function change(path: string, from: string | RegExp, to: string): void {
  const text = readFileSync(path, "utf8");
  const changed = text.replace(from, () => to);
  if (changed === text) throw new Error(`${path} has no longer what the drill changes: ${String(from)}`);
  writeFileSync(path, changed);
}
