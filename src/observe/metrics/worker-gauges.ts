// Prometheus metrics of the workers of a gateway that has several.
import type { Registry } from "prom-client";
import { scrapedMetrics } from "./scraped-metrics.ts";

/** How many workers run, and how many of them answered when they were asked for their figures. */
export interface WorkerFigures {
  readonly count: number;
  readonly answered: number;
}

/** `figures` returns null while one process serves alone. */
export function workerGauges(registry: Registry, figures: () => WorkerFigures | null): void {
  scrapedMetrics(registry, figures).gauge(
    "dragoman_workers",
    "Workers of this gateway, by whether they answered in time for this reading; of the others, what they had counted before is shown. Absent with a single process.",
    ({ count, answered }) => [
      [{ answered: "true" }, answered],
      [{ answered: "false" }, count - answered],
    ],
    ["answered"],
    "first",
  );
}

/** What went over the channels between the supervisor and its workers. */
export interface ChannelFigures {
  readonly toSupervisor: OneWay;
  readonly toWorkers: OneWay;
}

interface OneWay {
  readonly messages: number;
  readonly bytes: number;
}

/** `figures` returns null in every process but the supervisor. */
export function channelMeters(registry: Registry, figures: () => ChannelFigures | null): void {
  const { counter } = scrapedMetrics(registry, figures);
  const ways = (of: (way: OneWay) => number) => (now: ChannelFigures) =>
    [
      [{ receiver: "supervisor" }, of(now.toSupervisor)],
      [{ receiver: "workers" }, of(now.toWorkers)],
    ] as const;
  counter(
    "dragoman_worker_messages_total",
    "Messages between the supervisor and its workers, by receiver. Absent with a single process.",
    ways(({ messages }) => messages),
    ["receiver"],
  );
  counter(
    "dragoman_worker_bytes_total",
    "Bytes of these messages, by receiver. Absent with a single process.",
    ways(({ bytes }) => bytes),
    ["receiver"],
  );
}
