// What a registry holds, for the table of docs/metrics.md: made of what was really registered, so that nothing can be told twice or forgotten.
import type { Registry } from "prom-client";

export interface MetricListing {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds; of histograms only. */
  readonly buckets: readonly number[];
}

/** What prom-client keeps of a metric, which its types do not tell. */
interface Registered {
  readonly name: string;
  readonly type: MetricListing["type"];
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly upperBounds?: readonly number[];
}

export function listingOf(registry: Registry): readonly MetricListing[] {
  return (registry.getMetricsAsArray() as unknown as readonly Registered[]).map((metric) => ({
    name: metric.name,
    type: metric.type,
    help: metric.help,
    labels: metric.labelNames ?? [],
    buckets: metric.upperBounds ?? [],
  }));
}
