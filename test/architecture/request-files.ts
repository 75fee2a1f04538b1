// The files of src/ that a request runs through: the same gateway handles one request and, in a second process, many of
// them under Bun's coverage. A file is run through if the count of a line grows with the number of requests.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const KINDS = ["plain", "stream", "tools", "admin"] as const;
export type RequestKind = (typeof KINDS)[number];

const FEW = 2;
const MANY = 1002;
/**
 * Some lines run once for several requests that come close together. Others run at the start, for each provider of each
 * snapshot that is compiled until all of the first contents of the store are there: 182 times for one snapshot, of which
 * there may be one or two more in one run than in the other.
 */
const LEAST_GROWTH = 900;

/** Returns the paths from the project's folder, sorted. Throws when the requests fail. */
export async function filesOfRequest(kind: RequestKind, projectFolder: string): Promise<readonly string[]> {
  const counts = kind === "admin" ? ADMIN : CHATS;
  const [few, many] = await Promise.all([
    coverageOfFew(counts, projectFolder),
    coverageOf({ ...counts, [kind]: MANY }, projectFolder),
  ]);
  return [...many]
    .filter(([path, lines]) =>
      [...lines].some(([line, count]) => count - (few.get(path)?.get(line) ?? 0) >= LEAST_GROWTH),
    )
    .map(([path]) => path)
    .toSorted();
}

/** Counts by file and line. */
type Coverage = ReadonlyMap<string, ReadonlyMap<number, number>>;

type Counts = Readonly<Record<RequestKind, number>>;

/** Chats of all kinds are compared with one run, without admin writes, which let snapshots be compiled. */
const CHATS: Counts = { plain: FEW, stream: FEW, tools: FEW, admin: 0 };
const ADMIN: Counts = { plain: 0, stream: 0, tools: 0, admin: FEW };

const runs = new Map<Counts, Promise<Coverage>>();
function coverageOfFew(counts: Counts, projectFolder: string): Promise<Coverage> {
  const run = runs.get(counts) ?? coverageOf(counts, projectFolder);
  runs.set(counts, run);
  return run;
}

async function coverageOf(requests: Counts, projectFolder: string): Promise<Coverage> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-coverage-"));
  try {
    const child = Bun.spawn(
      [
        process.execPath,
        "test",
        "--coverage",
        "--timeout=600000",
        "--coverage-reporter=lcov",
        `--coverage-dir=${folder}`,
        "./test/architecture/traced-requests.ts",
      ],
      {
        cwd: projectFolder,
        env: { ...process.env, TRACED_REQUESTS: JSON.stringify(requests) },
        stdout: "ignore",
        stderr: "pipe",
      },
    );
    const said = await new Response(child.stderr).text();
    if ((await child.exited) !== 0) throw new Error(`the requests failed:\n${said}`);
    return readCoverage(readFileSync(join(folder, "lcov.info"), "utf8"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readCoverage(lcov: string): Coverage {
  const files = new Map<string, Map<number, number>>();
  let lines = new Map<number, number>();
  for (const row of lcov.split("\n")) {
    if (row.startsWith("SF:")) {
      lines = new Map();
      if (row.startsWith("SF:src/")) files.set(row.slice(3), lines);
    } else if (row.startsWith("DA:")) {
      const [line, count] = row.slice(3).split(",").map(Number);
      lines.set(line!, count!);
    }
  }
  return files;
}
