// Prometheus metrics of the stored content of calls.
import type { Registry } from "prom-client";
import type { ContentFigures } from "../content-log.ts";
import { scrapedMetrics } from "./scraped-metrics.ts";

export function contentLogGauges(registry: Registry, figures: () => ContentFigures | null): void {
  const { gauge, counter } = scrapedMetrics(registry, figures);
  counter("dragoman_contents_kept_total", "Calls whose prompts and answers were kept.", ({ kept }) => kept);
  counter(
    "dragoman_contents_shed_total",
    "Calls whose prompts and answers should have been kept but were lost, because the queue was full, the process ended, or the tenant's key cannot be decrypted.",
    ({ shed }) => shed,
  );
  counter(
    "dragoman_content_write_failures_total",
    "Failed writes of prompts and answers; they are retried.",
    ({ failures }) => failures,
  );
  gauge(
    "dragoman_contents_waiting",
    "Calls whose prompts and answers are waiting in memory to be written.",
    ({ waiting }) => waiting,
  );
}
