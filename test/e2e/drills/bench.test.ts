// The benchmark itself: it prints its rows, marks a meaningless rate as such, and the load generator finds the end of
// an answer however it is cut.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isolation, packageFolder } from "../../../bin/runtime.mjs";
import { answerBody, chatBody } from "../../../bench/load/answers.ts";
import { EVENTS_PER_STREAM, PROTOCOLS } from "../../../bench/load/protocols.ts";
import { AnswerReader } from "../../../bench/load/http-answer.ts";
import { httpRequest, runLoad } from "../../../bench/load/load.ts";
import { startMock } from "../../../bench/load/mock.ts";
import { missingTools } from "../../../bench/subjects/process-stats.ts";
import { type BenchRun, historyTable, runOf, withRun } from "../../../bench/run-history.ts";
import { type RowResult, SCENARIOS } from "../../../bench/load/scenarios.ts";
import { markdown, withResults } from "../../../bench/table.ts";
import { nginxProgram } from "../../../bench/subjects/nginx.ts";
import { readWrk, wrkProgram } from "../../../bench/load/wrk.ts";

const why = missingTools();
if (why !== null) console.log(`skipped the benchmark's own run: ${why}`);

const MACHINE = { cpu: "CPU", cores: 2, kernel: "6", bun: "1", nginx: "nginx/1", date: "2026-01-01" };

function row(id: string, measured: Partial<RowResult>): RowResult {
  const scenario = SCENARIOS.find((each) => each.id === id)!;
  return {
    scenario,
    perSecond: 1234,
    cpuMicros: 50,
    servingMicros: 40,
    subjectShare: 1,
    loadIdle: 0.5,
    p50Ms: 0.1,
    p99Ms: 0.2,
    firstP50Ms: 0.1,
    firstP99Ms: 0.2,
    ...measured,
  };
}

describe("a quick run", () => {
  test.skipIf(why !== null)("of the steady state prints its row, or says which program it lacks", async () => {
    const script = join(packageFolder, "bench/steady.ts");
    const child = Bun.spawn(
      [process.execPath, ...isolation(packageFolder), script, "--quick", "--only", "openai-plain"],
      { stdout: "pipe", stderr: "pipe" },
    );
    const [text, words, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    if (nginxProgram() === null || wrkProgram() === null) {
      expect({ code, words }).toEqual({
        code: 1,
        words: expect.stringMatching(/^bench: (nginx|wrk) is not installed\n$/),
      });
      return;
    }
    expect({ code, words: code === 0 ? "" : words }).toEqual({ code: 0, words: "" });
    expect(text).toMatch(
      /^\| plain, same shape \| [\d,]+\.\d \| [\d,]+\.\d \| [\d,]+\.\d \| [\d,]+\.\d \| ([\d,]+|void) \|/m,
    );
    expect(text).toContain("| a route of three targets adds | at most 3 µs | not measured |  |");
  });
  test.skipIf(why !== null)("prints the requested rows, and the targets", async () => {
    const only = "direct-plain,bare-plain,gateway-plain,gateway-stream-anthropic,memory";
    const child = Bun.spawn(
      [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench/run.ts"), "--quick", "--only", only],
      { stdout: "pipe", stderr: "pipe" },
    );
    const [text, words, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect({ code, words: code === 0 ? "" : words }).toEqual({ code: 0, words: "" });
    expect(text).toMatch(/^\| direct \| [\d,]+ \| {2}\|/m);
    expect(text).toMatch(/^\| bare Bun\.serve \+ fetch \| ([\d,]+|void) \| \d+\.\d \|/m);
    expect(text).toMatch(
      /^\| Dragoman, same shape \| ([\d,]+|void) \| \d+\.\d \| \d+\.\d \| [\d,]+, [\d,]+ \| -?[\d,]+, -?[\d,]+ \| \d+ % \| \d+ % \|$/m,
    );
    expect(text).toMatch(/^\| Dragoman, Anthropic Messages \| ([\d,]+|void) \| [\d,]+ \|/m);
    expect(text).toMatch(/^\| with 50 open streams \| \d+ \|$/m);
    expect(text).toMatch(
      /^\| streamed events\/s per core, Anthropic Messages \| at least 190,000 \| [\d,]+ \| {2}\|$/m,
    );
    expect(text).toContain(
      "| CPU per plain request, same shape, all threads | at most 4 times nginx's | not measured |  |",
    );
  });

  test.skipIf(why !== null)(
    "prints the cost of policies, limits and the ledger, and how soon a revoked token is refused",
    async () => {
      const child = Bun.spawn(
        [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench/governance.ts"), "--quick"],
        { stdout: "pipe", stderr: "pipe" },
      );
      const [text, words, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
      expect({ code, words: words.includes("redis-server is not installed") ? "" : words }).toEqual({
        code: 0,
        words: "",
      });
      for (const label of ["nothing configured", "three policies, five limits"])
        expect(text).toMatch(
          new RegExp(`^\\| ${label} \\| \\d+\\.\\d \\| -?\\d+\\.\\d \\| \\d+\\.\\d \\|.* \\| \\d+ \\|$`, "m"),
        );
      const seen = /refused after (\d+) ms/.exec(text);
      expect(seen).not.toBeNull();
    },
  );

  test.skipIf(why !== null)("prints what calls of other operations take above chat completions", async () => {
    const child = Bun.spawn(
      [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench/operations.ts"), "--quick"],
      { stdout: "pipe", stderr: "pipe" },
    );
    const [text, words, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect({ code, words }).toEqual({ code: 0, words: "" });
    expect(text).toMatch(/^\| chat completions, same shape \| \d+\.\d \|  \| \d+\.\d \|  \|  \|$/m);
    for (const front of ["responses", "messages"])
      for (const [way, most] of [
        ["translated", 50],
        ["native", 10],
      ])
        expect(text).toMatch(
          new RegExp(
            `^\\| \`/${front}\`, ${way} \\| \\d+\\.\\d \\| −?\\d+ % \\| \\d+\\.\\d \\| −?\\d+ % \\| ${most} % \\|$`,
            "m",
          ),
        );
  });

  test.skipIf(why !== null)("writes the page on sizing", async () => {
    const child = Bun.spawn(
      [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench/sizing/sizing.ts"), "--quick"],
      { stdout: "pipe", stderr: "pipe" },
    );
    const [text, words, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect({ code, words: code === 0 ? "" : words }).toEqual({ code: 0, words: "" });
    expect(text).toContain("**It was a quick run, whose figures mean nothing.**");
    for (const line of [
      /^\| a plain call of 1 KB each way, same shape \| [\d,]+ \| [\d,]+ \|$/m,
      /^\| 10 routes of the same project \| \d+\.\d \| [+−]\d+ % \| [\d,]+ \| [\d,]+ \|$/m,
      /^\| 20 \| [\d,]+ \| [\d,]+ \| -?\d+ \| [\d,]+ \|$/m,
      /^1,000,000 streams were wanted: /m,
      /^\| 1 of 2 workers, three policies and five limits \|( [\d,]+\.\d \|){5} [\d,]+\.\d\d \| [\d,]+ \|$/m,
      /^A plain call takes [\d,]+ bytes/m,
      /^\| PostgreSQL, which keeps the calls \| (\d+\.\d{4}|not measured)/m,
    ])
      expect(text).toMatch(line);
  });

  test.skipIf(why !== null)("knows its rows", async () => {
    const child = Bun.spawn(
      [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench/run.ts"), "--only", "no-such-row"],
      { stdout: "ignore", stderr: "pipe" },
    );
    expect(await child.stderr.text()).toContain("there is no row no-such-row; there are direct-plain,");
    expect(await child.exited).not.toBe(0);
  });
});

describe("the table", () => {
  const text = (...rows: readonly RowResult[]): string =>
    markdown({ machine: MACHINE, quick: false, rows, memory: null });

  test("calls a rate void when the load or another process may have limited it, and keeps the CPU time", () => {
    expect(text(row("gateway-plain", {}))).toContain("| Dragoman, same shape | 1,234 | 50.0 |");
    expect(text(row("gateway-plain", { loadIdle: 0.09 }))).toContain("| Dragoman, same shape | void | 50.0 |");
    expect(text(row("gateway-plain", { subjectShare: 0.5 }))).toContain("| Dragoman, same shape | void | 50.0 |");
    expect(text(row("direct-plain", { loadIdle: 0, cpuMicros: null, subjectShare: null }))).toContain(
      "| direct | 1,234 |  |",
    );
  });
  test("subtracts the direct row of the same kind", () => {
    expect(text(row("direct-plain", { p50Ms: 0.02, p99Ms: 0.05 }), row("gateway-plain", {}))).toContain(
      "| 100, 200 | 80, 150 |",
    );
    expect(text(row("direct-stream", { firstP50Ms: 0.03 }), row("gateway-stream", {}))).toContain(
      "| 100, 200 | 70, 0 |",
    );
  });
  test("says of each target whether it was met", () => {
    expect(text(row("gateway-plain", { cpuMicros: 40 }), row("nginx-plain", { cpuMicros: 10 }))).toContain(
      "| at most 4 times nginx's | 4.0 times | met |",
    );
    expect(text(row("gateway-plain", { cpuMicros: 41 }), row("nginx-plain", { cpuMicros: 10 }))).toContain(
      "| at most 4 times nginx's | 4.1 times | **missed** |",
    );
    expect(text(row("gateway-stream", { cpuMicros: 500 }))).toContain("| 400,000 | met |");
    expect(text(row("gateway-stream-anthropic", { cpuMicros: 2000 }))).toContain("| 100,000 | **missed** |");
    const memory = { atRestMb: 60, streams: 1000, openMb: 130, settleMs: 30_000, afterMb: 70 };
    expect(markdown({ machine: MACHINE, quick: false, rows: [], memory })).toContain("| 130 MB | **missed** |");
    expect(markdown({ machine: MACHINE, quick: true, rows: [], memory: { ...memory, streams: 50 } })).toContain(
      "at most 110 MB | not measured |",
    );
  });
  test("has its place in the README", () => {
    const readme = readFileSync(join(packageFolder, "bench/README.md"), "utf8");
    expect(withResults(withResults(readme, "ONE"), "TWO")).toBe(withResults(readme, "TWO"));
    expect(withResults(readme, "TWO")).toContain("\n\nTWO\n\n");
    expect(() => withResults("no place", "TWO")).toThrow("no place for results");
  });
});

describe("earlier runs", () => {
  const run = (date: string, micros: number, machine = "a CPU"): BenchRun => ({
    date,
    machine,
    cpuMicros: { "gateway-plain": micros, "nginx-plain": 10 },
    memoryMb: { "at rest": 100 },
  });
  test("are shown beside the last one, each with its ratio to nginx of the same run", () => {
    const table = historyTable([run("2026-01-01", 80), { ...run("2026-01-02", 40), memoryMb: {} }]);
    expect(table).toContain("|  | 2026-01-01, a CPU | 2026-01-02, a CPU |");
    expect(table).toContain("| Dragoman, same shape | 80.0 (8.0) | 40.0 (4.0) |");
    expect(table).toContain("| memory at rest, MB | 100 |  |");
    expect(table).not.toContain("| stream: ");
  });
  test("a second run of a day replaces the rows that it has measured", () => {
    const again = runOf({ date: "2026-01-02", machine: "a CPU" }, [row("gateway-plain", { cpuMicros: 33.33 })], null);
    const runs = withRun([run("2026-01-01", 80), run("2026-01-02", 40)], again);
    expect(runs.map(({ date, cpuMicros, memoryMb }) => [date, cpuMicros, memoryMb])).toEqual([
      ["2026-01-01", { "gateway-plain": 80, "nginx-plain": 10 }, { "at rest": 100 }],
      ["2026-01-02", { "gateway-plain": 33.3, "nginx-plain": 10 }, { "at rest": 100 }],
    ]);
  });
  test("of one day on two machines stay beside each other", () => {
    const other = runOf({ date: "2026-01-02", machine: "another" }, [row("gateway-plain", { cpuMicros: 33 })], null);
    const table = historyTable(withRun([run("2026-01-02", 40)], other));
    expect(table).toContain("|  | 2026-01-02, a CPU | 2026-01-02, another |");
  });
  test("of the page are those of the file", () => {
    const runs = JSON.parse(readFileSync(join(packageFolder, "bench/runs.json"), "utf8")) as readonly BenchRun[];
    expect(readFileSync(join(packageFolder, "bench/README.md"), "utf8")).toContain(historyTable(runs));
  });
});

describe("what wrk prints", () => {
  const said = `Running 5s test @ http://127.0.0.1:8080/x
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.10ms  201.00us   4.00ms   90.00%
  Latency Distribution
     50%  812.00us
     75%    1.02ms
     90%    1.20ms
     99%    2.50ms
  61234 requests in 5.10s, 60.00MB read
Requests/sec:  12006.67
Transfer/sec:     11.76MB
`;
  test("is read with its units", () => {
    expect(readWrk(said)).toEqual({ requests: 61_234, seconds: 5.1, p50Micros: 812, p99Micros: 2500 });
  });
  test("is no measurement when calls failed", () => {
    expect(() => readWrk(`${said}  Non-2xx or 3xx responses: 7\n`)).toThrow("Non-2xx or 3xx responses: 7");
    expect(() => readWrk("nothing")).toThrow("wrk did not say how many requests it sent");
  });
});

describe("the answers of nginx", () => {
  test("are those of the mock, without the framing of HTTP", () => {
    const plain = answerBody("openai-plain");
    expect(plain.contentType).toBe("application/json");
    expect(JSON.parse(Buffer.from(plain.body).toString())).toMatchObject({ object: "chat.completion" });
    const stream = Buffer.from(answerBody("openai-stream").body).toString();
    expect(stream.split("\n\n")).toHaveLength(EVENTS_PER_STREAM + 5);
    expect(stream).toEndWith("data: [DONE]\n\n");
    expect(() => answerBody("openai-held")).toThrow("no whole answer");
  });
});

describe("the load", () => {
  const chunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n";
  const sized = "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello";

  test.each([
    [chunked, 200, 31],
    [sized, 201, 5],
  ])("finds the end of an answer however it is cut", (answer, status, bodyBytes) => {
    for (let cut = 1; cut < answer.length; cut++) {
      const reader = new AnswerReader();
      for (let round = 0; round < 2; round++) {
        expect(reader.push(Buffer.from(answer.slice(0, cut)))).toBe(false);
        expect(reader.push(Buffer.from(answer.slice(cut)))).toBe(true);
        expect(reader).toMatchObject({ status, bodyBytes });
      }
    }
  });
  test("refuses bytes after the end, and an answer without a length", () => {
    expect(() => new AnswerReader().push(Buffer.from(`${sized}more`))).toThrow("4 bytes after the end");
    expect(() => new AnswerReader().push(Buffer.from(`${chunked}more`))).toThrow("4 bytes after the end");
    expect(() => new AnswerReader().push(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"))).toThrow("without length and chunks");
  });
  test("receives from the mock what the rows say of it", async () => {
    const mock = startMock();
    try {
      const address = `http://127.0.0.1:${mock.port}`;
      const ask = async (answer: string): Promise<string> =>
        (await fetch(`${address}/${answer}/v1/x`, { method: "POST", body: "{}" })).text();
      for (const answer of ["openai", ...PROTOCOLS.map(({ id }) => id)])
        expect([answer, (await ask(`${answer}-plain`)).length > 800]).toEqual([answer, true]);
      const openai = (await ask("openai-stream"))
        .split("\n\n")
        .filter((event) => event.includes('"delta":{"content":" '));
      expect(openai).toHaveLength(EVENTS_PER_STREAM);
      for (const event of openai) expect(event.length).toBeWithin(180, 260);
      for (const { id } of PROTOCOLS) {
        const stream = await ask(`${id}-stream`);
        expect([id, stream.split(" what came first leaves first").length - 1]).toEqual([id, EVENTS_PER_STREAM]);
        expect(stream.length / EVENTS_PER_STREAM).toBeWithin(170, 330);
      }
      expect(chatBody("provider:model", true).length).toBeWithin(900, 1300);
    } finally {
      mock.stop(true);
    }
  });
  test("ends at an answer that is not 200, and at a connection that closes", async () => {
    const mock = startMock();
    const endpoint = { port: mock.port, request: httpRequest(mock.port, "/nothing-here", "{}", null) };
    expect(runLoad(endpoint, { connections: 2, durationMs: 50 })).rejects.toThrow("an answer with status 404");
    const held = { port: mock.port, request: httpRequest(mock.port, "/openai-held", "{}", null) };
    const load = runLoad(held, { connections: 1, durationMs: 50 });
    setTimeout(() => mock.stop(true), 100);
    expect(load).rejects.toThrow("closed before the end");
  });
});
