// `dragoman top`: the computation between two readings, the screen, and the command against a real gateway.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { parseExposition } from "../../src/diagnostics/top/exposition.ts";
import { figuresOf, quantile, type Reading } from "../../src/diagnostics/top/figures.ts";
import { plainText, screenOf, type View } from "../../src/diagnostics/top/screen.ts";
import { recent } from "../../src/cli/top.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { cleanEnvironment, type GatewayProcess, runCli, startGateway } from "../harness/processes/gateway-process.ts";
import { gatewayCommand } from "../harness/processes/gateway-program.ts";
import { until } from "../harness/time/until.ts";

const READY: JsonObject = {
  status: "ready",
  reason: null,
  version: "1.2.3",
  database: { reached_ms_ago: 10 },
  limit_store: { away_for_ms: null },
  ledger: { writable: true, lost_rows: 0, unshipped_bytes: 0 },
};
const reading = (atMs: number, lines: readonly string[], standing: JsonObject = READY): Reading => ({
  atMs,
  metrics: parseExposition(lines.join("\n")),
  standing,
});
const calls = (model: string, status: number, count: number): string =>
  `dragoman_calls_total{provider="p",model="${model}",status="${status}",stream="true"} ${count}`;

describe("the metrics text of a gateway", () => {
  test("is read as samples by name and labels, with their escapes", () => {
    const read = parseExposition(
      '# HELP a b\n# TYPE a counter\na{x="1",y="say \\"hi\\" \\\\ \\n{}"} 5\na 2.5e3\n\nb_bucket{le="+Inf"} +Inf\nnonsense\n',
    );
    expect([...read.get("a")!.values()]).toEqual([
      { labels: { x: "1", y: 'say "hi" \\ \n{}' }, value: 5 },
      { labels: {}, value: 2500 },
    ]);
    expect([...read.get("b_bucket")!.values()]).toEqual([{ labels: { le: "+Inf" }, value: Infinity }]);
    expect([...read.keys()]).toEqual(["a", "b_bucket"]);
  });
});

describe("figures between two readings", () => {
  test("are the increase, by the time between: a new series began at zero", () => {
    const of = figuresOf(
      reading(5000, [calls("a", 200, 100), calls("a", 500, 10)]),
      reading(7000, [
        calls("a", 200, 136),
        calls("a", 499, 4),
        calls("a", 500, 14),
        calls("b", 429, 6),
        'dragoman_cancelled_total{provider="p",model="a"} 4',
      ]),
    );
    expect(of.calls).toEqual({ per_second: 25, failed: 2, refused: 3, cancelled: 2, in_flight: 0 });
    expect(of.targets.map(({ target, calls: rate, failed }) => [target, rate, failed])).toEqual([
      ["p:a", 22, 2],
      ["p:b", 3, 0],
    ]);
    expect(of.interval_s).toBe(2);
  });
  test("of a restarted process are what it has counted since, never less than zero", () => {
    const of = figuresOf(
      reading(0, [calls("a", 200, 5000), calls("gone", 200, 70)]),
      reading(10_000, [calls("a", 200, 30)]),
    );
    expect(of.calls.per_second).toBe(3);
    expect(of.targets.map(({ target }) => target)).toEqual(["p:a"]);
  });
  test("of the same moment do not divide by zero", () => {
    expect(
      Number.isFinite(figuresOf(reading(1, [calls("a", 200, 1)]), reading(1, [calls("a", 200, 2)])).calls.per_second),
    ).toBe(true);
  });
  test("have quantiles of the calls in between alone", () => {
    const bucket = (le: string, count: number): string =>
      `dragoman_first_token_seconds_bucket{provider="p",model="a",le="${le}"} ${count}`;
    const of = figuresOf(
      reading(0, [bucket("0.1", 1000), bucket("0.5", 1000), bucket("+Inf", 1000)]),
      reading(1000, [bucket("0.1", 1000), bucket("0.5", 1010), bucket("+Inf", 1010)]),
    );
    expect(of.first_token_ms!.p50).toBeCloseTo(300, 6);
    expect(of.first_token_ms!.p95).toBeCloseTo(480, 6);
    expect(figuresOf(reading(0, [bucket("+Inf", 5)]), reading(1000, [bucket("+Inf", 5)])).first_token_ms).toBeNull();
  });
  test("have the last bound for a quantile above it, and an empty bucket holds none", () => {
    expect(
      quantile(
        0.5,
        new Map([
          [1, 0],
          [2, 0],
          [Infinity, 4],
        ]),
      ),
    ).toBe(2);
    expect(
      quantile(
        0.5,
        new Map([
          [Infinity, 4],
          [4, 4],
          [2, 0],
        ]),
      ),
    ).toBe(3);
    expect(
      quantile(
        0.5,
        new Map([
          [1, 4],
          [2, 4],
          [Infinity, 4],
        ]),
      ),
    ).toBe(0.5);
    expect(quantile(0.9, new Map())).toBeNull();
  });
  test("list targets with an open breaker first, and include those without calls", () => {
    const standing = {
      ...READY,
      targets: [
        { target: "p:quiet", state: "open", calls_in_flight: 0, calls_waiting: 0 },
        { target: "p:a", state: "closed", calls_in_flight: 3, calls_waiting: 2 },
      ],
    };
    const of = figuresOf(
      reading(0, []),
      reading(
        1000,
        [calls("a", 200, 3), 'dragoman_calls_total{provider="none",model="none",status="401",stream="false"} 9'],
        standing,
      ),
    );
    expect(of.targets.map(({ target, state, in_flight: now, waiting }) => [target, state, now, waiting])).toEqual([
      ["p:quiet", "open", 0, 0],
      ["p:a", "closed", 3, 2],
    ]);
  });
  test("are taken from readings that are kept for the window, and one beyond it", () => {
    const all = [0, 1, 2, 8, 9].map((second) => reading(second * 1000, []));
    expect(recent(all, reading(9500, [])).map(({ atMs }) => atMs)).toEqual([0, 1000, 2000, 8000, 9000]);
    expect(recent(all, reading(12_500, [])).map(({ atMs }) => atMs)).toEqual([2000, 8000, 9000]);
    expect(recent(all, reading(60_000, [])).map(({ atMs }) => atMs)).toEqual([9000]);
  });
});

test("budgets are shown by their names, and by their ids as well where two have the same name", () => {
  const metrics = [
    '{budget="bud_1",name="monthly"} 0.5',
    '{budget="bud_2",name="monthly"} 0.25',
    '{budget="bud_3",name="daily"} 0.75',
  ].map((each) => `dragoman_budget_used_ratio${each}`);
  expect(figuresOf(reading(0, []), reading(1000, metrics)).budgets.map(({ budget }) => budget)).toEqual([
    "daily",
    "monthly (bud_1)",
    "monthly (bud_2)",
  ]);
});

describe("the screen", () => {
  const many = Array.from({ length: 40 }, (_, index) =>
    calls(`a-model-with-quite-a-long-name-${index}`, 200, 40 - index),
  );
  const others = [
    ...Array.from(
      { length: 30 },
      (_, index) => `dragoman_route_calls_total{route="route${index}",outcome="ok"} ${index}`,
    ),
    ...Array.from(
      { length: 9 },
      (_, index) => `dragoman_budget_used_ratio{budget="bud_${index}",name="budget${index}"} 0.${index}`,
    ),
    'dragoman_integration_up{integration="lines",type="json_lines"} 0',
    'dragoman_integration_shed_total{integration="lines",type="json_lines",reason="queue_full"} 12',
    'dragoman_tool_runs_total{server="search",outcome="failed"} 5',
    "process_uptime_seconds 90000",
  ];
  const view: View = {
    url: "http://127.0.0.1:4100",
    figures: figuresOf(reading(0, []), reading(1000, [...many, ...others])),
    offline: null,
  };
  const widest = (lines: readonly string[]): number => Math.max(...lines.map((line) => Bun.stringWidth(line)));

  test.each([
    [80, 24],
    [200, 60],
    [40, 10],
    [20, 5],
    [1, 1],
    [80, 4],
  ])("fits %i columns and %i rows", (columns, rows) => {
    const lines = plainText(screenOf(view, { columns, rows })).split("\n");
    expect(lines.length).toBeLessThanOrEqual(rows);
    expect(widest(lines)).toBeLessThanOrEqual(columns);
  });
  test("of 80 by 24 shows a part of everything, and how much", () => {
    const text = plainText(screenOf(view, { columns: 80, rows: 24 }));
    for (const words of [
      "ready, up 25 h",
      "TARGET (",
      " of 40)",
      "ROUTE (",
      " of 30)",
      "BUDGET (",
      "INTEGRATION",
      "failing",
      "TOOL SERVER",
      "100 %",
      "calls 820/s",
    ])
      expect(text).toContain(words);
  });
  test("shows that the gateway is unreachable, with the last known state", () => {
    const text = plainText(
      screenOf({ ...view, offline: { message: "cannot be reached", forMs: 65_000 } }, { columns: 80, rows: 24 }),
    );
    expect(text).toContain("NO DATA for 65 s: cannot be reached");
    expect(text).toContain("calls 820/s");
    expect(plainText(screenOf({ url: "u", figures: null, offline: null }, { columns: 80, rows: 24 }))).toContain(
      "reading",
    );
  });
  test("names unhealthy dependencies of calls", () => {
    const figures = figuresOf(
      reading(0, []),
      reading(1000, [], {
        ...READY,
        configuration: { current: false },
        database: { reached_ms_ago: 60_000 },
        limit_store: { away_for_ms: 3000 },
        ledger: { writable: false, lost_rows: 2, unshipped_bytes: 5e6 },
      }),
    );
    expect(plainText(screenOf({ ...view, figures }, { columns: 200, rows: 24 }))).toContain(
      "configuration file refused, database unreachable for 60 s, limit store unreachable for 3 s, LEDGER NOT WRITABLE, 2 rows lost, 5 MiB unshipped",
    );
  });
  test("[d13.3] tells how many workers there are, and how many of them are silent", () => {
    const textWith = (answered: number): string => {
      const figures = figuresOf(reading(0, []), reading(1000, [], { ...READY, workers: { count: 3, answered } }));
      return plainText(screenOf({ ...view, figures }, { columns: 200, rows: 24 }));
    };
    expect(textWith(3)).toContain("database, limits, ledger, 3 workers ok");
    expect(textWith(2)).toContain("1 of 3 workers silent");
  });
  test("prints nothing that controls a terminal, and counts wide letters as wide", () => {
    const figures = figuresOf(
      reading(0, []),
      reading(1000, [calls("\u001b[2J\u009b31m\u202eevil", 200, 1), calls("模型".repeat(40), 200, 1)]),
    );
    const text = plainText(screenOf({ ...view, figures }, { columns: 80, rows: 24 }));
    expect(Array.from(text).filter((letter) => letter !== "\n" && /[\p{Cc}\p{Cf}]/u.test(letter))).toEqual([]);
    expect(widest(text.split("\n"))).toBeLessThanOrEqual(80);
  });
});

describe("against a running gateway", () => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await startGateway({
      config:
        'routes: { fast: { targets: ["sandbox:echo"] } }\nbudgets: { money: { usd: "5", window: day } }\nprices: { sandbox: { model: "sandbox:*", prompt: "1.00", completion: "2.00" } }\n',
    });
  });
  afterAll(() => gateway.stop());
  const say = async (fields: object): Promise<void> =>
    void (await (await gateway.chat({ messages: [{ role: "user", content: "Hi" }], ...fields })).text());
  /** Calls all the time, until what is run beside them has ended. */
  async function underLoad<T>(run: Promise<T>): Promise<T> {
    let goesOn = true;
    const load = (async () => {
      while (goesOn) {
        await Promise.all([say({ route: "fast", stream: true }), say({ model: "sandbox:fail-500" })]);
        await Bun.sleep(20);
      }
    })();
    const result = await run;
    goesOn = false;
    await load;
    return result;
  }

  test("--once --json is one object of figures", async () => {
    const { code, stdout, stderr } = await underLoad(runCli(["top", "--url", gateway.url, "--once", "--json"]));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const told = JSON.parse(stdout);
    expect(stdout.trim().split("\n")).toHaveLength(1);
    expect(told).toMatchObject({ url: gateway.url, status: "ready" });
    expect(told.calls.per_second).toBeGreaterThan(1);
    expect(told.calls.failed).toBeGreaterThan(0.5);
    expect(told.routes.map(({ route }: any) => route).toSorted()).toEqual(["direct", "fast"]);
    const echo = told.targets.find(({ target }: any) => target === "sandbox:echo");
    expect([echo.calls > 0, echo.failed, echo.tokens > 0, echo.first_token_ms.p50 > 0]).toEqual([true, 0, true, true]);
    expect(told.budgets).toEqual([{ budget: "money", id: "file.budgets.money", used: expect.any(Number) }]);
  });
  test("--once is text without a terminal's codes", async () => {
    const { code, stdout } = await underLoad(runCli(["top", "--url", gateway.url, "--once", "--interval", "0.3"]));
    expect(code).toBe(0);
    for (const words of [`dragoman `, gateway.url, "ready, up", "TARGET", "sandbox:echo", "ROUTE", "fast", "BUDGET"])
      expect(stdout).toContain(words);
    expect(stdout).not.toContain("\u001b");
  });
  test("reports that there is no gateway, or that reading is not permitted", async () => {
    const nobody = await runCli(["top", "--url", "http://127.0.0.1:1", "--once"]);
    expect([nobody.code, nobody.stdout]).toEqual([1, ""]);
    expect(nobody.stderr).toContain("The gateway at http://127.0.0.1:1 cannot be reached");
    const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("hello") });
    expect((await runCli(["top", "--url", `http://127.0.0.1:${other.port}`, "--once"])).stderr).toContain(
      "is not a Dragoman gateway",
    );
    await other.stop(true);
    // through a proxy it asks for a token
    const proxy = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) =>
        fetch(`${gateway.url}${new URL(request.url).pathname}${new URL(request.url).search}`, {
          headers: { ...Object.fromEntries(request.headers), "x-forwarded-for": "203.0.113.9" },
        }),
    });
    const url = `http://127.0.0.1:${proxy.port}`;
    const stranger = await runCli(["top", "--url", url, "--once"]);
    expect([stranger.code, stranger.stderr.includes("a token with the permission ops")]).toEqual([1, true]);
    expect((await runCli(["top", "--url", url, "--once", "--token", gateway.firstToken!])).code).toBe(1);
    const admin = await gateway.createToken("--personal", "--role", "owner");
    expect(
      (
        await runCli(["top", "--url", url, "--once", "--interval", "0.1"], {
          ...cleanEnvironment(),
          DRAGOMAN_TOKEN: admin,
        })
      ).code,
    ).toBe(0);
    await proxy.stop(true);
  });

  const hasScript = Bun.which("script") !== null;
  if (!hasScript) console.log("skipped: top in a terminal, because script cannot be found");
  test.skipIf(!hasScript)(
    "in a terminal it draws in place, survives a gateway that disappears, and q restores everything",
    async () => {
      const own = await startGateway({});
      const port = new URL(own.url).port;
      const command = `stty columns 80 rows 24; exec ${gatewayCommand.join(" ")} top --url ${own.url} --interval 0.2`;
      const child = Bun.spawn(["script", "-qfec", command, "/dev/null"], {
        env: { ...cleanEnvironment(), TERM: "xterm", NO_COLOR: "1" },
        stdin: "pipe",
        stdout: "pipe",
        stderr: "ignore",
      });
      let seen = "";
      const collecting = (async () => {
        const decoder = new TextDecoder();
        for await (const bytes of child.stdout) seen += decoder.decode(bytes, { stream: true });
      })();
      const untilShown = (words: string, from = 0): Promise<void> =>
        until(
          () => seen.slice(from).includes(words),
          () => `${words} in ${JSON.stringify(seen.slice(from))}`,
        );
      await untilShown("ready, up");
      await own.stop();
      await untilShown("NO DATA for");
      const back = await startGateway({ flags: ["--port", port] });
      const from = seen.length;
      await untilShown("ready, up", from);
      await child.stdin.write("q");
      await child.stdin.flush();
      expect(await child.exited).toBe(0);
      await collecting;
      await back.stop();
      expect(seen).toContain("\u001b[?1049h");
      expect(seen.trimEnd().endsWith("\u001b[?25h\u001b[?1049l")).toBe(true);
      // never cleared as a whole, and no colour where NO_COLOR says so
      expect(seen).not.toContain("\u001b[2J");
      for (const code of [1, 2, 31, 33]) expect(seen).not.toContain(`\u001b[${code}m`);
      expect(
        seen
          .replaceAll("\u001b[H", "\n")
          .split("\n")
          .every((line) => Bun.stringWidth(Bun.stripANSI(line).trimEnd()) <= 80),
      ).toBe(true);
    },
  );
});
