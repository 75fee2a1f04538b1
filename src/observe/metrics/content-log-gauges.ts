// What Prometheus is told of what tenants keep of their calls.
import { Counter, Gauge, type Registry } from "prom-client";
import type { ContentFigures } from "../content-log.ts";

/** Asked when metrics are read. */
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
  counter("dragoman_contents_kept_total", "Calls of which was kept what was said.", ({ kept }) => kept);
  counter(
    "dragoman_contents_shed_total",
    "Calls of which nothing was kept though their tenant keeps what is said: the queue was full, or the process ended.",
    ({ shed }) => shed,
  );
  counter(
    "dragoman_content_write_failures_total",
    "Failed writes of what was said; they are tried again.",
    ({ failures }) => failures,
  );
  new Gauge({
    name: "dragoman_contents_waiting",
    help: "Calls of which waits in memory what was said.",
    registers,
    collect() {
      this.set(figures()?.waiting ?? 0);
    },
  });
}
