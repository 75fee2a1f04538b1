// Which policies of a project concern a call, what they have recorded of it, and how their guards search texts.
import { lazy } from "../../core/memoization.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import type { GuardPlace } from "../../core/configured/outside-guard.ts";
import type { GuardPolicy, Policy, PolicyCaller, PolicyTarget, ProjectPolicies } from "../../core/configured/policy.ts";
import { endUserOf } from "../../core/record/end-user.ts";
import type { PolicyOutcome } from "../../core/record/record.ts";
import type { GuardScheduler } from "../guards/guard-scheduler.ts";
import { type PriorMatches, type Searched, type TextGuard, textGuard, UNREPLACEABLE } from "../guards/text-guard.ts";
import type { LongRequests } from "../long-bodies/long-requests.ts";
import type { FactSource } from "./call-facts.ts";
import { underGuards } from "./policy-violation.ts";

export interface PolicyCall extends FactSource {
  /** Collects the outcomes of the policies. */
  readonly outcomes: PolicyOutcome[];
  /** `null` when guards search in this thread, however long it takes. */
  readonly scheduler: GuardScheduler | null;
  /** Absent when no other thread holds the conversation. */
  readonly longRequests?: LongRequests | null;
}

/** Returns the targets that a call can reach; `null` where they are not known, so that every guard may be needed. */
export type Reach = () => readonly PolicyTarget[] | null;

export class PolicyScope {
  readonly policies: ProjectPolicies;
  readonly call: PolicyCall;
  readonly #caller: PolicyCaller;
  /** The outcomes that are recorded: a tenant may have thousands of policies. */
  readonly #noted = new Set<string>();
  #reached: () => { readonly targets: ReturnType<Reach> } = () => ({ targets: null });

  constructor(policies: ProjectPolicies, call: PolicyCall) {
    this.policies = policies;
    this.call = call;
    this.#caller = {
      tokenId: call.principal.tokenId,
      user: endUserOf(call.sent.params),
    };
  }

  /** `null` where it is not known. */
  get reached(): ReturnType<Reach> {
    return this.#reached().targets;
  }

  /** `reach` is asked at the first use. */
  reachedBy(reach: Reach): void {
    this.#reached = lazy(() => ({ targets: reach() }));
  }

  concerns({ concerns, concernsTarget }: Policy, target: PolicyTarget | null): boolean {
    return (
      (concerns === null || concerns(this.#caller)) &&
      (target === null || concernsTarget === null || concernsTarget(target))
    );
  }

  /** Returns the guards for the target or, without one, those for every target. */
  guardsFor(guards: readonly GuardPolicy[], target: PolicyTarget | null): readonly GuardPolicy[] {
    if (guards.length === 0) return guards;
    return guards.filter((policy) => (target !== null || !policy.perTarget) && this.concerns(policy, target));
  }

  /** Returns the guards for the caller without those that are for targets which the call cannot reach. */
  reachable(guards: readonly GuardPolicy[]): readonly GuardPolicy[] {
    const own = guards.filter((policy) => this.concerns(policy, null));
    if (own.every(({ concernsTarget }) => concernsTarget === null)) return own;
    const targets = this.reached;
    if (targets === null) return own;
    return own.filter(({ concernsTarget }) => concernsTarget === null || targets.some(concernsTarget));
  }

  /**
   * Returns the result of `work`, which receives what was found in the texts in advance, or null when it has to search by
   * itself. Returns a promise when there is much text to search.
   */
  search<T>(
    guards: readonly GuardPolicy[],
    characters: number,
    visit: (guard: TextGuard) => unknown,
    work: (prior: PriorMatches | null) => T,
    place: GuardPlace,
  ): MaybePromise<T> {
    const { scheduler } = this.call;
    return scheduler === null ? work(null) : scheduler.search(guards, characters, visit, work, place);
  }

  /** Returns what guards let through. Returns a promise when there is much text to search. Throws `policy_violation`. */
  apply<T>(searched: Searched<T>, guards: readonly GuardPolicy[], place: GuardPlace): MaybePromise<T> {
    if (guards.length === 0) return searched.given;
    const { walk } = searched;
    return this.search(
      guards,
      searched.characters(),
      walk,
      (prior) => underGuards(() => walk(textGuard(guards, this.recordFinding, prior))),
      place,
    );
  }

  /** Records each policy and effect once. */
  readonly note = (outcomes: readonly PolicyOutcome[]): void => {
    for (const outcome of outcomes) {
      const key = `${outcome.effect} ${outcome.name}`;
      if (this.#noted.has(key)) continue;
      this.#noted.add(key);
      this.call.outcomes.push(outcome);
    }
  };

  readonly recordFinding = ({ name, mode, guard }: GuardPolicy, failure?: string): void => {
    if (failure !== undefined)
      this.note([
        { name, effect: "failed", why: failure },
        ...(mode === "enforce" && (guard.onError === "block" || failure === UNREPLACEABLE)
          ? ([{ name, effect: "denied" }] as const)
          : []),
      ]);
    else this.note([{ name, effect: mode === "audit" ? "would_deny" : guard.action === "mask" ? "masked" : "denied" }]);
  };
}
