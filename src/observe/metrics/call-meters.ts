// Prometheus metrics of calls: how they ended, how long they took, and their usage, by provider and model, and by
// route.

// Decides (records and configuration): What is counted in metrics? Also: `refusal-meters.ts` for limits, budgets,
// policies and guards, `tool-meters.ts` for tools. Rule: Labels: `labels.ts`.
import { Counter, Histogram, type Registry } from "prom-client";
import type { CallRecord } from "../../core/record/record.ts";
import { bounded, MOST } from "./labels.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";

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

export interface MeteredModel {
  /** The name itself or, for a model that the catalogue recognizes by a prefix, the catalogue's own name. */
  readonly name: string;
  /** False when the model occurs only in the catalogue. */
  readonly isConfigured: boolean;
}
/** The name under which a call's model is counted; null when the model is neither configured nor in the catalogue. */
export type ModelLabel = (
  call: Pick<CallRecord, "provider" | "model" | "tenantId" | "projectId">,
) => MeteredModel | null;

/** What metrics add up over calls. A figure is counted once it stands here and in a metric (`metersOf`). */
const SUMS = {
  calls: () => 1,
  errors: ({ code }) => (code === null ? 0 : 1),
  cancelled: ({ cancelled }) => (cancelled ? 1 : 0),
  promptTokens: ({ usage }) => usage?.prompt_tokens ?? 0,
  completionTokens: ({ usage }) => usage?.completion_tokens ?? 0,
  costNanoUsd: ({ cost }) => cost?.nanoUsd ?? 0,
  unnamedFigures: ({ unnamedUsage }) => (unnamedUsage === null ? 0 : Object.keys(unnamedUsage).length),
} as const satisfies Readonly<Record<string, (record: CallRecord) => number>>;

/** What histograms have one value of for each call; `null` for a call that has none. */
const VALUES = {
  seconds: ({ totalMs }) => totalMs / 1000,
  firstSeconds: ({ stream, firstContentMs }) => (stream && firstContentMs !== null ? firstContentMs / 1000 : null),
  ownSeconds: ({ ownMs }) => ownMs / 1000,
  tokensPerSecond: speedOf,
} as const satisfies Readonly<Record<string, (record: CallRecord) => number | null>>;

type SumName = keyof typeof SUMS;
type ValueName = keyof typeof VALUES;
/** A group has its figures in the order of these lists, which every call runs through. */
const SUM_LIST: readonly ((record: CallRecord) => number)[] = Object.values(SUMS);
const VALUE_LIST: readonly ((record: CallRecord) => number | null)[] = Object.values(VALUES);

/** Where a group has a figure. */
const sumAt = (name: SumName): number => Object.keys(SUMS).indexOf(name);
const valuesAt = (name: ValueName): number => Object.keys(VALUES).indexOf(name);

/** The kinds of tokens that are counted. */
const TOKEN_KINDS = { prompt: "promptTokens", completion: "completionTokens" } as const satisfies Readonly<
  Record<string, SumName>
>;

/** The labels of a call: what its metrics tell apart. */
interface Labelled {
  readonly provider: string;
  readonly model: string;
  readonly route: string;
  readonly operation: string;
  readonly status: number;
  readonly stream: "true" | "false";
  readonly code: string;
  readonly outcome: "ok" | "refused" | "failed" | "cancelled";
}

/**
 * Calls with the same labels that have not been counted yet. The registry looks up labels for each value, so these
 * calls are counted together.
 */
interface Group extends Labelled {
  calls: number;
  /** In the order of SUMS and of VALUES. */
  readonly sums: number[];
  readonly values: readonly number[][];
}
interface AttemptGroup {
  readonly provider: string;
  readonly code: string;
  count: number;
}
/** Bounds of the calls of a group and of the groups: counting what is held back takes a few milliseconds. */
const MAX_GROUP = 128;
const MAX_GROUPS = 500;

export function openCallMeters(registry: Registry, modelLabel: ModelLabel) {
  const { attempts: attempted, ...meters } = metersOf(registry);
  const labels = openLabels(modelLabel);
  const attempts = new AttemptCounts(attempted, labels.provider);
  let groups = new Map<string, Group>();
  const countGroup = (group: Group): void => {
    if (group.calls > 0) for (const count of Object.values(meters)) count(group);
  };
  const groupOf = (record: CallRecord): Group => {
    const own = labels.of(record);
    const key = `${own.provider} ${own.model} ${own.route} ${own.operation} ${record.status} ${record.stream} ${record.code} ${record.cancelled}`;
    let group = groups.get(key);
    if (group === undefined) {
      if (groups.size >= MAX_GROUPS) {
        for (const full of groups.values()) countGroup(full);
        groups = new Map();
      }
      group = newGroup(own, record);
      groups.set(key, group);
    }
    return group;
  };
  return {
    count(record: CallRecord): void {
      attempts.count(record);
      const group = groupOf(record);
      group.calls++;
      const { sums, values } = group;
      for (let index = 0; index < SUM_LIST.length; index++) sums[index]! += SUM_LIST[index]!(record);
      for (let index = 0; index < VALUE_LIST.length; index++) {
        const value = VALUE_LIST[index]!(record);
        if (value !== null) values[index]!.push(value);
      }
      if (group.calls < MAX_GROUP) return;
      countGroup(group);
      group.calls = 0;
      sums.fill(0);
      for (const list of values) list.length = 0;
    },
    /** Counts the calls that are held back, in steps that let the process do other work in between. */
    async settle(): Promise<void> {
      attempts.flush();
      const held = [...groups.values()];
      groups = new Map();
      for (const [index, group] of held.entries()) {
        if (index % 16 === 15) await yieldToLoop();
        countGroup(group);
      }
    },
  };
}

type BoundedLabels = Pick<Labelled, "provider" | "model" | "route" | "operation">;

/**
 * A model belongs to its provider, so the number of pairs is bounded; configured models are bounded separately and keep
 * their places.
 */
function openLabels(modelLabel: ModelLabel) {
  const configured = bounded(MOST.configuredModel);
  const catalogued = bounded(MOST.cataloguedModel);
  const provider = bounded(MOST.provider);
  const route = bounded(MOST.route);
  const modelOf = (record: CallRecord): string => {
    if (record.model === null) return "none";
    const named = modelLabel(record);
    if (named === null) return "other";
    const pair = `${record.provider}:${named.name}`;
    return (named.isConfigured ? configured : catalogued)(pair) === pair ? named.name : "other";
  };
  return {
    provider,
    of: (record: CallRecord): BoundedLabels => ({
      provider: provider(record.provider ?? "none"),
      model: modelOf(record),
      route: route(record.route ?? "none"),
      operation: record.operation,
    }),
  };
}

function newGroup(labels: BoundedLabels, record: CallRecord): Group {
  return {
    ...labels,
    status: record.status,
    stream: record.stream ? "true" : "false",
    code: record.code ?? "none",
    outcome: outcomeOf(record),
    calls: 0,
    sums: SUM_LIST.map(() => 0),
    values: VALUE_LIST.map(() => []),
  };
}

/** Attempts by provider and code that have not been counted yet. */
class AttemptCounts {
  readonly #counter: Counter;
  readonly #provider: (id: string) => string;
  #attempts = new Map<string, AttemptGroup>();

  constructor(counter: Counter, provider: (id: string) => string) {
    this.#counter = counter;
    this.#provider = provider;
  }

  count({ attempts }: CallRecord): void {
    for (const { provider: id, code, fromCache } of attempts) {
      if (fromCache) continue;
      const started = () => ({ provider: this.#provider(id), code: code ?? "none", count: 0 });
      this.#attempts.getOrInsertComputed(`${id} ${code}`, started).count++;
    }
    if (this.#attempts.size > MAX_GROUPS) this.flush();
  }

  flush(): void {
    for (const { provider, code, count } of this.#attempts.values()) this.#counter.inc({ provider, code }, count);
    this.#attempts = new Map();
  }
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

function outcomeOf({ cancelled, status }: CallRecord): Labelled["outcome"] {
  if (cancelled) return "cancelled";
  return status < 400 ? "ok" : status < 500 ? "refused" : "failed";
}

/** Counts what a group has added up. */
type Meter = (group: Group) => void;

interface MeterOptions {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly (keyof Labelled)[];
}

/** What makes metrics of each kind. */
function meterKinds(registry: Registry) {
  const registers = [registry];
  const labelsOf = (group: Group, names: readonly (keyof Labelled)[]): Readonly<Record<string, string | number>> => {
    const labels: Record<string, string | number> = {};
    for (const name of names) labels[name] = group[name];
    return labels;
  };

  /** A counter whose sum is 0 has no sample. */
  const counter = ({ of, labels, ...options }: MeterOptions & { readonly of: SumName }): Meter => {
    const meter = new Counter<string>({ ...options, labelNames: labels, registers });
    const at = sumAt(of);
    return (group) => {
      const sum = group.sums[at]!;
      if (sum > 0) meter.inc(labelsOf(group, labels), sum);
    };
  };
  const tokens = ({ labels, ...options }: MeterOptions): Meter => {
    const meter = new Counter<string>({ ...options, labelNames: [...labels, "kind"], registers });
    const kinds = Object.entries(TOKEN_KINDS).map(([kind, of]) => ({ kind, at: sumAt(of) }));
    return (group) => {
      for (const { kind, at } of kinds) {
        const sum = group.sums[at]!;
        if (sum > 0) meter.inc({ ...labelsOf(group, labels), kind }, sum);
      }
    };
  };
  const histogram = ({
    of,
    labels,
    ...options
  }: MeterOptions & { readonly of: ValueName; readonly buckets: number[] }): Meter => {
    const meter = new Histogram<string>({ ...options, labelNames: labels, registers });
    const at = valuesAt(of);
    return (group) => {
      const own = labelsOf(group, labels);
      for (const value of group.values[at]!) meter.observe(own, value);
    };
  };
  return { counter, tokens, histogram };
}

/** The metrics of calls, in the order of the output. */
function metersOf(registry: Registry) {
  const { counter, tokens, histogram } = meterKinds(registry);
  const target = ["provider", "model"] as const;
  return {
    calls: counter({
      name: "dragoman_calls_total",
      help: "Calls by outcome.",
      labels: [...target, "status", "stream"],
      of: "calls",
    }),
    errors: counter({
      name: "dragoman_errors_total",
      help: "Calls that ended with an error code, by code; refused calls and those whose client left are among them.",
      labels: [...target, "code"],
      of: "errors",
    }),
    cancelled: counter({
      name: "dragoman_cancelled_total",
      help: "Calls whose client disconnected before the end.",
      labels: target,
      of: "cancelled",
    }),
    attempts: new Counter({
      name: "dragoman_attempts_total",
      help: "Requests to providers, including retries and hedges, by code.",
      labelNames: ["provider", "code"],
      registers: [registry],
    }),
    duration: histogram({
      name: "dragoman_call_duration_seconds",
      help: "Time from the arrival of a request to the end of its answer.",
      labels: target,
      buckets: CALL_SECONDS,
      of: "seconds",
    }),
    firstToken: histogram({
      name: "dragoman_first_token_seconds",
      help: "Time from the arrival of a request to the first content sent, for streams.",
      labels: target,
      buckets: FIRST_SECONDS,
      of: "firstSeconds",
    }),
    speed: histogram({
      name: "dragoman_output_tokens_per_second",
      help: "Tokens per second of streamed answers, from the first content to the end. Answers with fewer than 8 tokens, shorter than 50 ms, or with tool rounds do not count.",
      labels: target,
      buckets: TOKENS_PER_SECOND,
      of: "tokensPerSecond",
    }),
    own: histogram({
      name: "dragoman_own_seconds",
      help: "The gateway's own share of the time of a call.",
      labels: [],
      buckets: OWN_SECONDS,
      of: "ownSeconds",
    }),
    tokens: tokens({ name: "dragoman_tokens_total", help: "Tokens by kind.", labels: target }),
    cost: counter({
      name: "dragoman_cost_nano_usd_total",
      help: "Cost of calls in billionths of a dollar, as far as prices are known.",
      labels: target,
      of: "costNanoUsd",
    }),
    unnamed: counter({
      name: "dragoman_unnamed_usage_figures_total",
      help: "Fields of providers' usage that the gateway does not know and has not counted; the log and the record of each call list them as usage_unnamed.",
      labels: ["provider"],
      of: "unnamedFigures",
    }),
    routeCalls: counter({
      name: "dragoman_route_calls_total",
      help: "Calls by route and outcome.",
      labels: ["route", "outcome"],
      of: "calls",
    }),
    routeTokens: tokens({
      name: "dragoman_route_tokens_total",
      help: "Tokens by route and kind.",
      labels: ["route"],
    }),
    operationCalls: counter({
      name: "dragoman_operation_calls_total",
      help: "Calls by operation and outcome.",
      labels: ["operation", "outcome"],
      of: "calls",
    }),
    operationTokens: tokens({
      name: "dragoman_operation_tokens_total",
      help: "Tokens by operation and kind.",
      labels: ["operation"],
    }),
    routeFirstToken: histogram({
      name: "dragoman_route_first_token_seconds",
      help: "Time from the arrival of a request to the first content sent, for streams, by route.",
      labels: ["route"],
      buckets: FIRST_SECONDS,
      of: "firstSeconds",
    }),
  };
}
