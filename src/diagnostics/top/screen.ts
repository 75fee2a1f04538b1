// The screen of `dragoman top`: figures as lines that fit a terminal, without side effects. Whatever a colour says is
// also written as text.
import { counted } from "../../core/text/counted.ts";
import { isObject, type Json } from "../../core/json.ts";
import type { Figures, Quantiles } from "./figures.ts";

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

export interface View {
  readonly url: string;
  /** `null` until the gateway has been read twice. */
  readonly figures: Figures | null;
  /** Why the gateway cannot be read, and for how long; `null` when it can. */
  readonly offline: { readonly message: string; readonly forMs: number } | null;
}

export type Paint = "head" | "title" | "bad" | "warn" | "plain";
export interface Piece {
  readonly text: string;
  readonly paint: Paint;
}
export type Line = readonly Piece[];

const piece = (text: string, paint: Paint = "plain"): Piece => ({ text, paint });

/** At most `rows` lines of at most `columns` cells. */
export function screenOf(view: View, { columns, rows }: ScreenSize): readonly Line[] {
  const head = headLines(view);
  const sections = view.figures === null ? [] : sectionsOf(view.figures);
  const room = rows - head.length;
  return [...head, ...fitted(sections, room, columns)].slice(0, rows).map((line) => cut(line, columns));
}

/** The text without colours. */
export function plainText(lines: readonly Line[]): string {
  return lines
    .map((line) =>
      line
        .map(({ text }) => text)
        .join("")
        .trimEnd(),
    )
    .join("\n");
}

function headLines({ url, figures, offline }: View): readonly Line[] {
  if (figures === null)
    return [
      [piece(`dragoman  ${url}  `, "head"), offline === null ? piece("reading...") : piece(awayText(offline), "bad")],
    ];
  const {
    version,
    status,
    reason,
    uptime_s: uptime,
    calls,
    tokens,
    processors,
    memory_bytes: memory,
    cost_usd_per_hour: cost,
  } = figures;
  const standing =
    offline !== null
      ? piece(awayText(offline), "bad")
      : status === "ready"
        ? piece(`ready, up ${spanOf(uptime)}`)
        : piece(`${status}: ${reason ?? ""}`, "bad");
  return [
    [piece(`dragoman ${version}  ${url}  `, "head"), standing],
    [
      piece(`calls ${rateOf(calls.per_second)}/s  in flight ${calls.in_flight}  `),
      piece(
        `failed ${rateOf(calls.failed)}/s (${shareOf(calls.failed, calls.per_second)})`,
        calls.failed > 0 ? "bad" : "plain",
      ),
      piece(`  refused ${rateOf(calls.refused)}/s  cancelled ${rateOf(calls.cancelled)}/s`),
    ],
    [
      piece(
        `tokens in ${rateOf(tokens.prompt)}/s out ${rateOf(tokens.completion)}/s  first content ${quantilesOf(figures.first_token_ms)}  cost $${cost.toFixed(2)}/h`,
      ),
    ],
    [
      piece(`own ${quantilesOf(figures.own_ms)}  cpu ${Math.round(processors * 100)} %  memory ${bytesOf(memory)}  `),
      ...dependencies(figures),
    ],
  ];
}

function awayText({ message, forMs }: { readonly message: string; readonly forMs: number }): string {
  return `NO DATA for ${spanOf(forMs / 1000)}: ${message}`;
}

/** What calls depend on: that all of it works, or what does not. */
function dependencies({
  configuration,
  database,
  limit_store: limitStore,
  ledger,
  workers,
}: Figures): readonly Piece[] {
  const reached = Number(field(database, "reached_ms_ago") ?? 0);
  const offline = field(limitStore, "away_for_ms");
  const lost = Number(field(ledger, "lost_rows") ?? 0);
  const count = Number(field(workers, "count") ?? 0);
  const silent = count - Number(field(workers, "answered") ?? 0);
  const faults = [
    ...(silent > 0 ? [`${silent} of ${counted(count, "worker")} silent`] : []),
    ...(field(configuration, "current") === false ? ["configuration file refused"] : []),
    ...(reached > 5000 ? [`database unreachable for ${spanOf(reached / 1000)}`] : []),
    ...(typeof offline === "number" ? [`limit store unreachable for ${spanOf(offline / 1000)}`] : []),
    ...(field(ledger, "writable") === false ? ["LEDGER NOT WRITABLE"] : []),
    ...(lost > 0 ? [`${counted(lost, "row")} lost`] : []),
  ];
  const unshipped = Number(field(ledger, "unshipped_bytes") ?? 0);
  return [
    faults.length === 0
      ? piece(`database, limits, ledger${count > 0 ? `, ${counted(count, "worker")}` : ""} ok`)
      : piece(faults.join(", "), "bad"),
    piece(unshipped > 1_048_576 ? `, ${bytesOf(unshipped)} unshipped` : "", "warn"),
  ];
}

function field(value: Json, name: string): Json | undefined {
  return isObject(value) ? value[name] : undefined;
}

interface Section {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Piece[])[];
}

function sectionsOf({ routes, targets, budgets, integrations, tools }: Figures): readonly Section[] {
  const bad = (text: string, isBad: boolean, paint: Paint = "bad"): Piece => piece(text, isBad ? paint : "plain");
  return [
    {
      title: "TARGET",
      columns: ["STATE", "CALLS/S", "FAILED", "TOKENS/S", "FIRST p50", "p95", "NOW"],
      rows: targets.map((one) => [
        piece(one.target),
        bad(one.state, !["closed", "unknown"].includes(one.state), one.state === "open" ? "bad" : "warn"),
        piece(rateOf(one.calls)),
        bad(shareOf(one.failed, one.calls), one.failed > 0),
        piece(rateOf(one.tokens)),
        piece(millisOf(one.first_token_ms?.p50)),
        piece(millisOf(one.first_token_ms?.p95)),
        bad(one.waiting === 0 ? String(one.in_flight) : `${one.in_flight}+${one.waiting}`, one.waiting > 0, "warn"),
      ]),
    },
    {
      title: "ROUTE",
      columns: ["CALLS/S", "FAILED", "REFUSED", "TOKENS/S", "FIRST p50", "p95"],
      rows: routes.map((one) => [
        piece(one.route),
        piece(rateOf(one.calls)),
        bad(shareOf(one.failed, one.calls), one.failed > 0),
        piece(shareOf(one.refused, one.calls)),
        piece(rateOf(one.tokens)),
        piece(millisOf(one.first_token_ms?.p50)),
        piece(millisOf(one.first_token_ms?.p95)),
      ]),
    },
    {
      title: "BUDGET",
      columns: ["USED", ""],
      rows: budgets.map(({ budget, used }) => [
        piece(budget),
        bad(`${Math.round(used * 100)} %`, used >= 0.9, used >= 1 ? "bad" : "warn"),
        piece(barOf(used)),
      ]),
    },
    {
      title: "INTEGRATION",
      columns: ["STATE", "SENT/S", "QUEUED", "SHED/S", "SHED TOTAL"],
      rows: integrations.map((one) => [
        piece(one.integration),
        bad(one.up ? "up" : "failing", !one.up),
        piece(rateOf(one.delivered)),
        piece(String(one.queued)),
        bad(rateOf(one.shed), one.shed > 0),
        bad(String(one.shed_in_all), one.shed_in_all > 0, "warn"),
      ]),
    },
    {
      title: "TOOL SERVER",
      columns: ["RUNS/S", "FAILED"],
      rows: tools.map((one) => [
        piece(one.server),
        piece(rateOf(one.runs)),
        bad(shareOf(one.failed, one.runs), one.failed > 0),
      ]),
    },
  ].filter(({ rows }) => rows.length > 0);
}

/**
 * Rows are removed from the longest sections until all fit; when not even one row of each fits, the last sections are
 * removed.
 */
function fitted(sections: readonly Section[], room: number, columns: number): readonly Line[] {
  const shown = sections.slice(0, Math.max(0, Math.floor(room / 3)));
  const counts = shown.map(({ rows }) => rows.length);
  const height = (): number => counts.reduce((sum, count) => sum + count + 2, 0);
  while (height() > room && counts.some((count) => count > 1)) counts[counts.indexOf(Math.max(...counts))]!--;
  return shown.flatMap((section, index) => [[], ...tableLines(section, counts[index]!, columns)]);
}

/** The least and the greatest width of a name, which gets the space that the figures leave. */
const [LEAST_NAME, MOST_NAME] = [16, 48];

function tableLines({ title, columns, rows }: Section, count: number, cells: number): readonly Line[] {
  const some = rows.slice(0, count);
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...some.map((row) => Bun.stringWidth(row[index + 1]?.text ?? ""))),
  );
  const name = count < rows.length ? `${title} (${count} of ${rows.length})` : title;
  const room = cells - widths.reduce((sum, width) => sum + width + 1, 0);
  const nameCells = Math.max(
    LEAST_NAME,
    Math.min(
      room,
      MOST_NAME,
      Math.max(name.length, ...some.map(([first]) => Bun.stringWidth(printable(first?.text ?? "")))),
    ),
  );
  const head: Line = [
    piece(padded(name, nameCells), "title"),
    ...columns.map((column, index) => piece(` ${aligned(column, widths[index]!, index, columns)}`, "title")),
  ];
  return [
    head,
    ...some.map((row): Line =>
      row.map(({ text, paint }, index) =>
        index === 0
          ? piece(padded(printable(text), nameCells), paint)
          : piece(` ${aligned(printable(text), widths[index - 1]!, index - 1, columns)}`, paint),
      ),
    ),
  ];
}

/** Text is aligned to the left, figures to the right. */
function aligned(text: string, width: number, column: number, columns: readonly string[]): string {
  return columns[column] === "STATE" || columns[column] === "" ? text.padEnd(width) : text.padStart(width);
}

function padded(text: string, cells: number): string {
  const fits = clipped(text, cells);
  return fits + " ".repeat(Math.max(0, cells - Bun.stringWidth(fits)));
}

function clipped(text: string, cells: number): string {
  if (Bun.stringWidth(text) <= cells) return text;
  let fits = "";
  for (const letter of text) {
    if (Bun.stringWidth(fits + letter) >= cells) break;
    fits += letter;
  }
  return cells > 0 ? `${fits}…` : "";
}

/** Names may come from a server that is not a gateway, so characters that control a terminal are replaced. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "?");
}

function cut(line: Line, columns: number): Line {
  const fits: Piece[] = [];
  let left = columns;
  for (const { text, paint } of line) {
    const part = clipped(printable(text), left);
    if (part !== "") fits.push(piece(part, paint));
    left -= Bun.stringWidth(part);
  }
  return fits;
}

function rateOf(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 10) return perSecond.toFixed(perSecond < 1 ? 2 : 1);
  if (perSecond < 10_000) return String(Math.round(perSecond));
  return perSecond < 1e7 ? `${Math.round(perSecond / 1000)}k` : `${Math.round(perSecond / 1e6)}M`;
}

function shareOf(part: number, whole: number): string {
  if (part === 0 || whole === 0) return "0 %";
  const percent = (part / whole) * 100;
  return `${percent < 1 ? percent.toFixed(1) : Math.round(percent)} %`;
}

function quantilesOf(quantiles: Quantiles | null): string {
  return quantiles === null ? "-" : `p50 ${millisOf(quantiles.p50)} p95 ${millisOf(quantiles.p95)}`;
}

function millisOf(ms: number | undefined): string {
  if (ms === undefined) return "-";
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  return `${(ms / 1000).toFixed(1)} s`;
}

function bytesOf(bytes: number): string {
  return bytes < 1_048_576
    ? `${Math.round(bytes / 1024)} KiB`
    : bytes < 10 * 1_073_741_824
      ? `${Math.round(bytes / 1_048_576)} MiB`
      : `${Math.round(bytes / 1_073_741_824)} GiB`;
}

function spanOf(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole} s`;
  if (whole < 7200) return `${Math.floor(whole / 60)} min`;
  return whole < 172_800 ? `${Math.floor(whole / 3600)} h` : `${Math.floor(whole / 86_400)} days`;
}

const BAR_CELLS = 20;
function barOf(used: number): string {
  const filled = Math.max(0, Math.min(BAR_CELLS, Math.round(used * BAR_CELLS)));
  return `[${"#".repeat(filled)}${".".repeat(BAR_CELLS - filled)}]`;
}
