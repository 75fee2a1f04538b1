// All integrations, seen from the thread that serves calls: it decides which integration gets which call, serializes
// the record once for all of them, and hands the text to other threads. It never waits, and what does not fit is
// counted (promise 11.4, docs/design/integrations.md).
import { Worker } from "node:worker_threads";
import { systemClock } from "../../core/clock.ts";
import type { CallContent } from "../../core/content.ts";
import { type CallRecord, isUnauthenticated } from "../../core/record.ts";
import { recordText } from "../../core/record-text.ts";
import { threadFile } from "../../core/thread-file.ts";
import { isSampled } from "../../core/sampling.ts";
import type { CallStart, StreamChunk } from "./callback.ts";
import type { CallbackSettings } from "./callback-settings.ts";
import type { IntegrationScope } from "./integration-fields.ts";
import { lineOf } from "./integration-line.ts";
import { modulePath } from "./integration-paths.ts";
import { integrationNews } from "./integration-news.ts";
import type { Integration } from "./integration-settings.ts";
import { type IntegrationSums, IntegrationThread } from "./integration-thread.ts";
import type { IntegrationNews, IntegrationSetup } from "./integration-worker.ts";
import type { Log } from "../log.ts";
import type { Observer } from "../observer.ts";

export interface IntegrationStatus {
  readonly name: string;
  readonly type: string;
  readonly sums: IntegrationSums;
  /** Calls whose content was too large to be included. */
  readonly contentsLeftOut: number;
  /** How often its thread ended or was ended; all sinks share one thread. */
  readonly restarts: number;
}

export interface Integrations extends Observer {
  /** Notifies modules that a call begins; `null` when no module asks for it. */
  readonly admitted: ((record: CallRecord) => void) | null;
  /** Notifies modules of chunks; `null` when no module asks for it. */
  readonly chunks: StreamChunks | null;
  statuses(): readonly IntegrationStatus[];
  end(withinMs: number): Promise<void>;
}

/**
 * Called once for each stream; the result is null when no module gets its chunks, else it takes the `characters` of
 * each piece that is sent to the client, at `atMs` since the arrival of the call.
 */
export type StreamChunks = (record: CallRecord) => ((characters: number, atMs: number) => void) | null;

interface Member {
  readonly integration: Integration;
  readonly thread: IntegrationThread;
  /** Its position in its thread. */
  readonly place: number;
  readonly wants: ((record: CallRecord) => boolean) | null;
  /** Like `wants`, for a call that has not ended yet. */
  readonly begins: ((record: CallRecord) => boolean) | null;
  contentsLeftOut: number;
}

interface Group {
  readonly thread: IntegrationThread;
  readonly members: readonly Member[];
  /** Mask of the members that get every call. */
  readonly always: number;
  readonly choosy: readonly Member[];
  /** Mask of the members that get content. */
  readonly withContent: number;
}

const SINKS_HANG_MS = 15_000;
const MAX_TEXT_CHARACTERS = 1024;
/** UTF-16 units of one call's content; longer content is omitted. */
const MAX_CONTENT = 4 * 1024 * 1024;

export interface IntegrationsOptions {
  readonly integrations: readonly Integration[];
  /** The folder of this file is the base of relative module paths; with `null` it is the working directory. */
  readonly configFile: string | null;
  readonly log: Pick<Log, "info" | "warn">;
}

/** Returns null when no integration is enabled. */
export function openIntegrations({ integrations, configFile, log }: IntegrationsOptions): Integrations | null {
  const enabled = integrations.filter(({ settings }) => settings.enabled).map((one) => withModulePath(one, configFile));
  if (enabled.length === 0) return null;
  const sinks = enabled.filter(({ settings }) => settings.type !== "callback");
  const callbacks = enabled.filter((one): one is Integration<CallbackSettings> => one.settings.type === "callback");
  const groups = [
    ...(sinks.length === 0 ? [] : [groupOf(sinks, SINKS_HANG_MS, null, log)]),
    ...callbacks.map((one) => groupOf([one], one.settings.hangMs, one.settings.maxMemoryBytes, log)),
  ];
  const members = groups.flatMap((group) => group.members);
  const callbackGroups = groups.filter((group) => group.members[0]!.integration.settings.type === "callback");
  return {
    publish: (record, content) => publish(groups, record, content ?? null),
    admitted: callbackGroups.length === 0 ? null : (record) => sendStart(callbackGroups, record),
    chunks: chunksOf(callbackGroups),
    statuses: () =>
      members.map(({ integration, thread, place, contentsLeftOut }) => ({
        name: integration.name,
        type: integration.settings.type,
        sums: thread.sums()[place]!,
        contentsLeftOut,
        restarts: thread.restarts,
      })),
    async end(withinMs) {
      await Promise.all(groups.map(({ thread }) => thread.end(withinMs)));
      for (const { integration, thread, place } of members) {
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

function withModulePath(one: Integration, configFile: string | null): Integration {
  const { settings } = one;
  return settings.type === "callback"
    ? { ...one, settings: { ...settings, module: modulePath(settings, configFile) } }
    : one;
}

function groupOf(
  integrations: readonly Integration[],
  hangMs: number,
  maxHeapBytes: number | null,
  log: Pick<Log, "info" | "warn">,
): Group {
  const reporters = integrations.map(({ name, settings }) =>
    integrationNews(log, { integration: name, type: settings.type }, systemClock),
  );
  const onNews = (news: Exclude<IntegrationNews, { readonly kind: "ended" }>): void => {
    if (news.kind === "failing") reporters[news.integration]!.failing(news.message);
    else reporters[news.integration]!.back();
  };
  const onLost = (why: string): void =>
    log.warn(
      { integrations: integrations.map(({ name }) => name), error_detail: why.slice(0, MAX_TEXT_CHARACTERS) },
      "the thread of integrations ended and is restarted",
    );
  const thread = new IntegrationThread({
    integrations,
    hangMs,
    maxHeapBytes,
    onNews,
    onLost,
    begin: (workerData: IntegrationSetup) =>
      new Worker(threadFile(import.meta.url, "observe/integrations/integration-worker.ts"), { workerData }),
  });
  const members = integrations.map((integration, place): Member => ({
    integration,
    thread,
    place,
    wants: compileScope(integration.settings.scope),
    begins: compileScope({ ...integration.settings.scope, only: "all" }),
    contentsLeftOut: 0,
  }));
  const bits = (chosen: (member: Member) => boolean): number =>
    members.reduce((mask, member) => (chosen(member) ? mask | (1 << member.place) : mask), 0);
  return {
    thread,
    members,
    always: bits(({ wants }) => wants === null),
    choosy: members.filter(({ wants }) => wants !== null),
    withContent: bits(({ integration }) => integration.settings.content),
  };
}

/** Returns null when the scope includes every call. */
export function compileScope({
  tenants,
  projects,
  sample,
  only,
}: IntegrationScope): ((record: Pick<CallRecord, "tenantId" | "projectId" | "traceId" | "code">) => boolean) | null {
  if (tenants === null && projects === null && sample >= 1 && only === "all") return null;
  const filter = {
    tenants: tenants === null ? null : new Set(tenants),
    projects: projects === null ? null : new Set(projects),
  };
  return ({ tenantId, projectId, traceId, code }) => {
    if (only === "errors" && code === null) return false;
    if (filter.tenants !== null && (tenantId === null || !filter.tenants.has(tenantId))) return false;
    if (filter.projects !== null && (projectId === null || !filter.projects.has(projectId))) return false;
    return isSampled(traceId, sample);
  };
}

function maskOf(group: Group, record: CallRecord): number {
  let mask = group.always;
  for (const { wants, place } of group.choosy) if (wants!(record)) mask |= 1 << place;
  return mask;
}

function publish(groups: readonly Group[], record: CallRecord, content: CallContent | null): void {
  // Unauthenticated callers can make any number of calls, which would push all other calls out of the queues.
  if (isUnauthenticated(record)) return;
  let json: string | null = null;
  let contentJson: string | null = null;
  for (const group of groups) {
    const mask = maskOf(group, record);
    if (mask === 0) continue;
    json ??= recordText(record);
    const wantsContent = content !== null && (mask & group.withContent) !== 0;
    if (wantsContent) contentJson ??= JSON.stringify(content);
    const fits = wantsContent && contentJson!.length <= MAX_CONTENT;
    if (wantsContent && !fits)
      for (const member of group.members)
        if ((mask & group.withContent & (1 << member.place)) !== 0) member.contentsLeftOut += 1;
    group.thread.add(mask, lineOf("end", mask, json, fits ? contentJson : null));
  }
}

/**
 * For a call that has not ended: an integration that wants only errors is notified of every call, because each may
 * become an error.
 */
function isInScope({ members }: Group, record: CallRecord): boolean {
  const { begins } = members[0]!;
  return begins === null || begins(record);
}

function sendStart(groups: readonly Group[], record: CallRecord): void {
  let json: string | null = null;
  for (const group of groups) {
    if (!isInScope(group, record)) continue;
    json ??= JSON.stringify(startOf(record));
    group.thread.add(1, lineOf("start", 1, json, null));
  }
}

function startOf({
  traceId,
  startedAtMs,
  tokenId,
  tenantId,
  projectId,
  userId,
  endUser,
  modelAsked,
  route,
  provider,
  model,
  stream,
  metadata,
}: CallRecord): CallStart {
  return {
    traceId,
    startedAtMs,
    tokenId,
    tenantId,
    projectId,
    userId,
    endUser,
    modelAsked,
    route,
    provider,
    model,
    stream,
    metadata,
  };
}

function chunksOf(groups: readonly Group[]): StreamChunks | null {
  const listeners = groups
    .map((group) => ({ group, sample: (group.members[0]!.integration.settings as CallbackSettings).streamChunks }))
    .filter(({ sample }) => sample > 0);
  if (listeners.length === 0) return null;
  return (record) => {
    // The outcome of the call is not known yet.
    const listening = listeners.filter(
      ({ group, sample }) => isSampled(record.traceId, sample) && isInScope(group, record),
    );
    if (listening.length === 0) return null;
    let index = 0;
    return (characters, atMs) => {
      const json = JSON.stringify({ traceId: record.traceId, index: index++, atMs, characters } satisfies StreamChunk);
      for (const { group } of listening) group.thread.add(1, lineOf("chunk", 1, json, null));
    };
  };
}
