// Adds up the metrics of the processes of one machine: counters and histograms are summed, and each gauge says what
// becomes of it. The samples of a process are JSON, so that they can be sent.
import { type Aggregator, AggregatorRegistry, type Registry } from "prom-client";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";

/** A metric of one process with its values, as prom-client gives it. */
interface ProcessMetric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly aggregator: Aggregator;
  readonly values: readonly unknown[];
}

/** All metrics of one process, in the order of the output. */
export type MetricSamples = readonly ProcessMetric[];

/** The process can do other work between two metrics. */
export async function samplesOf(registry: Registry): Promise<MetricSamples> {
  const samples: ProcessMetric[] = [];
  for (const { name } of registry.getMetricsAsArray()) {
    samples.push(await valuesOf(registry, name));
    await yieldToLoop();
  }
  return samples;
}

/**
 * Returns the sums in the text exposition format. A gauge that speaks of the machine already is taken from the first
 * process that has it.
 */
export async function textOf(processes: readonly MetricSamples[]): Promise<string> {
  const texts: string[] = [];
  for await (const { registry, name } of sums(processes)) texts.push(await registry.getSingleMetricAsString(name));
  return `${texts.join("\n\n")}\n`;
}

/**
 * Returns what remains of processes that have ended: their counters and histograms. Without them the sums would fall,
 * which a reader takes for a restart of the whole gateway.
 */
export async function countsOf(processes: readonly MetricSamples[]): Promise<MetricSamples> {
  const counts: ProcessMetric[] = [];
  const counted = processes.map((samples) => samples.filter(({ type }) => type !== "gauge"));
  for await (const { registry, name } of sums(counted)) counts.push(await valuesOf(registry, name));
  return counts;
}

async function valuesOf(registry: Registry, name: string): Promise<ProcessMetric> {
  // prom-client's types give the type of a metric as a number.
  return (await registry.getSingleMetric(name)!.get()) as unknown as ProcessMetric;
}

async function* sums(
  processes: readonly MetricSamples[],
): AsyncGenerator<{ readonly registry: Registry; readonly name: string }> {
  for (const [name, [first, ...others]] of Map.groupBy(processes.flat(), (metric) => metric.name)) {
    let sum: Registry = AggregatorRegistry.aggregate([[first!]]);
    // One process after the other: thousands of series of many processes would take too long at once.
    for (const other of others) {
      sum = AggregatorRegistry.aggregate([[await valuesOf(sum, name)], [other]]);
      await yieldToLoop();
    }
    yield { registry: sum, name };
    await yieldToLoop();
  }
}
