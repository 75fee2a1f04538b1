// What /metrics counts: each figure from the records of calls that really ran, and label values that callers cannot multiply.
import { describe, expect, test } from "bun:test";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { type Metrics, openMetrics } from "../../../src/observe/metrics/metrics.ts";
import { openTraffic } from "../../../src/http/traffic.ts";
import { recordOf } from "../../contract/store/call-records.ts";
import { stubGateway } from "../../harness/in-process.ts";

const MESSAGES = [{ role: "user", content: "one two three" }];

/** Metrics made of the records of these calls to the sandbox. */
async function metricsOf(
  ...requests: readonly object[]
): Promise<{ readonly metrics: Metrics; readonly records: readonly CallRecord[] }> {
  const gateway = stubGateway();
  for (const request of requests) await (await gateway.chat({ messages: MESSAGES, ...request })).text();
  const metrics = openMetrics();
  for (const record of gateway.records) metrics.publish(record);
  return { metrics, records: gateway.records };
}

/** The samples of one metric: labels in the order of their names -> value. */
async function samples(metrics: Metrics, name: string): Promise<Readonly<Record<string, number>>> {
  const lines = (await metrics.text())
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return Object.fromEntries(
    lines.map((line) => {
      const [, labels = "", value] = /^\w+(?:\{(.*)\})? (\S+)$/.exec(line)!;
      return [
        [...labels.matchAll(/(\w+)="([^"]*)"/g)]
          .map(([, label, text]) => `${label}=${text}`)
          .toSorted()
          .join(" "),
        Number(value),
      ];
    }),
  );
}

describe("/metrics", () => {
  test("[d9.4] does not count explained calls: a caller could invent models", async () => {
    const gateway = stubGateway({ permissions: ["debug"] });
    const metrics = openMetrics();
    for (const model of ["openai:made-up", "sandbox:echo"])
      await gateway.chat({ model, messages: MESSAGES }, { headers: { "x-gateway-explain": "true" } });
    for (const record of gateway.records) metrics.publish(record);
    expect([gateway.records.length, await samples(metrics, "dragoman_calls_total")]).toEqual([2, {}]);
  });
  test("[d9.5] counts calls by outcome, errors by code, and tokens by kind, plain and streamed", async () => {
    const echo = { model: "sandbox:echo" };
    const { metrics } = await metricsOf(
      echo,
      echo,
      { ...echo, stream: true },
      { model: "sandbox:fail-429" },
      { model: "sandbox:cut", stream: true },
      { model: "nobody:m" },
    );
    expect(await samples(metrics, "dragoman_calls_total")).toEqual({
      "model=echo provider=sandbox status=200 stream=false": 2,
      "model=echo provider=sandbox status=200 stream=true": 1,
      "model=fail-429 provider=sandbox status=429 stream=false": 1,
      "model=cut provider=sandbox status=502 stream=true": 1,
      "model=none provider=none status=404 stream=false": 1,
    });
    expect(await samples(metrics, "dragoman_errors_total")).toEqual({
      "code=rate_limit_exceeded model=fail-429 provider=sandbox": 1,
      "code=upstream_incomplete model=cut provider=sandbox": 1,
      "code=model_not_found model=none provider=none": 1,
    });
    expect(await samples(metrics, "dragoman_tokens_total")).toMatchObject({
      "kind=prompt model=echo provider=sandbox": 9,
      "kind=completion model=echo provider=sandbox": 9,
    });
  });

  test("[d9.5] counts calls and tokens by operation", async () => {
    const metrics = openMetrics();
    for (const record of [
      recordOf(),
      recordOf({ operation: "embeddings", tokens: [7, 0] }),
      recordOf({ operation: "embeddings", tokens: null, status: 429, code: "rate_limit_exceeded" }),
      recordOf({ operation: "messages", cancelled: true }),
      recordOf({ operation: "unserved", tokens: null, status: 404, code: "operation_not_served" }),
    ])
      metrics.publish(record);
    expect(await samples(metrics, "dragoman_operation_calls_total")).toEqual({
      "operation=chat.completions outcome=ok": 1,
      "operation=embeddings outcome=ok": 1,
      "operation=embeddings outcome=refused": 1,
      "operation=messages outcome=cancelled": 1,
      "operation=unserved outcome=refused": 1,
    });
    expect(await samples(metrics, "dragoman_operation_tokens_total")).toMatchObject({
      "kind=prompt operation=embeddings": 7,
      "kind=prompt operation=messages": 100,
      "kind=completion operation=messages": 10,
    });
  });

  test("[d9.5] measures whole calls, the first content of streams alone, and the gateway's own share of both", async () => {
    const slow = { model: "sandbox:slow-60" };
    const { metrics, records } = await metricsOf(slow, { ...slow, stream: true });
    const sum = (of: (record: CallRecord) => number): number =>
      records.reduce((total, record) => total + of(record), 0) / 1000;
    const labels = "model=slow-60 provider=sandbox";
    expect(await samples(metrics, "dragoman_call_duration_seconds_count")).toEqual({ [labels]: 2 });
    expect((await samples(metrics, "dragoman_call_duration_seconds_sum"))[labels]).toBeCloseTo(
      sum((record) => record.totalMs),
      6,
    );
    expect((await samples(metrics, "dragoman_call_duration_seconds_sum"))[labels]).toBeGreaterThan(0.115);
    expect(await samples(metrics, "dragoman_first_token_seconds_count")).toEqual({ [labels]: 1 });
    expect((await samples(metrics, "dragoman_first_token_seconds_sum"))[labels]).toBeCloseTo(
      records[1]!.firstContentMs! / 1000,
      6,
    );
    expect(await samples(metrics, "dragoman_own_seconds_count")).toEqual({ "": 2 });
    const own = (await samples(metrics, "dragoman_own_seconds_sum"))[""]!;
    expect(own).toBeCloseTo(
      sum((record) => record.ownMs),
      6,
    );
    // the provider's time is not the gateway's
    expect(own).toBeLessThan(sum((record) => record.totalMs) - 0.115);
  });

  test("[d9.5] counts clients that left, and the calls in flight", async () => {
    const gateway = stubGateway();
    const leaving = new AbortController();
    const answer = gateway.chat({ model: "sandbox:stall", messages: MESSAGES }, { signal: leaving.signal });
    await Bun.sleep(5);
    leaving.abort();
    await answer;
    const metrics = openMetrics();
    for (const record of gateway.records) metrics.publish(record);
    expect(await samples(metrics, "dragoman_cancelled_total")).toEqual({ "model=stall provider=sandbox": 1 });

    const traffic = openTraffic(metrics.inFlight, () => null);
    const bounds = { maxConcurrentCalls: 10, maxConcurrentCallsPerTenant: null };
    const [first, second] = [1, 2].map(() => ({ tenantId: "default", abandon: () => {} }));
    traffic.enter(first!, bounds);
    traffic.enter(second!, bounds);
    traffic.leave(first!);
    expect(await samples(metrics, "dragoman_calls_in_flight")).toEqual({ "": 1 });
    expect((await samples(metrics, "process_resident_memory_bytes"))[""]).toBeGreaterThan(1e6);
  });
});
