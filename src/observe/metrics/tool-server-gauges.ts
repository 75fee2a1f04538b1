// What Prometheus is told of the connections to tool servers; what ran over them is told by the records of calls.
import { Counter, Gauge, type Registry } from "prom-client";

/** Asked when metrics are read. */
export interface ToolServerFigures {
  /** Servers that there is a connection to. */
  readonly connections: number;
  /** Attempts to connect that stood, and that did not. */
  readonly connected: number;
  readonly refused: number;
  /** Connections that ended by themselves, sessions that were forgotten included. */
  readonly lost: number;
}

export function toolServerGauges(registry: Registry, figures: () => ToolServerFigures | null): void {
  const registers = [registry];
  new Gauge({
    name: "dragoman_tool_server_connections",
    help: "Tool servers that the gateway is connected to.",
    registers,
    collect() {
      this.set(figures()?.connections ?? 0);
    },
  });
  new Counter({
    name: "dragoman_tool_server_connects_total",
    help: "Connections to tool servers, by what became of them.",
    labelNames: ["outcome"],
    registers,
    collect() {
      const now = figures();
      this.reset();
      for (const outcome of ["connected", "refused", "lost"] as const) this.inc({ outcome }, now?.[outcome] ?? 0);
    },
  });
}
