// The files of src/ that a request runs through: the same gateway handles one request and, in a second process, many of
// them under Bun's coverage. A file is run through if the count of a line grows with the number of requests.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const KINDS = ["plain", "stream", "tools", "admin"] as const;
export type RequestKind = (typeof KINDS)[number];

const FEW = 2;
const MANY = 12;

/** Returns the paths from the project's folder, sorted. Throws when the requests fail. */
export async function filesOfRequest(kind: RequestKind, projectFolder: string): Promise<readonly string[]> {
  const [few, many] = await Promise.all([FEW, MANY].map((requests) => coverageOf(kind, requests, projectFolder)));
  return [...many!]
    .filter(([path, lines]) =>
      [...lines].some(([line, count]) => count - (few!.get(path)?.get(line) ?? 0) >= MANY - FEW),
    )
    .map(([path]) => path)
    .toSorted();
}

/** Counts by file and line. */
async function coverageOf(
  kind: RequestKind,
  requests: number,
  projectFolder: string,
): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
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
        env: { ...process.env, TRACED_KIND: kind, TRACED_REQUESTS: String(requests) },
        stdout: "ignore",
        stderr: "pipe",
      },
    );
    const said = await new Response(child.stderr).text();
    if ((await child.exited) !== 0) throw new Error(`the requests of the kind ${kind} failed:\n${said}`);
    return readCoverage(readFileSync(join(folder, "lcov.info"), "utf8"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readCoverage(lcov: string): ReadonlyMap<string, ReadonlyMap<number, number>> {
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
