// Makes an event of a breaker that opened or closed, for the operator's own targets or for the tenant or project that
// owns the provider.
import type { NewEvent } from "../../core/record/event.ts";
import type { BreakerChange } from "./health.ts";

/**
 * `<provider>:<model>`, optionally followed by ` of ` and the tenant, or `tenant/project`, that the provider belongs
 * to.
 */
const KEY = /^([^\s:]+):(\S+)(?: of ([^\s/]+)(?:\/(\S+))?)?$/;

/**
 * Returns `null` for providers that a request itself configures, because their health concerns only that caller.
 * `gateway` identifies the process, because each one has its own breakers.
 */
export function breakerEvent(
  { key, state, faults, calls, windowMs, openForMs }: BreakerChange,
  gateway: string,
): NewEvent | null {
  const [, provider, model, tenantId = null, projectId = null] = KEY.exec(key) ?? [];
  if (provider === undefined || model === undefined) return null;
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
