// Measures the store of calls with many rows in SQLite: the CPU time of all threads and the bytes that a row takes, how
// long pages, reports and budgets take, and for how long a report blocks the process's own thread. There are one
// million rows by default; `-- 50000` makes fewer.
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { table } from "../docs/generators/markdown.ts";
import type { CallScope, CallStore, LogFilter } from "../src/store/calls/calls.ts";
import { rowOf } from "../src/store/journal/journal-row.ts";
import type { LedgerRow } from "../src/store/journal/ledger.ts";
import { type CallSpread, fillCalls, madeCall, type Mix, requestIdOf } from "./load/made-calls.ts";
import { openSqliteCalls } from "../src/store/calls/sqlite-calls.ts";
import { openSqliteDatabase } from "../src/store/sqlite.ts";
import { usageTotals } from "../test/harness/usage-totals.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const DAYS = 30;
/**
 * As many rows as the ledger ships at once. The last `MEASURED` rows are written in batches of this size; the rows
 * before them are written in larger batches, which is quicker.
 */
const BATCH = 2000;
const MEASURED = 20_000;
const LARGE_BATCH = 5000;
const RUNS = 5;

export interface CallFigures {
  readonly rows: number;
  /** Measured with the last rows. */
  readonly rowsPerSecond: number;
  /** Microseconds of all threads for each of the last rows. */
  readonly cpuPerRow: number;
  readonly bytesPerRow: number;
  /** The median time of some runs in milliseconds, by query. */
  readonly tookMs: Readonly<Record<string, number>>;
  /** The longest time for which the process's own thread was blocked while a report ran. */
  readonly longestPauseMs: number;
}

/**
 * Writes `rows` calls of 30 days. They are plain calls of one token, or those of 10 tenants, 40 projects, 200 tokens
 * with two models each, and 5,000 end users, with two members of metadata, and one in twenty failed.
 */
export async function measureCalls(rows: number, mix: Mix = "many callers"): Promise<CallFigures> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-bench-calls-"));
  try {
    const file = join(folder, "calls.db");
    const { store } = await openSqliteDatabase({ file });
    await store.migrate();
    await store.close();
    const calls = openSqliteCalls({ file });
    try {
      const written = await fill(calls, rows, mix);
      const tookMs = await questions(calls);
      return { rows, ...written, bytesPerRow: bytesOf(file) / rows, tookMs, longestPauseMs: await longestPause(calls) };
    } finally {
      await calls.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Without the pages that are free. */
function bytesOf(file: string): number {
  const database = new Database(file, { readonly: true });
  try {
    const pragma = (name: string): number => Number(Object.values(database.query(`pragma ${name}`).get() as object)[0]);
    return (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
  } finally {
    database.close();
  }
}

async function fill(
  calls: CallStore,
  rows: number,
  mix: Mix,
): Promise<Pick<CallFigures, "rowsPerSecond" | "cpuPerRow">> {
  const spread: CallSpread = { rows, mix, fromMs: FROM, days: DAYS };
  const batchOf = (from: number, to: number): readonly LedgerRow[] =>
    Array.from({ length: to - from }, (_, index) =>
      rowOf(Buffer.from(JSON.stringify(madeCall(from + index, spread))), true),
    );
  const before = Math.max(0, rows - MEASURED);
  await fillCalls(calls, spread, { to: before, batch: LARGE_BATCH });
  let tookMs = 0;
  let cpuMicroseconds = 0;
  for (let at = before; at < rows; at += BATCH) {
    // Making the rows is not measured.
    const batch = batchOf(at, Math.min(at + BATCH, rows));
    const cpu = process.cpuUsage();
    const startedMs = performance.now();
    await calls.ingest(batch);
    tookMs += performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpu);
    cpuMicroseconds += user + system;
  }
  return { rowsPerSecond: (rows - before) / (tookMs / 1000), cpuPerRow: cpuMicroseconds / (rows - before) };
}

const FROM = Date.UTC(2026, 0, 1);

async function questions(calls: CallStore): Promise<Readonly<Record<string, number>>> {
  const middle = FROM + (DAYS / 2) * DAY_MS;
  const first = await calls.searchCalls({ limit: 100 }, { order: "newest", tenantId: "tenant-3" });
  const { traceId } = first.data[50]!;
  const asked: Readonly<Record<string, () => Promise<unknown>>> = {
    "a page of 100 calls": () => calls.searchCalls({ limit: 100 }, { order: "newest" }),
    "the page behind it, of one tenant": () =>
      calls.searchCalls({ limit: 100, cursor: first.nextCursor }, { order: "newest", tenantId: "tenant-3" }),
    "a page from the middle, of one project": () =>
      calls.searchCalls(
        { limit: 100 },
        { order: "newest", tenantId: "tenant-3", projectId: "project-3", toMs: middle },
      ),
    "a page of failed calls of one tenant": () =>
      calls.searchCalls({ limit: 100 }, { order: "newest", tenantId: "tenant-3", outcome: "failed" }),
    "a page of one token and one model": () =>
      calls.searchCalls({ limit: 100 }, { order: "newest", tokenId: "token17", model: "model-5" }),
    "calls of an end user that there is not": () =>
      calls.searchCalls({ limit: 100 }, { order: "newest", endUser: "nobody" }),
    ...lookUps(calls, middle),
    "one call with its record": () => calls.findCall(traceId, "tenant-3"),
    "usage of one tenant by day": () =>
      calls.usage({ limit: 100 }, { tenantId: "tenant-3", by: ["day"], order: "group" }),
    "usage of all by tenant and model, totals": async () => [
      await calls.usage({ limit: 1000 }, { by: ["tenant", "model"], order: "cost" }),
      await usageTotals(calls),
    ],
    "usage of all by token, model and day": () =>
      calls.usage({ limit: 1000 }, { by: ["token", "model", "day"], order: "group" }),
    "usage of one tenant by end user": () =>
      calls.usage({ limit: 100 }, { tenantId: "tenant-3", by: ["end_user"], order: "cost" }),
    ...overTime(calls),
    "what a project has spent since a moment, by token": () =>
      calls.spent({ tenantId: "tenant-3", projectId: "project-3", sinceMs: middle + 1234, by: ["token"] }),
  };
  const took: Record<string, number> = {};
  for (const [what, ask] of Object.entries(asked)) {
    const times: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      const startedMs = performance.now();
      await ask();
      times.push(performance.now() - startedMs);
    }
    took[what] = times.toSorted((a, b) => a - b)[Math.floor(RUNS / 2)]!;
  }
  return took;
}

/** What the console's screens ask for. */
function overTime(calls: CallStore): Readonly<Record<string, () => Promise<unknown>>> {
  const tenantId = "tenant-3";
  const endMs = FROM + DAYS * DAY_MS;
  const hours = (days: number): readonly number[] =>
    Array.from({ length: days * 24 + 1 }, (_, index) => endMs - days * DAY_MS + index * HOUR_MS);
  const minutes = Array.from({ length: 145 }, (_, index) => endMs - 12 * HOUR_MS + index * 5 * MINUTE_MS);
  const facets = (days: number, scope: CallScope) => () =>
    calls.facets({ scope, fixed: [], fromMs: endMs - days * DAY_MS, toMs: endMs, limit: 20 });
  return {
    "histogram of a day in hours": () => calls.histogram({ filter: {}, edges: hours(1) }),
    "histogram of 30 days in hours": () => calls.histogram({ filter: {}, edges: hours(30) }),
    "histogram of 30 days in hours, of one tenant": () => calls.histogram({ filter: { tenantId }, edges: hours(30) }),
    "histogram of 12 hours in 5 minutes": () => calls.histogram({ filter: {}, edges: minutes }),
    "histogram of a day in hours, failed, of one tenant": () =>
      calls.histogram({ filter: { tenantId, outcome: "failed" }, edges: hours(1) }),
    "histogram of 30 days in hours, slow": () =>
      calls.histogram({ filter: { atLeast: { totalMs: 19_000 } }, edges: hours(30) }),
    "facets of a day": facets(1, {}),
    "facets of a day, of one tenant and route": facets(1, { tenantId, route: "direct" }),
    "facets of 30 days": facets(30, {}),
    "facets of 30 days, of one tenant": facets(30, { tenantId }),
    "usage of one tenant by project and day in Kolkata": () =>
      calls.usage({ limit: 1000 }, { tenantId, by: ["project", "day"], order: "group", zone: "Asia/Kolkata" }),
    "usage of all by project and model, 30 days that begin and end within an hour": () =>
      calls.usage(
        { limit: 1000 },
        { by: ["project", "model"], order: "cost", fromMs: FROM + 30 * MINUTE_MS, toMs: endMs - 30 * MINUTE_MS },
      ),
    "the newest call by its provider's request id": () =>
      calls.searchCalls({ limit: 2 }, { order: "newest", providerRequestId: requestIdOf(999_999) }),
    "a provider's request id that there is not, first step": () =>
      calls.searchCalls({ limit: 2 }, { order: "newest", providerRequestId: "req_none" }),
  };
}

/**
 * Queries the log by each of its filters alone, and by the usual combinations: with frequent values, with rare ones,
 * and with values that do not occur.
 */
function lookUps(calls: CallStore, middle: number): Readonly<Record<string, () => Promise<unknown>>> {
  const tenantId = "tenant-3";
  const project = { tenantId, projectId: "project-3" };
  const asked: Readonly<Record<string, Partial<LogFilter>>> = {
    all: {},
    "oldest first": { order: "oldest" },
    "as they end": { order: "ended", endedFromMs: middle },
    "a time": { fromMs: middle - DAY_MS, toMs: middle },
    "a tenant": { tenantId },
    "a project": project,
    "a token": { tokenId: "token17" },
    "an end user": { endUser: "user-4321" },
    "an end user of a project": { ...project, endUser: "user-4321" },
    "a route": { route: "fast" },
    "a provider": { provider: "anthropic" },
    "a model": { model: "model-5" },
    "a model that there is not": { model: "none" },
    "the model as asked": { modelAsked: "openai:model" },
    "a model as asked that there is not": { ...project, modelAsked: "none" },
    "a status": { status: 502 },
    "a status that there is not": { status: 418 },
    "a class of status": { statusClass: 5 },
    failed: { outcome: "failed" },
    "failed, of a tenant": { tenantId, outcome: "failed" },
    "a code": { code: "upstream_error" },
    "a code of a project": { ...project, code: "upstream_error" },
    streams: { stream: true },
    "left by the client, of which there are none": { cancelled: true },
    "a finish reason": { finishReason: "stop" },
    "a finish reason that there is not": { ...project, finishReason: "length" },
    slow: { atLeast: { totalMs: 19_990 } },
    "slower than any": { atLeast: { totalMs: 90_000 } },
    "slow, of a project": { ...project, atLeast: { totalMs: 19_900 } },
    "many tokens": { atLeast: { tokens: 4900 } },
    dear: { atLeast: { costNanoUsd: 18_000_000 } },
    "more than one attempt, of which there are none": { atLeast: { attempts: 2 } },
    "metadata that all have": { tags: ["meta:team=search"] },
    "metadata that all have, of a project": { ...project, tags: ["meta:team=search"] },
    "metadata of a session": { tags: ["meta:session=s777"] },
    "metadata that all have, and a session": { tags: ["meta:team=search", "meta:session=s777"] },
    "metadata that there is not": { tags: ["meta:team=none"] },
    "the caller's own id": { tags: ["request:req-777"] },
    "a model of a token in a time": {
      ...project,
      tokenId: "token43",
      model: "model-7",
      fromMs: middle - DAY_MS,
      toMs: middle,
    },
    "failed streams of a model of a tenant, slow, in a time": {
      tenantId,
      outcome: "failed",
      stream: true,
      model: "model-3",
      atLeast: { totalMs: 15_000 },
      fromMs: middle - 7 * DAY_MS,
      toMs: middle,
    },
  };
  return Object.fromEntries(
    Object.entries(asked).map(([what, filter]) => [
      `${LOG}${what}`,
      () => calls.searchCalls({ limit: 100 }, { order: "newest", ...filter }),
    ]),
  );
}

export const LOG = "log: ";

/** Returns the most CPU time that this thread used between two runs of a timer while the most expensive reports ran. */
async function longestPause(calls: CallStore): Promise<number> {
  const spentMs = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let longest = 0;
  let lastMs = spentMs();
  const timer = setInterval(() => {
    const nowMs = spentMs();
    longest = Math.max(longest, nowMs - lastMs);
    lastMs = nowMs;
  }, 2);
  await Promise.all([
    calls.usage({ limit: 1000 }, { by: ["token", "model", "day"], order: "cost" }),
    calls.searchCalls({ limit: 100 }, { order: "newest", endUser: "nobody" }),
    calls.usage({ limit: 1000 }, { by: ["end_user", "model"], order: "cost" }),
  ]);
  clearInterval(timer);
  return longest;
}

if (import.meta.main) {
  const rows = Number(process.argv[2] ?? 1_000_000);
  for (const mix of ["plain", "many callers"] as const) {
    const { rowsPerSecond, cpuPerRow, bytesPerRow, tookMs, longestPauseMs } = await measureCalls(rows, mix);
    console.log(
      `${rows.toLocaleString("en")} calls, ${mix}; the last of them took ${cpuPerRow.toFixed(1)} µs of CPU each, all threads, and went in at ${Math.round(rowsPerSecond).toLocaleString("en")} a second, ${BATCH} at a time, each batch on the disk before the next; ${Math.round(bytesPerRow)} bytes a call.\n`,
    );
    if (mix === "plain") continue;
    console.log(
      table(
        ["question", "ms"],
        Object.entries(tookMs).map(([what, ms]) => [what, ms.toFixed(1)]),
      ),
    );
    console.log(`\nWhile reports ran, the process's own thread was kept ${longestPauseMs.toFixed(1)} ms at most.`);
  }
}
