// Prometheus metrics of calls: how they ended, how long they took, and their usage, by provider and model, and by
// route.

// Decides (records and configuration): What is counted in metrics? Also: `refusal-meters.ts` for limits, budgets,
// policies and guards, `tool-meters.ts` for tools. Rule: Labels: `labels.ts`.
import { Counter, Histogram, type Registry } from "prom-client";
import type { CallRecord } from "../../core/record.ts";
import { bounded, MOST } from "./labels.ts";
import { yieldToLoop } from "../../core/event-loop.ts";

/**
 * Seconds of whole calls: a short answer takes half a second, a long one minutes, and 600 s is the default maximum of a
 * call.
 */
const CALL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
/** Seconds until the first content. */
const FIRST_SECONDS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 30, 60, 120];
const TOKENS_PER_SECOND = [1, 5, 10, 20, 30, 40, 60, 80, 100, 150, 200, 300, 500, 1000, 2000];
/** Seconds of the gateway's own work: tens of microseconds, and milliseconds when processor time is short. */
const OWN_SECONDS = [
  0.000025, 0.00005, 0.000075, 0.0001, 0.00015, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1,
];

export interface NamedModel {
  readonly name: string;
  /** False when the model occurs only in the catalogue. */
  readonly isConfigured: boolean;
}
/** The name under which a call's model is counted; null when the model is neither configured nor in the catalogue. */
export type ModelLabel = (call: Pick<CallRecord, "provider" | "model" | "tenantId" | "projectId">) => NamedModel | null;

export interface CallMeters {
  count(record: CallRecord): void;
  /** Counts the calls that are held back, in steps that let the process do other work in between. */
  settle(): Promise<void>;
}

/**
 * Calls with the same outcome that have not been counted yet. The registry looks up labels for each value, so these
 * calls are counted together.
 */
interface Group {
  readonly provider: string;
  readonly model: string;
  readonly route: string;
  readonly operation: string;
  readonly status: number;
  readonly stream: "true" | "false";
  readonly code: string | null;
  calls: number;
  cancelled: number;
  promptTokens: number;
  completionTokens: number;
  costNanoUsd: number;
  unnamedFigures: number;
  /** In seconds, one value for each call. */
  readonly durations: number[];
  readonly firstTokens: number[];
  readonly own: number[];
  readonly speeds: number[];
}
interface AttemptGroup {
  readonly provider: string;
  readonly code: string;
  count: number;
}
/** Bounds of the calls of a group and of the groups: counting what is held back takes a few milliseconds. */
const MAX_GROUP = 128;
const MAX_GROUPS = 500;

export function openCallMeters(registry: Registry, modelLabel: ModelLabel): CallMeters {
  const meters = metersOf(registry);
  // A model belongs to its provider, so the number of pairs is bounded; configured models are bounded separately and
  // keep their places.
  const configured = bounded(MOST.configuredModel);
  const catalogued = bounded(MOST.cataloguedModel);
  const provider = bounded(MOST.provider);
  const route = bounded(MOST.route);
  let groups = new Map<string, Group>();
  let attempts = new Map<string, AttemptGroup>();

  const modelOf = (record: CallRecord): string => {
    if (record.model === null) return "none";
    const named = modelLabel(record);
    if (named === null) return "other";
    const pair = `${record.provider}:${named.name}`;
    return (named.isConfigured ? configured : catalogued)(pair) === pair ? named.name : "other";
  };
  const groupOf = (record: CallRecord): Group => {
    const labels = {
      provider: provider(record.provider ?? "none"),
      model: modelOf(record),
      route: route(record.route ?? "none"),
      operation: record.operation,
    };
    const key = `${labels.provider} ${labels.model} ${labels.route} ${labels.operation} ${record.status} ${record.stream} ${record.code}`;
    let group = groups.get(key);
    if (group === undefined) {
      if (groups.size >= MAX_GROUPS) flush();
      group = {
        ...labels,
        status: record.status,
        stream: record.stream ? "true" : "false",
        code: record.code,
        calls: 0,
        cancelled: 0,
        promptTokens: 0,
        completionTokens: 0,
        costNanoUsd: 0,
        unnamedFigures: 0,
        durations: [],
        firstTokens: [],
        own: [],
        speeds: [],
      };
      groups.set(key, group);
    }
    return group;
  };
  const flushAttempts = (): void => {
    for (const { provider: id, code, count } of attempts.values()) meters.attempts.inc({ provider: id, code }, count);
    attempts = new Map();
  };
  const flush = (): void => {
    for (const group of groups.values()) countGroup(group, meters);
    groups = new Map();
  };

  return {
    count(record) {
      for (const { provider: id, code, fromCache } of record.attempts) {
        if (fromCache) continue;
        const key = `${id} ${code}`;
        const known = attempts.get(key);
        if (known === undefined) attempts.set(key, { provider: provider(id), code: code ?? "none", count: 1 });
        else known.count++;
      }
      if (attempts.size > MAX_GROUPS) flushAttempts();
      const group = groupOf(record);
      group.calls++;
      group.durations.push(record.totalMs / 1000);
      group.own.push(record.ownMs / 1000);
      if (record.cancelled) group.cancelled++;
      if (record.stream && record.firstContentMs !== null) group.firstTokens.push(record.firstContentMs / 1000);
      const speed = speedOf(record);
      if (speed !== null) group.speeds.push(speed);
      group.promptTokens += record.usage?.prompt_tokens ?? 0;
      group.completionTokens += record.usage?.completion_tokens ?? 0;
      group.costNanoUsd += record.cost?.nanoUsd ?? 0;
      if (record.unnamedUsage !== null) group.unnamedFigures += Object.keys(record.unnamedUsage).length;
      if (group.calls < MAX_GROUP) return;
      countGroup(group, meters);
      clear(group);
    },
    async settle() {
      flushAttempts();
      const held = [...groups.values()];
      groups = new Map();
      for (const [index, group] of held.entries()) {
        if (index % 16 === 15) await yieldToLoop();
        countGroup(group, meters);
      }
    },
  };
}

/** Below these bounds the speed is meaningless: the answer came in one piece, or within an instant. */
const MIN_TOKENS = 8;
const MIN_MS = 50;

/** Tokens per second from the first content on; null when it cannot be determined. */
function speedOf({ stream, usage, firstContentMs, totalMs, status, rounds, cache }: CallRecord): number | null {
  if (cache?.outcome === "hit" || !stream || firstContentMs === null || usage === null || status >= 400 || rounds > 1)
    return null;
  const ms = totalMs - firstContentMs;
  return usage.completion_tokens < MIN_TOKENS || ms < MIN_MS ? null : (usage.completion_tokens * 1000) / ms;
}

type Meters = ReturnType<typeof metersOf>;

function metersOf(registry: Registry) {
  const registers = [registry];
  const labelNames = ["provider", "model"] as const;
  return {
    calls: new Counter({
      name: "dragoman_calls_total",
      help: "Calls by outcome.",
      labelNames: [...labelNames, "status", "stream"] as const,
      registers,
    }),
    errors: new Counter({
      name: "dragoman_errors_total",
      help: "Calls that failed, by code.",
      labelNames: [...labelNames, "code"] as const,
      registers,
    }),
    cancelled: new Counter({
      name: "dragoman_cancelled_total",
      help: "Calls whose client disconnected before the end.",
      labelNames,
      registers,
    }),
    attempts: new Counter({
      name: "dragoman_attempts_total",
      help: "Requests to providers, including retries and hedges, by code.",
      labelNames: ["provider", "code"],
      registers,
    }),
    duration: new Histogram({
      name: "dragoman_call_duration_seconds",
      help: "Time from the arrival of a request to the end of its answer.",
      labelNames,
      buckets: CALL_SECONDS,
      registers,
    }),
    firstToken: new Histogram({
      name: "dragoman_first_token_seconds",
      help: "Time from the arrival of a request to the first content sent, for streams.",
      labelNames,
      buckets: FIRST_SECONDS,
      registers,
    }),
    speed: new Histogram({
      name: "dragoman_output_tokens_per_second",
      help: "Tokens per second of streamed answers, from the first content to the end. Answers with fewer than 8 tokens, shorter than 50 ms, or with tool rounds do not count.",
      labelNames,
      buckets: TOKENS_PER_SECOND,
      registers,
    }),
    own: new Histogram({
      name: "dragoman_own_seconds",
      help: "The gateway's own share of the time of a call.",
      labelNames: [],
      buckets: OWN_SECONDS,
      registers,
    }),
    tokens: new Counter({
      name: "dragoman_tokens_total",
      help: "Tokens by kind.",
      labelNames: [...labelNames, "kind"] as const,
      registers,
    }),
    cost: new Counter({
      name: "dragoman_cost_nano_usd_total",
      help: "Cost of calls in billionths of a dollar, as far as prices are known.",
      labelNames,
      registers,
    }),
    unnamed: new Counter({
      name: "dragoman_unnamed_usage_figures_total",
      help: "Fields of providers' usage that the gateway does not know and has not counted; the log and the record of each call list them as usage_unnamed.",
      labelNames: ["provider"],
      registers,
    }),
    routeCalls: new Counter({
      name: "dragoman_route_calls_total",
      help: "Calls by route and outcome.",
      labelNames: ["route", "outcome"],
      registers,
    }),
    routeTokens: new Counter({
      name: "dragoman_route_tokens_total",
      help: "Tokens by route and kind.",
      labelNames: ["route", "kind"],
      registers,
    }),
    operationCalls: new Counter({
      name: "dragoman_operation_calls_total",
      help: "Calls by operation and outcome.",
      labelNames: ["operation", "outcome"],
      registers,
    }),
    operationTokens: new Counter({
      name: "dragoman_operation_tokens_total",
      help: "Tokens by operation and kind.",
      labelNames: ["operation", "kind"],
      registers,
    }),
    routeFirstToken: new Histogram({
      name: "dragoman_route_first_token_seconds",
      help: "Time from the arrival of a request to the first content sent, for streams, by route.",
      labelNames: ["route"],
      buckets: FIRST_SECONDS,
      registers,
    }),
  };
}

function countGroup(group: Group, meters: Meters): void {
  const { provider, model, route, operation, status, stream, code, calls, cancelled, promptTokens, completionTokens } =
    group;
  if (calls === 0) return;
  const labels = { provider, model };
  meters.calls.inc({ ...labels, status, stream }, calls);
  if (code !== null) meters.errors.inc({ ...labels, code }, calls);
  if (cancelled > 0) {
    meters.cancelled.inc(labels, cancelled);
    meters.routeCalls.inc({ route, outcome: "cancelled" }, cancelled);
    meters.operationCalls.inc({ operation, outcome: "cancelled" }, cancelled);
  }
  if (calls > cancelled) {
    const outcome = status < 400 ? "ok" : status < 500 ? "refused" : "failed";
    meters.routeCalls.inc({ route, outcome }, calls - cancelled);
    meters.operationCalls.inc({ operation, outcome }, calls - cancelled);
  }
  if (group.costNanoUsd > 0) meters.cost.inc(labels, group.costNanoUsd);
  if (group.unnamedFigures > 0) meters.unnamed.inc({ provider }, group.unnamedFigures);
  for (const [kind, tokens] of [
    ["prompt", promptTokens],
    ["completion", completionTokens],
  ] as const) {
    if (tokens === 0) continue;
    meters.tokens.inc({ ...labels, kind }, tokens);
    meters.routeTokens.inc({ route, kind }, tokens);
    meters.operationTokens.inc({ operation, kind }, tokens);
  }
  for (const seconds of group.durations) meters.duration.observe(labels, seconds);
  for (const seconds of group.own) meters.own.observe(seconds);
  for (const speed of group.speeds) meters.speed.observe(labels, speed);
  for (const seconds of group.firstTokens) {
    meters.firstToken.observe(labels, seconds);
    meters.routeFirstToken.observe({ route }, seconds);
  }
}

function clear(group: Group): void {
  group.calls =
    group.cancelled =
    group.promptTokens =
    group.completionTokens =
    group.costNanoUsd =
    group.unnamedFigures =
      0;
  for (const figures of [group.durations, group.firstTokens, group.own, group.speeds]) figures.length = 0;
}
