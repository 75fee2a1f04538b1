// Prometheus metrics of the process. prom-client's default metrics are partly wrong on Bun, so these few are made here.
import type { Registry } from "prom-client";
import { scrapedMetrics } from "./scraped-metrics.ts";

export function processGauges(registry: Registry): void {
  const { gauge, counter } = scrapedMetrics(registry, () => process);
  gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  counter("process_cpu_seconds_total", "User and system CPU time.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  gauge("process_uptime_seconds", "Seconds since the start of the process.", () => process.uptime(), [], "max");
}
