// Emits events for calls that were refused: the first refusal of each policy or limit in a project at once, and then
// the number of further ones once a minute, so that many refusals do not become many events. They are made from the
// records, apart from the calls.
import type { Clock } from "../../core/clock.ts";
import { changeCount } from "../../core/concurrency/open-count.ts";
import type { Events, NewEvent } from "../../core/record/event.ts";
import { type CallRecord, isErrorOfTarget, isInFigures } from "../../core/record/record.ts";

/** Calls of a project that the same rule refused. */
export interface RefusedCalls {
  readonly code: NonNullable<CallRecord["code"]>;
  readonly rule: string | null;
  readonly kind: "policy" | "limit" | "budget" | "price";
  readonly tenantId: string;
  readonly projectId: string | null;
  readonly count: number;
  /** When the first of them arrived. */
  readonly startedAtMs: number;
  readonly last: Readonly<Pick<CallRecord, "traceId" | "tokenId" | "route" | "provider" | "model">>;
}

interface Tally {
  /** `count` is 0 when all of them have been reported. */
  refused: RefusedCalls;
  sinceMs: number;
}

const EVERY_MS = 60_000;
/**
 * How many rules and projects are distinguished at a time, in all and for one tenant, so that a tenant cannot take the
 * room of the others. Beyond the bound no event is emitted until one of them has had a minute without refusals.
 */
const MOST_TALLIES = 5_000;
const MOST_OF_TENANT = 500;

const KINDS: Readonly<Partial<Record<NonNullable<CallRecord["code"]>, RefusedCalls["kind"]>>> = {
  policy_violation: "policy",
  rate_limit_exceeded: "limit",
  insufficient_quota: "budget",
  model_unpriced: "price",
};

/** Null when no rule of the gateway refused the call. A provider's own limit is not one. */
export function refusalOf(record: CallRecord): RefusedCalls | null {
  const { code, policies, limits, tenantId, projectId, startedAtMs } = record;
  const kind = code === null || !isInFigures(record) ? undefined : KINDS[code];
  if (code === null || kind === undefined || tenantId === null || (record.status !== 403 && record.status !== 429))
    return null;
  // a guard may refuse the answer of a target that was called
  if (kind !== "policy" && isErrorOfTarget(record)) return null;
  const rule =
    kind === "policy"
      ? policies.findLast(({ effect }) => effect === "denied")?.name
      : kind === "price"
        ? null
        : limits.findLast(({ refused }) => refused === code)?.id;
  if (rule === undefined) return null;
  const { traceId, tokenId, route, provider, model } = record;
  const last = { traceId, tokenId, route, provider, model };
  return { code, kind, rule, tenantId, projectId, count: 1, startedAtMs, last };
}

/** The same text for refusals of which one event gives the number. */
export function refusalKey({ code, rule, tenantId, projectId }: RefusedCalls): string {
  return JSON.stringify([code, rule, tenantId, projectId]);
}

export function joinedRefusals(earlier: RefusedCalls, later: RefusedCalls): RefusedCalls {
  return { ...later, count: earlier.count + later.count, startedAtMs: earlier.startedAtMs };
}

export function refusalEvents(events: Events, clock: Pick<Clock, "now">) {
  const tallies = new Map<string, Tally>();
  const byTenant = new Map<string, number>();
  let timer: ReturnType<typeof setInterval> | null = null;

  const report = (tally: Tally, nowMs: number): void => {
    events.emit(refusalEvent(tally.refused, tally.sinceMs, nowMs));
    tally.refused = { ...tally.refused, count: 0 };
    tally.sinceMs = nowMs;
  };
  const reportAll = (): void => {
    const nowMs = clock.now();
    for (const [key, tally] of tallies) {
      if (tally.refused.count > 0) {
        report(tally, nowMs);
        continue;
      }
      tallies.delete(key);
      changeCount(byTenant, tally.refused.tenantId, -1);
    }
    if (tallies.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
  const add = (refused: RefusedCalls): void => {
    const key = refusalKey(refused);
    const known = tallies.get(key);
    if (known !== undefined) {
      known.refused = joinedRefusals(known.refused, refused);
      return;
    }
    const { tenantId } = refused;
    if (tallies.size >= MOST_TALLIES || (byTenant.get(tenantId) ?? 0) >= MOST_OF_TENANT) return;
    changeCount(byTenant, tenantId, 1);
    const tally: Tally = { refused, sinceMs: refused.startedAtMs };
    tallies.set(key, tally);
    report(tally, clock.now());
    timer ??= setInterval(reportAll, EVERY_MS).unref();
  };

  return {
    /** Takes over refusals of another process. */
    add,
    publish(record: CallRecord): void {
      const refused = refusalOf(record);
      if (refused !== null) add(refused);
    },
    /** Emits what is counted so far. */
    close(): void {
      reportAll();
      if (timer !== null) clearInterval(timer);
      timer = null;
    },
  };
}

function refusalEvent(
  { code, kind, rule, tenantId, projectId, count, last }: RefusedCalls,
  sinceMs: number,
  untilMs: number,
): NewEvent {
  const { traceId, tokenId, route, provider, model } = last;
  return {
    type: "call.refused",
    tenantId,
    projectId,
    data: {
      code,
      rule_kind: kind,
      rule,
      count,
      since: iso(sinceMs),
      until: iso(untilMs),
      last: {
        trace_id: traceId,
        token_id: tokenId,
        route,
        model: provider === null || model === null ? null : `${provider}:${model}`,
      },
    },
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();
