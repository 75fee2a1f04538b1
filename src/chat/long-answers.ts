// Long plain answers, seen from the thread that serves calls (decisions 5.8): a provider's bytes go to the thread of long bodies, and the client's bytes come back.
import { type Matches, sentGuard } from "../auth/guard-search.ts";
import type { GuardPolicy } from "../auth/guarded-text.ts";
import type { PackedTexts } from "../auth/packed-texts.ts";
import { type LongBodyThread, ownMemory } from "./long-body-thread.ts";
import type {
  AnswerFoundQuestion,
  AnswerQuestion,
  GatheredAnswer,
  GatherQuestion,
  ReadAnswer,
  WrittenAnswer,
  WrittenUnderGuards,
} from "./written-answer.ts";

/** An answer that the other thread holds until guards have looked at it. */
export interface AnswerToLookAt extends ReadAnswer {
  /**
   * What guards say of it, and what the client gets. `search` looks at its texts, which come by as memory that nothing here touches; null: there was no answer in
   * time. Rejects with what `search` rejects with.
   */
  under(search: (texts: PackedTexts) => Promise<Matches | null>): Promise<WrittenUnderGuards>;
  /** It will not be looked at. */
  release(): void;
}

export interface LongAnswers {
  /** Takes the bytes: they are no longer here. Throws what a decoder throws. */
  write(question: AnswerQuestion, tenantId: string): Promise<WrittenAnswer>;
  /** The same of an answer that guards look at before it is written. */
  gather(question: AnswerQuestion, guards: readonly GuardPolicy[], tenantId: string): Promise<AnswerToLookAt>;
}

export function openLongAnswers(thread: LongBodyThread): LongAnswers {
  let last = 0;
  return {
    write(question, tenantId) {
      const own = ownMemory(question.bytes);
      return thread.ask<WrittenAnswer>(tenantId, "write", { ...question, bytes: own }, [own.buffer as ArrayBuffer]);
    },
    async gather(question, guards, tenantId) {
      const own = ownMemory(question.bytes);
      const answer = ++last;
      const { texts, ...read } = await thread.ask<GatheredAnswer>(
        tenantId,
        "gather",
        { ...question, bytes: own, answer, guards: guards.map(sentGuard) } satisfies GatherQuestion,
        [own.buffer as ArrayBuffer],
      );
      const release = (): void => thread.tell("release_gathered", answer);
      return {
        ...read,
        release,
        async under(search) {
          let matches: Matches | null;
          try {
            matches = await search(texts);
          } catch (thrown) {
            release();
            throw thrown;
          }
          return thread.ask<WrittenUnderGuards>(
            tenantId,
            "write_gathered",
            { answer, matches } satisfies AnswerFoundQuestion,
            matches === null ? [] : [matches.numbers.buffer as ArrayBuffer],
          );
        },
      };
    },
  };
}
