// The calls under way: bounded while serving, waited for at the end of the process.
import type { Traffic } from "../chat/context.ts";
import { GatewayError } from "../core/errors.ts";

export interface OpenTraffic extends Traffic {
  readonly count: () => number;
  readonly isDraining: () => boolean;
  /** Takes no new calls from now on; resolves when the last one under way has ended, or false when the time is over before that. */
  drain(timeoutMs: number): Promise<boolean>;
}

/** `refusal` gives words while the snapshot is too old to serve with, else null. */
export function openTraffic(gauge: { inc(): void; dec(): void }, refusal: () => string | null): OpenTraffic {
  let count = 0;
  const ofTenant = new Map<string, number>();
  let draining = false;
  let emptied: (() => void) | null = null;
  return {
    count: () => count,
    isDraining: () => draining,
    enter(tenantId, { maxConcurrentCalls, maxConcurrentCallsPerTenant }) {
      if (draining) throw new GatewayError("shutting_down", "The gateway is going down and takes no new calls.", { headers: { connection: "close", "retry-after": "1" } });
      const tooOld = refusal();
      if (tooOld !== null) throw new GatewayError("stale_snapshot", tooOld, { headers: { "retry-after": "1" } });
      if (count >= maxConcurrentCalls) throw new GatewayError("gateway_overloaded", `The gateway holds ${maxConcurrentCalls} calls, as many as it is configured to.`, { headers: { "retry-after": "1" } });
      const own = ofTenant.get(tenantId) ?? 0;
      if (maxConcurrentCallsPerTenant !== null && own >= maxConcurrentCallsPerTenant)
        throw new GatewayError("gateway_overloaded", `The gateway holds ${maxConcurrentCallsPerTenant} calls of the tenant, as many as it is configured to hold of one.`, { headers: { "retry-after": "1" } });
      ofTenant.set(tenantId, own + 1);
      count++;
      gauge.inc();
    },
    leave(tenantId) {
      const left = ofTenant.get(tenantId)! - 1;
      if (left > 0) ofTenant.set(tenantId, left);
      else ofTenant.delete(tenantId);
      count--;
      gauge.dec();
      if (count === 0) emptied?.();
    },
    async drain(timeoutMs) {
      draining = true;
      if (count === 0) return true;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const over = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, timeoutMs, false)));
      const empty = new Promise<boolean>((resolve) => (emptied = () => resolve(true)));
      const done = await Promise.race([empty, over]);
      clearTimeout(timer);
      return done;
    },
  };
}
