// Prometheus metrics made from the call records. Label values are bounded: providers are the configured ones, and a model gets a label of its own
// only until MAX_MODELS have been seen.
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { CallRecord } from "../core/record.ts";
import type { LedgerStanding } from "../store/open-ledger.ts";
import { ledgerGauges } from "./ledger-gauges.ts";
import { type LimitStoreFigures, limitStoreGauges } from "./limit-store-gauges.ts";
import type { Observer } from "./observer.ts";

const MAX_MODELS = 500;
const MAX_RULES = 500;
const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const OWN_SECONDS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1];

export interface Metrics extends Observer {
  /** Calls that have begun and not ended. */
  readonly inFlight: { inc(): void; dec(): void };
  /** A budget has reached a threshold. */
  thresholdReached(budgetId: string): void;
  /** The store of the limits has answered after so long. */
  readonly limitStoreAnswered: (seconds: number) => void;
  /** The text exposition format. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** How a target stands when it is asked. */
export interface TargetStanding {
  /** `<provider>:<model>`. */
  readonly target: string;
  readonly state: "closed" | "open" | "half_open" | "rate_limited";
  readonly inFlight: number;
  /** Calls in its queue. */
  readonly waiting: number;
  /** Recent time to the first content; null: not known. */
  readonly firstContentMs: number | null;
  /** How long it is still left alone; null: it is not. */
  readonly openForMs: number | null;
}

/** `targets`, `ledger` and `limitStore` are asked when metrics are read. */
export function openMetrics(targets: () => readonly TargetStanding[], ledger: () => LedgerStanding | null = () => null, limitStore: () => LimitStoreFigures | null = () => null): Metrics {
  const registry = new Registry();
  const meters = metersOf(registry);
  targetGauges(registry, targets);
  ledgerGauges(registry, ledger);
  const limitStoreAnswered = limitStoreGauges(registry, limitStore);
  const boundedModel = bounded(MAX_MODELS);
  const boundedRule = bounded(MAX_RULES);
  const groups = new Map<string, Group>();

  return {
    inFlight: meters.inFlight,
    limitStoreAnswered,
    contentType: registry.contentType,
    thresholdReached: (budgetId) => meters.thresholds.inc({ budget: boundedRule(budgetId) }),
    text() {
      for (const group of groups.values()) count(group, meters);
      groups.clear();
      return registry.metrics();
    },
    publish(record: CallRecord) {
      // no call was made, and no provider knows the name
      if (record.explained) return;
      for (const { provider, code } of record.attempts) meters.attempts.inc({ provider, code: code ?? "none" });
      countRules(record, meters, boundedRule);
      const provider = record.provider ?? "none";
      // only names that a provider answered to become labels: a caller cannot make up series
      const model = record.model !== null && record.status < 400 ? boundedModel(record.model) : "none";
      const key = `${provider} ${record.status} ${record.stream} ${record.code} ${model}`;
      let group = groups.get(key);
      if (group === undefined) {
        group = { provider, model, status: record.status, stream: record.stream ? "true" : "false", code: record.code, cancelled: 0, promptTokens: 0, completionTokens: 0, costNanoUsd: 0, durations: [], firstTokens: [], own: [] };
        groups.set(key, group);
      }
      group.durations.push(record.totalMs / 1000);
      group.own.push(record.ownMs / 1000);
      if (record.cancelled) group.cancelled++;
      if (record.stream && record.firstContentMs !== null) group.firstTokens.push(record.firstContentMs / 1000);
      group.promptTokens += record.usage?.prompt_tokens ?? 0;
      group.completionTokens += record.usage?.completion_tokens ?? 0;
      group.costNanoUsd += record.cost?.nanoUsd ?? 0;
      if (group.durations.length < MAX_GROUP) return;
      count(group, meters);
      groups.delete(key);
    },
  };
}

function countRules({ limits, policies, code }: CallRecord, meters: Meters, nameOf: (rule: string) => string): void {
  for (const { id, wouldRefuse, refused } of limits) {
    if (wouldRefuse) meters.wouldRefuse.inc({ limit: nameOf(id) });
    if (refused !== undefined) meters.refusals.inc({ code: refused, rule: nameOf(id) });
  }
  for (const { name, effect } of policies) {
    meters.policies.inc({ policy: nameOf(name), effect });
    if (effect === "denied") meters.refusals.inc({ code: "policy_violation", rule: nameOf(name) });
  }
  // no budget was looked at: each of them would have said so
  if (code === "model_unpriced") meters.refusals.inc({ code, rule: "none" });
}

/** The first names that come are labels of their own. */
function bounded(most: number): (name: string) => string {
  const names = new Set<string>();
  return (name) => {
    if (names.has(name)) return name;
    if (names.size >= most) return "other";
    names.add(name);
    return name;
  };
}

type Meters = ReturnType<typeof metersOf>;

function metersOf(registry: Registry) {
  const registers = [registry];
  const labelNames = ["provider", "model"] as const;
  processGauges(registry);
  return {
    calls: new Counter({ name: "dragoman_calls_total", help: "Calls by outcome.", labelNames: [...labelNames, "status", "stream"] as const, registers }),
    errors: new Counter({ name: "dragoman_errors_total", help: "Calls that failed, by code.", labelNames: [...labelNames, "code"] as const, registers }),
    attempts: new Counter({ name: "dragoman_attempts_total", help: "Requests to providers, repeats and second attempts included, by code.", labelNames: ["provider", "code"], registers }),
    duration: new Histogram({ name: "dragoman_call_duration_seconds", help: "From the arrival of a request to the end of its answer.", labelNames, buckets: SECONDS, registers }),
    firstToken: new Histogram({ name: "dragoman_first_token_seconds", help: "From the arrival of a request to the first content sent, on streams.", labelNames, buckets: SECONDS, registers }),
    own: new Histogram({ name: "dragoman_own_seconds", help: "The gateway's own share of a call.", labelNames: [], buckets: OWN_SECONDS, registers }),
    tokens: new Counter({ name: "dragoman_tokens_total", help: "Tokens by kind.", labelNames: [...labelNames, "kind"] as const, registers }),
    cost: new Counter({ name: "dragoman_cost_nano_usd_total", help: "What calls cost, in billionths of a dollar, as far as the price is known.", labelNames, registers }),
    wouldRefuse: new Counter({ name: "dragoman_limit_would_refuse_total", help: "Reservations that a limit or budget in audit mode would have refused.", labelNames: ["limit"], registers }),
    refusals: new Counter({ name: "dragoman_refusals_total", help: "Attempts that a limit, a budget or a policy did not let run, by code and by its id or name.", labelNames: ["code", "rule"], registers }),
    policies: new Counter({ name: "dragoman_policies_total", help: "Calls in which a policy spoke, by what it did or would have done.", labelNames: ["policy", "effect"], registers }),
    thresholds: new Counter({ name: "dragoman_budget_thresholds_total", help: "Thresholds that budgets have reached.", labelNames: ["budget"], registers }),
    cancelled: new Counter({ name: "dragoman_cancelled_total", help: "Calls whose client left before the end.", labelNames, registers }),
    inFlight: new Gauge({ name: "dragoman_calls_in_flight", help: "Calls that have begun and not ended.", registers }),
  };
}

function count(group: Group, meters: Meters): void {
  const { provider, model, status, stream, code } = group;
  const labels = { provider, model };
  meters.calls.inc({ ...labels, status, stream }, group.durations.length);
  if (code !== null) meters.errors.inc({ ...labels, code }, group.durations.length);
  if (group.cancelled > 0) meters.cancelled.inc(labels, group.cancelled);
  if (group.promptTokens > 0) meters.tokens.inc({ ...labels, kind: "prompt" }, group.promptTokens);
  if (group.costNanoUsd > 0) meters.cost.inc(labels, group.costNanoUsd);
  if (group.completionTokens > 0) meters.tokens.inc({ ...labels, kind: "completion" }, group.completionTokens);
  for (const seconds of group.durations) meters.duration.observe(labels, seconds);
  for (const seconds of group.firstTokens) meters.firstToken.observe(labels, seconds);
  for (const seconds of group.own) meters.own.observe(seconds);
}

/** Calls of one outcome that have not been counted yet: the registry looks labels up for each figure, so calls of one outcome are counted together. */
interface Group {
  readonly provider: string;
  readonly model: string;
  readonly status: number;
  readonly stream: "true" | "false";
  readonly code: string | null;
  cancelled: number;
  promptTokens: number;
  completionTokens: number;
  costNanoUsd: number;
  /** Seconds, one for each call. */
  readonly durations: number[];
  readonly firstTokens: number[];
  readonly own: number[];
}
const MAX_GROUP = 256;

const STATES = ["closed", "half_open", "open", "rate_limited"] as const;

/** Only targets that have answered or are left alone: a caller cannot make up series. */
function targetGauges(registry: Registry, targets: () => readonly TargetStanding[]): void {
  const registers = [registry];
  const shown = (): readonly TargetStanding[] => targets().filter(({ firstContentMs, state }) => firstContentMs !== null || state !== "closed").slice(0, MAX_MODELS);
  const labelNames = ["target"] as const;
  new Gauge({
    name: "dragoman_target_state", help: "1 for the state that a target is in, 0 for the others.", labelNames: ["target", "state"], registers,
    collect() {
      this.reset();
      for (const { target, state } of shown()) for (const each of STATES) this.set({ target, state: each }, each === state ? 1 : 0);
    },
  });
  new Gauge({
    name: "dragoman_target_calls_in_flight", help: "Attempts at a target that have begun and not ended.", labelNames, registers,
    collect() {
      this.reset();
      for (const { target, inFlight } of shown()) this.set({ target }, inFlight);
    },
  });
  new Gauge({
    name: "dragoman_target_calls_waiting", help: "Calls in the queue of a target.", labelNames, registers,
    collect() {
      this.reset();
      for (const { target, waiting } of shown()) this.set({ target }, waiting);
    },
  });
}

/** prom-client's default metrics are partly wrong on Bun, so these few are made here. */
function processGauges(registry: Registry): void {
  const registers = [registry];
  new Gauge({ name: "process_resident_memory_bytes", help: "Resident memory.", registers, collect() { this.set(process.memoryUsage.rss()); } });
  new Gauge({ name: "process_cpu_seconds_total", help: "User and system CPU time.", registers, collect() { const usage = process.cpuUsage(); this.set((usage.user + usage.system) / 1e6); } });
  new Gauge({ name: "process_uptime_seconds", help: "Seconds since the start.", registers, collect() { this.set(process.uptime()); } });
}
