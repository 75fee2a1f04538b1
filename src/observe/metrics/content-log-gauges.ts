// Prometheus metrics of the stored content of calls.
import { Counter, Gauge, type Registry } from "prom-client";
import type { ContentFigures } from "../content-log.ts";

/** The figures are read when metrics are scraped. */
export function contentLogGauges(registry: Registry, figures: () => ContentFigures | null): void {
  const registers = [registry];
  const counter = (name: string, help: string, of: (figures: ContentFigures) => number): void => {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        const now = figures();
        this.inc(now === null ? 0 : of(now));
      },
    });
  };
  counter("dragoman_contents_kept_total", "Calls whose prompts and answers were kept.", ({ kept }) => kept);
  counter(
    "dragoman_contents_shed_total",
    "Calls whose prompts and answers should have been kept but were lost, because the queue was full or the process ended.",
    ({ shed }) => shed,
  );
  counter(
    "dragoman_content_write_failures_total",
    "Failed writes of prompts and answers; they are retried.",
    ({ failures }) => failures,
  );
  new Gauge({
    name: "dragoman_contents_waiting",
    help: "Calls whose prompts and answers are waiting in memory to be written.",
    registers,
    collect() {
      this.set(figures()?.waiting ?? 0);
    },
  });
}
