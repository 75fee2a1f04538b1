// `npm run bench:console [-- <rows>] [--write]`: what the console weighs, asks and takes over a store with a million calls, and what people do for
// the jobs that they come for. It wants a quiet machine. With `--write` the tables stand in console/README.md.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildConsole } from "../console/build.ts";
import { figuresTable, table } from "../docs/markdown.ts";
import { openCalls } from "../src/store/open-database.ts";
import { chromiumProgram, launch, openConsole, startConsoleGateway } from "../test/harness/chromium.ts";
import { CONSOLE_JOBS, doneJob, type DoneJob } from "../test/harness/console-jobs.ts";
import { projectFolder } from "../test/harness/gateway-program.ts";
import { type LoadFigures, loadFigures } from "./console-load.ts";
import {
  type InteractionFigures,
  interactionFigures,
  type PageFigures,
  pageFigures,
  type PaintFigures,
  paintFigures,
} from "./console-pages.ts";
import { fillCalls } from "./made-calls.ts";

const DAYS = 30;
const DAY_MS = 86_400_000;
const SCOPE = "/default/-";
const PROJECT = "/default/default";
const PAGE = join(projectFolder, "console", "README.md");
const MARKS = ["<!-- figures: written by npm run bench:console -- --write -->", "<!-- end of the figures -->"] as const;
const CALL_SECONDS = 10;

interface Figures {
  readonly rows: number;
  readonly pages: readonly PageFigures[];
  readonly paint: PaintFigures;
  readonly interaction: InteractionFigures;
  readonly jobs: readonly (DoneJob & { readonly name: string; readonly most: number })[];
  readonly load: LoadFigures;
}

async function measured(program: string, rows: number): Promise<Figures> {
  const gateway = await startConsoleGateway({
    config: `prices: {large: {model: "sandbox:*", prompt: "0.30", completion: "1.20"}}\n`,
  });
  const browser = await launch(program);
  try {
    const token = await gateway.createToken("--personal", "--user", "owner");
    const calls = await openCalls({ dataFolder: gateway.dataFolder, databaseUrl: null });
    await fillCalls(calls, {
      rows,
      mix: "many callers",
      fromMs: Date.now() - DAYS * DAY_MS,
      days: DAYS,
      placeOf: () => ({ tenantId: "default", projectId: "default" }),
    });
    await calls.close();
    console.error(`${rows} calls are written`);
    const pages = await pageFigures(browser, gateway.url, token, SCOPE);
    const paint = await paintFigures(browser, gateway.url, token, SCOPE);
    const made = await openConsole(browser, gateway.url);
    await made.open(`${SCOPE}/calls`);
    await made.signIn(token);
    const interaction = await interactionFigures(made, SCOPE);
    const jobs = [];
    for (const job of CONSOLE_JOBS) {
      await made.go(`${PROJECT}/calls`);
      await made.settled();
      jobs.push({ name: job.name, most: job.actions, ...(await doneJob(job, { gateway, made, token })) });
    }
    const call = gateway.firstToken ?? token;
    const load = await loadFigures(gateway, made, { token: call, scope: SCOPE, seconds: CALL_SECONDS });
    for (const fault of made.faults) console.error(fault);
    return { rows, pages, paint, interaction, jobs, load };
  } finally {
    await browser.close();
    await gateway.stop();
  }
}

async function sizes(): Promise<string> {
  const files = await buildConsole();
  const kb = (chosen: readonly { readonly bytes: Uint8Array }[]): number =>
    chosen.reduce((sum, { bytes }) => sum + gzipSync(bytes, { level: 9 }).length, 0) / 1000;
  const scripts = files.filter(({ path }) => path.endsWith(".js"));
  const lazy = scripts.filter(({ use }) => use === "lazy");
  const largest = Math.max(...lazy.map((file) => kb([file])));
  return figuresTable(
    ["packed with gzip", "kB", "at most"],
    [
      ["scripts of the first page", kb(scripts.filter(({ use }) => use === "initial")).toFixed(1), "130"],
      ["styles", kb(files.filter(({ path }) => path.endsWith(".css"))).toFixed(1), "15"],
      ["the largest part that is loaded later", largest.toFixed(1), "40"],
      ["everything", kb(files).toFixed(1), "400"],
    ],
  );
}

const ms = (value: number): string => value.toFixed(value < 10 ? 1 : 0);

async function page({ rows, pages, paint, interaction, jobs, load }: Figures): Promise<string> {
  const { aloneMs, besideMs, consoleRate } = load;
  return [
    `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model.trim() ?? "unknown processor"}, ${cpus().length} cores, Bun ${Bun.version}, SQLite with ${rows.toLocaleString("en")} calls of ${DAYS} days. Gateway, browser and what measures them share the machine.`,
    await sizes(),
    figuresTable(
      ["what", "ms", "at most"],
      [
        ["first paint, nothing cached, processor four times slower, 9 Mbit/s, 60 ms", ms(paint.coldMs), "500"],
        ["the same, loaded again", ms(paint.warmMs), "150"],
        ["`j` and `k` through the list with a call open, 95 of 100", ms(interaction.listP95Ms), "50"],
        ["all keys and clicks, 95 of 100", ms(interaction.allP95Ms), "100"],
        ...Object.entries(interaction.filterMs).map(([filter, took]) => [
          `from the filter \`${filter}\` to its rows, 30 days`,
          ms(took),
          "200",
        ]),
      ],
    ),
    figuresTable(
      ["page", "requests", "kB with nothing cached", "ms from the menu"],
      pages.map(({ title, requests, coldKb, shownMs }) => [title, String(requests), coldKb.toFixed(0), ms(shownMs)]),
    ),
    figuresTable(
      ["job", "actions", "at most", "seconds"],
      jobs.map(({ name, actions, most, ms: took }) => [name, String(actions), String(most), (took / 1000).toFixed(2)]),
    ),
    table(
      ["calls to the gateway", "p50 ms", "p99 ms"],
      [
        ["alone", aloneMs.p50.toFixed(2), aloneMs.p99.toFixed(2)],
        [
          `beside five consoles, which ask ${Math.round(consoleRate)} times a second`,
          besideMs.p50.toFixed(2),
          besideMs.p99.toFixed(2),
        ],
      ],
    ),
  ].join("\n\n");
}

const program = chromiumProgram();
if (program === null) process.exit(1);
const rows = Number(process.argv.slice(2).find((word) => /^\d+$/.test(word)) ?? 1_000_000);
const text = await page(await measured(program, rows));
console.log(text);
if (process.argv.includes("--write")) {
  const before = readFileSync(PAGE, "utf8");
  const [from, to] = MARKS.map((mark) => before.indexOf(mark)) as [number, number];
  writeFileSync(
    PAGE,
    `${before.slice(0, from + MARKS[0].length).replace("No run on a quiet machine has been written here yet.\n\n", "")}\n\n${text}\n\n${before.slice(to)}`,
  );
}
