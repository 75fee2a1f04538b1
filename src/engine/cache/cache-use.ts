// Whether an attempt uses the response cache, and how: by its route, its project and the request, where the tenant
// allows it (promise 13.4).

// Decides (the response cache): Does a call use the response cache? By: `cacheUseAt`. Rule: The tenant allows it, and
// route, project or request turn it on, and the request does not turn it off; never with a caller's address or
// credential, tool servers, a rule that reads `now`, a long body, or `n` that takes several requests.
import { type CacheBypass, type CacheScope, DEFAULT_CACHE_TTL_S, isWiderScope } from "../../core/configured/cache.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { Route } from "../../core/configured/route.ts";
import { invalidRequest } from "../../core/refusals.ts";
import type { Call } from "../call/call.ts";
import { callsFor, type FittedRequest } from "../fit/fit.ts";
import { isLong } from "../long-bodies/long-body-thread.ts";
import type { Resolved } from "../plan/resolve-target.ts";

export interface CacheUse {
  readonly kind: "used";
  readonly ttlMs: number;
  readonly scope: CacheScope;
  /** How old an answer may be; at most `ttlMs`. */
  readonly maxAgeMs: number;
  /** False when the client wants a new answer, which is kept. */
  readonly reads: boolean;
  /** True where the answer may hand out what lives at the vendor, so that the call shares no request with others. */
  readonly isAlone?: boolean;
}

export interface CacheBypassed {
  readonly kind: "bypassed";
  readonly why: CacheBypass;
}

/** `null` where nothing turns the cache on. Throws `invalid_request` for a scope that the request may not choose. */
export function cacheUseAt(
  route: Route,
  fitted: FittedRequest,
  resolved: Resolved,
  call: Call,
): CacheUse | CacheBypassed | null {
  const { cache: asked } = fitted.request.options;
  const setting = route.cache ?? call.snapshot.projectSettings.get(call.record.projectId ?? "")?.cache ?? null;
  if (asked === null && (setting === null || setting === "off")) return null;
  if (setting === "off") return asked === "off" ? null : bypassed("turned_off");
  if (asked === "off") return setting === null ? null : bypassed("no_store");
  const widest = setting?.scope ?? "token";
  const scope = asked?.scope ?? widest;
  if (isWiderScope(scope, widest))
    throw invalidRequest(
      "cache.scope",
      `cache.scope may only narrow who shares an answer: it is ${widest} here, and ${scope} is wider. A route or a project can widen it.`,
    );
  const control = cacheControl(call.clientHeader("cache-control"));
  const why = control.noStore ? "no_store" : whyNot(fitted, resolved, call);
  if (why !== null) return bypassed(why);
  const ttlMs = asked?.ttlMs ?? setting?.ttlMs ?? DEFAULT_CACHE_TTL_S * 1000;
  return {
    kind: "used",
    ttlMs,
    scope,
    maxAgeMs: Math.min(ttlMs, control.maxAgeMs),
    reads: !control.noCache && control.maxAgeMs > 0,
  };
}

function bypassed(why: CacheBypass): CacheBypassed {
  return { kind: "bypassed", why };
}

function whyNot(
  { request }: FittedRequest,
  { target, provider, credentials }: Resolved,
  call: Call,
): CacheBypass | null {
  if (call.context.cache === null) return "no_cache";
  const isAllowed = call.snapshot.tenantSettings.get(call.record.tenantId ?? "")?.cacheAllowed === true;
  // a tenant that is removed while the call runs allows nothing any more
  if (!isAllowed || !call.isProjectThere()) return "not_allowed";
  if (request.offered !== null || request.options.toolServers.length > 0) return "tool_servers";
  if (target.isCallersAddress) return "callers_address";
  if (credentials.some(({ fromCaller }) => fromCaller)) return "callers_credential";
  if (call.policies?.rules.looksAtTime === true) return "time_policy";
  if (request.held !== undefined || wouldBeHeld(request, call)) return "long_request";
  return callsFor(request, provider, target.model) > 1 ? "several_requests" : null;
}

/** An explanation reads a body that is so long that another thread would hold it, if a call had it. */
function wouldBeHeld(request: ChatRequest, { record, context }: Call): boolean {
  return record.explained && context.longRequests !== null && isLong(request);
}

interface CacheControl {
  readonly noStore: boolean;
  readonly noCache: boolean;
  readonly maxAgeMs: number;
}

const NO_CONTROL: CacheControl = { noStore: false, noCache: false, maxAgeMs: Number.POSITIVE_INFINITY };

/** Reads the directives of a request that concern a cache (RFC 9111, 5.2.1); others are ignored. */
export function cacheControl(header: string | null): CacheControl {
  if (header === null) return NO_CONTROL;
  const directives = header.split(",").map((text) => text.trim().toLowerCase());
  const ages = directives.flatMap((text) => {
    const seconds = /^max-age="?(\d{1,10})"?$/.exec(text)?.[1];
    return seconds === undefined ? [] : [Number(seconds) * 1000];
  });
  return {
    noStore: directives.includes("no-store"),
    noCache: directives.includes("no-cache"),
    maxAgeMs: Math.min(...ages, Number.POSITIVE_INFINITY),
  };
}
