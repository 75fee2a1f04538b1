// The rules of one call: evaluated once before anything is called, and again for each target before each attempt
// (promises 3.1 to 3.4).
import { RequestFacts } from "../../policies/policy-facts.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Policy, PolicyTarget, RulePolicy } from "../../core/configured/policy.ts";
import type { PolicyOutcome } from "../../core/record/record.ts";
import { CallFacts } from "./call-facts.ts";
import type { PolicyScope } from "./policy-scope.ts";
import { violation } from "./policy-violation.ts";

export interface Judgement {
  readonly refusal: GatewayError | null;
  readonly outcomes: readonly PolicyOutcome[];
}

export class CallRules {
  readonly #scope: PolicyScope;
  readonly #facts: CallFacts;
  readonly #requests = new Map<ChatRequest, RequestFacts>();

  constructor(scope: PolicyScope) {
    this.#scope = scope;
    this.#facts = new CallFacts(scope.call);
  }

  /** Whether a rule that applies to the caller looks at the time. */
  get looksAtTime(): boolean {
    return this.#scope.policies.all.some(
      (policy) => policy.kind === "rule" && policy.usesTime === true && this.#scope.concerns(policy, null),
    );
  }

  /** Evaluates the rules that are evaluated once. Throws `policy_violation`. */
  requireAllowed(): void {
    const { policies, call } = this.#scope;
    this.#require(this.#judge(policies.rules, call.sent, null));
  }

  /** Evaluates the rules for a target. Throws `policy_violation`. */
  requireAllowedAt(target: PolicyTarget, request: ChatRequest): void {
    this.#require(this.at(target, request));
  }

  #require({ refusal, outcomes }: Judgement): void {
    this.#scope.note(outcomes);
    if (refusal !== null) throw refusal;
  }

  /**
   * Evaluates the rules for a target. An entry of `fallbacks` or `model_list` is a request of its own, for which all
   * rules are evaluated. Records nothing.
   */
  at(target: PolicyTarget, request: ChatRequest): Judgement {
    const { policies } = this.#scope;
    const requested = request.offered?.requested ?? request;
    return this.#judge(requested.variant === "client" ? policies.targetRules : policies.all, requested, target);
  }

  #judge(policies: readonly Policy[], request: ChatRequest, target: PolicyTarget | null): Judgement {
    let outcomes: PolicyOutcome[] | null = null;
    for (const policy of policies) {
      if (policy.kind !== "rule" || !this.#scope.concerns(policy, target)) continue;
      const failure = this.#denies(policy, request, target);
      if (failure === false) continue;
      outcomes ??= [];
      if (failure !== null) outcomes.push({ name: policy.name, effect: "failed", why: failure });
      else if (policy.mode === "audit") outcomes.push({ name: policy.name, effect: "would_deny" });
      if (policy.mode === "audit") continue;
      outcomes.push({ name: policy.name, effect: "denied" });
      return {
        refusal: violation(
          policy,
          failure === null ? {} : { detail: `the policy ${policy.name} could not be evaluated: ${failure}` },
        ),
        outcomes,
      };
    }
    return outcomes === null ? PASSED : { refusal: null, outcomes };
  }

  /** Returns false when the rule does not deny, `null` when it denies, and a text when it could not be evaluated. */
  #denies({ rule }: RulePolicy, request: ChatRequest, target: PolicyTarget | null): false | null | string {
    const facts = this.#facts;
    try {
      facts.request = this.#requests.getOrInsertComputed(
        request,
        () => new RequestFacts(request, this.#scope.call.operation),
      );
      facts.currentTarget = target;
      return rule.denies(facts) ? null : false;
    } catch (thrown) {
      return (thrown as Error).message.split("\n")[0]!;
    }
  }
}

const PASSED: Judgement = { refusal: null, outcomes: [] };
