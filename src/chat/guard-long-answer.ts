// A long plain answer under guards, in the thread that holds it (promises 3.3, 5.8): its texts as they go to a thread of guards, and the answer with words in the place of what
// was found there. No text of it comes to the thread that serves calls.
import { BlockedText, type GuardPolicy } from "../auth/guarded-text.ts";
import { type Matches, receivedGuard, type SentGuard, type Texts } from "../auth/guard-search.ts";
import { type PackedTexts, packTexts } from "../auth/packed-texts.ts";
import { answerUnder, visitAnswer } from "./guard-answer.ts";
import { lookedAt, textsOf } from "./guard-texts.ts";
import type { WholeAnswer } from "./whole-answer.ts";

/** What a guard says, by its place in the list. */
export interface AnswerFinding {
  readonly place: number;
  /** Why it could not look, or not replace what it found. */
  readonly failure: string | null;
}

export interface AnswerUnderGuards {
  /** Each thing once, in the order in which it was said. */
  readonly spoke: readonly AnswerFinding[];
  /** The guard that withholds the answer; null: none does. */
  readonly blocked: AnswerFinding | null;
  readonly answer: WholeAnswer;
}

export class AnswerLook {
  readonly #answer: WholeAnswer;
  readonly #guards: readonly GuardPolicy[];
  readonly #texts: Texts;

  constructor(answer: WholeAnswer, guards: readonly SentGuard[]) {
    this.#answer = answer;
    this.#guards = guards.map(receivedGuard);
    this.#texts = textsOf((guard) => visitAnswer(answer, guard));
  }

  packed(): PackedTexts {
    return packTexts(this.#texts);
  }

  /** `matches` null: there was no answer in time. */
  found(matches: Matches | null): AnswerUnderGuards {
    const spoke: AnswerFinding[] = [];
    const speaks = (policy: GuardPolicy, failure: string | null = null): void => {
      const place = this.#guards.indexOf(policy);
      if (!spoke.some((one) => one.place === place && one.failure === failure)) spoke.push({ place, failure });
    };
    try {
      const answer = answerUnder(this.#guards, this.#answer, speaks, lookedAt(this.#texts, this.#guards, matches));
      return { spoke, blocked: null, answer };
    } catch (thrown) {
      if (!(thrown instanceof BlockedText)) throw thrown;
      const blocked = { place: this.#guards.indexOf(thrown.policy), failure: thrown.failure };
      return { spoke, blocked, answer: this.#answer };
    }
  }
}
