// Where commands on the database find it and its ledger: by the flag and the variable alone, or by the configuration too.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { placeOf } from "../../src/cli/database/database.ts";
import { readEnvironment } from "../../src/config/environment.ts";

test("[d11.2] a named data folder is used with the ledger's folder of the configuration, and without what a shell has not", () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-place-"));
  try {
    const config = join(folder, "dragoman.yaml");
    const at = (text: string): unknown => {
      writeFileSync(config, text);
      const { dataFolder, ledger } = placeOf({ data: "/data", config }, readEnvironment({}));
      return [dataFolder, ledger?.folder ?? null];
    };
    expect(at(`ledger: { folder: "/fast/ledger" }\n`)).toEqual(["/data", "/fast/ledger"]);
    expect(at("server: { port: 1 }\n")).toEqual(["/data", null]);
    // a variable that the server has and this shell has not
    expect(at(`providers: { openai: { api_key: "\${NOT_SET_HERE}" } }\n`)).toEqual(["/data", null]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
