// A route as the configuration compiles it: which targets may answer, in which order, how often and how long they are tried, and what comes after them.
import type { ModelListEntry } from "./chat.ts";
import type { JsonObject } from "./json.ts";
import type { CommonParameter } from "./params.ts";

/** Names of routes (decisions 1.3): no `:` and no `/`, so that none is taken for a model. */
export const ROUTE_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
/** What `route` says of a direct call. */
export const DIRECT_ROUTE = "direct";

export type StrategyType = "priority" | "weighted" | "least_latency" | "least_cost" | "least_busy";

export interface RouteTarget {
  /** As it stands in the file: `openai:gpt-5-mini`. */
  readonly name: string;
  readonly providerId: string;
  readonly model: string;
  /** Share among targets of one order; above 0. */
  readonly weight: number;
  /** Lower ones first. */
  readonly order: number;
  /** Parameters where the request says nothing of its own. */
  readonly params: JsonObject;
  /** Parameters of the request that this target never gets, whatever it takes (decisions 6.3); absent: none. */
  readonly drop?: ReadonlySet<CommonParameter>;
  /** Calls at once; null: no bound. */
  readonly maxConcurrency: number | null;
  /** Of a target that came with the request (decisions 1.6): its parameters go before the request's own. */
  readonly brought?: ModelListEntry;
}

/** `provider:model` or `route:name`, with parameters that go before the request's own. */
export interface RouteFallback {
  readonly model: string | null;
  readonly route: string | null;
  readonly params: JsonObject;
}

/** Null: what `server` says. */
export interface RouteTimeouts {
  readonly connectMs: number | null;
  /** From sending the request to the head of the answer. */
  readonly firstByteMs: number | null;
  /** From sending the request to the first content of a stream, or the whole of a plain answer's head. */
  readonly firstTokenMs: number | null;
  readonly betweenChunksMs: number | null;
  /** The whole operation, retries and fallbacks included. */
  readonly totalMs: number | null;
}

export interface BreakerSettings {
  /** Opens when so many of the last attempts within the window failed by the upstream's fault... */
  readonly failures: number;
  /** ...and they are at least this share of all of them, 0 to 1. */
  readonly ratio: number;
  readonly windowMs: number;
  /** Stays open so long; doubles with each probe that fails, up to ten times. */
  readonly openMs: number;
}

/** What keeps calls of one kind at one target: a field of the request, a header of the client, or the first part of the conversation. */
export type Sticky =
  | { readonly by: "user" }
  | { readonly by: "header"; readonly name: string }
  | { readonly by: "prompt" };

export interface Hedge {
  /** The second attempt goes out when the first content is so late; `p95` of the target's own times. */
  readonly after: "p95" | number;
  /** Share of calls that may have one, 0 to 1. */
  readonly maxExtra: number;
}

export interface Route {
  readonly name: string;
  readonly strategy: StrategyType;
  readonly targets: readonly RouteTarget[];
  /** Further attempts at the same target; null: 1. */
  readonly retries: number | null;
  readonly timeouts: RouteTimeouts;
  readonly fallbacks: readonly RouteFallback[];
  /** Model (with or without its provider) to the model that is used when the conversation is too long for it. */
  readonly contextWindowFallbacks: ReadonlyMap<string, string>;
  readonly contentPolicyFallbacks: readonly RouteFallback[];
  readonly breaker: BreakerSettings;
  /** What to do when no target is healthy: 503 `no_target_available`, or try the one that is free first. */
  readonly onExhausted: "error" | "least_bad";
  readonly sticky: Sticky | null;
  readonly hedge: Hedge | null;
  /** Calls that wait for a target's `max_concurrency`, and how long at most. */
  readonly queue: { readonly max: number; readonly timeoutMs: number };
  readonly dropParams: boolean | null;
  readonly disableStopSequenceLimit: boolean | null;
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
/** `num_retries` where neither request nor route says anything (decisions 7.1). */
export const DEFAULT_RETRIES = 1;

/** A direct call, as a route of one target: retries, clocks and breaker are the defaults of its scope, if it has any. */
export function directRoute(target: Pick<RouteTarget, "name" | "providerId" | "model">, defaults?: Route): Route {
  return {
    name: DIRECT_ROUTE,
    strategy: "priority",
    targets: [{ ...target, weight: 1, order: 0, params: {}, maxConcurrency: null }],
    retries: defaults?.retries ?? null,
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
  };
}
