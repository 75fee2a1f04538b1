// Prometheus metrics of the response cache: of calls, from their records, and of its store.
import { Counter, type Registry } from "prom-client";
import type { CallRecord } from "../../core/record/record.ts";
import { bounded, MOST } from "./labels.ts";
import { scrapedMetrics } from "./scraped-metrics.ts";

/** What the cache of this process has counted. */
export interface CacheCounts {
  readonly entries: number;
  readonly bytes: number;
  readonly faults: number;
  readonly garbage: number;
  readonly flights: number;
}

export function openCacheMeters(registry: Registry): (record: CallRecord) => void {
  const registers = [registry];
  const calls = new Counter({
    name: "dragoman_cache_calls_total",
    help: "Calls for which the response cache is on, by route and by what became of them.",
    labelNames: ["route", "cache"],
    registers,
  });
  const saved = new Counter({
    name: "dragoman_cache_saved_nano_usd_total",
    help: "What answers from the response cache would have cost, in billionths of a dollar, as far as prices are known.",
    labelNames: ["route"],
    registers,
  });
  const routeLabel = bounded(MOST.route);
  return ({ cache, route: name }) => {
    if (cache === null) return;
    const route = routeLabel(name ?? "none");
    calls.inc({ route, cache: cache.outcome });
    if (cache.savedNanoUsd !== null && cache.savedNanoUsd > 0) saved.inc({ route }, cache.savedNanoUsd);
  };
}

/** With `isShared`, all processes of the machine have the same store, and each of them gives its figures. */
export function cacheGauges(registry: Registry, figures: () => CacheCounts | null, isShared: boolean): void {
  const { gauge, counter } = scrapedMetrics(registry, figures);
  const across = isShared ? "max" : "sum";
  gauge(
    "dragoman_cache_entries",
    "Answers in the response cache; 0 for a store on another server.",
    ({ entries }) => entries,
    [],
    across,
  );
  gauge(
    "dragoman_cache_bytes",
    "Bytes of the answers in the response cache; 0 for a store on another server.",
    ({ bytes }) => bytes,
    [],
    across,
  );
  gauge("dragoman_cache_flights", "Requests to providers that equal calls may share now.", ({ flights }) => flights);
  counter(
    "dragoman_cache_store_faults_total",
    "Times that the store of the response cache could not be read, or did not keep an answer.",
    ({ faults }) => faults,
  );
  counter(
    "dragoman_cache_garbage_total",
    "Entries in the store of the response cache that could not be opened and were ignored.",
    ({ garbage }) => garbage,
  );
}
