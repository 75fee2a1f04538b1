// All integrations of a gateway: which of them gets which call (handover.ts), and the threads that deliver. The thread
// that serves calls never waits for them, and what does not fit is counted (promise 11.4, docs/design/integrations.md).
import { Worker } from "node:worker_threads";
import { systemClock } from "../../core/clock.ts";
import { threadFile } from "../../core/concurrency/thread-file.ts";
import { type Handover, type IntegrationOutline, openHandover, type TakeLine, threadsOf } from "./handover.ts";
import { modulePath } from "./integration-paths.ts";
import { integrationNews } from "./integration-news.ts";
import type { Integration } from "./integration-settings.ts";
import { type IntegrationSums, IntegrationThread, type IntegrationTimes } from "./integration-thread.ts";
import type { IntegrationNews, IntegrationSetup } from "./integration-worker.ts";
import type { Log } from "../log.ts";

export interface IntegrationStatus {
  readonly name: string;
  readonly type: string;
  readonly sums: IntegrationSums;
  /** Calls whose content was too large to be included. */
  readonly contentsLeftOut: number;
  /** How often its thread ended or was ended; all sinks share one thread. */
  readonly restarts: number;
  readonly times: IntegrationTimes;
  /** What the receiver said when deliveries began to fail, the last time that they did. */
  readonly lastError: string | null;
}

export interface Integrations extends Omit<Handover, "contentsLeftOut"> {
  statuses(): readonly IntegrationStatus[];
  end(withinMs: number): Promise<void>;
}

/** The integrations of a process that delivers for others as well. */
export interface DeliveringIntegrations extends Integrations {
  readonly outlines: readonly IntegrationOutline[];
  /** Takes a line of another process. */
  readonly take: TakeLine;
}

const SINKS_HANG_MS = 15_000;
const MAX_TEXT_CHARACTERS = 1024;
export interface IntegrationsOptions {
  readonly integrations: readonly Integration[];
  /** The folder of this file is the base of relative module paths; with `null` it is the working directory. */
  readonly configFile: string | null;
  readonly log: Pick<Log, "info" | "warn">;
}

/** Returns null when no integration is enabled. */
export function openIntegrations({
  integrations,
  configFile,
  log,
}: IntegrationsOptions): DeliveringIntegrations | null {
  const enabled = integrations.filter(({ settings }) => settings.enabled).map((one) => withModulePath(one, configFile));
  if (enabled.length === 0) return null;
  const typed = enabled.map((integration) => ({ integration, type: integration.settings.type }));
  const groups = threadsOf(typed).map((members) => members.map(({ integration }) => integration));
  const errors = new Map<string, string>();
  const threads = groups.map((members) =>
    openThread(members, log, (name, message) => void errors.set(name, message.slice(0, MAX_TEXT_CHARACTERS))),
  );
  const outlines = enabled.map(outlineOf);
  const take: TakeLine = (thread, mask, line) => threads[thread]?.add(mask, line);
  const handover = openHandover(outlines, take);
  const places = groups.flatMap((members, thread) =>
    members.map((integration, place) => ({ integration, thread: threads[thread]!, place })),
  );
  return {
    publish: (record, content) => handover.publish(record, content),
    admitted: handover.admitted,
    chunks: handover.chunks,
    outlines,
    take,
    statuses() {
      const leftOut = handover.contentsLeftOut();
      return places.map(({ integration, thread, place }, index) => ({
        name: integration.name,
        type: integration.settings.type,
        sums: thread.sums()[place]!,
        contentsLeftOut: leftOut[index]!,
        restarts: thread.restarts,
        times: thread.times()[place]!,
        lastError: errors.get(integration.name) ?? null,
      }));
    },
    async end(withinMs) {
      await Promise.all(threads.map((thread) => thread.end(withinMs)));
      for (const { integration, thread, place } of places) {
        const { shutdown } = thread.sums()[place]!;
        if (shutdown > 0)
          log.warn(
            { integration: integration.name, calls: shutdown },
            "the last calls could not be sent to an integration",
          );
      }
    },
  };
}

function outlineOf({ name, settings }: Integration): IntegrationOutline {
  const { type, scope, content } = settings;
  return { name, type, scope, content, streamChunks: settings.type === "callback" ? settings.streamChunks : 0 };
}

function withModulePath(one: Integration, configFile: string | null): Integration {
  const { settings } = one;
  return settings.type === "callback"
    ? { ...one, settings: { ...settings, module: modulePath(settings, configFile) } }
    : one;
}

function openThread(
  integrations: readonly Integration[],
  log: Pick<Log, "info" | "warn">,
  onFailing: (name: string, message: string) => void,
): IntegrationThread {
  const { settings } = integrations[0]!;
  const [hangMs, maxHeapBytes] =
    settings.type === "callback" ? [settings.hangMs, settings.maxMemoryBytes] : [SINKS_HANG_MS, null];
  const reporters = integrations.map((one) =>
    integrationNews(log, { integration: one.name, type: one.settings.type }, systemClock),
  );
  const onNews = (news: Exclude<IntegrationNews, { readonly kind: "ended" }>): void => {
    if (news.kind === "back") return reporters[news.integration]!.back(news.what);
    reporters[news.integration]!.failing(news.what, news.message);
    onFailing(integrations[news.integration]!.name, news.message);
  };
  const onLost = (why: string): void => {
    for (const reporter of reporters) reporter.forget();
    log.warn(
      { integrations: integrations.map(({ name }) => name), error_detail: why.slice(0, MAX_TEXT_CHARACTERS) },
      "the thread of integrations ended and is restarted",
    );
  };
  return new IntegrationThread({
    integrations,
    clock: systemClock,
    hangMs,
    maxHeapBytes,
    onNews,
    onLost,
    begin: (workerData: IntegrationSetup) =>
      new Worker(threadFile(import.meta.url, "observe/integrations/integration-worker.ts"), { workerData }),
  });
}
