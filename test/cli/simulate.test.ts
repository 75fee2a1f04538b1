// `dragoman simulate`: how each strategy distributes calls and recovers, when breakers open and close, and mistakes in
// a file, in virtual time.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { simulation } from "../../src/cli/simulate.ts";
import type { CallRow, Report, TargetRow } from "../../src/diagnostics/simulation/report.ts";
import { readEnvironment } from "../../src/config/environment.ts";
import { ConfigurationError } from "../../src/config/problem.ts";
import { z } from "zod";
import { trafficShape } from "../../src/diagnostics/simulation/traffic-schema.ts";
import { readPage, tableBelow } from "../docs/pages.ts";
import { runCli } from "../harness/processes/gateway-process.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-simulate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const A = "openai:a";
const B = "anthropic:b";
const C = "gemini:c";

interface Traffic {
  readonly calls: readonly Readonly<Record<string, unknown>>[];
  readonly faults?: readonly Readonly<Record<string, unknown>>[];
  readonly latencies?: Readonly<Record<string, unknown>>;
  readonly seed?: number;
}

let files = 0;
function written(text: string): string {
  const file = join(folder, `${(files += 1)}.yaml`);
  writeFileSync(file, text);
  return file;
}

/** One route `r`; JSON is YAML. */
function simulated(
  route: Readonly<Record<string, unknown>>,
  traffic: Traffic,
  flags: { readonly seed?: number; readonly operation?: string } = {},
): Report {
  return simulation(
    written(JSON.stringify({ routes: { r: route } })),
    { traffic: written(JSON.stringify(traffic)), verbose: true, ...flags },
    readEnvironment({}),
  );
}

function rowOf(report: Report, target: string): TargetRow {
  return report.targets.find((row) => row.target === target)!;
}
/** Share of the calls within a time that a target answered. */
function shareOf({ calls = [] }: Report, target: string, fromMs: number, toMs: number): number {
  const within = calls.filter(({ at_ms: atMs }) => atMs >= fromMs && atMs < toMs);
  return within.filter((call) => call.ok && call.target === target).length / within.length;
}
const stepsOf = ({ attempts }: CallRow): readonly string[] =>
  attempts.map(({ target, code, ending }) => `${target} ${code ?? ending}`);
const healthOf = ({ health }: Report): readonly string[] =>
  health.map(
    ({ at_ms: atMs, target, what, until_ms: untilMs }) =>
      `${atMs} ${target} ${what}${untilMs === null ? "" : ` ${untilMs}`}`,
  );

const SLOW = [{ target: A, kind: "slow", added_ms: 3_000, from_ms: 60_000, to_ms: 120_000 }];
/** Five minutes of ten calls a second. */
const STEADY = [{ route: "r", count: 3_000, every_ms: 100, stream: true }];

describe("a failing target with fallbacks", () => {
  const calls = [{ route: "r", count: 100, every_ms: 90 }];
  // as `import litellm` makes it of allowed_fails: 2 and cooldown_time: 60
  const ofLitellm = { failures: 3, ratio: 0.01, window_ms: 60_000, open_ms: 60_000 };
  test.each([
    ["answers 500", { kind: "status", status: 500 }, {}, 5],
    ["says when to come back", { kind: "status", status: 429, retry_after_ms: 60_000 }, {}, 1],
    ["is not there", { kind: "dead" }, { breaker: ofLitellm }, 3],
  ] as const)("[d7.5] is passed over where it %s", (_, fault, settings, most) => {
    const report = simulated(
      { targets: [A], fallbacks: [B], ...settings },
      { calls, faults: [{ target: A, ...fault }] },
    );
    expect([rowOf(report, A).attempts, rowOf(report, B).successes]).toEqual([most, 100]);
  });
  test("[d15.2] has the model as its fallback that the configuration names, although an alias has its name", () => {
    const report = simulated(
      { targets: [A], aliases: ["anthropic/b"], fallbacks: ["anthropic/b"] },
      { calls: [{ ...calls[0], route: "anthropic/b" }], faults: [{ target: A, kind: "status", status: 500 }] },
    );
    expect([rowOf(report, A).attempts, rowOf(report, B).successes]).toEqual([5, 100]);
  });
  test("[d7.10] is given up for its fallback when it is silent, and its breaker opens", () => {
    const faults = [{ target: A, kind: "stall" }];
    for (const [stream, limitMs] of [
      [true, 60_000],
      [false, 300_000],
    ] as const) {
      const report = simulated(
        { targets: [A], fallbacks: [B], breaker: { failures: 1 } },
        {
          calls: [{ ...calls[0], stream, every_ms: 400_000, count: 1 }],
          faults,
          latencies: { [B]: { first_token_ms: 10 } },
        },
      );
      expect(report.calls!.map(stepsOf)).toEqual([[`${A} upstream_timeout`, `${B} success`]]);
      expect(healthOf(report)[0]).toBe(`${limitMs} ${A} opened ${limitMs + 10_000}`);
    }
  });
  test("[d7.9] does not open the breaker for callers with little time, where nothing is known", () => {
    const report = simulated(
      { targets: [A], fallbacks: [B] },
      {
        calls: [{ route: "r", count: 40, every_ms: 100, timeout_ms: 3_000, stream: true }],
        faults: [{ target: A, kind: "stall" }],
        latencies: { [B]: { first_token_ms: 100, total_ms: 500 } },
      },
    );
    expect([rowOf(report, B).successes, healthOf(report)]).toEqual([40, []]);
  });
});

describe("chance", () => {
  const route = { strategy: "weighted", targets: [A, B] };
  const traffic = {
    calls: STEADY,
    latencies: { [A]: { jitter: 0.5 } },
    faults: [{ target: B, kind: "dead", from_ms: 1_000, to_ms: 3_000 }],
  };
  test("the same seed gives the same report to the last digit, and another seed another", () => {
    const first = simulated(route, { ...traffic, seed: 5 });
    expect(simulated(route, { ...traffic, seed: 5 })).toEqual(first);
    expect(simulated(route, { ...traffic, seed: 6 }).calls).not.toEqual(first.calls);
  });
  test("the command's seed overrides the file's, and 1 is the seed of a file that names none", () => {
    expect(simulated(route, { ...traffic, seed: 5 }, { seed: 9 })).toEqual(simulated(route, { ...traffic, seed: 9 }));
    expect(simulated(route, traffic).seed).toBe(1);
  });
});

describe("strategies: their shares, and how they recover from a slow target", () => {
  test("priority: all to the first; while its first content is later than the route allows, all to the second", () => {
    const report = simulated(
      { targets: [A, B], retries: 0, timeouts: { first_token_ms: 2_000 } },
      { calls: STEADY, faults: SLOW },
    );
    expect(shareOf(report, A, 0, 60_000)).toBe(1);
    expect(shareOf(report, A, 60_000, 120_000)).toBe(0);
    expect(shareOf(report, B, 60_000, 120_000)).toBe(1);
    expect(shareOf(report, A, 180_000, 300_000)).toBe(1);
    expect(report.faults[0]).toMatchObject({ failed: 0 });
  });
  test("weighted: by weight, and in a lower order before all others", () => {
    const report = simulated(
      { strategy: "weighted", targets: [{ model: A, weight: 3 }, B, { model: C, order: 1 }] },
      { calls: STEADY },
    );
    expect(rowOf(report, A).share!).toBeGreaterThan(0.72);
    expect(rowOf(report, A).share!).toBeLessThan(0.78);
    expect(rowOf(report, C)).toMatchObject({ calls: 0, attempts: 0, share: 0 });
  });
  test("least_latency: the faster one; away from it within seconds after it becomes slow, and back once it is fast again", () => {
    const report = simulated(
      { strategy: "least_latency", targets: [A, B] },
      {
        calls: STEADY,
        latencies: { [A]: { first_token_ms: 200, jitter: 0.1 }, [B]: { first_token_ms: 400, jitter: 0.1 } },
        faults: SLOW,
      },
    );
    expect(shareOf(report, A, 10_000, 60_000)).toBeGreaterThan(0.9);
    expect(shareOf(report, A, 65_000, 120_000)).toBeLessThan(0.05);
    expect(shareOf(report, A, 240_000, 300_000)).toBeGreaterThan(0.85);
  });
  test("least_busy: evenly among equals; less to the one whose calls take longer", () => {
    const report = simulated({ strategy: "least_busy", targets: [A, B] }, { calls: STEADY, faults: SLOW });
    expect(Math.abs(shareOf(report, A, 0, 60_000) - 0.5)).toBeLessThan(0.1);
    // 5 s against 2 s in flight: 2 of 7 calls
    expect(shareOf(report, A, 70_000, 120_000)).toBeLessThan(0.38);
    expect(Math.abs(shareOf(report, A, 200_000, 300_000) - 0.5)).toBeLessThan(0.1);
  });
  test("least_cost: the cheaper one by the prices of the configuration, the other one when it is dead", () => {
    const priced = (id: string, prompt: string) => ({ models: [{ id, pricing: { prompt, completion: prompt } }] });
    const file = written(
      JSON.stringify({
        providers: { openai: priced("a", "0.000002"), anthropic: priced("b", "0.000001") },
        routes: { r: { strategy: "least_cost", targets: [A, B] } },
      }),
    );
    const traffic = written(
      JSON.stringify({
        calls: [{ route: "r", count: 100, every_ms: 100, max_tokens: 100 }],
        faults: [{ target: B, kind: "dead", from_ms: 5_000, to_ms: 100_000 }],
      }),
    );
    const report = simulation(file, { traffic, verbose: true }, readEnvironment({}));
    expect([shareOf(report, B, 0, 3_000), shareOf(report, A, 5_000, 10_000)]).toEqual([1, 1]);
  });
  test("sticky: a user stays at one target, several users are spread", () => {
    const { calls = [] } = simulated(
      { strategy: "weighted", sticky: "user", targets: [A, B] },
      { calls: [{ route: "r", count: 200, every_ms: 10, users: 20 }] },
    );
    calls.forEach((call, at) => expect(call.target).toBe(calls[at % 20]!.target));
    expect(new Set(calls.map(({ target }) => target))).toEqual(new Set([A, B]));
  });
});

describe("breakers", () => {
  const breaker = { failures: 5, ratio: 0.5, window_ms: 10_000, open_ms: 5_000 };
  test("open after so many failures, probe once when the time is over, stay open twice as long, close with the first content of a probe", () => {
    const report = simulated(
      { targets: [A, B], retries: 0, breaker },
      {
        calls: [{ route: "r", count: 400, every_ms: 100, stream: true }],
        faults: [{ target: A, kind: "dead", to_ms: 20_000 }],
      },
    );
    expect(healthOf(report)).toEqual([
      // refused after 1 ms, five times from 0 on
      `401 ${A} opened 5401`,
      `5500 ${A} probed`,
      `5501 ${A} opened 15501`,
      `15600 ${A} probed`,
      `15601 ${A} opened 35601`,
      `35700 ${A} probed`,
      `36200 ${A} closed`,
    ]);
    expect(report.totals).toMatchObject({ calls: 400, succeeded: 400, failed: 0 });
    expect(report.faults).toEqual([
      {
        target: A,
        kind: "dead",
        status: null,
        from_ms: 0,
        to_ms: 20_000,
        calls: 7,
        attempts: 7,
        failures: { upstream_connection: 7 },
        succeeded: 7,
        failed: 0,
        added_p50_ms: 1,
        added_p95_ms: 1,
        breaker_opened: 3,
        back_after_ms: 17_700,
      },
    ]);
  });
  test("never open on a client's fault", () => {
    const report = simulated(
      { targets: [A, B], breaker },
      { calls: [{ route: "r", count: 50, every_ms: 100 }], faults: [{ target: A, kind: "status", status: 400 }] },
    );
    expect(healthOf(report)).toEqual([]);
    expect(report.totals).toMatchObject({ failed: 50, failures: { upstream_invalid_request: 50 }, attempts: 50 });
  });
  test("a 429 with a reset time: not called until then, and back at once", () => {
    const report = simulated(
      { targets: [A, B] },
      {
        calls: [{ route: "r", count: 300, every_ms: 100, stream: true }],
        faults: [{ target: A, kind: "status", status: 429, retry_after_ms: 20_000, to_ms: 50 }],
      },
    );
    expect(healthOf(report)).toEqual([`20 ${A} rate_limited 20020`]);
    expect([shareOf(report, B, 0, 20_020), shareOf(report, A, 20_100, 30_000)]).toEqual([1, 1]);
    expect(rowOf(report, A).failures).toEqual({ rate_limit_exceeded: 1 });
  });
  test("on_exhausted: error gives up where no target is healthy", () => {
    const report = simulated(
      { targets: [A], retries: 0, breaker, on_exhausted: "error" },
      { calls: [{ route: "r", count: 20, every_ms: 100 }], faults: [{ target: A, kind: "dead" }] },
    );
    expect(report.totals.failures).toEqual({ upstream_connection: 5, no_target_available: 15 });
  });
});

describe("the outcome of one call", () => {
  const one = (
    route: Readonly<Record<string, unknown>>,
    call: Readonly<Record<string, unknown>>,
    faults: readonly Readonly<Record<string, unknown>>[],
  ): CallRow => simulated(route, { calls: [{ route: "r", ...call }], faults }).calls![0]!;
  const route = { targets: [A, B], retries: 0 };
  test.each([
    [{ kind: "dead" }, "upstream_connection", 1],
    [{ kind: "garbage" }, "upstream_invalid_response", 500],
    [{ kind: "cut" }, "upstream_incomplete", 1_100],
    [{ kind: "status", status: 500 }, "upstream_error", 20],
    [{ kind: "status", status: 503 }, "upstream_overloaded", 20],
    [{ kind: "status", status: 401 }, "upstream_authentication", 20],
    [{ kind: "status", status: 302 }, "upstream_invalid_response", 20],
  ])("%p of a non-streaming call: the next target answers", (fault, code, afterMs) => {
    const call = one(route, {}, [{ target: A, ...fault }]);
    expect(stepsOf(call)).toEqual([`${A} ${code}`, `${B} success`]);
    expect(call).toMatchObject({ ok: true, target: B, added_ms: afterMs, total_ms: afterMs + 2_000 });
  });
  test("a stream that is cut after its first content fails; one that breaks before that goes on at another target", () => {
    expect(one(route, { stream: true }, [{ target: A, kind: "cut" }])).toMatchObject({
      ok: false,
      code: "upstream_incomplete",
      target: A,
      first_content_ms: 500,
      total_ms: 1_100,
    });
    expect(one(route, { stream: true }, [{ target: A, kind: "dead", from_ms: 1_000, to_ms: 2_000 }])).toMatchObject({
      ok: false,
      code: "upstream_incomplete",
      total_ms: 1_000,
    });
    expect(one(route, { stream: true }, [{ target: A, kind: "dead", from_ms: 300, to_ms: 2_000 }])).toMatchObject({
      ok: true,
      target: B,
      added_ms: 300,
    });
  });
  test("a stalled one is ended by the timeout of the route, or by the call's own, which is not the target's fault", () => {
    expect(
      one({ ...route, timeouts: { first_token_ms: 700 } }, { stream: true }, [{ target: A, kind: "stall" }]),
    ).toMatchObject({ ok: true, target: B, added_ms: 700 });
    expect(one(route, { timeout_ms: 900 }, [{ target: A, kind: "stall" }])).toMatchObject({
      ok: false,
      code: "upstream_timeout",
      total_ms: 900,
    });
  });
  test("retries wait and are bounded, in the request and in the route", () => {
    const call = one({ targets: [A], retries: 0 }, { num_retries: 2 }, [{ target: A, kind: "status", status: 500 }]);
    expect(stepsOf(call)).toEqual([`${A} upstream_error`, `${A} upstream_error`, `${A} upstream_error`]);
    expect(call.attempts[1]!.at_ms).toBeGreaterThan(20);
  });
  test("fallbacks of the request, and a call without a route", () => {
    const call = one({ targets: [B] }, { route: undefined, model: A, num_retries: 0, fallbacks: [{ route: "r" }] }, [
      { target: A, kind: "dead" },
    ]);
    expect(stepsOf(call)).toEqual([`${A} upstream_connection`, `${B} success`]);
    expect(call).toMatchObject({ asked: A, ok: true });
  });
  test("a request that a target cannot take is not sent there", () => {
    expect(
      stepsOf(one({ targets: [{ model: "anthropic:b", params: { logit_bias: { "1": 1 } } }, C] }, {}, [])),
    ).toEqual([`${B} unsupported_parameter`, `${C} success`]);
  });
});

describe("hedges and concurrency", () => {
  test("hedge: the second attempt is sent when the first is late, the first content wins, and the share bounds their number", () => {
    const calls = [{ route: "r", count: 100, every_ms: 1_000, stream: true }];
    const faults = [{ target: A, kind: "slow", added_ms: 3_000 }];
    const all = simulated({ targets: [A, B], hedge: { after: 300, max_extra: 1 } }, { calls, faults });
    expect(all.totals).toMatchObject({
      succeeded: 100,
      hedges: 100,
      attempts: 200,
      added_p50_ms: 300,
      first_content_p95_ms: 800,
    });
    expect(rowOf(all, A)).toMatchObject({ cancelled: 100, successes: 0 });
    expect(
      simulated({ targets: [A, B], hedge: { after: 300, max_extra: 0.1 } }, { calls, faults }).totals,
    ).toMatchObject({ succeeded: 100, hedges: 10 });
    expect(healthOf(all)).toEqual([]);
  });
  test("max_concurrency: one is in flight, one waits for its turn, the third goes to another target", () => {
    const report = simulated(
      { targets: [{ model: A, max_concurrency: 1 }, B], queue: { max: 1, timeout_ms: 5_000 } },
      { calls: [{ route: "r", count: 3, stream: true }] },
    );
    expect(report.calls!.map((call) => [call.target, call.added_ms, ...stepsOf(call)])).toEqual([
      [A, 0, `${A} success`],
      [A, 2_000, `${A} success`],
      [B, 0, `${A} gateway_overloaded`, `${B} success`],
    ]);
    expect(rowOf(report, A)).toMatchObject({ attempts: 2, shed: 1 });
  });
  test("a call that failed at one target and had no place at the next reports the failure", () => {
    const report = simulated(
      { targets: [A, { model: B, max_concurrency: 1 }], retries: 0, queue: { max: 0 } },
      { calls: [{ model: B, route: "r" }, { route: "r" }], faults: [{ target: A, kind: "status", status: 500 }] },
    );
    expect(report.calls!.map(({ code }) => code)).toEqual([null, "upstream_error"]);
    expect(stepsOf(report.calls![1]!)).toEqual([`${A} upstream_error`, `${B} gateway_overloaded`]);
  });
  test("a call waits no longer than the queue allows", () => {
    const report = simulated(
      { targets: [{ model: A, max_concurrency: 1 }], queue: { max: 1, timeout_ms: 1_500 } },
      { calls: [{ route: "r", count: 2 }] },
    );
    expect(report.calls!.map(({ code, total_ms: totalMs }) => [code, totalMs])).toEqual([
      [null, 2_000],
      ["gateway_overloaded", 1_500],
    ]);
  });
});

describe("files with mistakes", () => {
  const problems = (text: string): readonly string[] => {
    const traffic = written(text);
    try {
      simulation(written(JSON.stringify({ routes: { r: { targets: [A] } } })), { traffic }, readEnvironment({}));
    } catch (thrown) {
      if (thrown instanceof ConfigurationError) return thrown.message.replaceAll(`${traffic}:`, "").split("\n");
      throw thrown;
    }
    return [];
  };
  test.each([
    ["calls: []", "1:1 calls: expected at least 1 entries"],
    ["calls:\n  - { route: r, cuont: 3 }", '2:17 calls[0].cuont: unknown key "cuont"; did you mean "count"?'],
    ["calls:\n  - { route: q }", '2:7 calls[0].route: Unknown route "q".'],
    ["calls:\n  - { count: 3 }", "2:5 calls[0]: model or route is required"],
    ["calls:\n  - { model: nobody:m }", '2:7 calls[0].model: The model "nobody:m" is unknown.'],
    ["calls:\n  - { route: r, fallbacks: [route:q] }", "2:17 calls[0].fallbacks:"],
    ["calls:\n  - { route: r, user: u, users: 2 }", "2:26 calls[0].users: expected user or users, not both"],
    [
      "calls:\n  - { route: r, count: 150000 }\n  - { route: r, count: 150000 }",
      "1:1 calls: expected at most 200000 calls, got 300000",
    ],
    [
      "calls: [{ route: r }]\nfaults:\n  - { target: openai:b, kind: dead }",
      '3:7 faults[0].target: no call of this file can reach this target; did you mean "openai:a"?',
    ],
    [
      "calls: [{ route: r }]\nfaults:\n  - { target: openai:a, kind: daed }",
      '3:25 faults[0].kind: expected one of dead, stall, status, cut, slow, garbage; did you mean "dead"?',
    ],
    ["calls: [{ route: r }]\nfaults:\n  - { target: openai:a, kind: status }", "3:5 faults[0].status: is missing"],
    ["calls: [{ route: r }]\nfaults:\n  - { target: openai:a, kind: slow }", "3:5 faults[0].added_ms: is missing"],
    [
      "calls: [{ route: r }]\nfaults:\n  - { target: openai:a, kind: dead, retry_after_ms: 5 }",
      "3:37 faults[0].retry_after_ms: is only for faults of the kind status",
    ],
    [
      "calls: [{ route: r }]\nfaults:\n  - { target: openai:a, kind: dead, from_ms: 9, to_ms: 9 }",
      "3:49 faults[0].to_ms: expected a time after from_ms",
    ],
    ["calls: [{ route: r }]\nlatencies:\n  openai:b: { total_ms: 5 }", "3:3 latencies.openai"],
    ["calls: [{ route: r ]", "1:"],
  ])("%p", (text, expected) => {
    const found = problems(text);
    expect(found.length).toBe(1);
    expect(found[0]).toStartWith(expected);
  });
  test("a missing file, and the exit codes", async () => {
    const config = written(JSON.stringify({ routes: { r: { targets: [A] } } }));
    const missing = await runCli(["simulate", config, "--traffic", join(folder, "none.yaml")]);
    expect([missing.code, missing.stdout, missing.stderr]).toEqual([
      2,
      "",
      `dragoman: ${join(folder, "none.yaml")}: there is no such file\n`,
    ]);
    const fine = await runCli([
      "simulate",
      config,
      "--traffic",
      written(JSON.stringify({ calls: [{ route: "r" }] })),
      "--seed",
      "3",
      "--json",
    ]);
    expect([fine.code, fine.stderr, JSON.parse(fine.stdout).seed]).toEqual([0, "", 3]);
    expect((await runCli(["simulate", config, "--traffic", "x", "--seed", "-1"])).code).toBe(1);
  });
});

describe("[d16.1] conditions and shares", () => {
  test("divide the calls of a traffic file by their headers and metadata, and verbose calls say what was passed over", () => {
    const report = simulation(
      written(
        JSON.stringify({
          server: { condition_headers: ["x-tier"] },
          routes: {
            r: {
              targets: [
                { model: A, when: 'headers["x-tier"] == "gold"' },
                { model: B, when: 'request.metadata.plan == "pro"' },
                C,
              ],
            },
          },
        }),
      ),
      {
        traffic: written(
          JSON.stringify({
            calls: [
              { route: "r", count: 3, headers: { "X-Tier": "gold" } },
              { route: "r", count: 4, at_ms: 10, metadata: { plan: "pro" } },
              { route: "r", count: 5, at_ms: 20 },
            ],
          }),
        ),
        verbose: true,
      },
      readEnvironment({}),
    );
    expect([A, B, C].map((target) => rowOf(report, target).successes)).toEqual([3, 4, 5]);
    const [gold, , , pro] = report.calls!;
    expect(gold!.passed_over?.map(({ target }) => target)).toEqual([B]);
    expect(pro!.passed_over).toEqual([{ target: A, why: "`when` is false" }]);
  });

  test("and lines of calls say what was passed over, and which mirror gets a copy", async () => {
    const targets = [{ model: A, when: 'request.metadata.plan == "pro"' }, B];
    const traffic = written(JSON.stringify({ calls: [{ route: "r", metadata: { plan: "free" } }] }));
    const lineWith = async (mirror: object): Promise<string | undefined> => {
      const config = written(JSON.stringify({ routes: { r: { targets, mirror } } }));
      const { stdout } = await runCli(["simulate", config, "--traffic", traffic, "--verbose"]);
      return stdout.split("\n")[0];
    };
    const line = await lineWith({ target: C, other_vendors: true });
    expect(line).toContain(`; passed over ${A}: \`when\` is false; ${B} at `);
    expect(line).toEndWith(`; a copy goes to ${C}`);
    // the project keeps no content, which the mirror's vendor is therefore not sent
    expect(await lineWith({ target: C })).not.toContain("a copy");
  });

  test("send a share of calls without a sticky key, and always the same users, to the canary", () => {
    const targets = [A, { model: B, share: 20 }];
    const byTrace = simulated({ targets }, { calls: [{ route: "r", count: 2000, every_ms: 10 }] });
    expect(rowOf(byTrace, B).share).toBeWithin(0.16, 0.24);
    const byUser = simulated(
      { targets, sticky: "user" },
      { calls: [{ route: "r", count: 2000, every_ms: 10, users: 400 }] },
    );
    expect(rowOf(byUser, B).share).toBeWithin(0.14, 0.26);
    const users = new Map<number, Set<string | null>>();
    byUser.calls!.forEach(({ target }, call) =>
      users.set(call % 400, (users.get(call % 400) ?? new Set()).add(target)),
    );
    expect([...users.values()].every(({ size }) => size === 1)).toBe(true);
  });

  test("end a call that no target is for with its code", () => {
    const { totals } = simulated({ targets: [{ model: A, when: "request.stream" }] }, { calls: [{ route: "r" }] });
    expect([totals.failures, totals.attempts]).toEqual([{ target_not_eligible: 1 }, 0]);
  });
});

test("docs/routes.md has every key of the traffic file, and no other", () => {
  const keys = (schema: any, path: string): readonly string[] => {
    if (schema.items !== undefined) return keys(schema.items, `${path}[]`);
    if (typeof schema.additionalProperties === "object") return keys(schema.additionalProperties, `${path}.<target>`);
    return schema.properties === undefined
      ? [path]
      : Object.entries(schema.properties).flatMap(([key, below]) => keys(below, path === "" ? key : `${path}.${key}`));
  };
  const real = keys(z.toJSONSchema(trafficShape, { io: "input" }), "").map((key) =>
    key.replace("fallbacks[]", "fallbacks").replace(/(headers|metadata)\.<target>$/, "$1"),
  );
  const told = tableBelow(readPage("docs/routes.md"), "### The traffic file").flatMap(([cell]) =>
    [...cell!.matchAll(/`([^`]+)`/g)].map(([, key]) => key!),
  );
  expect(told.toSorted()).toEqual([...real].toSorted());
});

describe("operations", () => {
  const targets = {
    targets: ["sandbox:tools", "sandbox:echo", "sandbox:embed-4", "sandbox:rerank", "sandbox:moderation"],
  };
  const calls = [{ count: 5, every_ms: 100, route: "r", max_tokens: 5, user: "u" }];
  for (const [operation, answering] of [
    ["chat.completions", "sandbox:tools"],
    ["responses", "sandbox:tools"],
    ["messages", "sandbox:tools"],
    ["completions", "sandbox:echo"],
  ] as const)
    test(`[d12.2] calls of ${operation} go to the first target that takes them`, () => {
      const report = simulated(targets, { calls }, { operation });
      expect([report.totals.succeeded, rowOf(report, answering).successes]).toEqual([5, 5]);
    });
  test("[d12.2] a call of the file can name its own, and one that no target takes is a problem of the file", () => {
    const own = { ...calls[0], operation: "completions" };
    const route = { targets: ["sandbox:tools"] };
    expect(simulated({ targets: ["sandbox:echo"] }, { calls: [...calls, own] }).totals.succeeded).toBe(10);
    expect(() => simulated(route, { calls: [...calls, own] })).toThrow(/calls\[1\]: Sandbox takes no raw prompts/);
  });
  test("an operation that there is not is refused with those that there are", () => {
    expect(() => simulated(targets, { calls }, { operation: "images" })).toThrow(
      /the operations are: chat\.completions/,
    );
  });
});
