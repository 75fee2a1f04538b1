// Prometheus metrics of the process. prom-client's default metrics are partly wrong on Bun, so these few are made here.
import { Counter, Gauge, type Registry } from "prom-client";

export function processGauges(registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: "process_resident_memory_bytes",
    help: "Resident memory.",
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: "process_cpu_seconds_total",
    help: "User and system CPU time.",
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: "process_uptime_seconds",
    help: "Seconds since the start of the process.",
    registers,
    collect() {
      this.set(process.uptime());
    },
  });
}
