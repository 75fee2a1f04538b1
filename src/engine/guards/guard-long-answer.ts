// Applies guards to a long non-streaming answer in the thread that holds it (promises 3.3, 5.8): packs its texts for a
// guard thread, and masks what that thread has found. None of its text goes to the thread that serves calls.
import { BlockedText } from "../../guards/guarded-text.ts";
import type { GuardPolicy } from "../../core/policy.ts";
import { type Matches, receivedGuard, type SentGuard, type Texts } from "../../guards/guard-search.ts";
import { type PackedTexts, packTexts } from "../../guards/packed-texts.ts";
import { answerUnder, visitAnswer } from "./guard-answer.ts";
import { priorMatches, textsOf } from "./guard-texts.ts";
import type { NonStreamingAnswer } from "../answer/non-streaming-answer.ts";

/** A finding of the guard at this place in the list. */
export interface AnswerFinding {
  readonly place: number;
  /** Why the guard could not search, or could not mask what it found; null if it could. */
  readonly failure: string | null;
}

/** What guards found in an answer: each finding once, in the order in which they were reported. */
export type GuardedAnswer<Allowed> = { readonly findings: readonly AnswerFinding[] } & (
  | ({ readonly kind: "allowed" } & Allowed)
  | { readonly kind: "blocked"; readonly by: AnswerFinding }
);

export class AnswerGuardSearch {
  readonly #answer: NonStreamingAnswer;
  readonly #guards: readonly GuardPolicy[];
  readonly #texts: Texts;

  constructor(answer: NonStreamingAnswer, guards: readonly SentGuard[]) {
    this.#answer = answer;
    this.#guards = guards.map(receivedGuard);
    this.#texts = textsOf((guard) => visitAnswer(answer, guard));
  }

  packed(): PackedTexts {
    return packTexts(this.#texts);
  }

  /** `matches` is null if there was no answer in time. */
  found(matches: Matches | null): GuardedAnswer<{ readonly answer: NonStreamingAnswer }> {
    const findings: AnswerFinding[] = [];
    const onFinding = (policy: GuardPolicy, failure: string | null = null): void => {
      const place = this.#guards.indexOf(policy);
      if (!findings.some((one) => one.place === place && one.failure === failure)) findings.push({ place, failure });
    };
    try {
      const answer = answerUnder(
        this.#guards,
        this.#answer,
        onFinding,
        priorMatches(this.#texts, this.#guards, matches),
      );
      return { kind: "allowed", findings, answer };
    } catch (thrown) {
      if (!(thrown instanceof BlockedText)) throw thrown;
      const by = { place: this.#guards.indexOf(thrown.policy), failure: thrown.failure };
      return { kind: "blocked", findings, by };
    }
  }
}
