// What can happen to upstreams, one thing at a time, and what the gateway promises in each case. Every scenario begins
// with all three upstreams healthy.
import { type Mood, WORDS } from "./upstream.ts";

export interface Outcome {
  /**
   * `whole`: the answer was complete. `told`: an error was reported, before or in the answer. `lie`: the answer was
   * incomplete without an error, or there was no answer at all.
   */
  readonly kind: "whole" | "told" | "lie";
  /** The HTTP status, or the code of an error in the middle of a stream. */
  readonly said: string;
  readonly attempts: number | null;
  readonly tookMs: number;
  /** Content arrived before the failure. */
  readonly begun: boolean;
}

export interface Scenario {
  readonly id: string;
  readonly title: string;
  readonly route: string;
  /** The moods of the three upstreams before the calls. */
  readonly moods: readonly [Mood, Mood, Mood];
  /** A change of the moods while the calls are in flight. */
  readonly later?: { readonly afterMs: number; readonly moods: readonly [Mood, Mood, Mood] };
  /** The number of calls of each kind, non-streaming and streamed. */
  readonly calls: number;
  /** The number of clients that call at the same time. */
  readonly concurrency: number;
  /** The pause between two calls of one client. */
  readonly paceMs?: number;
  /** Returns what is wrong, or null. `healthyMs` is the median time of a call that meets no fault; null: no times are judged. */
  readonly promise: (
    outcomes: readonly Outcome[],
    healthyMs: number | null,
    requests: readonly [number, number, number],
  ) => string | null;
  /** The promise in words, for the table. */
  readonly promised: string;
}

const failed = (outcomes: readonly Outcome[]): number => outcomes.filter(({ kind }) => kind !== "whole").length;
const lies = (outcomes: readonly Outcome[]): string | null =>
  outcomes.some(({ kind }) => kind === "lie")
    ? `${outcomes.filter(({ kind }) => kind === "lie").length} answers lied`
    : null;
const noneFails = (outcomes: readonly Outcome[]): string | null =>
  failed(outcomes) === 0 ? null : `${failed(outcomes)} of ${outcomes.length} failed`;
export const median = (outcomes: readonly Outcome[]): number =>
  outcomes.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b)[Math.floor(outcomes.length / 2)] ?? 0;
const addsAtMost =
  (limitMs: number) =>
  (outcomes: readonly Outcome[], healthyMs: number | null): string | null =>
    healthyMs === null || median(outcomes) - healthyMs <= limitMs
      ? null
      : `adds ${Math.round(median(outcomes) - healthyMs)} ms`;
/** Before the breaker opens, each of the clients' first calls makes two attempts at the faulty target, and no call after that. */
const FOUND_OUT = 0.5;
const firstIsLeftAlone: Scenario["promise"] = (outcomes, _, [first]) =>
  first <= outcomes.length * FOUND_OUT ? null : `${first} requests of ${outcomes.length} calls went to it`;
const mostTakeOneAttempt = (outcomes: readonly Outcome[]): string | null => {
  const several = outcomes.filter(({ attempts }) => attempts !== null && attempts > 1).length;
  return several <= outcomes.length * FOUND_OUT ? null : `${several} of ${outcomes.length} took more than one attempt`;
};
const all =
  (...rules: readonly Scenario["promise"][]): Scenario["promise"] =>
  (outcomes, healthyMs, requests) =>
    rules.map((rule) => rule(outcomes, healthyMs, requests)).find((fault) => fault !== null) ?? null;

/** Ten times the 2 ms that are promised, because it is measured with the real clock on a noisy machine. */
const FAILOVER_MS = 20;

export const SCENARIOS: readonly Scenario[] = [
  {
    id: "healthy",
    title: "all well",
    route: "first",
    moods: ["well", "well", "well"],
    calls: 50,
    concurrency: 5,
    promise: all(lies, noneFails, (outcomes) =>
      outcomes.every(({ attempts }) => attempts === 1) ? null : "more than one attempt",
    ),
    promised: "no failure, one attempt each",
  },
  {
    id: "dead",
    title: "the first is dead",
    route: "first",
    moods: ["dead", "well", "well"],
    calls: 50,
    concurrency: 5,
    promise: all(lies, noneFails, mostTakeOneAttempt, addsAtMost(FAILOVER_MS)),
    promised: "no failure, a failover of 2 ms; left alone once the breaker is open",
  },
  {
    id: "dead-two",
    title: "two of three are dead",
    route: "first",
    moods: ["dead", "dead", "well"],
    calls: 50,
    concurrency: 5,
    promise: all(lies, noneFails, mostTakeOneAttempt, addsAtMost(2 * FAILOVER_MS)),
    promised: "no failure; left alone once their breakers are open",
  },
  {
    id: "stall",
    title: "the first stalls for ever",
    route: "first",
    moods: ["stall", "well", "well"],
    calls: 30,
    concurrency: 5,
    promise: all(lies, noneFails, firstIsLeftAlone),
    promised: "no failure; left alone once the breaker is open",
  },
  {
    id: "rate-limited",
    title: "the first answers 429 with a reset",
    route: "first",
    moods: ["rate_limited", "well", "well"],
    calls: 30,
    concurrency: 5,
    promise: all(lies, noneFails, firstIsLeftAlone, addsAtMost(FAILOVER_MS)),
    promised: "no failure; left alone until its reset",
  },
  {
    id: "overloaded",
    title: "the first is overloaded",
    route: "first",
    moods: ["overloaded", "well", "well"],
    calls: 30,
    concurrency: 5,
    promise: all(lies, noneFails, firstIsLeftAlone),
    promised: "no failure; left alone once the breaker is open",
  },
  {
    id: "garbage",
    title: "the first sends a web page",
    route: "first",
    moods: ["garbage", "well", "well"],
    calls: 30,
    concurrency: 5,
    promise: all(lies, noneFails, firstIsLeftAlone),
    promised: "no failure; left alone once the breaker is open",
  },
  {
    id: "early-cut",
    title: "the first cuts before any content",
    route: "first",
    moods: ["early_cut", "well", "well"],
    calls: 30,
    concurrency: 5,
    promise: all(lies, noneFails, firstIsLeftAlone),
    promised: "no failure; left alone once the breaker is open",
  },
  {
    id: "cut",
    title: "the first cuts at 40 %",
    route: "first",
    moods: ["cut", "well", "well"],
    calls: 30,
    concurrency: 5,
    promise: all(lies, (outcomes) =>
      outcomes.every(({ kind, begun }) => kind === "whole" || begun) ? null : "a call failed that had not begun",
    ),
    promised: "nothing looks complete that is not; what had not begun does not fail",
  },
  {
    id: "all-down",
    title: "all three are dead",
    route: "first",
    moods: ["dead", "dead", "dead"],
    calls: 10,
    concurrency: 5,
    promise: all(
      lies,
      (outcomes) =>
        outcomes.every(({ kind, said }) => kind === "told" && /^50[23]/.test(said))
          ? null
          : "not all were told 502 or 503",
      (outcomes) =>
        outcomes.some(({ attempts }) => attempts !== null && attempts > 3)
          ? null
          : "no call made another attempt at the same target",
    ),
    promised: "502 or 503 with every attempt",
  },
  {
    id: "back",
    title: "the first was dead and comes back",
    route: "returning",
    moods: ["dead", "well", "well"],
    later: { afterMs: 400, moods: ["well", "well", "well"] },
    calls: 25,
    concurrency: 2,
    paceMs: 250,
    promise: all(lies, noneFails, (_, __, [first]) => (first > 0 ? null : "it gets no call")),
    promised: "no failure, and it gets calls again",
  },
  {
    id: "slow-latency",
    title: "the first is slow, least_latency",
    route: "quickest",
    moods: ["slow", "well", "well"],
    calls: 100,
    concurrency: 5,
    promise: all(lies, noneFails, (outcomes, _, [first]) =>
      first <= outcomes.length * 0.25 ? null : `${first} of ${outcomes.length} went to the slow one`,
    ),
    promised: "no failure, few calls to the slow one",
  },
  {
    id: "dies-under-load",
    title: "one dies under 2,000 streams and as many plain calls",
    route: "spread",
    moods: ["well", "well", "well"],
    later: { afterMs: 300, moods: ["dead", "well", "well"] },
    calls: 2000,
    concurrency: 4000,
    promise: all(lies, (outcomes) =>
      outcomes.every(({ kind, begun }) => kind === "whole" || begun)
        ? null
        : `${outcomes.filter(({ kind, begun }) => kind !== "whole" && !begun).length} that had not begun were lost`,
    ),
    promised: "no stream is lost that had not begun",
  },
];

export const LEAST_WORDS = WORDS;
