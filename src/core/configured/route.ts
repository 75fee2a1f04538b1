// A route as it is compiled from the configuration: its targets, their order, the bounds on attempts and time, and the
// fallbacks.
import type { CacheSetting } from "./cache.ts";
import type { PromptCaching } from "./prompt-cache.ts";
import type { ModelListEntry } from "../chat.ts";
import type { JsonObject } from "../json.ts";
import { memoizePerObject } from "../memoization.ts";
import type { CommonParameter } from "../params.ts";

/** Names of routes (promise 1.3) contain no `:` and no `/`, so that a route cannot be mistaken for a model. */
export const ROUTE_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
/**
 * Further names of a route, which may have the form of names at other gateways, such as `groq/llama`. Unlike the name of
 * a route they may contain `:`, `/` and spaces.
 */
export const ROUTE_ALIAS = /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/;
/** The value of `route` for a direct call. */
export const DIRECT_ROUTE = "direct";

export type StrategyType = "priority" | "weighted" | "least_latency" | "least_cost" | "least_busy";

/** Which calls an entry of a route is for; without either, it is for all of them. */
export interface EntryCondition {
  /** A condition in CEL. The entry is passed over by calls for which it is false or cannot be evaluated. */
  readonly when?: string;
  /** The percentage of these calls that the entry is for, by a stable hash; above 0 and at most 100. */
  readonly share?: number;
}

export interface RouteTarget extends EntryCondition {
  /** The name in the file, such as `openai:gpt-5-mini`. */
  readonly name: string;
  readonly providerId: string;
  readonly model: string;
  /** The share among targets of the same order; above 0. */
  readonly weight: number;
  /** Targets of a lower order come first. */
  readonly order: number;
  /** Defaults for parameters that the request does not set. */
  readonly params: JsonObject;
  /**
   * Parameters of the request that are never sent to this target, even where it accepts them (promise 6.3); absent when
   * there are none.
   */
  readonly drop?: ReadonlySet<CommonParameter>;
  /** The bound on concurrent attempts; `null` when there is no bound. */
  readonly maxConcurrency: number | null;
  /** Set for a target of an inline route (promise 1.6): its parameters override the request's own. */
  readonly brought?: ModelListEntry;
}

/** Another target that gets copies of the route's calls (promise 16.1). The gateway does not wait for the answers. */
export interface RouteMirror extends EntryCondition {
  readonly target: RouteTarget;
  /** Calls whose content is not kept are copied to another vendor as well. */
  readonly toOtherVendors: boolean;
  /** How many copies may be in flight in one process; further ones are dropped. */
  readonly maxInFlight: number;
  /** How long a copy may take. */
  readonly timeoutMs: number;
}

/** `provider:model` or `route:name`, with parameters that override the request's own. */
export interface RouteFallback extends EntryCondition {
  readonly model: string | null;
  readonly route: string | null;
  readonly params: JsonObject;
}

/** A timeout is `null` when the one of `server` applies. */
export interface RouteTimeouts {
  readonly connectMs: number | null;
  /** The time from sending the request to the head of the response. */
  readonly firstByteMs: number | null;
  /** The time from sending the request to the first content of a stream, or to the head of a non-streaming response. */
  readonly firstTokenMs: number | null;
  readonly betweenChunksMs: number | null;
  /** The time for the whole operation, retries and fallbacks included. */
  readonly totalMs: number | null;
}

export interface BreakerSettings {
  /**
   * The breaker opens when at least this many attempts within the window failed by the upstream's fault, and `ratio` is
   * reached as well.
   */
  readonly failures: number;
  /** The least share of failed attempts, 0 to 1, at which the breaker opens. */
  readonly ratio: number;
  readonly windowMs: number;
  /**
   * How long the breaker stays open. The time doubles with each probe that fails, up to 60 s, or to `openMs` where that
   * is longer.
   */
  readonly openMs: number;
  /**
   * The tenant whose own people have written the settings; absent where an operator has. Events, metrics and lists do not
   * show such a breaker for a target that all tenants may call.
   */
  readonly ofTenant?: string;
}

/**
 * What keeps similar calls at one target: a field of the request, a header of the client, or the first part of the
 * conversation.
 */
export type Sticky =
  | { readonly by: "user" }
  | { readonly by: "header"; readonly name: string }
  | { readonly by: "prompt" };

export interface Hedge {
  /**
   * The second attempt starts when the first content is this late, in milliseconds; `p95` uses the target's own
   * latencies.
   */
  readonly after: "p95" | number;
  /** The share of calls that may have a hedge, 0 to 1. */
  readonly maxExtra: number;
}

export interface Route {
  /** Of a route in the store: increases with each change. Absent for one of the file, or of the request. */
  readonly version?: number;
  readonly name: string;
  /** Names under which requests find the route where no route has this name; absent when there are none. */
  readonly aliases?: readonly string[];
  readonly strategy: StrategyType;
  readonly targets: readonly RouteTarget[];
  /** Some of its targets are not for all calls; absent when all are. */
  readonly isConditional?: true;
  /** Absent when no call is copied. */
  readonly mirror?: RouteMirror;
  /** Further attempts at the same target; `null` when the route does not say. */
  readonly retries: number | null;
  /** Whether an attempt that ended by a time limit is repeated at the same target while another one is left. */
  readonly retryTimeouts: boolean;
  readonly timeouts: RouteTimeouts;
  /** Whether a person other than an operator has set one of its time limits, for targets of any owner. Absent for no. */
  readonly hasTimeoutsOfTenant?: true;
  readonly fallbacks: readonly RouteFallback[];
  /** Maps a model, with or without its provider, to the model to use when the conversation is too long for it. */
  readonly contextWindowFallbacks: ReadonlyMap<string, string>;
  readonly contentPolicyFallbacks: readonly RouteFallback[];
  readonly breaker: BreakerSettings;
  /**
   * What to do when no target is healthy: answer 503 `no_target_available`, or attempt the target that recovers first.
   */
  readonly onExhausted: "error" | "least_bad";
  readonly sticky: Sticky | null;
  readonly hedge: Hedge | null;
  /** How many calls may wait for a target's `max_concurrency`, and for how long at most. */
  readonly queue: { readonly max: number; readonly timeoutMs: number };
  readonly dropParams: boolean | null;
  readonly disableStopSequenceLimit: boolean | null;
  /** Whether there are fallbacks after a refusal that the client of a native operation knows how to cure (promise 12.6). */
  readonly fallbackOnRefusal: boolean;
  /** How answers are kept; `null` when the project or the request decides. */
  readonly cache: CacheSetting | "off" | null;
  /** Whether the prompt caches of vendors are used; `null` when the project decides. */
  readonly promptCaching: PromptCaching | null;
}

export function isConditional({ when, share }: EntryCondition): boolean {
  return when !== undefined || share !== undefined;
}

export const DEFAULT_BREAKER: BreakerSettings = { failures: 5, ratio: 0.5, windowMs: 30_000, openMs: 10_000 };
export const NO_TIMEOUTS: RouteTimeouts = {
  connectMs: null,
  firstByteMs: null,
  firstTokenMs: null,
  betweenChunksMs: null,
  totalMs: null,
};
export const DEFAULT_QUEUE = { max: 64, timeoutMs: 5_000 } as const;
/** `num_retries` when neither the request nor the route sets it (promise 7.1). */
export const DEFAULT_RETRIES = 1;

/** The rules for copies of the calls of a route that has a mirror: one attempt at its target, and no cache. */
export const routeOfCopies = memoizePerObject((mirrored: Route): Route => {
  const { mirror, isConditional: _isConditional, ...route } = mirrored;
  const { target, timeoutMs } = mirror!;
  return {
    ...route,
    strategy: "priority",
    targets: [target],
    retries: 0,
    timeouts: { ...route.timeouts, totalMs: timeoutMs },
    fallbacks: [],
    contextWindowFallbacks: new Map(),
    contentPolicyFallbacks: [],
    onExhausted: "least_bad",
    sticky: null,
    hedge: null,
    cache: "off",
  };
});

/**
 * Makes a direct call a route of one target. Retries, timeouts and breaker settings are the defaults of its scope,
 * where it has any.
 */
export function directRoute(target: Pick<RouteTarget, "name" | "providerId" | "model">, defaults?: Route): Route {
  return {
    name: DIRECT_ROUTE,
    strategy: "priority",
    targets: [{ ...target, weight: 1, order: 0, params: {}, maxConcurrency: null }],
    retries: defaults?.retries ?? null,
    retryTimeouts: defaults?.retryTimeouts ?? false,
    timeouts: defaults?.timeouts ?? NO_TIMEOUTS,
    fallbacks: [],
    contextWindowFallbacks: new Map(),
    contentPolicyFallbacks: [],
    breaker: defaults?.breaker ?? DEFAULT_BREAKER,
    onExhausted: "least_bad",
    sticky: null,
    hedge: null,
    queue: DEFAULT_QUEUE,
    dropParams: null,
    disableStopSequenceLimit: null,
    fallbackOnRefusal: defaults?.fallbackOnRefusal ?? false,
    cache: defaults?.cache ?? null,
    promptCaching: defaults?.promptCaching ?? null,
  };
}
