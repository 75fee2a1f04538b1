// Makes an event of a breaker that opened or closed, for the operator's own targets or for the tenant or project that
// owns the provider.
import type { NewEvent } from "../../core/record/event.ts";
import type { BreakerChange } from "./health.ts";
import { targetOfKey } from "./target-key.ts";

/**
 * Returns `null` for what a caller brings with a request, because its health concerns only that caller.
 * `gateway` identifies the process, because each one has its own breakers.
 */
export function breakerEvent(
  { key, state, faults, calls, windowMs, openForMs }: BreakerChange,
  gateway: string,
): NewEvent | null {
  const target = targetOfKey(key);
  if (target === null || target.brought !== null) return null;
  const { providerId: provider, model, owner } = target;
  const [tenantId = null, projectId = null] = owner?.split("/") ?? [];
  const about = { provider, model, gateway };
  return state === "opened"
    ? {
        type: "target.breaker_opened",
        tenantId,
        projectId,
        data: { ...about, faults, calls, window_s: windowMs / 1000, open_for_s: openForMs / 1000 },
      }
    : { type: "target.breaker_closed", tenantId, projectId, data: about };
}
