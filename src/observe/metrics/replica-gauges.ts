// Prometheus metrics of the gateways that share a database.
import type { Registry } from "prom-client";
import { scrapedMetrics } from "./scraped-metrics.ts";

/** Numbers of running gateways, this one included, by whether their configuration file is the same as this one's. */
export interface ReplicaFigures {
  readonly same: number;
  readonly different: number;
}

export function replicaGauges(registry: Registry, figures: () => ReplicaFigures | null): void {
  scrapedMetrics(registry, figures).gauge(
    "dragoman_replicas",
    "Gateways on this database, including this one, by whether they have the same configuration file.",
    ({ same, different }) => [
      [{ configuration: "same" }, same],
      [{ configuration: "different" }, different],
    ],
    ["configuration"],
    "max",
  );
}
