// Long plain answers, seen from the thread that serves calls (decisions 5.8): a provider's bytes go to the thread of long bodies, and the client's bytes come back.
import { type LongBodyThread, ownMemory } from "./long-body-thread.ts";
import type { AnswerQuestion, WrittenAnswer } from "./written-answer.ts";

export interface LongAnswers {
  /** Takes the bytes: they are no longer here. Throws what a decoder throws. */
  write(question: AnswerQuestion, tenantId: string): Promise<WrittenAnswer>;
}

export function openLongAnswers(thread: LongBodyThread): LongAnswers {
  return {
    write(question, tenantId) {
      const own = ownMemory(question.bytes);
      return thread.ask<WrittenAnswer>(tenantId, "write", { ...question, bytes: own }, [own.buffer as ArrayBuffer]);
    },
  };
}
