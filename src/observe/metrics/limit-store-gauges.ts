// Prometheus metrics of the store in which several gateways count their limits.
import { Histogram, type Registry } from "prom-client";
import { scrapedMetrics } from "./scraped-metrics.ts";

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
  const { gauge, counter } = scrapedMetrics(registry, figures);
  gauge(
    "dragoman_limit_store_away",
    "1 while the limit store cannot be reached, otherwise 0.",
    ({ isAway }) => (isAway ? 1 : 0),
    [],
    "max",
  );
  counter(
    "dragoman_limit_store_reservations_total",
    "Reservations by way: from a lease, by a request to the limit store, or without it while it cannot be reached.",
    (now) => (["leased", "asked", "alone"] as const).map((way) => [{ way }, now[way]]),
    ["way"],
  );
  gauge(
    "dragoman_limit_store_leased_units",
    "Units that this gateway has leased from limits and not spent, by unit.",
    ({ leasedUnits }) => Object.entries(leasedUnits).map(([unit, units]) => [{ unit }, units]),
    ["unit"],
  );
  const roundTrip = new Histogram({
    name: "dragoman_limit_store_round_trip_seconds",
    help: "Time from a message to the limit store to its answer.",
    buckets: SECONDS,
    registers: [registry],
  });
  return (seconds) => roundTrip.observe(seconds);
}
