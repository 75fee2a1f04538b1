// Policies as calls see them (promise 3): named rules that deny a call, and guards that search its text. They are
// compiled with the snapshot.

import type { Configured } from "./configured.ts";
import type { GuardService } from "./outside-guard.ts";

/** The variables that a rule may use, by name. */
export const RULE_VARIABLES = ["request", "target", "token", "tenant", "project", "client", "now"] as const;
export type RuleVariable = (typeof RULE_VARIABLES)[number];
export type RuleFacts = Readonly<Record<RuleVariable, object>> & Metered;

/** Counts the work of rules and conditions in steps. */
export interface RuleMeter {
  /** Throws when what is left is less; `why` says what cannot be evaluated then. */
  spend(steps: number, why?: string): void;
}

export interface Metered {
  /** Of all rules and conditions of one call; where it is left out, a rule is judged by itself. */
  readonly meter?: RuleMeter;
}

/**
 * The variables of a condition of a route's target or fallback. It stands at its target, so that it needs no name for
 * it, and it can read the headers that the operator has listed.
 */
export const CONDITION_VARIABLES = ["request", "headers", "token", "tenant", "project", "client", "now"] as const;
export type ConditionVariable = (typeof CONDITION_VARIABLES)[number];
export type ConditionFacts = Readonly<Record<ConditionVariable, object>> & Metered;

export interface PolicyRule {
  /** Throws when the rule cannot be evaluated on these facts, which denies the call as well. */
  denies(facts: RuleFacts): boolean;
}

/** The facts of a call that a policy's scope is compared with before the targets of the call are known. */
export interface PolicyCaller {
  readonly tokenId: string;
  /** The end user that the request names; `null` when it names none. */
  readonly user: string | null;
}
/** The facts that a policy's scope is compared with at each target. */
export interface PolicyTarget {
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly model: string;
  /** What else the provider calls it, or what the request calls in its place; absent where that is nothing. */
  readonly otherModels?: readonly string[];
  readonly route: string;
}

/** One kind of text that a guard searches for, such as card numbers. */
export interface Detector {
  /** The replacement of a match where the guard has no mask of its own. */
  readonly mask: string;
  /**
   * True where the detector reads unusual forms of digits, spaces, dashes and letters as their ASCII counterparts, and
   * ignores characters of no width. Otherwise a text is searched as it is written, and by a second run (`openFolded`)
   * without characters of no width and with compatibility forms folded.
   */
  readonly folds: boolean;
  /** A text from which another thread can build the same detector, with `openDetector` of guards/compile-guard.ts. */
  readonly source: string;
  /** The most steps that the detector may take for each character of a text (guards/work-meter.ts). */
  readonly work: number;
  /** Whether the parts that all runs share have been built. That takes milliseconds for a long pattern. */
  readonly isReady: boolean;
  /** Starts a run over one text that arrives in pieces; this makes the detector ready. */
  open(): DetectorRun;
  /** The second run of a detector that does not fold itself; undefined for one that does. */
  readonly folded?: FoldedRuns;
}

/** Runs over a text that is folded as `ReadText` of guards/read-text.ts does. */
export interface FoldedRuns {
  /** A run has nothing else to find in a text that folding does not change. */
  readonly isSame: boolean;
  /** Whether they look for a character that can also be written as a letter and marks, which are read as one. */
  readonly composes: boolean;
  /** `at`: the position before which nothing can become part of a match any more. */
  open(at: number): DetectorRun;
}

/** The part of the text that is still buffered. Positions count UTF-16 units from the beginning of the whole text. */
export interface TextWindow {
  readonly text: string;
  /** Position of the first unit of `text`. */
  readonly base: number;
  /** The position behind the last unit that may be searched yet. */
  readonly limit: number;
  /** Whether the text ends at `limit`. */
  readonly isEnd: boolean;
}
export interface DetectorRun {
  /**
   * Searches the new text and reports, in order, each match that no further text can change. Returns the position
   * before which nothing can become part of a match any more. The matches do not depend on the pieces in which the text
   * arrived.
   */
  advance(window: TextWindow, found: (start: number, end: number) => void): number;
}

export interface Guard {
  readonly onInput: boolean;
  readonly onOutput: boolean;
  readonly action: "block" | "mask";
  /** `null` when each detector uses its own mask. */
  readonly mask: string | null;
  /** What happens to a text that could not be searched in time. */
  readonly onError: "block" | "allow";
  /**
   * The most steps that all its detectors together may take for each character of a text. It is infinite where a service
   * judges the texts, so that no text is searched at once.
   */
  readonly work: number;
  readonly detectors: readonly Detector[];
  /** The service that judges the texts in place of detectors; `null` where the gateway searches them itself. */
  readonly service: GuardService | null;
}

interface ScopedPolicy {
  readonly id: string;
  readonly name: string;
  readonly mode: "enforce" | "audit";
  /** The message that the caller receives. */
  readonly message: string;
  /** `null` when the policy applies to all callers. */
  readonly concerns: ((caller: PolicyCaller) => boolean) | null;
  /** `null` when the policy applies to all targets. */
  readonly concernsTarget: ((target: PolicyTarget) => boolean) | null;
  /** Its rule or its scope uses the target, so that it is evaluated for each target. */
  readonly perTarget: boolean;
}

export interface RulePolicy extends ScopedPolicy {
  readonly kind: "rule";
  readonly rule: PolicyRule;
  /** The rule looks at the time, so that it may judge the same call differently later; absent when it does not. */
  readonly usesTime?: true;
}

export interface GuardPolicy extends ScopedPolicy {
  readonly kind: "guard";
  readonly guard: Guard;
}

export type Policy = RulePolicy | GuardPolicy;

/**
 * The policies of one project in the order of their evaluation: first those of all tenants, then those of the tenant,
 * then those of the project.
 */
export interface ProjectPolicies {
  readonly all: readonly Policy[];
  /** Rules that are evaluated once, before the first attempt. */
  readonly rules: readonly RulePolicy[];
  readonly targetRules: readonly RulePolicy[];
  readonly inputGuards: readonly GuardPolicy[];
  readonly outputGuards: readonly GuardPolicy[];
  /** Whether a service judges texts for any of the guards. */
  readonly hasServices: boolean;
}

export interface PolicySet {
  /** Returns `null` when the project has no policies. */
  of(tenantId: string, projectId: string): ProjectPolicies | null;
  /** What the policies of a tenant and its projects are compiled from, so that another thread can compile them too. */
  sourcesOf(tenantId: string): readonly Configured<object>[];
}
