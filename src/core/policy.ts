// Policies as calls see them (decisions 3): named rules that deny a call, and guards that look at its text. Compiled with the snapshot.

/** What a rule may speak of, by the name that it has there. */
export const RULE_VARIABLES = ["request", "target", "token", "tenant", "project", "client", "now"] as const;
export type RuleVariable = (typeof RULE_VARIABLES)[number];
export type RuleFacts = Readonly<Record<RuleVariable, object>>;

export interface PolicyRule {
  /** Throws where the rule cannot be evaluated on these facts, which denies as well. */
  denies(facts: RuleFacts): boolean;
}

/** What of a call a policy's scope is compared with before its targets are known... */
export interface PolicyCaller {
  readonly tokenId: string;
  /** The end user that the request names; null: none. */
  readonly user: string | null;
}
/** ...and at each of them. */
export interface PolicyTarget {
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly model: string;
  readonly route: string;
}

/** One kind of text that a guard looks for, such as card numbers. */
export interface Detector {
  /** What stands in place of a match where the guard has no words of its own. */
  readonly mask: string;
  /** It reads unusual forms of digits, spaces, dashes and letters as those of ASCII, and what has no width not at all. */
  readonly folds: boolean;
  /** What it is made of, as a text from which another thread makes it again: `openDetector` of auth/policy-guard.ts. */
  readonly source: string;
  /** Steps that it may take for each character of a text, at the worst (auth/work-meter.ts). */
  readonly work: number;
  /** What all runs share has been made, which takes milliseconds for a long pattern. */
  readonly isReady: boolean;
  /** A run over one text that comes in pieces; makes the detector ready. */
  open(): DetectorRun;
}

/** The text so far, as far as it is still kept. Positions count UTF-16 units from the beginning of the whole text. */
export interface TextWindow {
  readonly text: string;
  /** Position of the first unit of `text`. */
  readonly base: number;
  /** No unit from here on is looked at yet. */
  readonly limit: number;
  /** Nothing comes after `limit`. */
  readonly isEnd: boolean;
}
export interface DetectorRun {
  /**
   * Looks at what is new and tells each match that no further text can change, in their order. Gives the position before which nothing can become part of
   * a match any more. What it tells does not depend on the pieces in which the text came.
   */
  advance(window: TextWindow, found: (start: number, end: number) => void): number;
}

export interface Guard {
  readonly onInput: boolean;
  readonly onOutput: boolean;
  readonly action: "block" | "mask";
  /** Null: each detector's own. */
  readonly mask: string | null;
  /** What becomes of a text that could not be looked at in time. */
  readonly onError: "block" | "allow";
  /** Steps that all of its detectors may take for each character of a text, at the worst. */
  readonly work: number;
  readonly detectors: readonly Detector[];
}

export interface Policy {
  readonly id: string;
  readonly name: string;
  readonly mode: "enforce" | "audit";
  /** What the caller reads. */
  readonly message: string;
  /** Null: everybody. */
  readonly concerns: ((caller: PolicyCaller) => boolean) | null;
  /** Null: wherever the call goes. */
  readonly concernsTarget: ((target: PolicyTarget) => boolean) | null;
  /** Its rule, or its scope, speaks of the target: it is asked at each one. */
  readonly perTarget: boolean;
  /** Exactly one of the two is there. */
  readonly rule: PolicyRule | null;
  readonly guard: Guard | null;
}

/** The policies of one project, in the order in which they are asked: those of all, of the tenant, of the project. */
export interface ProjectPolicies {
  readonly all: readonly Policy[];
  /** Rules that are asked once, before anything is called. */
  readonly rules: readonly Policy[];
  readonly targetRules: readonly Policy[];
  readonly inputGuards: readonly Policy[];
  readonly outputGuards: readonly Policy[];
}

export interface PolicySet {
  /** Null: none. */
  of(tenantId: string, projectId: string): ProjectPolicies | null;
}

export const NO_POLICIES: PolicySet = { of: () => null };
