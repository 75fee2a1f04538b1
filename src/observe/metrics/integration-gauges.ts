// Prometheus metrics of integrations, read when metrics are scraped. The operator chooses their names, whose number is
// bounded.
import type { Registry } from "prom-client";
import type { IntegrationStatus } from "../integrations/integrations.ts";
import { scrapedMetrics } from "./scraped-metrics.ts";

const LABELS = ["integration", "type"];

/** `statuses` is empty when there is no integration. */
export function integrationGauges(registry: Registry, statuses: () => readonly IntegrationStatus[]): void {
  const scraped = scrapedMetrics(registry, statuses);
  const labelsOf = ({ name, type }: IntegrationStatus) => ({ integration: name, type });
  const counter = (name: string, help: string, of: (status: IntegrationStatus) => number): void =>
    scraped.counter(name, help, (all) => all.map((status) => [labelsOf(status), of(status)]), LABELS);
  const gauge = (name: string, help: string, of: (status: IntegrationStatus) => number): void =>
    scraped.gauge(name, help, (all) => all.map((status) => [labelsOf(status), of(status)]), LABELS);
  counter(
    "dragoman_integration_delivered_total",
    "Calls and other data delivered to an integration.",
    ({ sums }) => sums.delivered,
  );
  counter(
    "dragoman_integration_failures_total",
    "Failed delivery attempts to an integration, each of one batch.",
    ({ sums }) => sums.failures,
  );
  counter("dragoman_integration_retries_total", "Retries of deliveries to an integration.", ({ sums }) => sums.retries);
  scraped.counter(
    "dragoman_integration_shed_total",
    "Calls that were not delivered to an integration, by reason.",
    (all) =>
      all.flatMap((status) =>
        SHED_REASONS.map((reason) => [{ ...labelsOf(status), reason }, status.sums[reason]] as const),
      ),
    [...LABELS, "reason"],
  );
  counter(
    "dragoman_integration_contents_left_out_total",
    "Calls whose prompt and answer were too large to be sent.",
    ({ contentsLeftOut }) => contentsLeftOut,
  );
  counter(
    "dragoman_integration_restarts_total",
    "Restarts of an integration's thread; sinks share one thread.",
    ({ restarts }) => restarts,
  );
  gauge("dragoman_integration_queued", "Calls waiting to be delivered to an integration.", ({ sums }) => sums.queued);
  scraped.gauge(
    "dragoman_integration_up",
    "0 while deliveries to an integration fail, otherwise 1.",
    (all) => all.map((status) => [labelsOf(status), status.sums.failing === 0 ? 1 : 0]),
    LABELS,
    "min",
  );
}

export const SHED_REASONS = ["queue_full", "handover", "refused", "given_up", "thread_ended", "shutdown"] as const;
