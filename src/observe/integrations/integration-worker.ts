// The program of the thread that delivers the records of calls, either for all sinks together or for a single module of
// the operator. Lines arrive in blocks, each sink has a queue of its own, and outcomes are counted in memory that both
// threads share. Drivers are loaded here, and only those that are configured.
import { heapSize } from "bun:jsc";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../core/clock.ts";
import { loadedOnce } from "../../core/concurrency/loaded-once.ts";
import { messageOf } from "../../core/thrown.ts";
import { parseRecord } from "../../wire/json/record-json.ts";
import type { CallbackItem } from "./sinks/callback-sink.ts";
import { type SharedFigures, sharedFigures } from "./integration-figures.ts";
import { type ReceivedLine, readLine, recordedCall } from "./integration-line.ts";
import type { Delivered } from "./integration-news.ts";
import type { Integration } from "./integration-settings.ts";
import { openSink } from "./open-sink.ts";
import type { MetricsExport, MetricsWatch } from "./sinks/otlp-metrics.ts";
import { ParsedCalls, type ParsedLine } from "./parsed-calls.ts";
import { type QueueWatch, SinkQueue } from "./sink-queue.ts";
import type { RecordedCall, Sink } from "./sink.ts";
import type { TraceBase } from "./sinks/trace-fields.ts";

export interface IntegrationSetup {
  /** Several sinks, or one callback. */
  readonly integrations: readonly Integration[];
  readonly figures: SharedArrayBuffer;
}

/** Every other message is a plain string: a block of lines. */
export interface EndRequest {
  readonly endWithinMs: number;
}

/** `integration` is its position in the setup. */
export type IntegrationNews =
  | { readonly kind: "failing"; readonly integration: number; readonly what: Delivered; readonly message: string }
  | { readonly kind: "back"; readonly integration: number; readonly what: Delivered }
  | { readonly kind: "ended" };

const BEAT_MS = 250;
/** Callbacks run soon after their call, and each has a time limit of its own, so a batch of them needs none. */
const CALLBACK_WAIT_MS = 10;
const CALLBACK_BATCH_MS = 86_400_000;
const MIB = 1024 * 1024;

type Take = (line: ReceivedLine) => void;

interface OpenQueue {
  readonly take: Take;
  readonly end: (withinMs: number) => Promise<void>;
}

function watchOf(integration: number, figures: SharedFigures, report: (news: IntegrationNews) => void): QueueWatch {
  return {
    delivered: (calls) => figures.add(integration, "delivered", calls),
    shed: (reason, calls) => figures.add(integration, reason, calls),
    failed: () => figures.add(integration, "failures", 1),
    retried: () => figures.add(integration, "retries", 1),
    failing: (message) => {
      figures.set(integration, "failing", 1);
      report({ kind: "failing", integration, what: "calls", message });
    },
    back: () => {
      figures.set(integration, "failing", 0);
      report({ kind: "back", integration, what: "calls" });
    },
  };
}

/** Metrics do not affect whether the integration counts as failing: only its records do. */
function metricsWatch(
  integration: number,
  figures: SharedFigures,
  report: (news: IntegrationNews) => void,
): MetricsWatch {
  return {
    failed: () => figures.add(integration, "failures", 1),
    failing: (message) => report({ kind: "failing", integration, what: "metrics", message }),
    back: () => report({ kind: "back", integration, what: "metrics" }),
  };
}

function openQueues(
  integrations: readonly Integration[],
  figures: SharedFigures,
  report: (news: IntegrationNews) => void,
): readonly OpenQueue[] {
  // Sinks that get the same line share its parsed form.
  const parsed = new ParsedCalls();
  const queueOf = <T>(index: number, integration: Integration, open: () => Promise<Sink<T>>) =>
    new SinkQueue<T>({
      open,
      delivery: integration.settings.delivery,
      watch: watchOf(index, figures, report),
      clock: systemClock,
      random: Math.random,
    });
  return integrations.map((integration, index): OpenQueue => {
    const { settings } = integration;
    if (settings.type === "callback") {
      const queue = queueOf<CallbackItem>(
        index,
        {
          ...integration,
          settings: {
            ...settings,
            delivery: { ...settings.delivery, batchWaitMs: CALLBACK_WAIT_MS, timeoutMs: CALLBACK_BATCH_MS },
          },
        },
        async () => (await import("./sinks/callback-sink.ts")).openCallbackSink(settings),
      );
      return {
        take: ({ kind, text }) =>
          queue.add({
            units: text.length,
            value: () =>
              kind === "end" ? { kind, call: recordedCall(text) } : { kind, event: parseRecord<never>(text) },
          }),
        end: (ms) => queue.end(ms),
      };
    }
    const queue = queueOf<RecordedCall>(index, integration, () => openSink(settings));
    const counting =
      "otlp" in settings && settings.otlp.metrics !== null
        ? openCounting(settings, metricsWatch(index, figures, report))
        : null;
    return {
      take(handed) {
        const line = parsed.of(handed, integrations.length);
        counting?.count(line);
        queue.add({ units: line.units, value: () => line.take(settings.content) });
      },
      async end(ms) {
        await Promise.all([queue.end(ms), counting?.end(ms)]);
      },
    };
  });
}

/** How many calls may wait to be counted until the code of the metrics is loaded. */
const MAX_EARLY = 10_000;

/** Metrics count all calls that arrive, including those that the queue drops. */
function openCounting(
  settings: TraceBase,
  watch: MetricsWatch,
): { count(line: ParsedLine): void; end(withinMs: number): Promise<void> } {
  let metrics: MetricsExport | null = null;
  let early: ParsedLine[] = [];
  const open = loadedOnce(async (): Promise<void> => {
    const { openMetricsExport } = await import("./sinks/otlp-metrics.ts");
    metrics = openMetricsExport(settings, watch);
    for (const line of early) metrics?.count(line.call().record);
    early = [];
  });
  const opening = (): Promise<void> =>
    open().catch((thrown: unknown) => {
      watch.failed();
      watch.failing(`its code could not be loaded: ${messageOf(thrown)}`);
    });
  void opening();
  return {
    count(line) {
      if (metrics !== null) return metrics.count(line.call().record);
      if (early.length < MAX_EARLY) early.push(line);
      void opening();
    },
    async end(withinMs) {
      await opening();
      await metrics?.end(withinMs);
    },
  };
}

function takeBlock(block: string, queues: readonly OpenQueue[], figures: SharedFigures): void {
  const lines = block.split("\n");
  for (const text of lines) {
    const line = readLine(text);
    for (let index = 0; index < queues.length; index++) if ((line.mask & (1 << index)) !== 0) queues[index]!.take(line);
  }
  figures.addShared("unitsRead", block.length);
  figures.addShared("callsRead", lines.length);
}

if (parentPort !== null) {
  const port = parentPort;
  const { integrations, figures: buffer } = workerData as IntegrationSetup;
  const figures = sharedFigures(integrations.length, buffer);
  const queues = openQueues(integrations, figures, (news) => port.postMessage(news));
  const beat = (): void => {
    figures.addShared("beats", 1);
    figures.setShared("heapMib", Math.ceil(heapSize() / MIB));
  };
  beat();
  setInterval(beat, BEAT_MS);
  const end = async (withinMs: number): Promise<void> => {
    await Promise.all(queues.map((queue) => queue.end(withinMs)));
    port.postMessage({ kind: "ended" } satisfies IntegrationNews);
  };
  port.on("message", (message: string | EndRequest) => {
    if (typeof message === "string") takeBlock(message, queues, figures);
    else void end(message.endWithinMs);
  });
}
