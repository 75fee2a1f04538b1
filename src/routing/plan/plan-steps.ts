// What a plan is made of: targets and the stages in which they stand, how an attempt failed, and which step follows.
import type { BreakerSettings, StrategyType } from "../../core/configured/route.ts";
import type { Health } from "../health/health.ts";

/** A target that may be attempted, as the caller prepared it. */
export interface Candidate {
  /** The key of its health: provider, model and credential together. */
  readonly key: string;
  /**
   * Identifies the parameters that an entry sets for this candidate, because a candidate with other parameters is
   * attempted separately; empty when there are none.
   */
  readonly variant: string;
  /**
   * Names the rules under which the target would be called: a refusal under those of one route says nothing about the
   * same target under those of another.
   */
  readonly rules: string;
  /**
   * The key of its retry budget: the provider's id and whose account it is, because the targets of one account tend to
   * fail together.
   */
  readonly upstream: string;
  readonly weight: number;
  readonly order: number;
  /** What this call would cost there; `null` when that is not known, which sorts last. */
  readonly costNanoUsd: number | null;
  /** False while the target is only for calls that a budget redirects to it, and none has redirected this one. */
  readonly isOffered: boolean;
  /** Whether the gateway would call the target: the caller may use it, it is not drained, and it takes the request. */
  isCallable(): boolean;
}

/** A stage: the targets among which a strategy chooses, either those of a route or a single model. */
export interface Stage<T extends Candidate> {
  /** A label for explanations, such as `route chat_default` or `anthropic:claude-haiku-4-5`. */
  readonly label: string;
  /**
   * Stages with the same value hold targets of one route: when one of these targets finds a fault of the request, all
   * of them are skipped.
   */
  readonly group: object;
  readonly strategy: StrategyType;
  readonly candidates: readonly T[];
  readonly breaker: BreakerSettings;
  readonly onExhausted: "error" | "least_bad";
  /** Further attempts at the same target. */
  readonly retries: number;
  /** Whether an attempt that ended by a time limit is repeated at the same target while another one is left. */
  readonly retryTimeouts: boolean;
  /** Equal keys prefer the same target as long as it is healthy. */
  readonly stickyKey: string | null;
}

/** How an attempt failed, as far as the plan needs to know. docs/routes.md has a table of failures. */
export interface Failure {
  /**
   * `retryable`: the same call may succeed here or at any other target. `timed_out`: the same after a time limit of the
   * gateway, which a repetition would use up again. `elsewhere`: the call may succeed at any other
   * target, but not here. `other_credential`: the upstream refused one of several credentials of the target, so that the
   * same call may succeed here with another one, which is no retry. `request_fault`: the upstream refuses the request itself, so that only a fallback is
   * attempted and no further target of the same route. `content_policy`: the same, but a list of its own comes first.
   * `context_length`: the call may succeed at any other target; a map of its own comes first. `final`: the call has
   * ended. `refused`: a policy or a limit forbids the target, so that it was not called. The next target is attempted,
   * this one under the same rules never again, and the attempt is not counted. `blocked`: the target has become unable since it was chosen,
   * so that it was not called; it may be chosen later.
   */
  readonly kind:
    | "retryable"
    | "timed_out"
    | "elsewhere"
    | "other_credential"
    | "request_fault"
    | "context_length"
    | "content_policy"
    | "final"
    | "refused"
    | "blocked";
  /** How long the upstream asked to wait. */
  readonly retryAfterMs: number | null;
}

export interface TryStep<T extends Candidate> {
  readonly kind: "try";
  readonly candidate: T;
  readonly stage: Stage<T>;
  readonly waitMs: number;
  readonly why: string;
  /** The target was known to be unable when it was chosen, because no able one was left. */
  readonly isLastResort: boolean;
}

export type Step<T extends Candidate> =
  | TryStep<T>
  /** `no_target`: nothing is healthy, the stages are configured to return an error, and nothing was attempted. */
  | { readonly kind: "give_up"; readonly why: "exhausted" | "final" | "deadline" | "no_target" };

export interface PlanInput<T extends Candidate> {
  /** The first stage is the requested route or model; its fallbacks follow in order. */
  readonly stages: readonly Stage<T>[];
  /**
   * The stage that is attempted first after `context_length` for the candidate that failed; `null` when there is none.
   */
  contextWindowStage(candidate: T): Stage<T> | null;
  /**
   * The stages that are attempted first, in order, after `content_policy`: the list of the candidate's route. The same
   * object is returned each time.
   */
  contentPolicyStages(candidate: T): readonly Stage<T>[];
  readonly health: Health;
  /** Returns a number of at least 0 and below 1. */
  readonly random: () => number;
}
