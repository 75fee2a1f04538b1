// Prometheus metrics of the workers of a gateway that has several.
import type { Registry } from "prom-client";
import { scrapedMetrics } from "./scraped-metrics.ts";

/** How many workers run, and how many of them answered when they were asked for their figures. */
export interface WorkerFigures {
  readonly count: number;
  readonly answered: number;
}

/** `figures` returns null while one process serves alone. */
export function workerGauges(registry: Registry, figures: () => WorkerFigures | null): void {
  scrapedMetrics(registry, figures).gauge(
    "dragoman_workers",
    "Workers of this gateway, by whether they answered in time for this reading; of the others, what they had counted before is shown. Absent with a single process.",
    ({ count, answered }) => [
      [{ answered: "true" }, answered],
      [{ answered: "false" }, count - answered],
    ],
    ["answered"],
    "first",
  );
}
