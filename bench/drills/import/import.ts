// `npm run drill:import -- <folder>`: imports each configuration in the folders `litellm`, `portkey`, `openrouter` and
// `bifrost` of the folder, and compares where calls go (judgement.ts). It prints each difference, and exits with
// code 1 when there is one of which the report of the import says nothing. It shows no values of the files but names of
// models.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigurationError } from "../../../src/config/problem.ts";
import { GATEWAY_NAMES, type GatewayName } from "../../../src/import/gateway-names.ts";
import { countOf } from "../../../src/import/report.ts";
import { judgeImport, type Word } from "./judgement.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined || !existsSync(folder)) {
  console.error("expected the folder of the configurations: npm run drill:import -- <folder>");
  process.exit(2);
}
const scratch = mkdtempSync(join(tmpdir(), "dragoman-drill-import-"));
let differences = 0;
try {
  for (const gateway of GATEWAY_NAMES)
    if (existsSync(join(folder, gateway))) differences += tryAll(gateway, join(folder, gateway));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = differences === 0 ? 0 : 1;

function tryAll(gateway: GatewayName, from: string): number {
  const sum = { taken: 0, changed: 0, without: 0, refused: 0, names: 0, same: 0, absent: 0, differ: 0 };
  const files = readdirSync(from).filter((name) => /\.(ya?ml|json)$/.test(name));
  for (const file of files.toSorted()) {
    const tried = tryFile(gateway, file, readFileSync(join(from, file), "utf8"));
    if (tried === null) sum.refused += 1;
    else for (const key of Object.keys(tried) as (keyof typeof tried)[]) sum[key] += tried[key];
  }
  console.log(
    `${gateway}: ${files.length} files, ${sum.refused} refused; ${sum.taken} values taken, ${sum.changed} changed, ${sum.without} without counterpart; ` +
      `${sum.names} names, calls of ${sum.same} go where they went, ${sum.absent} do not and the report says why, ${sum.differ} differ`,
  );
  return sum.differ;
}

type Tried = Readonly<Record<"taken" | "changed" | "without" | "names" | Word, number>>;

/** `null` for a file that is refused. */
function tryFile(gateway: GatewayName, file: string, text: string): Tried | null {
  const where = `${gateway}/${file}`;
  try {
    const { imported, judgements } = judgeImport(gateway, file, text, join(scratch, `${gateway}-${file}`));
    for (const { word, what } of judgements) if (word !== "same") console.log(`  ${where}: ${word}: ${what}`);
    const count = (wanted: Word): number => judgements.filter(({ word }) => word === wanted).length;
    return {
      ...countOf(imported.report),
      names: judgements.length,
      same: count("same"),
      absent: count("absent"),
      differ: count("differ"),
    };
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    const [first] = thrown.problems;
    console.log(`  ${where}: refused at line ${first?.line}: ${first?.message}`);
    return null;
  }
}
