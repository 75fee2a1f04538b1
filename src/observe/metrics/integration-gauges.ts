// Prometheus metrics of integrations, read when metrics are scraped. The operator chooses their names, whose number is
// bounded.
import { Counter, Gauge, type Registry } from "prom-client";
import type { IntegrationStatus } from "../integrations/integrations.ts";

const labelNames = ["integration", "type"] as const;
type Labels = Record<(typeof labelNames)[number], string>;

/** `statuses` is empty when there is no integration. */
export function integrationGauges(registry: Registry, statuses: () => readonly IntegrationStatus[]): void {
  const registers = [registry];
  const each = (set: (labels: Labels, status: IntegrationStatus) => void): void => {
    for (const status of statuses()) set({ integration: status.name, type: status.type }, status);
  };
  const counter = (name: string, help: string, of: (status: IntegrationStatus) => number): void => {
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        each((labels, status) => this.inc(labels, of(status)));
      },
    });
  };
  const gauge = (name: string, help: string, of: (status: IntegrationStatus) => number): void => {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        each((labels, status) => this.set(labels, of(status)));
      },
    });
  };
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
  new Counter({
    name: "dragoman_integration_shed_total",
    help: "Calls that were not delivered to an integration, by reason.",
    labelNames: [...labelNames, "reason"],
    registers,
    collect() {
      this.reset();
      each((labels, { sums }) => {
        for (const reason of SHED_REASONS) this.inc({ ...labels, reason }, sums[reason]);
      });
    },
  });
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
  gauge("dragoman_integration_up", "0 while deliveries to an integration fail, otherwise 1.", ({ sums }) =>
    sums.failing === 0 ? 1 : 0,
  );
}

const SHED_REASONS = ["queue_full", "handover", "refused", "given_up", "thread_ended", "shutdown"] as const;
