// A breaker that opened or closed as an event: of the operator's own target, or of the tenant or project whose provider it is.
import type { NewEvent } from "../core/event.ts";
import type { BreakerChange } from "./health.ts";

/** `<provider>:<model>`, and behind ` of ` the tenant, or `tenant/project`, that the provider belongs to. */
const KEY = /^([^\s:]+):(\S+)(?: of ([^\s/]+)(?:\/(\S+))?)?$/;

/** Null: what callers bring with them is theirs. `gateway` tells which of several saw it: each has breakers of its own. */
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
