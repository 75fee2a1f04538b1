// The guards of one call that search answers, before the client receives them.
import { BlockedText } from "../../guards/guarded-text.ts";
import type { Message } from "../../core/chat.ts";
import type { GuardPolicy, PolicyTarget } from "../../core/configured/policy.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import { searchedMessages } from "../guards/guard-request.ts";
import type { StreamUnderGuards } from "../guards/stream-under-guards.ts";
import { type PriorMatches, type Searched, textGuard } from "../guards/text-guard.ts";
import type { PolicyScope } from "./policy-scope.ts";

const WITHHELD = "(withheld by a policy)";

export class AnswerGuards {
  readonly #scope: PolicyScope;

  constructor(scope: PolicyScope) {
    this.#scope = scope;
  }

  /** Returns the guards that search the answer of a target. */
  of(target: PolicyTarget): readonly GuardPolicy[] {
    return this.#scope.guardsFor(this.#scope.policies.outputGuards, target);
  }

  /**
   * Returns an answer, or a part of one, as `guards` let the client receive it. Returns a promise when there is much text
   * to search. Throws `policy_violation`.
   */
  apply<T>(searched: Searched<T>, guards: readonly GuardPolicy[]): MaybePromise<T> {
    return this.#scope.apply(searched, guards, "output");
  }

  /** Searches the chunks of a stream. `hasBlocks`: a text ends where another one begins. */
  stream(guards: readonly GuardPolicy[], hasBlocks: boolean): StreamUnderGuards {
    return this.#scope.call.scheduler!.stream(guards, this.#scope.recordFinding, hasBlocks);
  }

  /**
   * Returns the result of a tool as the client may receive it. All guards on answers search it that apply to a target
   * which the call can reach. What they block is withheld, and the call continues.
   */
  async shown(message: Message): Promise<Message> {
    const guards = this.#scope.reachable(this.#scope.policies.outputGuards);
    if (guards.length === 0) return message;
    const onFinding = ({ name, mode }: GuardPolicy, failure?: string): void =>
      this.#scope.note([
        failure !== undefined
          ? { name, effect: "failed", why: failure }
          : { name, effect: mode === "audit" ? "would_deny" : "masked" },
      ]);
    const { characters, walk } = searchedMessages([message]);
    const search = (prior: PriorMatches | null): Message => {
      try {
        return walk(textGuard(guards, onFinding, prior))[0]!;
      } catch (thrown) {
        if (thrown instanceof BlockedText) return { ...message, content: WITHHELD };
        throw thrown;
      }
    };
    return this.#scope.search(guards, characters(), walk, search, "tool_result");
  }
}
