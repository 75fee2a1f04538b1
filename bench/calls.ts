// What the store of calls does with many rows in SQLite: how quickly they go in, what pages, reports and budgets take, and how long the process's own thread was
// kept while a report ran. One million rows by default; `-- 50000` for fewer.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { table } from "../docs/markdown.ts";
import type { CallRecord } from "../src/core/record.ts";
import type { CallStore } from "../src/store/calls.ts";
import { rowOf } from "../src/store/journal-row.ts";
import { openSqliteCalls } from "../src/store/sqlite-calls.ts";
import { openSqliteStore } from "../src/store/sqlite.ts";

const DAY_MS = 86_400_000;
const DAYS = 30;
/** As much as the ledger ships at once, and how many of the last rows go in so; those before go in by larger batches, which is quicker. */
const BATCH = 2000;
const MEASURED = 20_000;
const LARGE_BATCH = 5000;
const RUNS = 5;

export interface CallFigures {
  readonly rows: number;
  /** Of the last of them. */
  readonly rowsPerSecond: number;
  readonly megabytes: number;
  /** Milliseconds by what was asked, the median of some runs. */
  readonly tookMs: Readonly<Record<string, number>>;
  /** The longest that the process's own thread was kept while a report ran. */
  readonly longestPauseMs: number;
}

/** `rows` calls of 30 days: 10 tenants, 40 projects, 200 tokens of two models each, 5,000 end users; one in twenty fails. */
export async function measureCalls(rows: number): Promise<CallFigures> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-bench-calls-"));
  try {
    const file = join(folder, "calls.db");
    const store = await openSqliteStore({ file });
    await store.migrate();
    await store.close();
    const calls = openSqliteCalls({ file });
    try {
      const fill = async (from: number, to: number, batch: number): Promise<void> => {
        for (let at = from; at < to; at += batch) await calls.ingest(Array.from({ length: Math.min(batch, to - at) }, (_, index) => rowOf(Buffer.from(JSON.stringify(record(at + index, rows))), true)));
      };
      const before = Math.max(0, rows - MEASURED);
      await fill(0, before, LARGE_BATCH);
      const startedMs = performance.now();
      await fill(before, rows, BATCH);
      const ingestMs = performance.now() - startedMs;
      const tookMs = await questions(calls);
      return { rows, rowsPerSecond: (rows - before) / (ingestMs / 1000), megabytes: statSync(file).size / 1e6, tookMs, longestPauseMs: await longestPause(calls) };
    } finally {
      await calls.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const FROM = Date.UTC(2026, 0, 1);
const MODELS = Array.from({ length: 12 }, (_, index) => `model-${index}`);

/** The same for the same number, spread over the days, and evenly enough over everything else. */
function record(number: number, rows: number): CallRecord {
  const mixed = Math.imul(number + 1, 2_654_435_761) >>> 0;
  const token = mixed % 200;
  const failed = mixed % 20 === 0;
  const model = (token + (mixed % 5 === 0 ? 1 : 0)) % MODELS.length;
  const prompt = 200 + (mixed % 4000);
  const completion = 20 + (mixed % 800);
  return {
    traceId: `${mixed.toString(16).padStart(8, "0")}${number.toString(16).padStart(24, "0")}`, startedAtMs: FROM + Math.floor((number / rows) * DAYS * DAY_MS), clientRequestId: null, otelTraceId: null, trace: null, rounds: 1, tools: [], snapshotVersion: 3,
    tokenId: `token${token}`, tenantId: `tenant-${token % 10}`, projectId: `project-${token % 40}`, userId: null, endUser: mixed % 3 === 0 ? `user-${mixed % 5000}` : null, modelAsked: "openai:model", route: token % 2 === 0 ? "fast" : "direct",
    provider: model % 4 === 0 ? "anthropic" : "openai", model: MODELS[model]!, stream: mixed % 2 === 0, explained: false, status: failed ? 502 : 200, code: failed ? "upstream_error" : null, errorDetail: null,
    fates: { temperature: "native", max_completion_tokens: "native" }, messages: { count: 3, roles: { system: 1, user: 2 }, blocks: ["text"], bodyCharacters: 1200 },
    attempts: [{ provider: "openai", model: "model", status: failed ? 500 : 200, code: failed ? "upstream_error" : null, round: 1, startMs: 1, spanId: null, usage: null, usageSource: null, nativeCode: null, retryAfterMs: null, headMs: 320, firstContentMs: 400, totalMs: 1500 }],
    finishReasons: ["stop"], nativeFinishReasons: [], usage: failed ? null : { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }, usageSource: failed ? null : "provider",
    cost: failed ? null : { nanoUsd: prompt * 2500 + completion * 10_000, priceId: "genai-prices@0.1.8:openai/gpt-4o" }, callerCost: null, limits: [], policies: [], warnings: [], cancelled: false, metadata: { team: "search" },
    firstContentMs: 400, totalMs: mixed % 20_000, ownMs: 0.2,
  };
}

async function questions(calls: CallStore): Promise<Readonly<Record<string, number>>> {
  const middle = FROM + (DAYS / 2) * DAY_MS;
  const first = await calls.listCalls({ limit: 100 }, { tenantId: "tenant-3" });
  const { traceId } = first.data[50]!;
  const asked: Readonly<Record<string, () => Promise<unknown>>> = {
    "a page of 100 calls": () => calls.listCalls({ limit: 100 }),
    "the page behind it, of one tenant": () => calls.listCalls({ limit: 100, cursor: first.nextCursor }, { tenantId: "tenant-3" }),
    "a page from the middle, of one project": () => calls.listCalls({ limit: 100 }, { tenantId: "tenant-3", projectId: "project-3", toMs: middle }),
    "a page of failed calls of one tenant": () => calls.listCalls({ limit: 100 }, { tenantId: "tenant-3", outcome: "failed" }),
    "a page of one token and one model": () => calls.listCalls({ limit: 100 }, { tokenId: "token17", model: "model-5" }),
    "calls of an end user that there is not: everything is looked at": () => calls.listCalls({ limit: 100 }, { endUser: "nobody" }),
    "one call with its record": () => calls.findCall(traceId, "tenant-3"),
    "usage of one tenant by day": () => calls.usage({ limit: 100 }, { tenantId: "tenant-3", by: ["day"], order: "group" }),
    "usage of all by tenant and model, totals": async () => [await calls.usage({ limit: 1000 }, { by: ["tenant", "model"], order: "cost" }), await calls.usageTotals({})],
    "usage of all by token, model and day": () => calls.usage({ limit: 1000 }, { by: ["token", "model", "day"], order: "group" }),
    "usage of one tenant by end user": () => calls.usage({ limit: 100 }, { tenantId: "tenant-3", by: ["end_user"], order: "cost" }),
    "what a project has spent since a moment, by token": () => calls.spent({ tenantId: "tenant-3", projectId: "project-3", sinceMs: middle + 1234, by: ["token"] }),
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

/** A timer that wants to run every two milliseconds, while the dearest reports run. */
async function longestPause(calls: CallStore): Promise<number> {
  let longest = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    longest = Math.max(longest, nowMs - lastMs - 2);
    lastMs = nowMs;
  }, 2);
  await Promise.all([calls.usage({ limit: 1000 }, { by: ["token", "model", "day"], order: "cost" }), calls.listCalls({ limit: 100 }, { endUser: "nobody" }), calls.usage({ limit: 1000 }, { by: ["end_user", "model"], order: "cost" })]);
  clearInterval(timer);
  return longest;
}

if (import.meta.main) {
  const rows = Number(process.argv[2] ?? 1_000_000);
  const { rowsPerSecond, megabytes, tookMs, longestPauseMs } = await measureCalls(rows);
  console.log(`${rows.toLocaleString("en")} calls; the last of them went in at ${Math.round(rowsPerSecond).toLocaleString("en")} a second, ${BATCH} at a time, each batch on the disk before the next; ${Math.round(megabytes)} MB.\n`);
  console.log(table(["question", "ms"], Object.entries(tookMs).map(([what, ms]) => [what, ms.toFixed(1)])));
  console.log(`\nWhile reports ran, the process's own thread was kept ${longestPauseMs.toFixed(1)} ms at most.`);
}
