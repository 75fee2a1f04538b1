// How providers do: the state of each target, how the attempts of the last hour ended (promise 9.9), the last failure,
// and which routes depend on it.
import { z } from "zod";
import { latencyAt } from "../../../accounting/latency.ts";
import { scopeOf, type TenantOrProject } from "../../../auth/grants.ts";
import { type Snapshot, snapshotSeenBy } from "../../../core/snapshot.ts";
import type { TargetStatus } from "../../../observe/metrics/metrics.ts";
import { isProvidersFault } from "../../../routing/plan/verdict.ts";
import type { AttemptSums, CallScope } from "../../../store/calls/calls.ts";
import { drainShape, drainsOf } from "./drains.ts";
import { type AdminOperation, PLACES_BELOW, reading } from "../operation.ts";
import { type PlacedRoute, placedRoutes } from "./placed-routes.ts";
import { type AdminCalls, readForEach } from "../report-reads.ts";
import { rounded } from "../../standing.ts";
import { time } from "../schemas.ts";
import { shownAs, type ThingOf } from "../shown.ts";

const figures = {
  attempts: z.int().meta({
    description:
      "What the provider was asked: retries, hedges and fallbacks count, and calls that were refused before do not.",
  }),
  errors: z.int().meta({
    description:
      "Attempts that the provider let fail, also where another target answered the call; not those that the gateway or the caller ended, those that asked for what it refuses, nor those for which it accepted no more requests.",
  }),
  p50_ms: z.int().nullable().meta({ description: "Approximate: estimated from counts of attempts by duration." }),
  p95_ms: z.int().nullable().meta({ description: "Approximate, as `p50_ms`." }),
};
const target = z
  .strictObject({
    model: z.string(),
    state: z.enum(["closed", "open", "half_open", "rate_limited"]).meta({
      description: "Of the circuit breaker: `open` targets are not called. `rate_limited`: the provider asked to wait.",
    }),
    first_content_ms: z.int().nullable().meta({ description: "The recent time to the first content." }),
    open_for_ms: z.int().nullable().meta({ description: "How long the target is still avoided." }),
  })
  .meta({ id: "ProviderTarget" });
const codeCount = z.strictObject({ code: z.string(), attempts: z.int() }).meta({ id: "CodeCount" });
const failure = z
  .strictObject({
    at: time.meta({ description: "When its call began." }),
    trace_id: z.string().meta({ description: "Of the call, which another target may have answered." }),
    model: z.string(),
    status: z.int().nullable().meta({
      description: "Of the provider's response; null if there was none, or if the details of the call are not kept.",
    }),
    code: z.string(),
  })
  .meta({ id: "ProviderFailure" });
const dependant = z
  .strictObject({
    name: z.string(),
    project_id: z.string().nullable().meta({ description: "The project that has the route by itself." }),
  })
  .meta({ id: "DependentRoute" });
const health = z
  .strictObject({
    id: z.string(),
    type: z.string(),
    enabled: z.boolean(),
    status: z.enum(["ok", "degraded", "down", "unused"]).meta({
      description:
        "`down`: every known target is avoided, or all of at least five attempts failed; `degraded`: one target is avoided, or a fifth of at least five attempts failed; `unused`: there was no attempt.",
    }),
    ...figures,
    targets: z.array(target).meta({ description: "Those that were called lately by this gateway." }),
    codes: z.array(codeCount).meta({ description: "The error codes of these attempts." }),
    last_failure: failure.nullable(),
    routes: z.array(dependant).meta({
      description: "The routes that have it among their targets; of a tenant, those of its projects as well.",
    }),
    drains: z.array(drainShape).meta({ description: "Why it, or one of its models, gets no calls for a while." }),
  })
  .meta({ id: "ProviderHealth" });
const answer = z
  .strictObject({
    data: z.array(health),
    from: time.meta({ description: "The calls whose attempts are counted began at this time or later." }),
    as_of: time,
  })
  .meta({ id: "ProviderHealths" });

/** The states of targets that this machine knows. */
export type Targets = () => Promise<readonly TargetStatus[]>;

export interface HealthWorld {
  readonly calls: AdminCalls;
  readonly targets: Targets;
}

const HOUR_MS = 3_600_000;
/** From this many calls or attempts on, and with this share of failures, something is wrong. */
const FEWEST = 5;
const NOTABLE_SHARE = 0.2;

/** The beginning of the hour before the present one: sums are kept for whole hours. */
export const recentFrom = (nowMs: number): number => Math.floor(nowMs / HOUR_MS) * HOUR_MS - HOUR_MS;

export interface Failures {
  readonly codes: readonly { readonly code: string; readonly calls: number }[];
  /** Of all codes. */
  readonly calls: number;
}

/** The calls of a scope that failed on their routes, and not by their callers or a limit. */
export async function failuresOf(calls: AdminCalls, scope: CallScope, nowMs: number): Promise<Failures> {
  const { failures } = await calls.facets({
    scope,
    fixed: Object.keys(scope) as (keyof CallScope)[],
    fromMs: recentFrom(nowMs),
    toMs: recentFrom(nowMs) + 2 * HOUR_MS,
    limit: 1,
    dimensions: [],
  });
  const own = failures.values.filter(({ status }) => status >= 500);
  const byCode = Map.groupBy(own, ({ code, status }) => code ?? String(status));
  const codes = [...byCode].map(([code, list]) => ({ code, calls: list.reduce((sum, one) => sum + one.calls, 0) }));
  return {
    codes: codes.toSorted((a, b) => b.calls - a.calls),
    calls: codes.reduce((sum, one) => sum + one.calls, 0),
  };
}

/** Whether something is wrong: a single failure among few is not. */
export function isFailing(all: number, failed: number): boolean {
  return all >= FEWEST && failed / all >= NOTABLE_SHARE;
}

export interface OneProvider {
  readonly id: string;
  readonly status: "ok" | "degraded" | "down" | "unused";
  /** The routes that have it among their targets. */
  readonly routes: readonly PlacedRoute[];
  readonly shown: ThingOf<typeof health.shape>;
}

export async function providersAt(
  { calls, targets }: HealthWorld,
  snapshot: Snapshot,
  at: TenantOrProject,
  nowMs: number,
): Promise<readonly OneProvider[]> {
  const [{ data }, all] = await Promise.all([
    calls.attempts({ ...scopeOf(at), fromHourMs: recentFrom(nowMs) }),
    targets(),
  ]);
  const asked = Map.groupBy(data, ({ provider }) => provider);
  const routes = routesByProvider(placedRoutes(snapshot, at));
  const providers = providersSeen(snapshot, at);
  const drains = drainsOf(snapshot, at.tenantId, nowMs);
  return await readForEach(
    [...providers.values()].filter(({ id, enabled }) => enabled || asked.has(id)),
    async ({ id, family, enabled, owner }): Promise<OneProvider> => {
      const figuresOfIt = attemptFigures(asked.get(id) ?? []);
      const own = all.filter(isOf({ id, owner }));
      const status = statusOf(
        figuresOfIt,
        own.map(({ state }) => state),
      );
      const dependants = routes.get(id) ?? [];
      return {
        id,
        status,
        routes: dependants,
        shown: {
          id,
          type: family,
          enabled,
          status,
          attempts: figuresOfIt.attempts,
          errors: figuresOfIt.errors,
          p50Ms: latencyAt(0.5, figuresOfIt.latency),
          p95Ms: latencyAt(0.95, figuresOfIt.latency),
          targets: own.map((one) => ({
            ...one,
            model: one.target.slice(id.length + 1),
            firstContentMs: rounded(one.firstContentMs),
            openForMs: rounded(one.openForMs),
          })),
          codes: figuresOfIt.codes,
          lastFailure: await lastFailure(calls, figuresOfIt.failed, at.tenantId),
          routes: dependants.map(({ route, projectId }) => ({ name: route.name, projectId })),
          drains: drains.filter(({ provider }) => provider === id),
        },
      };
    },
  );
}

function routesByProvider(routes: readonly PlacedRoute[]): ReadonlyMap<string, readonly PlacedRoute[]> {
  const found = new Map<string, PlacedRoute[]>();
  for (const one of routes)
    for (const id of new Set(one.route.targets.map(({ providerId }) => providerId)))
      found.getOrInsertComputed(id, () => []).push(one);
  return found;
}

/** Of a tenant, those that only its projects have as well. */
function providersSeen(snapshot: Snapshot, at: TenantOrProject): Snapshot["providers"] {
  const { providers } = snapshotSeenBy(snapshot, at);
  if (at.projectId !== null || snapshot.projectProviders.size === 0) return providers;
  const ofProjects = [...snapshot.projects.values()]
    .filter(({ tenantId }) => tenantId === at.tenantId)
    .flatMap(({ id }) => [...(snapshot.projectProviders.get(id) ?? [])]);
  return new Map([...ofProjects, ...providers]);
}

type AttemptFigures = ReturnType<typeof attemptFigures>;
type FailedSums = AttemptSums & { readonly code: string };

const sumOf = (sums: readonly AttemptSums[]): number => sums.reduce((sum, { attempts }) => sum + attempts, 0);

function attemptFigures(sums: readonly AttemptSums[]) {
  const failed = sums.filter((one): one is FailedSums => one.code !== null && isProvidersFault(one.code));
  const codes = [...Map.groupBy(failed, ({ code }) => code)].map(([code, of]) => ({ code, attempts: sumOf(of) }));
  return {
    attempts: sumOf(sums),
    errors: sumOf(failed),
    codes: codes.toSorted((a, b) => b.attempts - a.attempts),
    latency: (sums[0]?.latency ?? []).map((_, index) => sums.reduce((sum, one) => sum + one.latency[index]!, 0n)),
    /** Those that the provider let fail. */
    failed,
  };
}

async function lastFailure(
  calls: AdminCalls,
  failed: readonly FailedSums[],
  tenantId: string,
): Promise<ThingOf<typeof failure.shape> | null> {
  const [last] = failed.toSorted((a, b) => (a.lastTraceId < b.lastTraceId ? 1 : -1));
  const call = last === undefined ? null : await calls.findCall(last.lastTraceId, tenantId);
  if (last === undefined || call === null) return null;
  const { provider, model, code } = last;
  const attempt = call.record?.attempts.findLast(
    (one) => one.provider === provider && one.model === model && one.code === code,
  );
  const { timeMs, traceId } = call.summary;
  return { atMs: timeMs, traceId, model, status: attempt?.status ?? null, code };
}

/** Returns whether a target is of the provider, which may share its id with one of all tenants or of another one. */
export function isOf({ id, owner = null }: { readonly id: string; readonly owner?: string | null | undefined }) {
  return (status: TargetStatus): boolean => status.owner === owner && status.target.startsWith(`${id}:`);
}

function statusOf(
  { attempts, errors }: AttemptFigures,
  states: readonly TargetStatus["state"][],
): OneProvider["status"] {
  const avoided = states.filter((state) => state === "open" || state === "rate_limited").length;
  const isFaulty = isFailing(attempts, errors);
  if ((isFaulty && errors === attempts) || (avoided > 0 && avoided === states.length)) return "down";
  if (avoided > 0 || isFaulty) return "degraded";
  return attempts === 0 ? "unused" : "ok";
}

export function providerHealthOperations(world: HealthWorld): readonly AdminOperation[] {
  return PLACES_BELOW.map(({ name: place, base, scopeText }) =>
    reading({
      id: `list${place}ProviderHealth`,
      path: `${base}/provider_health`,
      tag: "provider_health",
      summary: `List how the providers that ${scopeText} uses do: targets, failures of the last hour, routes that depend on them`,
      answer,
      run: async ({ place: at, snapshot, nowMs }) => ({
        body: shownAs(answer, {
          data: (await providersAt(world, snapshot, at!, nowMs)).map(({ shown }) => shown),
          fromMs: recentFrom(nowMs),
          asOfMs: nowMs,
        }),
      }),
    }),
  );
}
