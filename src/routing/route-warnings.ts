// Finds routes of a file that are valid, but whose time limits leave no time for what follows a silent target (promise
// 7.10).
import { DEFAULT_RETRIES, type Route } from "../core/configured/route.ts";
import { routesSeen, type RouteScope } from "./compile-routes.ts";
import type { Finding } from "../config/problem.ts";
import type { RouteConfiguration } from "./route-problems.ts";

/** `defaultTotalMs` is the time of a call where a route sets no `total_ms`. */
export function routeWarnings(
  { global, tenants, projects }: RouteConfiguration,
  defaultTotalMs: number,
): readonly Finding[] {
  const inScope = (base: Finding["path"], scopes: readonly [RouteScope, ...RouteScope[]]): readonly Finding[] => {
    const seen = routesSeen(scopes);
    return Object.entries(scopes[0].routes).flatMap(([name, entry]): readonly Finding[] => {
      const key = usingUpTime(seen.get(name)!, defaultTotalMs);
      if (key === null) return [];
      const path = [...base, "routes", name, ...(entry.timeouts?.[key] === undefined ? [] : ["timeouts", key])];
      const message = `with this ${key}, silent targets use up the whole time of a call before the last of its targets and fallbacks is attempted; set a shorter limit, or a longer total_ms`;
      return [{ path, message }];
    });
  };
  return [
    ...inScope([], [global]),
    ...[...tenants].flatMap(([id, scope]) => inScope(["tenants", id], [scope, global])),
    ...[...projects].flatMap(([id, scope]) => inScope(["projects", id], [scope, global])),
  ];
}

/** Returns the limit with which targets that never answer leave no time for what follows them; `null` when none does. */
function usingUpTime(
  { targets, fallbacks, retries, retryTimeouts, timeouts }: Route,
  defaultTotalMs: number,
): "connect_ms" | "first_byte_ms" | "first_token_ms" | null {
  const before = targets.length - (fallbacks.length > 0 ? 0 : 1);
  const attempts = before * (retryTimeouts ? 1 + (retries ?? DEFAULT_RETRIES) : 1);
  const isTooLong = (limitMs: number | null): boolean =>
    limitMs !== null && limitMs * attempts >= (timeouts.totalMs ?? defaultTotalMs);
  if (isTooLong(timeouts.firstByteMs)) return "first_byte_ms";
  // it bounds the head of a stream where the other one is not set
  if (timeouts.firstByteMs === null && isTooLong(timeouts.firstTokenMs)) return "first_token_ms";
  return isTooLong(timeouts.connectMs) ? "connect_ms" : null;
}
