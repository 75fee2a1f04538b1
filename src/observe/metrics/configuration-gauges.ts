// Prometheus metrics of the configuration file, read when metrics are scraped.
import type { Registry } from "prom-client";
import { scrapedMetrics } from "./scraped-metrics.ts";

/** `fault` returns why the file as it is now is not in use, or `null`. */
export function configurationGauges(registry: Registry, fault: () => string | null): void {
  scrapedMetrics(registry, () => ({ fault: fault() })).gauge(
    "dragoman_configuration_current",
    "1 while the configuration file is in use as it is now, 0 after it could not be read or was refused.",
    (configuration) => (configuration.fault === null ? 1 : 0),
    [],
    "min",
  );
}
