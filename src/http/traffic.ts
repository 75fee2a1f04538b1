// The calls in flight: bounded while the gateway serves, awaited at the end of the process, and cut when they do not
// end.
import type { InFlightCall, Traffic } from "../engine/call/context.ts";
import { HeldBytes } from "../engine/call/held-bytes.ts";
import { GatewayError, retryLater } from "../core/errors.ts";

export interface OpenTraffic extends Traffic {
  readonly count: () => number;
  /**
   * Takes no new calls from now on; resolves when the last call in flight has ended, or with false when `over` settles
   * earlier.
   */
  drain(over: Promise<unknown>): Promise<boolean>;
  /**
   * Ends the calls that are still in flight: their clients receive an error that the gateway is shutting down. Returns
   * their number.
   */
  cut(): number;
}

/** `refusal` returns a message while the snapshot is too old to serve calls, otherwise null. */
export function openTraffic(gauge: { inc(): void; dec(): void }, refusal: () => string | null): OpenTraffic {
  const calls = new Set<InFlightCall>();
  const ofTenant = new Map<string, number>();
  let draining = false;
  let emptied: (() => void) | null = null;
  return {
    held: new HeldBytes(),
    count: () => calls.size,
    enter(call, { maxConcurrentCalls, maxConcurrentCallsPerTenant }) {
      if (draining) throw shuttingDown("The gateway is shutting down and accepts no new calls.");
      const tooOld = refusal();
      if (tooOld !== null) throw retryLater("stale_snapshot", tooOld, 1);
      if (calls.size >= maxConcurrentCalls)
        throw retryLater("gateway_overloaded", `Too many calls in flight (limit ${maxConcurrentCalls}).`, 1);
      const own = ofTenant.get(call.tenantId) ?? 0;
      if (maxConcurrentCallsPerTenant !== null && own >= maxConcurrentCallsPerTenant)
        throw retryLater(
          "gateway_overloaded",
          `Too many calls of the tenant in flight (limit ${maxConcurrentCallsPerTenant}).`,
          1,
        );
      ofTenant.set(call.tenantId, own + 1);
      calls.add(call);
      gauge.inc();
    },
    leave(call) {
      const remaining = ofTenant.get(call.tenantId)! - 1;
      if (remaining > 0) ofTenant.set(call.tenantId, remaining);
      else ofTenant.delete(call.tenantId);
      calls.delete(call);
      gauge.dec();
      if (calls.size === 0) emptied?.();
    },
    async drain(over) {
      draining = true;
      if (calls.size === 0) return true;
      const empty = new Promise<boolean>((resolve) => (emptied = () => resolve(true)));
      return await Promise.race([empty, over.then(() => false)]);
    },
    cut() {
      const cut = [...calls];
      for (const call of cut)
        call.abandon?.(shuttingDown("The gateway is shutting down, and the call did not end within the drain time."));
      return cut.length;
    },
  };
}

function shuttingDown(message: string): GatewayError {
  return new GatewayError("shutting_down", message, { headers: { connection: "close", "retry-after": "1" } });
}
