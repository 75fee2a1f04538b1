// Prometheus metrics of the connections to tool servers; the tool runs over them are counted from the records of calls.
import { Counter, Gauge, type Registry } from "prom-client";

/** Read when metrics are scraped. */
export interface ToolServerFigures {
  /** The number of servers with an open connection. */
  readonly connections: number;
  /** Connection attempts that succeeded, and those that failed. */
  readonly connected: number;
  readonly refused: number;
  /** Connections that ended by themselves, including sessions that the server forgot. */
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
    help: "Connections to tool servers, by outcome.",
    labelNames: ["outcome"],
    registers,
    collect() {
      const now = figures();
      this.reset();
      for (const outcome of ["connected", "refused", "lost"] as const) this.inc({ outcome }, now?.[outcome] ?? 0);
    },
  });
}
