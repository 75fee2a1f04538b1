// The page on sizing: what it computes from the figures of a run, and what it says of figures that are missing.
import { describe, expect, test } from "bun:test";
import type { Sizing } from "../../bench/sizing/figures.ts";
import { capacityOf, needOf } from "../../bench/sizing/needs.ts";
import { sizingPage } from "../../bench/sizing/page.ts";
import type { SupervisorCost, WorkerCost } from "../../bench/worker-costs.ts";

function cost(label: string, servingMicros: number, supervisor: Partial<SupervisorCost> | null): WorkerCost {
  const none = { mainMicros: 0, writerMicros: 0, micros: 0, messages: 0, bytes: 0, mb: 100 };
  return {
    label,
    workers: supervisor === null ? 1 : 2,
    perSecond: 1,
    servingMicros,
    servingMb: 200,
    supervisor: supervisor === null ? null : { ...none, ...supervisor },
  };
}

const OF_TWO = cost("1 of 2 workers", 80, { mainMicros: 10, writerMicros: 8, micros: 20 });
const call = (micros: number) => ({ label: "a call", micros });
const STORE = { statements: 0.01, messages: 0.01, networkBytes: 300, cpuMicros: 25, dataBytes: 500, logBytes: 600 };

const SIZING: Sizing = {
  machine: "a CPU",
  loadBefore: 0.1,
  date: "2026-01-01",
  quick: false,
  calls: {
    plain: call(100),
    anthropic: call(110),
    bedrock: call(150),
    governed: call(140),
    stream: call(300),
    anthropicStream: call(500),
    bedrockStream: call(700),
  },
  workers: {
    plain: { alone: cost("one process", 100, null), ofTwo: OF_TWO },
    governed: {
      alone: cost("one process, limits", 140, null),
      ofTwo: cost("1 of 2 workers, limits", 120, { mainMicros: 50, writerMicros: 8, micros: 60, messages: 2.1 }),
    },
    postgres: { unmeasured: "PostgreSQL is not installed" },
  },
  together: [cost("one process", 100, null), OF_TWO],
  growth: [{ label: "nothing else", micros: 100, cpuMs: 400, mb: 120 }],
  memory: [
    { streams: 1000, atRestMb: 100, openMb: 150, settleMs: 1, afterMb: 110 },
    { unmeasured: "too few files may be open" },
  ],
  streamsWanted: 10_000,
  disk: { kept: 300, written: null, log: 900 },
  postgres: { unmeasured: "PostgreSQL is not installed" },
  valkey: { unmeasured: "neither Valkey nor Redis is installed" },
};

describe("what more cores would do", () => {
  test("cores are full first while there are few", () => {
    expect(capacityOf(1, cost("one process", 100, null))).toEqual({ perSecond: 10_000, wall: "cores" });
    expect(capacityOf(8, OF_TWO)).toEqual({ perSecond: 80_000, wall: "cores" });
  });
  test("then the supervisor's thread, the writer or PostgreSQL, whichever costs most", () => {
    expect(capacityOf(64, OF_TWO)).toEqual({ perSecond: 100_000, wall: "supervisor" });
    const slowWriter = cost("", 80, { mainMicros: 10, writerMicros: 20, micros: 30 });
    expect(capacityOf(64, slowWriter)).toEqual({ perSecond: 50_000, wall: "writer" });
    expect(capacityOf(64, slowWriter, STORE)).toEqual({ perSecond: 80_000, wall: "postgres" });
  });
  test("and never more than 64 workers", () => {
    expect(capacityOf(200, cost("", 80, { mainMicros: 0.1, writerMicros: 0.1, micros: 0.2 }))).toEqual({
      perSecond: 800_000,
      wall: "workers",
    });
  });
});

describe("what to buy", () => {
  test("one process where one core is enough", () => {
    // 100 calls of 140 + 0.5 * 200 µs are 0.024 cores
    expect(needOf(SIZING, 100)).toMatchObject({ machines: 1, coresEach: 1, openStreams: 500, database: "SQLite" });
  });
  test("cores for 60 % of their time, with memory, disk and log", () => {
    // 5,000 calls of 180 + 0.5 * 200 µs are 1.4 cores, of 0.6 each 2.33; a day has 144 million calls
    const need = needOf(SIZING, 5000);
    expect(need).toMatchObject({ machines: 1, coresEach: 3, openStreams: 25_000, database: "SQLite" });
    expect(need.memoryGbEach).toBeCloseTo(0.7 + 1.25);
    expect(need.diskGb).toBeCloseTo(144 * 30 * 0.3);
    expect(need.logGbADay).toBeCloseTo(144 * 0.9);
  });
  test("machines, where the supervisor's thread would be full", () => {
    // it carries 20,000 calls a second under limits, of which 60 % are planned
    expect(needOf(SIZING, 12_000).machines).toBe(1);
    expect(needOf(SIZING, 12_001)).toMatchObject({ machines: 2, database: "PostgreSQL" });
  });
});

describe("the page", () => {
  const page = sizingPage(SIZING);
  test("says when, where and by which command it was written, and what is computed", () => {
    expect(page).toContain(
      "`npm run bench:sizing -- --write` has measured the figures in one run on 2026-01-01 and written the page. The machine was: a CPU. Its load average before the run was 0.1.",
    );
    expect(page).not.toContain("quick run");
    expect(sizingPage({ ...SIZING, quick: true })).toContain("**It was a quick run, whose figures mean nothing.**");
    for (const heading of ["What to buy", "More cores, and the next wall"])
      expect(page).toContain(`## ${heading}\n\n*Computed* `);
  });
  test("says what could not be measured, and why", () => {
    expect(page).toContain("With PostgreSQL it was not measured: PostgreSQL is not installed.");
    expect(page).toContain("| PostgreSQL, which keeps the calls | not measured: PostgreSQL is not installed |");
    expect(page).toContain("not measured: neither Valkey nor Redis is installed |");
    expect(page).toContain("A row is missing: too few files may be open.");
    expect(page).toContain("was not measured, because the folder of the run was in memory");
    expect(page).not.toContain("calls/s, no limits, PostgreSQL");
  });
  test("says that fewer streams were allowed than wanted", () => {
    const fewer = sizingPage({ ...SIZING, memory: SIZING.memory.slice(0, 1) });
    expect(fewer).toContain("10,000 streams were wanted: this machine's hard limit of open files allows no more");
  });
  test("shows the walls in the order in which they come", () => {
    const walls = page.slice(page.indexOf("The walls, in the order"));
    expect(walls.indexOf("with limits")).toBeLessThan(walls.indexOf("without limits"));
    expect(page).toContain("| 64 | 100,000 (the supervisor's main thread) | 20,000 (the supervisor's main thread) |");
  });
  test("the figures survive being written to the file", () => {
    expect(sizingPage(JSON.parse(JSON.stringify(SIZING)) as Sizing)).toBe(page);
  });
});
