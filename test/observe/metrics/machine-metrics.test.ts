// The metrics of several processes as those of one machine, compared with those of one process that has counted everything.
import { describe, expect, test } from "bun:test";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { countsOf, type MetricSamples } from "../../../src/observe/metrics/machine-metrics.ts";
import { type Metrics, openMetrics, type TargetStatus } from "../../../src/observe/metrics/metrics.ts";
import { stubGateway } from "../../harness/in-process.ts";

const MESSAGES = [{ role: "user", content: "one two three" }];

async function someRecords(): Promise<readonly CallRecord[]> {
  const gateway = stubGateway();
  for (const model of ["sandbox:echo", "sandbox:echo", "sandbox:fail-429", "sandbox:cut", "nobody:m"])
    for (const stream of [true, false]) await (await gateway.chat({ messages: MESSAGES, model, stream })).text();
  return gateway.records;
}

/** As they are sent from process to process. */
const sent = async (metrics: Metrics): Promise<MetricSamples> =>
  JSON.parse(JSON.stringify(await metrics.samples())) as MetricSamples;

/** The samples without those of the process itself, in any order. */
const seriesOf = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text
      .split("\n")
      .filter((line) => line.startsWith("dragoman_"))
      .map((line): [string, number] => [
        line.slice(0, line.lastIndexOf(" ")),
        Number(line.slice(line.lastIndexOf(" "))),
      ]),
  );

function differing(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): readonly unknown[] {
  return [...new Set([...one.keys(), ...other.keys()])]
    .map((name) => [name, one.get(name), other.get(name)] as const)
    .filter(([, a, b]) => a === undefined || b === undefined || Math.abs(a - b) > 1e-9 * Math.abs(a));
}

describe("the metrics of a machine", () => {
  test("[d13.3] are what one process counts that makes all calls, also after a process has ended", async () => {
    const records = await someRecords();
    const whole = openMetrics();
    const parts = [openMetrics(), openMetrics(), openMetrics(), openMetrics()];
    for (const [index, record] of records.entries()) {
      whole.publish(record);
      parts[index % parts.length]!.publish(record);
    }
    const [answering, running, ended, endedLater] = parts as [Metrics, Metrics, Metrics, Metrics];
    const past = await countsOf([await countsOf([await sent(ended)]), await sent(endedLater)]);
    const text = await answering.text({
      others: [await sent(running), JSON.parse(JSON.stringify(past)) as MetricSamples],
      targets: [],
      workers: { count: 2, answered: 2 },
    });
    const expected = new Map(seriesOf(await whole.text()));
    expected.set('dragoman_workers{answered="true"}', 2);
    expected.set('dragoman_workers{answered="false"}', 0);
    expect(differing(seriesOf(text), expected)).toEqual([]);
    expect(expected.get('dragoman_calls_total{provider="sandbox",model="echo",status="200",stream="true"}')).toBe(2);
  });

  test("[d13.3] have each gauge by its meaning: the sum, the worst, or what all of them say together", async () => {
    const target = (inFlight: number, state: TargetStatus["state"]): TargetStatus => ({
      target: "openai:gpt-5",
      owner: null,
      state,
      inFlight,
      waiting: 0,
      firstContentMs: 10,
      openForMs: null,
    });
    const ledger = (fault: string | null, openCalls: number, lastSyncMs: number) => ({
      fault,
      openCalls,
      lastSyncMs,
      rows: 10,
      shipped: 5,
      lost: 0,
      unrecorded: 0,
      waitingRows: 0,
      unshippedBytes: 100,
    });
    const one = openMetrics({
      ledger: () => ledger("disk full", 3, 20) as never,
      targets: () => [target(1, "closed")],
      budgets: async () => [{ budget: "b1", name: "monthly", used: 0.25 }],
    });
    const other = openMetrics({
      ledger: () => ledger(null, 4, 50) as never,
      targets: () => [target(2, "open")],
      budgets: async () => [{ budget: "b1", name: "monthly", used: 0.75 }],
    });
    one.inFlight.inc();
    other.inFlight.inc();
    const series = seriesOf(
      await one.text({ others: [await sent(other)], targets: [target(3, "open")], workers: { count: 3, answered: 2 } }),
    );
    expect(series.get("dragoman_ledger_writable")).toBe(0);
    expect(series.get("dragoman_ledger_open_calls")).toBe(7);
    expect(series.get("dragoman_ledger_unshipped_bytes")).toBe(200);
    expect(series.get("dragoman_ledger_sync_seconds")).toBe(0.05);
    expect(series.get("dragoman_calls_in_flight")).toBe(2);
    expect(series.get('dragoman_budget_used_ratio{budget="b1",name="monthly"}')).toBe(0.75);
    expect(series.get('dragoman_target_calls_in_flight{target="openai:gpt-5"}')).toBe(3);
    expect(series.get('dragoman_target_state{target="openai:gpt-5",state="open"}')).toBe(1);
    expect(series.get('dragoman_target_state{target="openai:gpt-5",state="closed"}')).toBe(0);
    expect(series.get('dragoman_workers{answered="false"}')).toBe(1);
  });
});
