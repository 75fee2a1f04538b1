// Which integration gets which call: it serializes a record once for all of them, and hands it over as text, to the
// threads of this process or to those of another process of the machine.
import type { CallContent } from "../../core/configured/content.ts";
import { type CallRecord, isUnauthenticated } from "../../core/record/record.ts";
import { recordText } from "../../core/record/record-text.ts";
import { isSampled } from "../../core/record/sampling.ts";
import type { CallStart, StreamChunk } from "./callback.ts";
import type { IntegrationScope } from "./integration-fields.ts";
import { lineOf } from "./integration-line.ts";
import type { Integration } from "./integration-settings.ts";

/** What decides which calls an integration gets. */
export interface IntegrationOutline {
  readonly name: string;
  readonly type: Integration["settings"]["type"];
  readonly scope: IntegrationScope;
  readonly content: boolean;
  /** The share of streams whose chunks it gets, 0 to 1. */
  readonly streamChunks: number;
}

/** Takes a line for integrations of one thread; `mask` has a bit for each of them. Never waits. */
export type TakeLine = (thread: number, mask: number, line: string) => void;

export type Handover = ReturnType<typeof openHandover>;

/**
 * Called once for each stream; the result is null when no module gets its chunks, else it takes the `characters` of
 * each piece that is sent to the client, at `atMs` since the arrival of the call.
 */
export type StreamChunks = (record: CallRecord) => ((characters: number, atMs: number) => void) | null;

type Group = ReturnType<typeof groupOf>;

/** UTF-16 units of one call's content; longer content is omitted. */
const MAX_CONTENT = 4 * 1024 * 1024;

/** The integrations of each thread: all sinks share the first one, and each module has one of its own. */
export function threadsOf<T extends { readonly type: Integration["settings"]["type"] }>(
  all: readonly T[],
): readonly (readonly T[])[] {
  const sinks = all.filter(({ type }) => type !== "callback");
  return [...(sinks.length === 0 ? [] : [sinks]), ...all.filter(({ type }) => type === "callback").map((one) => [one])];
}

export function openHandover(outlines: readonly IntegrationOutline[], take: TakeLine) {
  const groups = threadsOf(outlines).map((members, thread) => groupOf(members, thread, take));
  const members = groups.flatMap((group) => group.members);
  const callbackGroups = groups.filter((group) => group.members[0]!.outline.type === "callback");
  return {
    publish: (record: CallRecord, content?: CallContent | null): void => publish(groups, record, content ?? null),
    /** Notifies modules that a call begins; `null` when no module asks for it. */
    admitted: callbackGroups.length === 0 ? null : (record: CallRecord): void => sendStart(callbackGroups, record),
    /** Notifies modules of chunks; `null` when no module asks for it. */
    chunks: chunksOf(callbackGroups),
    /** Calls whose content was too large to be included, for the integrations of one thread after the other. */
    contentsLeftOut: () => members.map((member) => member.contentsLeftOut),
  };
}

function groupOf(outlines: readonly IntegrationOutline[], thread: number, take: TakeLine) {
  const members = outlines.map((outline, place) => ({
    outline,
    /** Its position in its thread. */
    place,
    wants: compileScope(outline.scope),
    /** Like `wants`, for a call that has not ended yet. */
    begins: compileScope({ ...outline.scope, only: "all" }),
    contentsLeftOut: 0,
  }));
  const bits = (chosen: (member: (typeof members)[number]) => boolean): number =>
    members.reduce((mask, member) => (chosen(member) ? mask | (1 << member.place) : mask), 0);
  return {
    thread,
    take,
    members,
    /** Mask of the members that get every call. */
    always: bits(({ wants }) => wants === null),
    /** The members that get only some calls. */
    filtered: members.filter(({ wants }) => wants !== null),
    /** Mask of the members that get content. */
    withContent: bits(({ outline }) => outline.content),
  };
}

/** Which calls a scope includes; null when it includes every call. */
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
  for (const { wants, place } of group.filtered) if (wants!(record)) mask |= 1 << place;
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
    group.take(group.thread, mask, lineOf("end", mask, json, fits ? contentJson : null));
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
    group.take(group.thread, 1, lineOf("start", 1, json, null));
  }
}

function startOf(record: CallRecord): CallStart {
  return {
    traceId: record.traceId,
    startedAtMs: record.startedAtMs,
    tokenId: record.tokenId,
    tenantId: record.tenantId,
    projectId: record.projectId,
    userId: record.userId,
    endUser: record.endUser,
    modelAsked: record.modelAsked,
    route: record.route,
    provider: record.provider,
    model: record.model,
    stream: record.stream,
    metadata: record.metadata,
  };
}

function chunksOf(groups: readonly Group[]): StreamChunks | null {
  const listeners = groups
    .map((group) => ({ group, sample: group.members[0]!.outline.streamChunks }))
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
      for (const { group } of listening) group.take(group.thread, 1, lineOf("chunk", 1, json, null));
    };
  };
}
