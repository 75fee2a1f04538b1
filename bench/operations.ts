// `npm run bench:operations`: the CPU that calls of other operations take above chat completions of same shape, in one
// gateway that is loaded with all of them in turns, so that what else the machine does falls on all. Prints Markdown;
// --write puts it into README.md beside this file, and --quick only shows that everything works. Three minutes.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { figuresTable, withGeneratedPart } from "../docs/generators/markdown.ts";
import { type Front, frontPath, NATIVE, requestText } from "./subjects/fronts.ts";
import { startGateway } from "./subjects/gateway.ts";
import { httpRequest, runLoad } from "./load/load.ts";
import { startMock } from "./load/mock.ts";
import { bindToCore, chooseCores, cpuSeconds, missingTools } from "./subjects/process-stats.ts";
import { startServer, type Subject, underBun } from "./subjects/subject.ts";

const README = join(import.meta.dir, "README.md");
const CONNECTIONS = 32;
const MOST_TRANSLATED = 50;
const MOST_NATIVE = 10;

interface Pace {
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmUpMs: number;
}
const FULL: Pace = { rounds: 12, roundMs: 800, warmUpMs: 5000 };
const QUICK: Pace = { rounds: 1, roundMs: 40, warmUpMs: 20 };

type Kind = "plain" | "stream";
const KINDS = ["plain", "stream"] as const;

interface Row {
  readonly label: string;
  readonly front: Front;
  /** Of the mock, without the kind. */
  readonly answer: string;
  /** In percent of chat; `null` for chat itself. */
  readonly most: number | null;
  /** Microseconds of all threads per call, round by round. */
  readonly micros: Readonly<Record<Kind, number[]>>;
}

const row = (label: string, front: Front, answer: string, most: number | null): Row => ({
  label,
  front,
  answer,
  most,
  micros: { plain: [], stream: [] },
});
const CHAT = row("chat completions, same shape", "chat", "openai", null);
const ROWS: readonly Row[] = [
  CHAT,
  ...NATIVE.flatMap(({ id, front }) => [
    row(`\`/${front}\`, translated`, front, "openai", MOST_TRANSLATED),
    row(`\`/${front}\`, native`, front, id, MOST_NATIVE),
  ]),
];

const { values: flags, positionals } = parseArgs({
  options: { quick: { type: "boolean", default: false }, write: { type: "boolean", default: false } },
  allowPositionals: true,
});
if (positionals[0] === "serve-mock") process.stdout.write(`port ${startMock().port}\n`);
else await main(flags.quick ? QUICK : FULL);

async function main(pace: Pace): Promise<void> {
  const missing = missingTools();
  if (missing !== null) {
    process.stderr.write(`bench: ${missing}\n`);
    process.exit(1);
  }
  const folder = mkdtempSync(join(tmpdir(), "dragoman-operations-"));
  const cores = chooseCores();
  bindToCore(process.pid, cores.load);
  const mock = await startServer(underBun(import.meta.path, "serve-mock"), cores.load);
  try {
    const gateway = await startGateway(join(folder, "gateway"), mock.port, cores.subject);
    try {
      await measure(gateway, pace);
    } finally {
      await gateway.stop();
    }
  } finally {
    await mock.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  const text = report(pace);
  process.stdout.write(`${text}\n`);
  if (flags.write) writeFileSync(README, withGeneratedPart(readFileSync(README, "utf8"), "operations", text));
}

async function measure(gateway: Subject, { rounds, roundMs, warmUpMs }: Pace): Promise<void> {
  for (const kind of KINDS) for (const one of ROWS) await microsOf(gateway, one, kind, warmUpMs);
  for (let index = 0; index < rounds; index++)
    for (const kind of KINDS)
      for (const one of ROWS) one.micros[kind].push(await microsOf(gateway, one, kind, roundMs));
}

async function microsOf(gateway: Subject, { front, answer }: Row, kind: Kind, durationMs: number): Promise<number> {
  const { path, model, token } = gateway.target(`${answer}-${kind}`);
  const body = requestText(front, model, kind === "stream");
  const request = httpRequest(gateway.port, frontPath(path, front), body, token);
  gateway.tidy();
  const before = cpuSeconds(gateway.pids);
  const { requests } = await runLoad({ port: gateway.port, request }, { connections: CONNECTIONS, durationMs });
  return ((cpuSeconds(gateway.pids) - before) / requests) * 1e6;
}

function report({ rounds }: Pace): string {
  const machine = `${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, Linux ${release()}, Bun ${Bun.version}`;
  return [
    `${new Date().toISOString().slice(0, 10)}, ${machine}${flags.quick ? ", --quick: the figures mean nothing" : ""}. CPU µs of all threads for a call, the median of ${rounds} rounds in turns; above chat is the median of what each round says.`,
    "",
    figuresTable(
      ["", "plain, CPU µs", "above chat", "stream of 200 events, CPU µs", "above chat", "at most"],
      ROWS.map((one) => [
        one.label,
        ...KINDS.flatMap((kind) => [median(one.micros[kind]).toFixed(1), aboveChat(one, kind)]),
        one.most === null ? "" : `${one.most} %`,
      ]),
    ),
  ].join("\n");
}

function aboveChat({ micros, most }: Row, kind: Kind): string {
  if (most === null) return "";
  const ratios = micros[kind].map((one, index) => one / CHAT.micros[kind][index]!);
  return `${((median(ratios) - 1) * 100).toFixed(0).replace("-", "−")} %`;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1]!;
}
