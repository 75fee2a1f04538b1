// Lists what a registry holds, for the table of docs/metrics.md. It is derived from the registered metrics, so that the
// table is complete and has no duplicates.
import type { Registry } from "prom-client";

export interface MetricListing {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram; empty for every other type. */
  readonly buckets: readonly number[];
}

/** Properties that prom-client has on a metric but does not declare in its types. */
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
