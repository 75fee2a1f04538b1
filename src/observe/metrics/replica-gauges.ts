// Prometheus metrics of the gateways that share a database.
import { Gauge, type Registry } from "prom-client";

/** Numbers of running gateways, this one included, by whether their configuration file is the same as this one's. */
export interface ReplicaFigures {
  readonly same: number;
  readonly different: number;
}

export function replicaGauges(registry: Registry, figures: () => ReplicaFigures | null): void {
  new Gauge({
    name: "dragoman_replicas",
    help: "Gateways on this database, including this one, by whether they have the same configuration file.",
    labelNames: ["configuration"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [configuration, count] of Object.entries(figures() ?? {}))
        this.set({ configuration }, count as number);
    },
  });
}
