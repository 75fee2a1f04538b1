// How providers do: the state of each target, what its calls of the last hour were like, the last failure, and which
// routes depend on it.
import { z } from "zod";
import { latencyAt } from "../../accounting/usage-sums.ts";
import type { TenantOrProject } from "../../auth/grants.ts";
import { CATALOGUE, type ErrorCode } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { type Snapshot, snapshotSeenBy } from "../../core/snapshot.ts";
import type { TargetStatus } from "../../observe/metrics/metrics.ts";
import { namedRoutes, routesFor } from "../../routing/resolve-route.ts";
import type { CallScope, CallSummary, UsageRow } from "../../store/calls.ts";
import { PLACES } from "./call-shapes.ts";
import { drainShape, drainsOf, shownDrain } from "./drains.ts";
import { type AdminOperation, reading } from "./operation.ts";
import { type AdminCalls, keptCalls } from "./report-reads.ts";
import { iso, time } from "./schemas.ts";

const figures = {
  calls: z.int(),
  errors: z.int().meta({
    description:
      "Calls that failed at the provider, not those that a limit, the gateway or the caller let fail, nor those for which it accepted no more requests.",
  }),
  p50_ms: z.int().nullable().meta({ description: "Approximate: estimated from counts of calls by duration." }),
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
const codeCount = z.strictObject({ code: z.string(), calls: z.int() }).meta({ id: "CodeCount" });
const failure = z
  .strictObject({
    at: time,
    trace_id: z.string(),
    model: z.string().nullable(),
    status: z.int(),
    code: z.string().nullable(),
  })
  .meta({ id: "ProviderFailure" });
const health = z
  .strictObject({
    id: z.string(),
    type: z.string(),
    enabled: z.boolean(),
    status: z.enum(["ok", "degraded", "down", "unused"]).meta({
      description:
        "`down`: every known target is avoided, or all of at least five calls failed; `degraded`: one target is avoided, or a fifth of at least five calls failed; `unused`: there was no call.",
    }),
    ...figures,
    targets: z.array(target).meta({ description: "Those that were called lately by this gateway." }),
    codes: z.array(codeCount).meta({ description: "The error codes of these calls." }),
    last_failure: failure.nullable(),
    routes: z.array(z.string()).meta({ description: "The routes that have it among their targets." }),
    drains: z.array(drainShape).meta({ description: "Why it, or one of its models, gets no calls for a while." }),
  })
  .meta({ id: "ProviderHealth" });
const answer = z
  .strictObject({
    data: z.array(health),
    from: time.meta({ description: "The calls that are counted began at this time or later." }),
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
/** From this many calls on, and with this share of failures, something is wrong. */
const FEWEST_CALLS = 5;
const NOTABLE_SHARE = 0.2;
/** Failed calls among which the last one of the provider is looked for. */
const LOOKED_AT = 50;

/** The beginning of the hour before the present one: sums are kept for whole hours. */
export const recentFrom = (nowMs: number): number => Math.floor(nowMs / HOUR_MS) * HOUR_MS - HOUR_MS;

/** Codes of limits too: that a provider accepts no more requests is seen in the state of its targets. */
const OF_LIMITS: ReadonlySet<string> = new Set<ErrorCode>(["rate_limit_exceeded", "insufficient_quota"]);

/** Whether a provider's side is at fault, and not the caller, a limit or the gateway. */
const isUpstream = (code: string | null): boolean =>
  code === null ||
  (Object.hasOwn(CATALOGUE, code) && CATALOGUE[code as ErrorCode].source === "upstream" && !OF_LIMITS.has(code));

export interface Failures {
  readonly codes: readonly { readonly code: string; readonly calls: number }[];
  /** Of all codes. */
  readonly calls: number;
}

/** The calls of a scope that a provider's side let fail. */
export async function failuresOf(calls: AdminCalls, scope: CallScope, nowMs: number): Promise<Failures> {
  const { failures } = await calls.facets({
    scope,
    fixed: Object.keys(scope) as (keyof CallScope)[],
    fromMs: recentFrom(nowMs),
    toMs: recentFrom(nowMs) + 2 * HOUR_MS,
    limit: 1,
    dimensions: [],
  });
  const own = failures.values.filter(({ code }) => isUpstream(code));
  const byCode = Map.groupBy(own, ({ code, status }) => code ?? String(status));
  const codes = [...byCode].map(([code, list]) => ({ code, calls: list.reduce((sum, one) => sum + one.calls, 0) }));
  return {
    codes: codes.toSorted((a, b) => b.calls - a.calls),
    calls: codes.reduce((sum, one) => sum + one.calls, 0),
  };
}

export const NO_FAILURES: Failures = { codes: [], calls: 0 };

/** Whether something is wrong: a single failure among few calls is not. */
export function isFailing({ sums }: Pick<UsageRow, "sums">, failures: Failures): boolean {
  return sums.calls >= BigInt(FEWEST_CALLS) && failures.calls / Number(sums.calls) >= NOTABLE_SHARE;
}

export interface OneProvider {
  readonly id: string;
  readonly status: "ok" | "degraded" | "down" | "unused";
  /** Names of the routes that have it among their targets. */
  readonly routes: readonly string[];
  readonly shown: JsonObject;
}

export async function providersAt(
  { calls, targets }: HealthWorld,
  snapshot: Snapshot,
  at: TenantOrProject,
  nowMs: number,
): Promise<readonly OneProvider[]> {
  const scope = { tenantId: at.tenantId, ...(at.projectId !== null && { projectId: at.projectId }) };
  const fromMs = recentFrom(nowMs);
  const [{ data }, all] = await Promise.all([
    calls.usage({ limit: 1000 }, { ...scope, fromMs, by: ["provider"], order: "calls" }),
    targets(),
  ]);
  const used = new Map(data.map((row) => [row.group[0] ?? "", row]));
  const routes = namedRoutes(routesFor(snapshot, at));
  const { providers } = snapshotSeenBy(snapshot, at);
  const drains = drainsOf(snapshot, at.tenantId, nowMs);
  return await Promise.all(
    [...providers.values()]
      .filter(({ id, enabled }) => enabled || used.has(id))
      .map(async ({ id, family, enabled, owner }): Promise<OneProvider> => {
        const row = used.get(id);
        const own = all.flatMap((one) => targetOf(one, id, owner));
        const hasErrors = row !== undefined && row.sums.errors > 0n;
        const failures = hasErrors ? await failuresOf(calls, { ...scope, provider: id }, nowMs) : NO_FAILURES;
        const last =
          failures.calls === 0
            ? undefined
            : (
                await calls.searchCalls(
                  { limit: LOOKED_AT },
                  { ...scope, order: "newest", provider: id, outcome: "failed", fromMs },
                )
              ).data.find(({ code }) => isUpstream(code));
        const status = statusOf(
          row,
          failures,
          own.map(({ state }) => state),
        );
        const dependants = routes
          .filter((route) => route.targets.some(({ providerId }) => providerId === id))
          .map(({ name }) => name)
          .toSorted();
        return {
          id,
          status,
          routes: dependants,
          shown: {
            id,
            type: family,
            enabled,
            status,
            ...shownFigures(row, failures),
            targets: own.map(({ model, state, firstContentMs, openForMs }) => ({
              model,
              state,
              first_content_ms: rounded(firstContentMs),
              open_for_ms: rounded(openForMs),
            })),
            codes: failures.codes.map((one) => ({ ...one })),
            last_failure: last === undefined ? null : shownFailure(last),
            routes: dependants,
            drains: drains.filter(({ provider }) => provider === id).map(shownDrain),
          },
        };
      }),
  );
}

/**
 * A target belongs to all tenants, or to the owner of the provider that its key names; targets with an address or a
 * credential of a caller's own are nobody else's business.
 */
function targetOf(
  status: TargetStatus,
  id: string,
  owner: string | undefined,
): readonly (TargetStatus & { model: string })[] {
  if (!status.target.startsWith(`${id}:`)) return [];
  const suffix = owner === undefined ? "" : ` of ${owner}`;
  const name = status.target.slice(id.length + 1);
  if (!name.endsWith(suffix)) return [];
  const model = name.slice(0, name.length - suffix.length);
  return / (?:of|at|with) /.test(model) ? [] : [{ ...status, model }];
}

function statusOf(
  row: UsageRow | undefined,
  failures: Failures,
  states: readonly TargetStatus["state"][],
): OneProvider["status"] {
  const avoided = states.filter((state) => state === "open" || state === "rate_limited").length;
  const hasFailed = row !== undefined && isFailing(row, failures) && BigInt(failures.calls) >= row.sums.calls;
  if (hasFailed || (avoided > 0 && avoided === states.length)) return "down";
  if (avoided > 0 || (row !== undefined && isFailing(row, failures))) return "degraded";
  return row === undefined ? "unused" : "ok";
}

function shownFigures(row: UsageRow | undefined, failures: Failures): JsonObject {
  return {
    calls: Number(row?.sums.calls ?? 0n),
    errors: failures.calls,
    p50_ms: row === undefined ? null : latencyAt(0.5, row.sums.latency),
    p95_ms: row === undefined ? null : latencyAt(0.95, row.sums.latency),
  };
}

function shownFailure({ timeMs, traceId, model, status, code }: CallSummary): JsonObject {
  return { at: iso(timeMs), trace_id: traceId, model, status, code };
}

const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms));

export function providerHealthOperations(calls: AdminCalls | null, targets: Targets): readonly AdminOperation[] {
  const world: HealthWorld = { calls: keptCalls(calls), targets };
  return (["tenant", "project"] as const).map((reach) => {
    const { name: place, base, scopeText } = PLACES[reach];
    return reading({
      id: `list${place}ProviderHealth`,
      path: `${base}/provider_health`,
      tag: "provider_health",
      summary: `List how the providers that ${scopeText} uses do: targets, failures of the last hour, routes that depend on them`,
      answer,
      run: async ({ place: at, snapshot, nowMs }) => ({
        body: {
          data: (await providersAt(world, snapshot, at!, nowMs)).map(({ shown }) => shown),
          from: iso(recentFrom(nowMs)),
          as_of: iso(nowMs),
        },
      }),
    });
  });
}
