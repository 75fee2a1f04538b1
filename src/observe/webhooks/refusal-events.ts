// Emits events for calls that were refused: the first refusal of each policy or limit in a project at once, and then
// the number of further ones once a minute, so that many refusals do not become many events. They are made from the
// records, apart from the calls.
import type { Clock } from "../../core/clock.ts";
import type { Events } from "../../core/event.ts";
import type { CallRecord } from "../../core/record.ts";
import type { Observer } from "../observer.ts";

export interface RefusalEvents extends Observer {
  /** Emits what is counted so far. */
  close(): void;
}

interface Refusal {
  readonly rule: string | null;
  readonly kind: "policy" | "limit" | "budget" | "price";
}

interface Tally {
  readonly emit: (count: number, sinceMs: number, untilMs: number, last: CallRecord) => void;
  count: number;
  sinceMs: number;
  last: CallRecord;
}

const EVERY_MS = 60_000;
/**
 * How many rules and projects are distinguished at a time, in all and for one tenant, so that a tenant cannot take the
 * room of the others. Beyond the bound no event is emitted until one of them has had a minute without refusals.
 */
const MOST_TALLIES = 5_000;
const MOST_OF_TENANT = 500;

const KINDS: Readonly<Partial<Record<NonNullable<CallRecord["code"]>, Refusal["kind"]>>> = {
  policy_violation: "policy",
  rate_limit_exceeded: "limit",
  insufficient_quota: "budget",
  model_unpriced: "price",
};

/** Null when no rule of the gateway refused the call. A provider's own limit is not one. */
function refusalOf({ code, policies, limits }: CallRecord): Refusal | null {
  const kind = code === null ? undefined : KINDS[code];
  if (kind === undefined) return null;
  if (kind === "price") return { kind, rule: null };
  const rule =
    kind === "policy"
      ? policies.findLast(({ effect }) => effect === "denied")?.name
      : limits.findLast(({ refused }) => refused === code)?.id;
  return rule === undefined ? null : { kind, rule };
}

export function refusalEvents(events: Events, clock: Pick<Clock, "now">): RefusalEvents {
  const tallies = new Map<string, Tally>();
  const byTenant = new Map<string, number>();
  let timer: ReturnType<typeof setInterval> | null = null;

  const held = (tenantId: string, more: number): void => {
    const now = (byTenant.get(tenantId) ?? 0) + more;
    if (now === 0) byTenant.delete(tenantId);
    else byTenant.set(tenantId, now);
  };
  const reportAll = (): void => {
    const nowMs = clock.now();
    for (const [key, tally] of tallies) {
      if (tally.count === 0) {
        tallies.delete(key);
        held(tally.last.tenantId!, -1);
      } else {
        tally.emit(tally.count, tally.sinceMs, nowMs, tally.last);
        tally.count = 0;
        tally.sinceMs = nowMs;
      }
    }
    if (tallies.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
  const begin = (record: CallRecord, { kind, rule }: Refusal): Tally => {
    const { code, tenantId, projectId } = record;
    const emit: Tally["emit"] = (count, sinceMs, untilMs, { traceId, tokenId, route, provider, model }) =>
      events.emit({
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
      });
    return { emit, count: 0, sinceMs: record.startedAtMs, last: record };
  };

  return {
    publish(record) {
      if (record.status !== 403 && record.status !== 429) return;
      const refusal = refusalOf(record);
      if (refusal === null || record.tenantId === null) return;
      const key = JSON.stringify([record.code, refusal.rule, record.tenantId, record.projectId]);
      const known = tallies.get(key);
      if (known !== undefined) {
        known.count += 1;
        known.last = record;
        return;
      }
      if (tallies.size >= MOST_TALLIES || (byTenant.get(record.tenantId) ?? 0) >= MOST_OF_TENANT) return;
      held(record.tenantId, 1);
      const tally = begin(record, refusal);
      tallies.set(key, tally);
      const nowMs = clock.now();
      tally.emit(1, record.startedAtMs, nowMs, record);
      tally.sinceMs = nowMs;
      if (timer !== null) return;
      timer = setInterval(reportAll, EVERY_MS);
      timer.unref();
    },
    close() {
      reportAll();
      if (timer !== null) clearInterval(timer);
      timer = null;
    },
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();
