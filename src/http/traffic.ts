// The calls in flight: bounded while the gateway serves, awaited at the end of the process, and cut when they do not
// end.
import type { InFlightCall, Traffic } from "../engine/call/context.ts";
import { HeldBytes } from "../engine/call/held-bytes.ts";
import { changeCount } from "../core/concurrency/open-count.ts";
import { GatewayError, retryLater } from "../core/errors.ts";

export type OpenTraffic = ReturnType<typeof openTraffic>;

function noRoom(maxHeldBytes: number): string {
  return `The bodies that are still arriving and the answers that are being collected would hold more than ${maxHeldBytes} bytes, or those of this tenant more than half of that. Try again shortly; the operator can raise server.max_held_bytes.`;
}

/** `refusal` returns a message while the snapshot is too old to serve calls, otherwise null. */
export function openTraffic(gauge: { inc(): void; dec(): void }, refusal: () => string | null) {
  const calls = new Set<InFlightCall>();
  const suspended = new Set<(reason: GatewayError) => void>();
  const ofTenant = new Map<string, number>();
  let draining = false;
  let emptied: (() => void) | null = null;
  const requireOpen = (): void => {
    if (draining) throw shuttingDown("The gateway is shutting down and accepts no new calls.");
  };
  const isEmpty = (): boolean => calls.size === 0 && suspended.size === 0;
  const admitted: Traffic = {
    held: new HeldBytes(noRoom),
    enter(call, { maxConcurrentCalls, maxConcurrentCallsPerTenant }) {
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
      changeCount(ofTenant, call.tenantId, 1);
      calls.add(call);
      gauge.inc();
    },
    leave(call) {
      changeCount(ofTenant, call.tenantId, -1);
      calls.delete(call);
      gauge.dec();
      if (isEmpty()) emptied?.();
    },
  };
  return {
    ...admitted,
    count: () => calls.size,
    enter(...asked: Parameters<Traffic["enter"]>): void {
      requireOpen();
      admitted.enter(...asked);
    },
    /**
     * Counts a call that waits for a person: it takes no place, and a drain waits for it as for calls in flight. `cut` is
     * told why the call has to end. Throws `shutting_down`.
     */
    suspend(cut: (reason: GatewayError) => void) {
      requireOpen();
      suspended.add(cut);
      return {
        /** Takes what the call goes on with also during a drain. */
        traffic: admitted,
        end() {
          suspended.delete(cut);
          if (isEmpty()) emptied?.();
        },
      };
    },
    /**
     * Takes no new calls from now on; resolves when the last call in flight has ended, or with false when `over` settles
     * earlier.
     */
    async drain(over: Promise<unknown>): Promise<boolean> {
      draining = true;
      if (isEmpty()) return true;
      const empty = new Promise<boolean>((resolve) => (emptied = () => resolve(true)));
      return await Promise.race([empty, over.then(() => false)]);
    },
    /**
     * Ends the calls that are still in flight: their clients receive an error that the gateway is shutting down. Returns
     * their number.
     */
    cut(): number {
      const cut = [...calls];
      const reason = (): GatewayError =>
        shuttingDown("The gateway is shutting down, and the call did not end within the drain time.");
      const ends = [...suspended];
      for (const end of ends) end(reason());
      for (const call of cut) call.abandon?.(reason());
      return cut.length + ends.length;
    },
  };
}

function shuttingDown(message: string): GatewayError {
  return new GatewayError("shutting_down", message, { headers: { connection: "close", "retry-after": "1" } });
}
