// A gateway with routes over upstreams that fail as the test says: `up0`, `up1`, `up2`, each an address and a key of its own.
import {
  DIRECT_ROUTE,
  directRoute,
  isConditional,
  NO_TIMEOUTS,
  type Route,
  type RouteFallback,
  type RouteTarget,
} from "../../src/core/configured/route.ts";
import { type FaultyOptions, type FaultyUpstream, faultyUpstream } from "./faults.ts";
import { type Stub, stubGateway, type StubOptions } from "./in-process.ts";
import { providerSettings, storedKey } from "./targets.ts";

export const UPSTREAMS = ["up0", "up1", "up2", "up3"] as const;

export interface Routed extends Stub {
  readonly upstream: FaultyUpstream;
}

export function routedGateway(
  routes: readonly Route[],
  scripts: FaultyOptions["scripts"],
  options: StubOptions = {},
): Routed {
  const upstream = faultyUpstream({ scripts, ...(options.clock && { nowMs: () => options.clock!.monotonic() }) });
  const providers = UPSTREAMS.map((id) =>
    providerSettings({
      id,
      family: "custom",
      baseUrl: `http://${id}.test/v1`,
      credentials: [storedKey(`key-of-${id}`)],
    }),
  );
  return Object.assign(
    stubGateway({
      upstream,
      providers,
      ...options,
      snapshot: {
        ...options.snapshot,
        routes: new Map([
          [DIRECT_ROUTE, routeOf(DIRECT_ROUTE, [])],
          ...(options.snapshot?.routes ?? []),
          ...routes.map((route) => [route.name, route] as const),
        ]),
      },
    }),
    { upstream },
  );
}

export type RouteParts = Omit<Partial<Route>, "targets" | "timeouts" | "fallbacks" | "contentPolicyFallbacks"> & {
  readonly timeouts?: Partial<Route["timeouts"]>;
  readonly fallbacks?: readonly (string | RouteFallback)[];
  readonly contentPolicyFallbacks?: readonly (string | RouteFallback)[];
};

/** In the order given; `retries` 0, unless given. */
export function routeOf(
  name: string,
  targets: readonly (string | (Partial<RouteTarget> & { readonly name: string }))[],
  { timeouts, fallbacks = [], contentPolicyFallbacks = [], ...parts }: RouteParts = {},
): Route {
  const all = targets.map((given, index): RouteTarget => {
    const one = typeof given === "string" ? { name: given } : given;
    const at = one.name.indexOf(":");
    return {
      providerId: one.name.slice(0, at),
      model: one.name.slice(at + 1),
      weight: 1,
      order: index,
      params: {},
      maxConcurrency: null,
      ...one,
    };
  });
  return {
    ...directRoute({ name: "", providerId: "", model: "" }),
    retries: 0,
    ...parts,
    name,
    targets: all,
    ...(all.some(isConditional) && { isConditional: true as const }),
    timeouts: { ...NO_TIMEOUTS, ...timeouts },
    fallbacks: fallbacks.map(fallbackOf),
    contentPolicyFallbacks: contentPolicyFallbacks.map(fallbackOf),
  };
}

function fallbackOf(given: string | RouteFallback): RouteFallback {
  if (typeof given !== "string") return given;
  return given.startsWith("route:")
    ? { model: null, route: given.slice(6), params: {} }
    : { model: given, route: null, params: {} };
}
