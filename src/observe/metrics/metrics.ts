// All Prometheus metrics: counted from the records of calls, or read when metrics are scraped. Each file beside this
// one that ends in -meters or -gauges has the metrics of one concept (gauges are read by scraped-metrics.ts); labels.ts
// defines the labels.
import { Gauge, Registry } from "prom-client";
import { type CallRecord, isInFigures } from "../../core/record/record.ts";
import type { LedgerStatus } from "../../store/journal/open-ledger.ts";
import type { EventFigures } from "../webhooks/event-figures.ts";
import { eventGauges } from "./event-gauges.ts";
import { type ModelLabel, openCallMeters } from "./call-meters.ts";
import type { ContentFigures } from "../content-log.ts";
import { cacheGauges, type CacheCounts, openCacheMeters } from "./cache-meters.ts";
import { openCopyMeters } from "./copy-meters.ts";
import { configurationGauges } from "./configuration-gauges.ts";
import { contentLogGauges } from "./content-log-gauges.ts";
import { integrationGauges } from "./integration-gauges.ts";
import type { IntegrationStatus } from "../integrations/integrations.ts";
import { ledgerGauges } from "./ledger-gauges.ts";
import { type LimitStoreFigures, limitStoreGauges } from "./limit-store-gauges.ts";
import { type MetricSamples, samplesOf, textOf } from "./machine-metrics.ts";
import { processGauges } from "./process-gauges.ts";
import { type ReplicaFigures, replicaGauges } from "./replica-gauges.ts";
import { type BudgetStatus, openRefusalMeters } from "./refusal-meters.ts";
import { type TargetStatus, targetGauges } from "./target-gauges.ts";
import { type IsRegisteredServer, openToolMeters } from "./tool-meters.ts";
import { type ToolServerFigures, toolServerGauges } from "./tool-server-gauges.ts";
import { type ChannelFigures, channelMeters, type WorkerFigures, workerGauges } from "./worker-gauges.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";

export type { TargetStatus } from "./target-gauges.ts";

export type Metrics = Readonly<ReturnType<typeof openMetrics>>;

/** What the other processes of the machine have counted, and what is known of all of them together. */
export interface MachineMetrics {
  readonly others: readonly MetricSamples[];
  readonly targets: readonly TargetStatus[];
  readonly workers: WorkerFigures;
}

/**
 * These are called when metrics are scraped, except for `modelLabel` and `isRegisteredServer`, which are called for
 * each call. Metrics without a source stay empty.
 */
export interface MetricSources {
  readonly targets?: () => readonly TargetStatus[];
  readonly ledger?: () => LedgerStatus | null;
  readonly limitStore?: () => LimitStoreFigures | null;
  readonly integrations?: () => readonly IntegrationStatus[];
  readonly events?: () => EventFigures | null;
  readonly budgets?: () => Promise<readonly BudgetStatus[]>;
  /** Whether a target's name is configured or in the catalogue. */
  readonly isNamedTarget?: (target: string) => boolean;
  readonly modelLabel?: ModelLabel;
  readonly isRegisteredServer?: IsRegisteredServer;
  readonly toolServers?: () => ToolServerFigures | null;
  readonly contents?: () => ContentFigures | null;
  readonly replicas?: () => ReplicaFigures | null;
  /** Why the configuration file as it is now is not in use. */
  readonly configurationFault?: () => string | null;
  readonly cache?: () => CacheCounts | null;
  /** Whether the store of the response cache is the same for all processes of the machine. */
  readonly isCacheShared?: boolean;
}

export function openMetrics(sources: MetricSources = {}) {
  const registry = new Registry();
  const calls = openCallMeters(
    registry,
    sources.modelLabel ?? (({ model }) => (model === null ? null : { name: model, isConfigured: true })),
  );
  const rules = openRefusalMeters(registry, sources.budgets ?? (async () => []));
  const countTools = openToolMeters(registry, sources.isRegisteredServer ?? (() => true));
  const countCache = openCacheMeters(registry);
  const countCopy = openCopyMeters(registry);
  const inFlight: { inc(): void; dec(): void } = new Gauge({
    name: "dragoman_calls_in_flight",
    help: "Calls that have begun and not ended.",
    registers: [registry],
  });
  const isNamedTarget = sources.isNamedTarget ?? (() => true);
  targetGauges(registry, sources.targets ?? (() => []), isNamedTarget);
  ledgerGauges(registry, sources.ledger ?? (() => null));
  eventGauges(registry, sources.events ?? (() => null));
  const limitStoreAnswered = limitStoreGauges(registry, sources.limitStore ?? (() => null));
  integrationGauges(registry, sources.integrations ?? (() => []));
  toolServerGauges(registry, sources.toolServers ?? (() => null));
  contentLogGauges(registry, sources.contents ?? (() => null));
  cacheGauges(registry, sources.cache ?? (() => null), sources.isCacheShared === true);
  replicaGauges(registry, sources.replicas ?? (() => null));
  configurationGauges(registry, sources.configurationFault ?? (() => null));
  workerGauges(registry, () => null);
  channelMeters(registry, () => null);
  processGauges(registry);

  return {
    inFlight,
    /** Called with the time of each response of the limit store. */
    limitStoreAnswered,
    contentType: registry.contentType as string,
    thresholdReached: (budgetId: string): void => rules.thresholdReached(budgetId),
    /** The registered metrics, in the order of the output. */
    listing: () => listingOf(registry),
    /** What this process has counted, for the text of another process. */
    async samples(): Promise<MetricSamples> {
      await calls.settle();
      return await samplesOf(registry);
    },
    /**
     * Returns the text exposition format, of this process alone or of the machine. The process can do other work between
     * two metrics.
     */
    async text(machine: MachineMetrics | null = null): Promise<string> {
      await calls.settle();
      if (machine !== null) {
        const together = new Registry();
        targetGauges(together, () => machine.targets, isNamedTarget);
        workerGauges(together, () => machine.workers);
        return await textOf([await samplesOf(together), await samplesOf(registry), ...machine.others]);
      }
      const texts: string[] = [];
      // 400 models make 7,000 lines of one histogram, which take some milliseconds: calls continue in between.
      for (const { name } of registry.getMetricsAsArray()) {
        texts.push(await registry.getSingleMetricAsString(name));
        await yieldToLoop();
      }
      return `${texts.join("\n\n")}\n`;
    },
    publish(record: CallRecord): void {
      // An explained call was not made, and its model name may be unknown to every provider.
      if (record.explained) return;
      countCopy(record);
      if (!isInFigures(record)) return;
      calls.count(record);
      rules.count(record);
      countTools(record);
      countCache(record);
    },
  };
}

/** The metrics of a process that serves no calls and keeps parts for those that do. */
export function openSupervisorMetrics({
  ledger,
  integrations,
  events,
  limitStore,
  replicas,
  configurationFault,
  channels,
}: Required<
  Pick<MetricSources, "ledger" | "integrations" | "events" | "limitStore" | "replicas" | "configurationFault">
> & {
  readonly channels: () => ChannelFigures;
}): Pick<Metrics, "samples" | "limitStoreAnswered"> {
  const registry = new Registry();
  ledgerGauges(registry, ledger);
  eventGauges(registry, events);
  const limitStoreAnswered = limitStoreGauges(registry, limitStore);
  integrationGauges(registry, integrations);
  replicaGauges(registry, replicas);
  configurationGauges(registry, configurationFault);
  channelMeters(registry, channels);
  processGauges(registry);
  return { limitStoreAnswered, samples: () => samplesOf(registry) };
}

/** A metric as the table of docs/metrics.md has it. */
export interface MetricListing {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram; empty for every other type. */
  readonly buckets: readonly number[];
}

/** Properties that prom-client has on a metric but does not declare in its types. */
interface Registered {
  readonly name: string;
  readonly type: MetricListing["type"];
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly upperBounds?: readonly number[];
}

function listingOf(registry: Registry): readonly MetricListing[] {
  return (registry.getMetricsAsArray() as unknown as readonly Registered[]).map((metric) => ({
    name: metric.name,
    type: metric.type,
    help: metric.help,
    labels: metric.labelNames ?? [],
    buckets: metric.upperBounds ?? [],
  }));
}
