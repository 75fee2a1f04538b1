// The policies of one call. They are evaluated once before anything is called, and again for each target before each
// attempt (promises 3.1 to 3.4). Their outcomes go into the record; the caller receives the policy's message and its
// name, never the rule.
import type { Policy, ProjectPolicies } from "../../core/configured/policy.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import { AnswerGuards } from "./answer-guards.ts";
import { CallRules } from "./call-rules.ts";
import { type PolicyCall, PolicyScope, type Reach } from "./policy-scope.ts";
import { RequestGuards } from "./request-guards.ts";

export class CallPolicies {
  readonly #scope: PolicyScope;
  readonly rules: CallRules;
  readonly requests: RequestGuards;
  readonly answers: AnswerGuards;

  constructor(policies: ProjectPolicies, call: PolicyCall) {
    this.#scope = new PolicyScope(policies, call);
    this.rules = new CallRules(this.#scope);
    this.requests = new RequestGuards(this.#scope);
    this.answers = new AnswerGuards(this.#scope);
  }

  /** The policies that apply to the caller, for an explanation. */
  get all(): readonly Policy[] {
    return this.#scope.policies.all.filter((policy) => this.#scope.concerns(policy, null));
  }

  get note(): PolicyScope["note"] {
    return this.#scope.note;
  }

  /**
   * Evaluates the policies before anything is called. Returns a promise when there is much text to search. Throws
   * `policy_violation`. `reach` is asked only where a guard that is for certain targets has a service, or would search
   * results of tools.
   */
  admit(reach: Reach): MaybePromise<void> {
    this.#scope.reachedBy(reach);
    this.rules.requireAllowed();
    return this.requests.admit();
  }
}
