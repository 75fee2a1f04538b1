// Metrics over OpenTelemetry's protocol: what is counted of a call, in which buckets, as totals or as increases, and
// what happens when the receiver fails.
import { describe, expect, test } from "bun:test";
import type { CallRecord } from "../../../../src/core/record/record.ts";
import { countCall, INSTRUMENTS } from "../../../../src/observe/integrations/otlp/call-metrics.ts";
import { encodeMetrics, MetricSums, type Temporality } from "../../../../src/observe/integrations/otlp/metric.ts";
import { type MetricsExport, openMetricsExport } from "../../../../src/observe/integrations/sinks/otlp-metrics.ts";
import { otlpSettings } from "../../../../src/observe/integrations/sinks/otlp-settings.ts";
import { ProtobufWriter } from "../../../../src/wire/protobuf.ts";
import { readPage, tableBelow } from "../../../docs/pages.ts";
import { decodeMetrics, type ReceivedMetric, type ReceivedPoint } from "../../../harness/servers/otlp-messages.ts";
import { otlpReceiver } from "../../../harness/servers/otlp-receiver.ts";
import { attemptOf } from "../../../contract/store/call-records.ts";
import { toolOf, tracedCall } from "../traced-calls.ts";
import { until } from "../../../harness/time/until.ts";

const START_MS = 1_767_225_600_000;

function counted(
  records: readonly CallRecord[],
  temporality: Temporality = "cumulative",
  nowMs = START_MS + 60_000,
): readonly ReceivedMetric[] {
  const sums = new MetricSums(temporality, START_MS);
  for (const record of records) countCall(record, sums);
  return decodeMetrics(
    encodeMetrics(new ProtobufWriter(), { "service.name": "dragoman" }, sums.collect(nowMs), temporality, nowMs) ??
      new Uint8Array(),
  );
}
const metric = (metrics: readonly ReceivedMetric[], name: string): ReceivedMetric =>
  metrics.find((one) => one.name === name)!;
const record = (parts: Partial<CallRecord> = {}): CallRecord => tracedCall(parts).record;

describe("what is counted", () => {
  test("a clock that was set back since the start gives no interval that ends before it begins", () => {
    const points = counted([record()], "cumulative", START_MS - 1000).flatMap((one) => one.points);
    expect(points.length).toBeGreaterThan(0);
    for (const { startNano, timeNano } of points) expect(timeNano).toBe(startNano);
  });

  test("[d11.4, d13.5] tokens of a shared request are those of the call that pays for it, and its time that of the call that sent it", () => {
    const of = (outcome: "hit" | "miss"): readonly unknown[] => {
      const cache = { outcome, bypass: null, key: null, scope: null, ageMs: null, savedNanoUsd: null } as const;
      const metrics = counted([record({ attempts: [attemptOf({ fromCache: true })], cache })]);
      return ["gen_ai.client.token.usage", "gen_ai.client.operation.duration"].map(
        (name) => metrics.find((one) => one.name === name)?.points.length ?? 0,
      );
    };
    expect([of("hit"), of("miss")]).toEqual([
      [0, 0],
      [2, 0],
    ]);
  });

  test("[d11.4] the conventions' metrics with their units and buckets, of attempts as a client and of calls as a server", () => {
    const metrics = counted([
      record({
        stream: true,
        attempts: [
          attemptOf({
            spanId: null,
            code: "upstream_error",
            usage: null,
            usageSource: null,
            firstContentMs: null,
            totalMs: 12,
          }),
          attemptOf({ startMs: 12 }),
        ],
        tools: [toolOf()],
      }),
    ]);
    const duration = metric(metrics, "gen_ai.client.operation.duration");
    expect([duration.type, duration.unit, duration.temporality, duration.points.length]).toEqual([
      "histogram",
      "s",
      "cumulative",
      2,
    ]);
    expect(duration.points[0]!.bounds).toEqual([
      0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
    ]);
    expect(
      duration.points.map(({ attributes, sum, buckets }) => [
        attributes,
        sum,
        buckets!.findIndex((count) => count === 1n),
      ]),
    ).toEqual([
      // 10 ms stand in the bucket up to 10 ms
      [
        {
          "gen_ai.operation.name": "chat",
          "gen_ai.provider.name": "openai",
          "dragoman.provider": "mine",
          "error.type": "upstream_error",
        },
        0.01,
        0,
      ],
      [
        {
          "gen_ai.operation.name": "chat",
          "gen_ai.provider.name": "openai",
          "dragoman.provider": "mine",
          "gen_ai.request.model": "gpt-4o",
          "gen_ai.response.model": "gpt-4o",
        },
        0.078,
        3,
      ],
    ]);
    const tokens = metric(metrics, "gen_ai.client.token.usage");
    expect([
      tokens.unit,
      tokens.points.map(({ attributes, sum, count, min, max }) => [
        attributes["gen_ai.token.type"],
        sum,
        count,
        min,
        max,
      ]),
    ]).toEqual([
      "{token}",
      [
        ["input", 10, 1n, 10, 10],
        ["output", 5, 1n, 5, 5],
      ],
    ]);
    expect(metric(metrics, "gen_ai.client.operation.time_to_first_chunk").points.map(({ sum }) => sum)).toEqual([0.04]);
    expect(metric(metrics, "gen_ai.server.request.duration").points.map(({ sum }) => sum)).toEqual([0.1]);
    expect(metric(metrics, "gen_ai.server.time_to_first_token").points.map(({ sum }) => sum)).toEqual([0.055]);
    expect(
      metric(metrics, "gen_ai.execute_tool.duration").points.map(({ attributes, sum }) => [attributes, sum]),
    ).toEqual([
      [
        { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "forecast", "dragoman.tool.server": "weather" },
        0.025,
      ],
    ]);
    const [point] = duration.points as [ReceivedPoint];
    expect([point.startNano, point.timeNano]).toEqual([
      BigInt(START_MS) * 1_000_000n,
      BigInt(START_MS + 60_000) * 1_000_000n,
    ]);
  });

  test("[d11.4] the gateway's own counters", () => {
    const metrics = counted([
      record({ cost: { nanoUsd: 1500, priceId: "p" } }),
      record({ cost: { nanoUsd: 500, priceId: "p" } }),
      record({ status: 499, code: "client_closed", cancelled: true, cost: null }),
      record({
        status: 429,
        code: "rate_limit_exceeded",
        cost: null,
        provider: null,
        attempts: [],
        limits: [
          {
            id: "lim_1",
            value: "",
            unit: "requests",
            before: 1,
            reserved: 0,
            settled: null,
            after: 1,
            wouldRefuse: false,
            refused: "rate_limit_exceeded",
          },
        ],
        policies: [{ name: "quiet", effect: "would_deny" }],
      }),
    ]);
    const values = (name: string): readonly unknown[] =>
      metric(metrics, name).points.map(({ attributes, value }) => [
        attributes["http.response.status_code"] ??
          attributes["dragoman.limit"] ??
          attributes["dragoman.policy"] ??
          null,
        value,
      ]);
    expect(values("dragoman.calls")).toEqual([
      [200n, 2n],
      [499n, 1n],
      [429n, 1n],
    ]);
    expect([
      values("dragoman.cost"),
      values("dragoman.calls.cancelled"),
      values("dragoman.limit.refusals"),
      values("dragoman.policies"),
    ]).toEqual([[[null, 2000n]], [[null, 1n]], [["lim_1", 1n]], [["quiet", 1n]]]);
    expect(metric(metrics, "dragoman.calls")).toMatchObject({ type: "sum", isMonotonic: true });
  });

  test("providers of two tenants that have the same id and are of different vendors have series of their own", () => {
    const metrics = counted(
      ["openai", "anthropic"].map((vendor) => record({ attempts: [attemptOf({ spanId: null, vendor })] })),
    );
    for (const name of ["gen_ai.client.operation.duration", "gen_ai.client.token.usage"])
      expect([
        name,
        new Set(metric(metrics, name).points.map(({ attributes }) => attributes["gen_ai.provider.name"])),
      ]).toEqual([name, new Set(["openai", "anthropic"])]);
  });

  test("estimates are not usage, and an explained plan is not a call", () => {
    const metrics = counted([
      record({ attempts: [attemptOf({ usageSource: "estimated" })] }),
      record({ explained: true }),
    ]);
    expect(metrics.some(({ name }) => name === "gen_ai.client.token.usage")).toBe(false);
    expect(metric(metrics, "dragoman.calls").points.map(({ value }) => value)).toEqual([1n]);
  });

  test("[d11.4] a caller cannot create series: names of models that did not answer appear nowhere, and there are 2,000 series of a tenant at most", () => {
    const metrics = counted(
      Array.from({ length: 3000 }, (_, index) =>
        record({
          model: `made-up-${index}`,
          modelAsked: `made-up-${index}`,
          status: 404,
          code: "model_not_found",
          attempts: [attemptOf({ model: `made-up-${index}`, code: "model_not_found" })],
          endUser: `u${index}`,
          metadata: { index },
        }),
      ),
    );
    // tokens of the prompt and of the answer are two
    for (const { points } of metrics) expect(points.length).toBeLessThanOrEqual(2);
    const many = metric(
      counted(Array.from({ length: 3000 }, (_, index) => record({ model: `real-${index}`, attempts: [] }))),
      "gen_ai.server.request.duration",
    );
    expect(many.points).toHaveLength(2001);
    expect(
      many.points.filter(({ attributes }) => attributes["otel.metric.overflow"] === true).map(({ count }) => count),
    ).toEqual([1000n]);
  });

  test("[d11.4] a tenant with many names takes the series of no other, also after an export that failed", () => {
    const sums = new MetricSums("delta", START_MS);
    const count = (tenantId: string, from: number, to: number): void => {
      for (let n = from; n < to; n++) countCall(record({ tenantId, model: `${tenantId}-${n}`, attempts: [] }), sums);
    };
    const seriesOf = (): readonly (readonly [tenant: string, series: number])[] => {
      const points = sums.collect(START_MS).points.get(INSTRUMENTS.serverDuration)!;
      const tenants = [...points.values()].map(
        ({ attributes }) => JSON.stringify(attributes["gen_ai.request.model"] ?? "further").split(/["-]/)[1]!,
      );
      return [...Map.groupBy(tenants, (tenant) => tenant)].map(([tenant, of]) => [tenant, of.length]);
    };
    count("loud", 0, 1500);
    sums.restore(sums.collect(START_MS));
    count("loud", 1500, 6000);
    count("quiet", 0, 50);
    expect(seriesOf()).toEqual([
      ["loud", 2000],
      ["further", 1],
      ["quiet", 50],
    ]);
    for (const tenant of ["a", "b", "c"]) count(tenant, 0, 3000);
    expect(seriesOf().reduce((sum, [, series]) => sum + series, 0)).toBe(4000);
  });

  test("the page of the integration lists each metric", () => {
    const told = tableBelow(readPage("docs/integrations/otlp.md"), "## Metrics").map(([name, type, unit, meaning]) => [
      name!.replaceAll("`", ""),
      type!,
      unit!.replaceAll("`", ""),
      meaning!,
    ]);
    expect(told).toEqual(
      Object.values(INSTRUMENTS).map(({ name, bounds, unit, description }) => [
        name,
        bounds === null ? "counter" : "histogram",
        unit,
        description,
      ]),
    );
  });
});

interface Told {
  readonly words: string[];
}

function opened(
  url: string,
  more: object = {},
  monotonic: () => number = () => performance.now(),
): { readonly metrics: MetricsExport; readonly told: Told } {
  const told: Told = { words: [] };
  const settings = otlpSettings.parse({ type: "otlp", endpoint: url, timeout_ms: 300, ...more });
  let nowMs = START_MS;
  const metrics = openMetricsExport(
    settings,
    {
      failed: () => told.words.push("failed"),
      failing: (words) => told.words.push(`failing ${words}`),
      back: () => told.words.push("back"),
    },
    { now: () => (nowMs += 1000), monotonic },
  )!;
  return { metrics, told };
}
const calls = (metrics: readonly ReceivedMetric[]): readonly unknown[] =>
  metrics
    .filter(({ name }) => name === "dragoman.calls")
    .map(({ temporality, points }) => [
      temporality,
      points.map(({ value }) => value),
      Number(points[0]!.startNano / 1_000_000n) - START_MS,
    ]);

describe("exports", () => {
  test("[d11.4] cumulative: each export has everything since the start, also what was counted while the receiver was unreachable", async () => {
    const answers = [undefined, new Response(null, { status: 503 }), undefined];
    const receiver = otlpReceiver((index) => answers[index]);
    const { metrics, told } = opened(receiver.url);
    metrics.count(record());
    for (let round = 0; round < 3; round++) {
      await metrics.end(1000);
      metrics.count(record());
    }
    expect(calls(receiver.metrics())).toEqual([
      ["cumulative", [1n], 1000],
      ["cumulative", [3n], 1000],
    ]);
    expect(told.words).toEqual(["failed", "failing metrics: the receiver answers 503", "back"]);
    await receiver.close();
  });

  test("[d11.4] delta: each export has what is new; what could not be sent goes with the next, from its own begin on", async () => {
    const answers = [undefined, new Response(null, { status: 503 }), undefined, undefined];
    const receiver = otlpReceiver((index) => answers[index]);
    const { metrics } = opened(receiver.url, { temporality: "delta" });
    for (let round = 0; round < 3; round++) {
      metrics.count(record());
      await metrics.end(1000);
    }
    // nothing is new: nothing is sent
    await metrics.end(1000);
    expect(calls(receiver.metrics())).toEqual([
      ["delta", [1n], 1000],
      ["delta", [2n], 2000],
    ]);
    await receiver.close();
  });

  test("[d11.4] an export that a receiver refuses permanently is not sent for ever, and a receiver that never answers is abandoned in time", async () => {
    const receiver = otlpReceiver((index) =>
      index === 0 ? new Response(null, { status: 400 }) : index === 1 ? new Promise(() => {}) : undefined,
    );
    const { metrics, told } = opened(receiver.url, { temporality: "delta" });
    metrics.count(record());
    await metrics.end(1000);
    metrics.count(record());
    // one that waited for its answer would never come back
    await metrics.end(1000);
    await metrics.end(1000);
    expect(calls(receiver.metrics())).toEqual([["delta", [1n], 2000]]);
    expect(told.words.filter((words) => words === "failed")).toHaveLength(2);
    await receiver.close();
  });

  test("[d11.4] a receiver that answers too late is not called unreachable", async () => {
    const receiver = otlpReceiver(() => new Promise(() => {}));
    const { metrics, told } = opened(receiver.url);
    metrics.count(record());
    await metrics.end(1000);
    expect(told.words).toEqual(["failed", "failing metrics: no answer in time"]);
    await receiver.close();
  });

  test("[d11.4] are sent by themselves, at the interval", async () => {
    const receiver = otlpReceiver();
    const { metrics } = opened(receiver.url, { metrics_interval_s: 1 });
    metrics.count(record());
    await until(() => receiver.exports.length > 0);
    expect(calls(receiver.metrics())).toEqual([["cumulative", [1n], 1000]]);
    expect(receiver.exports[0]!.path).toBe("/v1/metrics");
    await metrics.end(1000);
    await receiver.close();
  });

  test("[d11.4] wait as long as the receiver asks; only the last one, at the end, does not", async () => {
    const busy = (): Response => new Response(null, { status: 503, headers: { "retry-after": "60" } });
    const answers = [busy(), undefined, busy(), undefined];
    let received = 0;
    const receiver = otlpReceiver((index) => {
      received += 1;
      return answers[index];
    });
    let asked = 0;
    let elapsedMs = 0;
    const monotonic = (): number => {
      asked += 1;
      return elapsedMs;
    };
    const { metrics, told } = opened(receiver.url, { metrics_interval_s: 1 }, monotonic);
    metrics.count(record());
    await until(() => told.words.includes("failed"));
    const before = asked;
    elapsedMs = 59_999;
    // two intervals, both within the wait
    await until(() => asked >= before + 2);
    expect(received).toBe(1);
    elapsedMs = 60_000;
    await until(() => told.words.includes("back"));
    await until(() => told.words.filter((words) => words === "failed").length === 2);
    await metrics.end(1000);
    expect(received).toBe(4);
    await receiver.close();
  });

  test("are not sent where metrics are switched off", () => {
    expect(
      openMetricsExport(otlpSettings.parse({ type: "otlp", endpoint: "http://127.0.0.1:9", metrics: false }), {
        failed() {},
        failing() {},
        back() {},
      }),
    ).toBeNull();
  });
});
