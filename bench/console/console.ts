// `npm run bench:console [-- <rows>] [--postgres] [--keep <folder>] [--tail <minutes>] [--stores] [--write]`: what the console weighs, asks and takes over
// a store with a million calls, and what people do for the jobs that they come for. It wants a quiet machine. `--keep` keeps the store for another run,
// `--tail` only measures the browser's memory under a live list for so long, `--stores` only goes through all screens over stores of several sizes, and
// with `--write` what was measured stands in console/README.md.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { buildConsole } from "../../console/build.ts";
import { figuresTable, table } from "../../docs/generators/markdown.ts";
import { chromiumProgram, type ConsolePage, launch, openConsole } from "../../test/harness/console/chromium.ts";
import { CONSOLE_JOBS, doneJob, type DoneJob, mostActions } from "../../test/harness/console/jobs.ts";
import { projectFolder } from "../../test/harness/processes/gateway-program.ts";
import { type LoadFigures, loadFigures } from "./load.ts";
import {
  type InteractionFigures,
  interactionFigures,
  type PageFigures,
  pageFigures,
  type PaintFigures,
  paintFigures,
  signedInCookies,
} from "./pages.ts";
import { walkedStores } from "./walks.ts";
import { DAYS, type FilledStore, openStoreGateway } from "./stores.ts";
import { type TailFigures, tailFigures } from "./tail.ts";

const SCOPE = "/default/-";
const PAGE = join(projectFolder, "console", "README.md");
const END = "<!-- end of what was written -->";
const CALL_SECONDS = 10;

interface Figures {
  readonly pages: readonly PageFigures[];
  readonly paint: PaintFigures;
  readonly interaction: InteractionFigures;
  readonly jobs: readonly MeasuredJob[];
  readonly load: LoadFigures;
}

interface MeasuredJob {
  readonly name: string;
  readonly keyboard: DoneJob;
  readonly mouse: DoneJob;
  readonly most: readonly [keyboard: number, mouse: number];
}

async function measured(program: string, store: FilledStore): Promise<Figures> {
  const { gateway, token, close } = await openStoreGateway(store);
  const browser = await launch(program);
  try {
    said("the store is there");
    const cookies = await signedInCookies(browser, gateway.url, token);
    const pages = await pageFigures(browser, gateway.url, cookies, SCOPE);
    said("pages are measured");
    const paint = await paintFigures(browser, gateway.url, cookies, SCOPE);
    said("paints are measured");
    const made = await openConsole(browser, gateway.url, { storageState: { cookies: [...cookies], origins: [] } });
    await made.open(`${SCOPE}/calls`);
    const interaction = await interactionFigures(made, SCOPE);
    said("interactions are measured");
    const jobs: MeasuredJob[] = [];
    for (const job of CONSOLE_JOBS) {
      const world = { gateway, made, token };
      const keyboard = await doneJob(job, world, "keyboard");
      const mouse = await doneJob(job, world, "mouse");
      jobs.push({ name: job.name, keyboard, mouse, most: [mostActions(job, "keyboard"), mostActions(job, "mouse")] });
    }
    said("jobs are measured");
    const load = await loadFigures(gateway, made, { token: gateway.firstToken!, scope: SCOPE, seconds: CALL_SECONDS });
    said("the load is measured");
    requireNoFault(made);
    return { pages, paint, interaction, jobs, load };
  } finally {
    await browser.close();
    await close();
  }
}

async function measuredTail(program: string, store: FilledStore, minutes: number): Promise<TailFigures> {
  const { gateway, token, close } = await openStoreGateway(store);
  const browser = await launch(program);
  try {
    const cookies = await signedInCookies(browser, gateway.url, token);
    const made = await openConsole(browser, gateway.url, { storageState: { cookies: [...cookies], origins: [] } });
    const tail = await tailFigures(gateway, made, SCOPE, minutes);
    requireNoFault(made);
    return tail;
  } finally {
    await browser.close();
    await close();
  }
}

function requireNoFault({ faults }: ConsolePage): void {
  if (faults.length > 0) throw new Error(`The browser reports: ${faults.join("\n")}`);
}

const startedMs = performance.now();
function said(what: string): void {
  console.error(`${((performance.now() - startedMs) / 1000).toFixed(0)} s: ${what}`);
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

const runOf = ({ kind, rows }: FilledStore): string =>
  `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model.trim() ?? "unknown processor"}, ${cpus().length} cores, Bun ${Bun.version}, ${kind} with ${rows.toLocaleString("en")} calls of ${DAYS} days.`;

async function page(store: FilledStore, figures: Figures): Promise<string> {
  const { pages, paint, interaction, jobs, load } = figures;
  const { aloneMs, besideMs, consoleRate } = load;
  return [
    `${runOf(store)} Gateway, browser and what measures them share the machine.`,
    await sizes(),
    figuresTable(
      ["what", "ms", "at most"],
      [
        ["first paint, nothing cached, processor four times slower, 9 Mbit/s, 60 ms", ms(paint.coldMs), "500"],
        ["the same, loaded again", ms(paint.warmMs), "150"],
        ["`j` and `k` through the list with a call open, 95 of 100", ms(interaction.listP95Ms), "50"],
        ["all keys and clicks, 95 of 100", ms(interaction.allP95Ms), "100"],
      ],
    ),
    figuresTable(
      ["filter of the calls of 30 days", "ms until its rows", "at most", "ms until chart and counts"],
      Object.entries(interaction.filters).map(([filter, { rowsMs, allMs }]) => [
        `\`${filter}\``,
        ms(rowsMs),
        "200",
        ms(allMs),
      ]),
    ),
    figuresTable(
      ["page", "requests", "kB with nothing cached", "ms from the menu"],
      pages.map(({ title, requests, coldKb, shownMs }) => [title, String(requests), coldKb.toFixed(0), ms(shownMs)]),
    ),
    figuresTable(
      ["job", "by keyboard: actions", "at most", "seconds", "by mouse: actions", "at most", "seconds"],
      jobs.map(({ name, keyboard, mouse, most }) => [
        name,
        String(keyboard.actions),
        String(most[0]),
        (keyboard.ms / 1000).toFixed(2),
        String(mouse.actions),
        String(most[1]),
        (mouse.ms / 1000).toFixed(2),
      ]),
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

function tailPage(store: FilledStore, tail: TailFigures): string {
  return `${runOf(store)} A live list of calls, ${tail.callsPerSecond} calls a second for ${tail.minutes} minutes: the browser's heap is ${tail.beginMb.toFixed(1)} MB near the beginning and ${tail.endMb.toFixed(1)} MB at the end, a slope of ${tail.slopeKbPerMinute.toFixed(1)} kB a minute.`;
}

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: {
    postgres: { type: "boolean", default: false },
    stores: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    keep: { type: "string" },
    tail: { type: "string" },
  },
});
const program = chromiumProgram();
if (program === null) process.exit(1);
const most = Number(positionals[0] ?? 1_000_000);
const kind = values.postgres ? "PostgreSQL" : "SQLite";
const store: FilledStore = { kind, rows: most, folder: values.keep ?? null };
if (values.stores) console.log(await walkedStores(program, kind, most, store.folder));
else if (values.tail !== undefined)
  report("the live list", tailPage(store, await measuredTail(program, store, Number(values.tail))));
else report(kind, await page(store, await measured(program, store)));

function report(section: string, text: string): void {
  console.log(text);
  if (!values.write) return;
  const before = readFileSync(PAGE, "utf8");
  const mark = `<!-- ${section}: written by npm run bench:console -- --write -->`;
  const from = before.indexOf(mark) + mark.length;
  writeFileSync(PAGE, `${before.slice(0, from)}\n\n${text}\n\n${before.slice(before.indexOf(END, from))}`);
}
