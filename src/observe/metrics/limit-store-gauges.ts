// Prometheus metrics of the store in which several gateways count their limits.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Read when metrics are scraped. */
export interface LimitStoreFigures {
  readonly isAway: boolean;
  /**
   * Reservations that a lease of this gateway answered, that the store answered, and that `on_store_failure` decided,
   * some of them after a failed request to the store.
   */
  readonly leased: number;
  readonly asked: number;
  readonly alone: number;
  /** Units that are leased and not spent now, by unit. */
  readonly leasedUnits: Readonly<Record<string, number>>;
}

const SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3];

/**
 * `figures` returns null while limits are counted in this process. Returns the function that records the seconds of
 * each round trip.
 */
export function limitStoreGauges(
  registry: Registry,
  figures: () => LimitStoreFigures | null,
): (seconds: number) => void {
  const registers = [registry];
  new Gauge({
    name: "dragoman_limit_store_away",
    help: "1 while the limit store cannot be reached, otherwise 0.",
    registers,
    collect() {
      this.set(figures()?.isAway === true ? 1 : 0);
    },
  });
  new Counter({
    name: "dragoman_limit_store_reservations_total",
    help: "Reservations by way: from a lease, by a request to the limit store, or without it while it cannot be reached.",
    labelNames: ["way"],
    registers,
    collect() {
      const now = figures();
      this.reset();
      for (const way of ["leased", "asked", "alone"] as const) if (now !== null) this.inc({ way }, now[way]);
    },
  });
  new Gauge({
    name: "dragoman_limit_store_leased_units",
    help: "Units that this gateway has leased from limits and not spent, by unit.",
    labelNames: ["unit"],
    registers,
    collect() {
      this.reset();
      for (const [unit, units] of Object.entries(figures()?.leasedUnits ?? {})) this.set({ unit }, units);
    },
  });
  const roundTrip = new Histogram({
    name: "dragoman_limit_store_round_trip_seconds",
    help: "Time from a message to the limit store to its answer.",
    buckets: SECONDS,
    registers,
  });
  return (seconds) => roundTrip.observe(seconds);
}
