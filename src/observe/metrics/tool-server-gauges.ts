// Prometheus metrics of the connections to tool servers; the tool runs over them are counted from the records of calls.
import type { Registry } from "prom-client";
import { scrapedMetrics } from "./scraped-metrics.ts";

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
  const { gauge, counter } = scrapedMetrics(registry, figures);
  gauge(
    "dragoman_tool_server_connections",
    "Tool servers that the gateway is connected to.",
    ({ connections }) => connections,
  );
  counter(
    "dragoman_tool_server_connects_total",
    "Connections to tool servers, by outcome.",
    (now) => (["connected", "refused", "lost"] as const).map((outcome) => [{ outcome }, now[outcome]]),
    ["outcome"],
  );
}
