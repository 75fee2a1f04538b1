// The rows and how each is measured: a warm-up, 32 connections for throughput and CPU time, and one connection for
// latency. Memory is measured in a run of its own.
import { ANSWERS, CACHED_ANSWER, CACHED_STREAM, ROUTED_ANSWER } from "./answers.ts";
import { type Front, frontPath, NATIVE, requestText } from "../subjects/fronts.ts";
import { type Endpoint, httpRequest, type LoadResult, openStreams, quantile, runLoad } from "./load.ts";
import { coreTime, type Cores, cpuSeconds, idleShare, residentMb, threadSeconds } from "../subjects/process-stats.ts";
import { EVENTS_PER_STREAM, PROTOCOLS } from "./protocols.ts";
import type { Subject } from "../subjects/subject.ts";

/** `gateway` is bound to one core with all its threads; `unbound` may use every core, beside the load and the mock. */
export type SubjectName = "direct" | "nginx" | "bare" | "gateway" | "unbound";

export interface Scenario {
  readonly id: string;
  readonly label: string;
  readonly subject: SubjectName;
  readonly kind: "plain" | "stream";
  /** Selects the answer of the mock. */
  readonly answer: string;
  readonly front: Front;
  /** The row with which latency is compared. */
  readonly floor: "direct-plain" | "direct-stream";
}

const plain = (
  subject: SubjectName,
  id: string,
  label: string,
  answer = "openai-plain",
  front: Front = "chat",
): Scenario => ({
  id,
  label,
  subject,
  kind: "plain",
  answer,
  front,
  floor: "direct-plain",
});
const stream = (
  subject: SubjectName,
  id: string,
  label: string,
  answer = "openai-stream",
  front: Front = "chat",
): Scenario => ({
  id,
  label,
  subject,
  kind: "stream",
  answer,
  front,
  floor: "direct-stream",
});

export const SCENARIOS: readonly Scenario[] = [
  plain("direct", "direct-plain", "direct"),
  plain("nginx", "nginx-plain", "nginx proxy_pass"),
  plain("bare", "bare-plain", "bare Bun.serve + fetch"),
  plain("gateway", "gateway-plain", "Dragoman, same shape"),
  plain("gateway", "gateway-plain-route", "Dragoman, same shape, by a route of three targets", ROUTED_ANSWER),
  plain("gateway", "gateway-plain-cached", "Dragoman, same shape, from the response cache", CACHED_ANSWER),
  ...PROTOCOLS.map(({ id, label }) => plain("gateway", `gateway-plain-${id}`, `Dragoman, ${label}`, `${id}-plain`)),
  ...operations("plain", plain),
  plain("unbound", "unbound-plain", "Dragoman, same shape, not bound to a core"),
  stream("direct", "direct-stream", "direct"),
  stream("nginx", "nginx-stream", "nginx proxy_pass, unbuffered"),
  stream("bare", "bare-stream", "bare Bun.serve + fetch"),
  stream("gateway", "gateway-stream", "Dragoman, same shape"),
  stream("gateway", "gateway-stream-cached", "Dragoman, same shape, from the response cache", CACHED_STREAM),
  ...PROTOCOLS.map(({ id, label }) => stream("gateway", `gateway-stream-${id}`, `Dragoman, ${label}`, `${id}-stream`)),
  ...operations("stream", stream),
];

/** Operations other than chat completions: translated for a provider of chat completions, and sent as the client wrote. */
function operations(kind: Scenario["kind"], row: typeof plain): readonly Scenario[] {
  return NATIVE.flatMap(({ id, front }) => [
    row("gateway", `gateway-${kind}-${front}`, `Dragoman, /${front}, translated`, `openai-${kind}`, front),
    row("gateway", `gateway-${kind}-${id}`, `Dragoman, /${front}, native`, `${id}-${kind}`, front),
  ]);
}

export interface Pace {
  /** Before the first row of a process, in which the runtime compiles what all rows use. */
  readonly firstWarmUpMs: number;
  /** Before each further row. */
  readonly warmUpMs: number;
  readonly loadMs: number;
  readonly latencyMs: number;
  readonly openStreams: number;
  /** The time between the end of the open streams and the last reading of the memory. */
  readonly settleMs: number;
}
export const FULL: Pace = {
  firstWarmUpMs: 15_000,
  warmUpMs: 5000,
  loadMs: 5000,
  latencyMs: 3000,
  openStreams: 1000,
  settleMs: 30_000,
};
export const QUICK: Pace = {
  firstWarmUpMs: 80,
  warmUpMs: 80,
  loadMs: 150,
  latencyMs: 100,
  openStreams: 50,
  settleMs: 200,
};

const CONNECTIONS = 32;
/** When less than this share of the load's core was idle, the load may have been the bottleneck. */
const LEAST_IDLE = 0.1;
/** When the subject got less than this share of its core, other processes used the rest. */
const LEAST_SHARE = 0.85;

export interface RowResult {
  readonly scenario: Scenario;
  readonly perSecond: number;
  /** User and system time of the subject; `null` for the direct rows, which have none. */
  readonly cpuMicros: number | null;
  /** The part of `cpuMicros` that the main thread used; `null` where the subject has several processes or none. */
  readonly servingMicros: number | null;
  /** The share of its core that the subject got under load; `loadIdle` is the idle share of the load's core. */
  readonly subjectShare: number | null;
  readonly loadIdle: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly firstP50Ms: number;
  readonly firstP99Ms: number;
}

/**
 * Whether the rate says nothing about the subject; the CPU time remains valid. The direct row consists of the load
 * alone, so that its rate is the upper bound.
 */
export function isVoid({ loadIdle, subjectShare }: RowResult): boolean {
  return subjectShare !== null && (loadIdle < LEAST_IDLE || subjectShare < LEAST_SHARE);
}

export async function measureRow(
  scenario: Scenario,
  subject: Subject,
  cores: Cores,
  pace: Pick<Pace, "warmUpMs" | "loadMs" | "latencyMs">,
): Promise<RowResult> {
  const endpoint = endpointOf(scenario, subject);
  await runLoad(endpoint, { connections: CONNECTIONS, durationMs: pace.warmUpMs });
  subject.tidy();
  const coreBefore = coreTime(cores.load);
  const cpuBefore = cpuSeconds(subject.pids);
  const servingBefore = servingSeconds(subject);
  const loaded = await runLoad(endpoint, { connections: CONNECTIONS, durationMs: pace.loadMs });
  const cpu = cpuSeconds(subject.pids) - cpuBefore;
  const serving = servingSeconds(subject) - servingBefore;
  const loadIdle = idleShare(coreBefore, coreTime(cores.load));
  subject.tidy();
  const alone = await runLoad(endpoint, { connections: 1, durationMs: pace.latencyMs });
  subject.tidy();
  if (scenario.kind === "stream") demandAllEvents(loaded);
  const hasSubject = subject.pids.length > 0;
  return {
    scenario,
    perSecond: loaded.requests / loaded.seconds,
    cpuMicros: hasSubject ? (cpu / loaded.requests) * 1e6 : null,
    servingMicros: subject.pids.length === 1 ? (serving / loaded.requests) * 1e6 : null,
    subjectShare: hasSubject ? cpu / loaded.seconds : null,
    loadIdle,
    p50Ms: quantile(alone.totalMs, 0.5),
    p99Ms: quantile(alone.totalMs, 0.99),
    firstP50Ms: quantile(alone.firstMs, 0.5),
    firstP99Ms: quantile(alone.firstMs, 0.99),
  };
}

function servingSeconds({ pids }: Subject): number {
  return pids.length === 1 ? threadSeconds(pids[0]!).serving : 0;
}

function endpointOf({ answer, kind, front }: Pick<Scenario, "answer" | "kind" | "front">, subject: Subject): Endpoint {
  if (!ANSWERS.has(answer)) throw new Error(`the mock has no answer ${answer}`);
  const { path, model, token } = subject.target(answer);
  const text = requestText(front, model, kind === "stream");
  return { port: subject.port, request: httpRequest(subject.port, frontPath(path, front), text, token) };
}

/** Detects streams that lost events, which would look fast. An event with content is never this short. */
const LEAST_EVENT_BYTES = 100;
function demandAllEvents({ requests, bodyBytes }: LoadResult): void {
  const perStream = bodyBytes / requests;
  if (perStream < EVENTS_PER_STREAM * LEAST_EVENT_BYTES)
    throw new Error(`a stream had ${perStream} bytes, too few for ${EVENTS_PER_STREAM} events`);
}

export interface MemoryResult {
  readonly atRestMb: number;
  readonly streams: number;
  readonly openMb: number;
  readonly settleMs: number;
  readonly afterMb: number;
}

/**
 * Requires a gateway that has just been started. The mock holds the streams open until it receives the request to
 * release them.
 */
export async function measureMemory(
  gateway: Subject,
  mockPort: number,
  pace: Pick<Pace, "openStreams" | "settleMs">,
): Promise<MemoryResult> {
  const pid = gateway.pids[0]!;
  const quietMs = Math.min(2000, pace.settleMs);
  await Bun.sleep(quietMs);
  const atRestMb = residentMb(pid);
  const streams = await openStreams(
    endpointOf({ answer: "openai-held", kind: "stream", front: "chat" }, gateway),
    pace.openStreams,
  );
  await Bun.sleep(quietMs);
  const openMb = residentMb(pid);
  await runLoad(
    { port: mockPort, request: httpRequest(mockPort, "/release", "", null) },
    { connections: 1, durationMs: 0 },
  );
  await streams.ended;
  await Bun.sleep(pace.settleMs);
  return { atRestMb, streams: pace.openStreams, openMb, settleMs: pace.settleMs, afterMb: residentMb(pid) };
}
