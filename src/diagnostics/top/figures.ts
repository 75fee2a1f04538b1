// What `dragoman top` shows, computed from two readings of a gateway: rates, shares and quantiles of the time between
// them, and the state of the later one.
import { CATALOGUE } from "../../core/errors.ts";
import { type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import type { Exposition, Sample } from "./exposition.ts";

export interface Reading {
  /** A monotonic time. */
  readonly atMs: number;
  readonly metrics: Exposition;
  /** The body of `/readyz?verbose`. */
  readonly standing: JsonObject;
}

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
}

/** Values are per second, unless a name says otherwise. */
export type Figures = ReturnType<typeof figuresOf>;

type Is = (labels: Readonly<Record<string, string>>) => boolean;
const ANY: Is = () => true;

/**
 * The difference between two readings. A counter that is lower than before, or that did not exist before, has started
 * again with its process.
 */
type Between = ReturnType<typeof between>;

function between(before: Reading, after: Reading) {
  const seconds = Math.max(0.001, (after.atMs - before.atMs) / 1000);
  const grown = (name: string, key: string, { value }: Sample): number => {
    const was = before.metrics.get(name)?.get(key)?.value ?? 0;
    return value >= was ? value - was : value;
  };
  const samplesOf = (name: string, is: Is): readonly (readonly [string, Sample])[] =>
    [...(after.metrics.get(name) ?? [])].filter(([, { labels }]) => is(labels));
  return {
    seconds,
    /** Per second. */
    rate: (name: string, is: Is = ANY) =>
      samplesOf(name, is).reduce((sum, [key, sample]) => sum + grown(name, key, sample), 0) / seconds,
    now: (name: string, is: Is = ANY) => samplesOf(name, is).reduce((sum, [, { value }]) => sum + value, 0),
    samples: (name: string) => [...(after.metrics.get(name)?.values() ?? [])],
    /** The values of a label in the later reading. */
    values: (name: string, label: string) => [
      ...new Set([...(after.metrics.get(name)?.values() ?? [])].map(({ labels }) => labels[label] ?? "")),
    ],
    /** Milliseconds, from a histogram of seconds; `null` when nothing was measured. */
    quantilesMs(name: string, is: Is = ANY): Quantiles | null {
      const buckets = new Map<number, number>();
      for (const [key, sample] of samplesOf(`${name}_bucket`, is)) {
        const bound = sample.labels["le"] === "+Inf" ? Infinity : Number(sample.labels["le"]);
        buckets.set(bound, (buckets.get(bound) ?? 0) + grown(`${name}_bucket`, key, sample));
      }
      const p50 = quantile(0.5, buckets);
      const p95 = quantile(0.95, buckets);
      return p50 === null || p95 === null ? null : { p50: p50 * 1000, p95: p95 * 1000 };
    },
  };
}

/**
 * Estimates a quantile as Prometheus does: values are spread evenly within a bucket, and values above the last bound
 * count as that bound. `counts` are cumulative, by upper bound.
 */
export function quantile(share: number, counts: ReadonlyMap<number, number>): number | null {
  const buckets = [...counts].toSorted(([a], [b]) => a - b);
  const total = buckets.at(-1)?.[1] ?? 0;
  if (total === 0) return null;
  const rank = share * total;
  let from = 0;
  let below = 0;
  for (const [bound, count] of buckets) {
    if (count >= rank)
      return bound === Infinity
        ? from
        : from + (count === below ? 0 : ((bound - from) * (rank - below)) / (count - below));
    from = bound;
    below = count;
  }
  return from;
}

const CLIENT_LEFT = String(CATALOGUE.client_closed.status);

export function figuresOf(before: Reading, after: Reading) {
  const of = between(before, after);
  const failed: Is = ({ status }) => status !== undefined && status >= "500";
  // of calls whose client has left, nothing was refused
  const refused: Is = ({ status }) =>
    status !== undefined && status >= "400" && status < "500" && status !== CLIENT_LEFT;
  const { standing } = after;
  const status = standing["status"];
  return {
    version: textOrEmpty(standing["version"]),
    status: typeof status === "string" ? status : "unknown",
    reason: typeof standing["reason"] === "string" ? standing["reason"] : null,
    uptime_s: of.now("process_uptime_seconds"),
    interval_s: of.seconds,
    calls: {
      per_second: of.rate("dragoman_calls_total"),
      failed: of.rate("dragoman_calls_total", failed),
      refused: of.rate("dragoman_calls_total", refused),
      cancelled: of.rate("dragoman_cancelled_total"),
      in_flight: of.now("dragoman_calls_in_flight"),
    },
    tokens: {
      prompt: of.rate("dragoman_tokens_total", ({ kind }) => kind === "prompt"),
      completion: of.rate("dragoman_tokens_total", ({ kind }) => kind === "completion"),
    },
    cost_usd_per_hour: (of.rate("dragoman_cost_nano_usd_total") * 3600) / 1e9,
    first_token_ms: of.quantilesMs("dragoman_first_token_seconds"),
    own_ms: of.quantilesMs("dragoman_own_seconds"),
    memory_bytes: of.now("process_resident_memory_bytes"),
    /** 1 means one whole processor. */
    processors: of.rate("process_cpu_seconds_total"),
    routes: routesOf(of),
    targets: targetsOf(of, standing),
    budgets: budgetsOf(of),
    integrations: integrationsOf(of),
    tools: of
      .values("dragoman_tool_runs_total", "server")
      .map((server) => ({
        server,
        runs: of.rate("dragoman_tool_runs_total", (labels) => labels["server"] === server),
        failed: of.rate(
          "dragoman_tool_runs_total",
          (labels) => labels["server"] === server && labels["outcome"] !== "ok",
        ),
      }))
      .toSorted((a, b) => b.runs - a.runs),
    /** This and what follows as `/readyz?verbose` shows it. */
    configuration: standing["configuration"] ?? null,
    database: standing["database"] ?? null,
    limit_store: standing["limit_store"] ?? null,
    /** `count` and `answered`; null while one process serves alone. */
    workers: standing["workers"] ?? null,
    ledger: standing["ledger"] ?? null,
  };
}

/** Sorts by calls, the most first. */
function busiest<T extends { readonly calls: number }>(all: readonly T[], name: (one: T) => string): readonly T[] {
  return all.toSorted((a, b) => b.calls - a.calls || (name(a) < name(b) ? -1 : 1));
}

function routesOf(of: Between) {
  const routes = of.values("dragoman_route_calls_total", "route").map((route) => {
    const own: Is = (labels) => labels["route"] === route;
    const ended = (outcome: string): number =>
      of.rate("dragoman_route_calls_total", (labels) => own(labels) && labels["outcome"] === outcome);
    return {
      route,
      calls: of.rate("dragoman_route_calls_total", own),
      refused: ended("refused"),
      failed: ended("failed"),
      tokens: of.rate("dragoman_route_tokens_total", own),
      first_token_ms: of.quantilesMs("dragoman_route_first_token_seconds", own),
    };
  });
  return busiest(routes, ({ route }) => route);
}

function targetsOf(of: Between, standing: JsonObject) {
  const byName = new Map(objectsIn(standing["targets"]).map((target) => [textOrEmpty(target["target"]), target]));
  const names = new Map(
    of
      .samples("dragoman_calls_total")
      .map(({ labels: { provider = "", model = "" } }) => [`${provider}:${model}`, { provider, model }]),
  );
  for (const target of byName.keys())
    if (!names.has(target))
      names.set(target, {
        provider: target.slice(0, target.indexOf(":")),
        model: target.slice(target.indexOf(":") + 1),
      });
  const targets = [...names]
    .filter(([, { provider }]) => provider !== "none")
    .map(([target, { provider, model }]) => {
      const own: Is = (labels) => labels["provider"] === provider && labels["model"] === model;
      const known = byName.get(target);
      return {
        target,
        /** `unknown` when only the calls of the target are known. */
        state: known === undefined ? "unknown" : textOrEmpty(known["state"]),
        calls: of.rate("dragoman_calls_total", own),
        failed: of.rate("dragoman_calls_total", (labels) => own(labels) && (labels["status"] ?? "") >= "500"),
        tokens: of.rate("dragoman_tokens_total", own),
        first_token_ms: of.quantilesMs("dragoman_first_token_seconds", own),
        in_flight: Number(known?.["calls_in_flight"] ?? 0),
        waiting: Number(known?.["calls_waiting"] ?? 0),
      };
    });
  const isLeftAlone = ({ state }: { readonly state: string }): boolean => !["closed", "unknown"].includes(state);
  const sorted = busiest(targets, ({ target }) => target);
  // Targets that are avoided come first, because operators look for them.
  return [...sorted.filter(isLeftAlone), ...sorted.filter((target) => !isLeftAlone(target))];
}

/** By name, with the id when several budgets have the same name. */
function budgetsOf(of: Between) {
  const known = of
    .samples("dragoman_budget_used_ratio")
    .map(({ labels, value }) => ({ id: labels["budget"]!, name: labels["name"]!, used: value }));
  const isShared = (name: string): boolean => known.filter((each) => each.name === name).length > 1;
  return known
    .map(({ id, name, used }) => ({ budget: isShared(name) ? `${name} (${id})` : name, id, used }))
    .toSorted((a, b) => b.used - a.used);
}

function integrationsOf(of: Between) {
  return of.values("dragoman_integration_up", "integration").map((integration) => {
    const own: Is = (labels) => labels["integration"] === integration;
    return {
      integration,
      up: of.now("dragoman_integration_up", own) > 0,
      queued: of.now("dragoman_integration_queued", own),
      delivered: of.rate("dragoman_integration_delivered_total", own),
      shed: of.rate("dragoman_integration_shed_total", own),
      /** Since the gateway's start. */
      shed_in_all: of.now("dragoman_integration_shed_total", own),
    };
  });
}
