// Prometheus metrics whose values are read when metrics are scraped.
import { type Aggregator, Counter, Gauge, type Registry } from "prom-client";

/** A value for each set of labels. */
export type Samples = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

/** `of` returns one value, or with `labelNames` a value for each set of labels. */
type AddMetric<Figures> = (
  name: string,
  help: string,
  of: (figures: Figures) => number | Samples,
  labelNames?: readonly string[],
) => void;

/**
 * `across` says what the gauge is for several processes of one machine: `first` for a value that each of them gives for
 * all.
 */
type AddGauge<Figures> = (
  ...metric: [...Parameters<AddMetric<Figures>>, across?: Exclude<Aggregator, "omit" | "average">]
) => void;

/** `figures` returns null while there is nothing to show: values without labels are 0 then, others are absent. */
export function scrapedMetrics<Figures>(
  registry: Registry,
  figures: () => Figures | null,
): { readonly counter: AddMetric<Figures>; readonly gauge: AddGauge<Figures> } {
  const registers = [registry];
  const samplesOf = (of: (figures: Figures) => number | Samples): Samples => {
    const now = figures();
    const value = now === null ? [] : of(now);
    return typeof value === "number" ? [[{}, value]] : value;
  };
  const adder =
    (Metric: typeof Counter | typeof Gauge): AddGauge<Figures> =>
    (name, help, of, labelNames = [], across = "sum") => {
      new Metric({
        name,
        help,
        labelNames,
        registers,
        aggregator: across,
        collect() {
          this.reset();
          // a value that was just reset to 0 is set by adding to it, which counters can do too
          for (const [labels, value] of samplesOf(of)) this.inc(labels, value);
        },
      });
    };
  return { counter: adder(Counter), gauge: adder(Gauge) };
}
